# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev test: the sanitizer build and all tests, with the real servers they need. Sourced by ./dev.

servers=

# Stops what start_servers started, whatever became of the tests.
stop_servers() {
  [ -z "$servers" ] || tests/servers/seaweedfs.sh stop "$servers"
  [ -z "$servers" ] || tests/servers/kafka.sh stop "$servers/kafka"
  [ -z "$servers" ] || tests/servers/postgres.sh stop "$servers/postgres"
  [ -z "$servers" ] || rm -rf "$servers"
  servers=
}

# The folder of what is started; it and all in it are gone when the shell ends.
servers_folder() {
  [ -z "$servers" ] || return 0
  servers=$(mktemp -d)
  trap stop_servers EXIT
}

# Starts SeaweedFS on free loopback ports and exports where it listens. False where it is not to be had.
start_servers() {
  local weed
  weed=$(tools/setup/seaweedfs.sh) || return 1
  servers_folder
  say "starting SeaweedFS"
  tests/servers/seaweedfs.sh start "$servers" "$weed" || return 1
  # shellcheck disable=SC1091  # written by the line above
  . "$servers/env"
  export MILLRACE_TEST_S3_ENDPOINT MILLRACE_TEST_S3_ACCESS_KEY MILLRACE_TEST_S3_SECRET_KEY
}

# The same for a Kafka broker.
start_kafka() {
  local kafka
  kafka=$(tools/setup/kafka.sh) || return 1
  servers_folder
  say "starting Kafka"
  tests/servers/kafka.sh start "$servers/kafka" "$kafka" || return 1
  # shellcheck disable=SC1091  # written by the line above
  . "$servers/kafka/env"
  export MILLRACE_TEST_KAFKA MILLRACE_TEST_KAFKA_LIB
}

# The same for a PostgreSQL server.
start_postgres() {
  local postgres
  postgres=$(tools/setup/postgres.sh) || return 1
  servers_folder
  say "starting PostgreSQL"
  tests/servers/postgres.sh start "$servers/postgres" "$postgres" || return 1
  # shellcheck disable=SC1091  # written by the line above
  . "$servers/postgres/env"
  export MILLRACE_TEST_POSTGRES MILLRACE_TEST_POSTGRES_BIN
}

# run_ctest PRESET [CTEST ARGUMENTS...]: runs the tests of a built preset; results also go to build/PRESET/tests.xml.
run_ctest() {
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(jobs_here)" \
    --output-junit "$PWD/build/$preset/tests.xml" "$@" </dev/null
}

# tests_labelled LABEL [CTEST ARGUMENTS...]: the names of those tests that were selected and have this label, one a line.
tests_labelled() {
  ctest --test-dir build/dev -N "${select[@]}" -L "$@" | sed -n 's/^ *Test *#[0-9]*: //p'
}

# leave_out LABEL WHY [optional]: tests of this label are not run, and named at the end. In CI only optional ones may be.
leave_out() {
  local names name
  names=$(tests_labelled "$1")
  [ -n "$names" ] || return 0
  [ "${CI:-}" != true ] || [ "${3:-}" = optional ] || die "$2, and in CI no suite may be left out"
  left_out+=("$1")
  while read -r name; do not_run+=("$name ($2)"); done <<<"$names"
}

dev_test() {
  local select=() left_out=() not_run=() failed=0
  case ${1:-} in
  '') ;;
  -L) [ $# -eq 2 ] || die "usage: ./dev test -L LABEL" && select=(-L "$2") ;;
  -*) die "./dev test knows no option '$1'; it takes a FILTER or -L LABEL" ;;
  *) select=(-R "$1") ;;
  esac
  tools/setup/apt.sh build test
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow --python
  configure dev
  compile dev

  if [ -n "$(tests_labelled integration -LE 'iggy_clients|kafka')" ] && ! start_servers; then
    leave_out integration "SeaweedFS is not to be had here"
  fi
  if [ -n "$(tests_labelled kafka)" ] && ! start_kafka; then
    leave_out kafka "Kafka is not to be had here"
  fi
  if [ -n "$(tests_labelled postgres)" ] && ! start_postgres; then
    leave_out postgres "PostgreSQL is not to be had here"
  fi
  if [ -n "$(tests_labelled iggy_clients)" ]; then
    MILLRACE_TEST_IGGY_CLIENTS=$(tools/setup/iggy_clients.sh) || leave_out iggy_clients "the clients of Iggy are not to be had here"
    export MILLRACE_TEST_IGGY_CLIENTS
  fi
  # No registry carries an Iggy server, so these alone may lack theirs in CI too.
  [ -n "${MILLRACE_TEST_IGGY_CLASSIC:-}" ] || leave_out iggy_classic_server "MILLRACE_TEST_IGGY_CLASSIC names no server" optional
  [ -n "${MILLRACE_TEST_IGGY_VSR:-}" ] || leave_out iggy_vsr_server "MILLRACE_TEST_IGGY_VSR names no server" optional
  if [ ${#left_out[@]} -gt 0 ]; then
    run_ctest dev "${select[@]}" -LE "$(IFS='|' && printf '%s' "${left_out[*]}")" || failed=1
  else
    run_ctest dev "${select[@]}" || failed=1
  fi
  stop_servers
  [ ${#not_run[@]} -eq 0 ] || printf '   not run: %s\n' "${not_run[@]}" >&2
  tools/dev/count_tests.py build/dev/tests.xml
  return $failed
}
