#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds SeaweedFS's `weed`, the real S3 server of the integration tests, into the cache and prints its path.
# Nothing but tests needs it. Its module has a replace directive, so `go install` refuses; it is built in place.
#
#   seaweedfs.sh          build if the cache lacks it (about eight CPU-minutes and 2.2 GB of memory, once), print the path
#   seaweedfs.sh --where  only print where it would be
# Exit 3: there is no Go toolchain, so it cannot be built here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

module=github.com/seaweedfs/seaweedfs
version=v0.0.0-20261109003541-7506e5f91cd6
binary=$MILLRACE_CACHE/seaweedfs-$version-$(uname -m)/weed

build() {
  [ ! -x "$binary" ] || return 0
  have go || { say "SeaweedFS: no Go toolchain (1.24 or newer) in PATH, so it cannot be built"; exit 3; }
  local folder log
  log=$MILLRACE_CACHE/seaweedfs.log
  mkdir -p "$(dirname "$binary")"
  say "SeaweedFS: fetching $module@$version"
  folder=$(go mod download -json "$module@$version" 2>"$log" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
  [ -d "$folder" ] || { cat "$log" >&2; die "SeaweedFS: the module could not be fetched"; }
  say "SeaweedFS: building weed (some minutes, once; log $log)"
  (cd "$folder" && go build -trimpath -ldflags='-s -w' -o "$binary.new" ./weed) >"$log" 2>&1 ||
    { tail -n 40 "$log" >&2; die "SeaweedFS: the build failed; see $log"; }
  mv "$binary.new" "$binary"
}

[ "${1:-}" = --where ] || with_lock seaweedfs build
printf '%s\n' "$binary"
