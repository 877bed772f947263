# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Set-up and build: what every other command of ./dev begins with. Sourced by ./dev.

# dev_setup [GROUP...]: everything the groups need that is not there yet. build, test, lint, bench; all when none is named.
dev_setup() {
  [ $# -gt 0 ] || set -- build test lint bench
  mkdir -p "$MILLRACE_CACHE"
  tools/setup/apt.sh "$@"
  case " $* " in
  *" build "*)
    tools/setup/aws_c_auth.sh >/dev/null
    provide_arrow
    ;;
  esac
  case " $* " in
  *" test "*)
    # Without them only the suites that need a server are missing, and ./dev test names them.
    tools/setup/seaweedfs.sh >/dev/null || [ $? = 3 ]
    provide_arrow --python
    tools/setup/kafka.sh >/dev/null || [ $? = 3 ]
    ;;
  esac
}

# provide_arrow [--python]: Apache Arrow for Parquet files; where it is not to be had, Millrace is built without them.
provide_arrow() { tools/setup/arrow.sh "$@" >/dev/null || [ $? = 3 ]; }

# configure PRESET: runs CMake's configure step, quietly unless it fails.
configure() {
  mkdir -p "build/$1"
  if ! cmake --preset "$1" >"build/$1/configure.log" 2>&1; then
    cat "build/$1/configure.log" >&2
    die "preset '$1' could not be configured (log: build/$1/configure.log)"
  fi
}

# compile PRESET [TARGET...]
compile() {
  local preset=$1
  shift
  say "building preset '$preset'${*:+: $*}"
  ninja -C "build/$preset" -j "$(jobs_here)" "$@"
}

# Builds a preset whole; release, the default, gives build/release/bin/millrace.
dev_build() {
  local preset=${1:-release} groups=(build)
  case $preset in
  release) ;;
  dev) groups+=(test) ;;
  tsan | clang19 | fuzz) groups+=(test lint) ;;
  bench) groups+=(bench) ;;
  *) die "there is no preset '$preset'; CMakePresets.json has release dev tsan clang19 fuzz bench" ;;
  esac
  tools/setup/apt.sh "${groups[@]}"
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow
  configure "$preset"
  compile "$preset"
  [ "$preset" != release ] || say "built build/release/bin/millrace"
}
