#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches Apache Kafka, the real broker of the integration tests, into the cache and prints the folder of its jars.
# Nothing but tests needs it. It comes as Maven artifacts, of pinned versions.
#
#   kafka.sh          fetch if the cache lacks it (45 MB, once), print the folder
#   kafka.sh --where  only print where it would be
# Exit 3: it cannot be had here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

kafka_version=4.4.0
slf4j_version=1.7.36 # the broker's API version; without a binding of it nothing is logged
plugin_version=3.6.1
folder=$MILLRACE_CACHE/kafka-$kafka_version

fetch() {
  [ ! -d "$folder" ] || return 0
  if ! have java || ! have mvn; then
    say "Kafka: needs java and mvn (openjdk-17-jre-headless and maven of tools/setup/packages.txt)"
    exit 3
  fi
  local log work
  log=$MILLRACE_CACHE/kafka.log
  work=$(mktemp -d "$MILLRACE_CACHE/.kafka.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  cat >"$work/pom.xml" <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>millrace</groupId><artifactId>kafka-for-tests</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$kafka_version</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>$slf4j_version</version></dependency>
  </dependencies>
</project>
XML
  say "Kafka: fetching $kafka_version (45 MB, once)"
  mvn -B -q -f "$work/pom.xml" "-Dmaven.repo.local=$work/repository" \
    "org.apache.maven.plugins:maven-dependency-plugin:$plugin_version:copy-dependencies" \
    -DincludeScope=runtime "-DoutputDirectory=$work/lib" >"$log" 2>&1 </dev/null || {
    tail -n 20 "$log" >&2
    say "Kafka: the artifacts could not be fetched; see $log"
    exit 3
  }
  mv "$work/lib" "$folder"
}

mkdir -p "$MILLRACE_CACHE"
[ "${1:-}" = --where ] || with_lock kafka fetch
printf '%s\n' "$folder"
