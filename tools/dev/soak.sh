# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev soak: tests whose length is the point. Sourced by ./dev.

# shellcheck source=test.sh
. tools/dev/test.sh

# The crash tests, which ./dev test runs with a few kills, with many: MILLRACE_CRASH_KILLS tells the tests labelled crash
# how often to kill (40 for each kind of store).
soak_crash() {
  local kills=${1:-40} failed=0
  [[ $kills =~ ^[1-9][0-9]*$ ]] || die "'$kills' is no number of kills"
  start_servers || die "SeaweedFS is not to be had, and half of the soak runs over it"
  start_kafka || die "Kafka is not to be had, and a part of the soak runs over it"
  start_postgres || die "PostgreSQL is not to be had, and a part of the soak runs over it"
  say "crash tests with $kills kills each"
  MILLRACE_CRASH_KILLS=$kills run_ctest dev -L crash || failed=1
  stop_servers
  tools/dev/count_tests.py build/dev/tests.xml
  return $failed
}

# A run of so many minutes with credentials of one minute each.
soak_credentials() {
  local minutes=${1:-20}
  [[ $minutes =~ ^[1-9][0-9]*$ ]] || die "'$minutes' is no number of minutes"
  say "a run of $minutes minutes with credentials of 60 s"
  python3 tests/soak/credentials_soak.py build/dev/bin/millrace build/dev/bin/s3_fault_server --minutes "$minutes" --lifetime 60
}

# The network to an Iggy server is away for so many seconds, which ./dev test does with few.
soak_iggy() {
  local seconds=${1:-60} framing failed=0
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "'$seconds' is no number of seconds"
  for framing in classic vsr; do
    say "messages flow while an Iggy server ($framing) is out of reach for $seconds s"
    python3 -B tests/iggy_source/faults_on_server.py build/dev/bin/millrace $framing cut "$seconds" || failed=1
  done
  return $failed
}

# The program, a Kafka broker and the way to the store are killed so often each, in any order, for each kind of delivery.
soak_kafka() {
  local kills=${1:-40} delivery failed=0
  [[ $kills =~ ^[1-9][0-9]*$ ]] || die "'$kills' is no number of kills"
  MILLRACE_TEST_KAFKA_LIB=$(tools/setup/kafka.sh) || die "Kafka is not to be had, and this soak runs over it"
  export MILLRACE_TEST_KAFKA_LIB
  for delivery in at_least_once exactly_once; do
    say "$kills kills each of the program, a broker and the way to the store, $delivery"
    MILLRACE_CRASH_KILLS=$kills python3 -B tests/kafka/kills_on_broker.py build/dev/bin/millrace build/dev/bin/s3_fault_server \
      build/dev/bin/kafka_tool $delivery || failed=1
  done
  return $failed
}

# A store that is away, throttles, lies or is full for so many seconds, in the build that users get, five at a time.
soak_store() {
  local seconds=${1:-60} only=${2:-} results
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "'$seconds' is no number of seconds"
  results=$(mktemp -d)
  say "a store that is bad for $seconds s, each way; what each run said lies in $results"
  # shellcheck disable=SC2016  # for the inner shell
  for scene in {slow_down,lies,lies_done,full,stopped,killed}\ {at_least_once,exactly_once}\ {small,parts}\ {through,ended} \
    full_disk\ {at_least_once,exactly_once}\ small\ {through,ended} {slow_down,full_disk}\ {at_least_once,exactly_once}\ small\ backfill; do
    [[ $scene == ${only:-*}* ]] && printf '%s\n' "$scene"
  done | results=$results seconds=$seconds xargs -P 5 -L 1 bash -c '
    if python3 -B tests/soak/store_soak.py build/bench/bin/millrace build/bench/bin/s3_fault_server "$@" --seconds "$seconds" >"$results/$*" 2>&1; then
      head -n 1 "$results/$*"
    else
      printf "failed: %s\n" "$*" && cat "$results/$*" && exit 1
    fi' _
}

# The simulator's tests under so many seeds; a failing one is named, and MILLRACE_SIMULATION_SEED shows it again.
soak_simulation() {
  local seeds=${1:-2000}
  [[ $seeds =~ ^[1-9][0-9]*$ ]] || die "'$seeds' is no number of seeds"
  say "simulated runs under $seeds seeds"
  MILLRACE_SIMULATION_SEEDS=$seeds build/dev/src/testing/simulation/simulation_test --gtest_filter='EngineSimulation.*'
}

# A run over so many keys from slow pages, in the build that users get.
soak_listing() {
  local keys=${1:-2000000}
  [[ $keys =~ ^[1-9][0-9]*$ ]] || die "'$keys' is no number of keys"
  say "a run over $keys keys and the body of each"
  python3 tests/soak/listing_soak.py build/bench/bin/millrace build/bench/bin/s3_fault_server --objects "$keys"
}

# dev_soak [KILLS | credentials [MINUTES] | iggy [SECONDS] | kafka [KILLS] | store [SECONDS [FAULT]] | simulation [SEEDS] | listing [KEYS]]
dev_soak() {
  tools/setup/apt.sh build test
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow --python
  if [ "${1:-}" = listing ]; then
    configure bench
    compile bench millrace s3_fault_server
    soak_listing "${2:-}"
    return
  fi
  if [ "${1:-}" = store ]; then
    configure bench
    compile bench millrace s3_fault_server
    soak_store "${2:-}" "${3:-}"
    return
  fi
  configure dev
  if [ "${1:-}" = credentials ]; then
    compile dev millrace s3_fault_server
    soak_credentials "${2:-}"
  elif [ "${1:-}" = iggy ]; then
    compile dev millrace
    soak_iggy "${2:-}"
  elif [ "${1:-}" = kafka ]; then
    compile dev millrace s3_fault_server kafka_tool
    soak_kafka "${2:-}"
  elif [ "${1:-}" = simulation ]; then
    compile dev simulation_test
    soak_simulation "${2:-}"
  else
    compile dev
    soak_crash "$@"
  fi
}
