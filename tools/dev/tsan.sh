# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev tsan: ThreadSanitizer over what threads share: locks, acks, queues, sinks, the pipeline and whole runs in one process.
# Sourced by ./dev. Tests labelled program, integration, crash or soak start programs and are left to ./dev test.

# shellcheck source=test.sh
. tools/dev/test.sh

# Folders whose tests run here; what lies between them (codecs, framers, decoders) has no threads.
tsan_folders=(src/base src/ack src/metrics src/store src/sink src/checkpoint src/pipeline src/admin connectors
  tests/journey tests/engine tests/sinks tests/s3_store tests/iggy_source)

dev_tsan() {
  local targets programs chosen
  tools/setup/apt.sh build test lint
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow
  configure tsan
  programs=$(test_programs "${tsan_folders[@]}")
  mapfile -t targets <<<"$programs"
  compile tsan "${targets[@]}"
  chosen=$(ctest --test-dir build/tsan --show-only=json-v1 |
    tools/dev/tests_of.py --without program,integration,crash,soak,fuzz_corpus,docs,example "${targets[@]}") || die "the tests of the engine are not all there"
  TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1 ${TSAN_OPTIONS:-}" \
    run_ctest tsan -I "$chosen"
  tools/dev/count_tests.py build/tsan/tests.xml
}

# test_programs FOLDER...: the test programs that the CMake files under these folders declare.
test_programs() {
  local folder
  for folder in "$@"; do
    git ls-files "$folder/*CMakeLists.txt" "$folder/*.cmake" | xargs -r sed -nE 's/^ *millrace_test\( *([a-z0-9_]+).*/\1/p' |
      grep . || die "no test program is declared under $folder; take it from tsan_folders or say where it went"
  done
}
