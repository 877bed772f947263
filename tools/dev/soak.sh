# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev soak: the crash tests, which ./dev test runs with a few kills, with many. Sourced by ./dev.

# shellcheck source=test.sh
. tools/dev/test.sh

# dev_soak [KILLS]: MILLRACE_CRASH_KILLS tells the tests labelled crash how often to kill (40 for each kind of store).
dev_soak() {
  local kills=${1:-40} failed=0
  [[ $kills =~ ^[1-9][0-9]*$ ]] || die "'$kills' is no number of kills"
  tools/setup/apt.sh build test
  tools/setup/aws_c_auth.sh >/dev/null
  configure dev
  compile dev
  start_servers || die "SeaweedFS is not to be had, and half of the soak runs over it"
  say "crash tests with $kills kills each"
  MILLRACE_CRASH_KILLS=$kills run_ctest dev -L crash || failed=1
  stop_servers
  tools/dev/count_tests.py build/dev/tests.xml
  return $failed
}
