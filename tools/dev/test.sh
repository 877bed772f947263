# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev test: the sanitizer build and all tests, with the real servers they need. Sourced by ./dev.

servers=

# Stops what start_servers started, whatever became of the tests.
stop_servers() {
  [ -z "$servers" ] || tests/servers/seaweedfs.sh stop "$servers"
  [ -z "$servers" ] || rm -rf "$servers"
  servers=
}

# Starts SeaweedFS on free loopback ports and exports where it listens. False where it is not to be had.
start_servers() {
  local weed
  weed=$(tools/setup/seaweedfs.sh) || return 1
  servers=$(mktemp -d)
  trap stop_servers EXIT
  say "starting SeaweedFS"
  tests/servers/seaweedfs.sh start "$servers" "$weed" || return 1
  # shellcheck disable=SC1091  # written by the line above
  . "$servers/env"
  export MILLRACE_TEST_S3_ENDPOINT MILLRACE_TEST_S3_ACCESS_KEY MILLRACE_TEST_S3_SECRET_KEY
}

# run_ctest PRESET [CTEST ARGUMENTS...]: runs the tests of a built preset; results also go to build/PRESET/tests.xml.
run_ctest() {
  local preset=$1
  shift
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(jobs_here)" \
    --output-junit "$PWD/build/$preset/tests.xml" "$@" </dev/null
}

dev_test() {
  local select=() not_run='' failed=0
  case ${1:-} in
  '') ;;
  -L) [ $# -eq 2 ] || die "usage: ./dev test -L LABEL" && select=(-L "$2") ;;
  -*) die "./dev test knows no option '$1'; it takes a FILTER or -L LABEL" ;;
  *) select=(-R "$1") ;;
  esac
  tools/setup/apt.sh build test
  tools/setup/aws_c_auth.sh >/dev/null
  configure dev
  compile dev

  local needs_server
  needs_server=$(ctest --test-dir build/dev -N "${select[@]}" -L integration | sed -n 's/^ *Test *#[0-9]*: //p')
  if [ -n "$needs_server" ] && ! start_servers; then
    [ "${CI:-}" != true ] || die "SeaweedFS is not to be had, and in CI no suite may be left out"
    not_run=$needs_server
    select+=(-LE integration)
  fi
  run_ctest dev "${select[@]}" || failed=1
  stop_servers
  if [ -n "$not_run" ]; then
    say "not run, because SeaweedFS is not to be had here (see above):"
    printf '%s\n' "$not_run" | sed 's/^/   not run: /' >&2
  fi
  tools/dev/count_tests.py build/dev/tests.xml
  return $failed
}
