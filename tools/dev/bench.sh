# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev bench: the programs of bench/, built as users get Millrace. Sourced by ./dev.
# Each measures both sides of its ratios in the same run and prints them; docs/PERFORMANCE.md keeps the table.
# --rss: the most memory of a run against the bound of its plan (bench/rss.py).
# --sinks: landing lines in files and in an S3 server, against cp and curl (bench/sinks.py).
# --streams: reading and writing Kafka and Iggy, against the tools that others use (bench/streams.py).
# --peers: whole jobs against the engines one would pick instead (bench/peers.py, which says what it needs).

dev_bench() {
  local programs=() name program
  tools/setup/apt.sh build bench
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow
  configure bench
  # A figure from a debug or sanitizer build means nothing, so none is made.
  grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release$' build/bench/CMakeCache.txt || die "build/bench is no Release build; nothing was measured"
  ! grep -q '^MILLRACE_SANITIZE:[A-Z]*=.' build/bench/CMakeCache.txt || die "build/bench has a sanitizer; nothing was measured"
  compile bench
  if [ "${1:-}" = --peers ]; then
    shift
    bench/peers.py --job build/bench/bin/backfill_job "$@"
    return
  fi
  if [ "${1:-}" = --rss ]; then
    shift
    bench/rss.py --program build/bench/bin/millrace "$@"
    return
  fi
  if [ "${1:-}" = --sinks ]; then
    shift
    bench/sinks.py --program build/bench/bin/millrace --server build/bench/bin/s3_fault_server "$@"
    return
  fi
  if [ "${1:-}" = --streams ]; then
    shift
    bench_streams "$@"
    return
  fi
  if [ $# -gt 0 ]; then
    for name in "$@"; do
      program=build/bench/bin/$name
      [ -x "$program" ] || program=build/bench/bin/${name}_bench
      [ -x "$program" ] || die "there is no benchmark '$name'; there are: $(bench_names)"
      programs+=("$program")
    done
  else
    for program in build/bench/bin/*_bench; do [ -x "$program" ] && programs+=("$program"); done
  fi
  [ ${#programs[@]} -gt 0 ] || die "there is no benchmark in build/bench/bin"
  for program in "${programs[@]}"; do
    say "$(basename "$program")"
    "$program"
  done
}

bench_streams() {
  local clients
  # shellcheck source=test.sh
  . tools/dev/test.sh
  tools/setup/apt.sh test
  clients=$(tools/setup/iggy_clients.sh) || die "the official Iggy clients are not to be had; nothing was measured"
  start_kafka || die "Kafka is not to be had; nothing was measured"
  bench/streams.py --program build/bench/bin/millrace --kafka-tool build/bench/bin/kafka_tool --iggy-clients "$clients" "$@"
}

bench_names() {
  local program
  for program in build/bench/bin/*_bench; do [ -x "$program" ] && basename "$program" _bench; done | xargs
}
