# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev fuzz: one libFuzzer target for a while. Sourced by ./dev.
# The target begins from the corpus in the tree; what it finds on the way is kept in build/fuzz-corpus/TARGET, and an input
# that breaks it in build/fuzz-artifacts/TARGET. Such an input goes into the corpus together with the fix.

# Lines "TARGET CORPUS_FOLDER", read from the fuzz targets' CMake declarations.
fuzz_targets() {
  local file folder
  git grep -lE '^ *millrace_fuzz\(' -- '*CMakeLists.txt' | while read -r file; do
    folder=$(dirname "$file")
    tr '\n' ' ' <"$file" | grep -oE 'millrace_fuzz\([^)]*\)' |
      sed -nE "s|millrace_fuzz\( *([a-z0-9_]+).* CORPUS +([^ )]+).*|\1 $folder/\2|p"
  done | sort
}

dev_fuzz() {
  local target=${1:-} seconds=${2:-60} corpus program
  if [ -z "$target" ]; then
    echo "usage: ./dev fuzz TARGET [SECONDS]; the targets, with their corpora:"
    fuzz_targets | sed 's/^/  /'
    return 0
  fi
  corpus=$(fuzz_targets | sed -n "s|^$target ||p")
  [ -n "$corpus" ] || die "there is no fuzz target '$target'; ./dev fuzz lists them"
  [[ $seconds =~ ^[0-9]+$ ]] || die "'$seconds' is no number of seconds"
  tools/setup/apt.sh build lint
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow
  configure fuzz
  compile fuzz "$target"
  program=$(find build/fuzz -type f -name "$target" -perm -u+x | head -n 1)
  mkdir -p "build/fuzz-corpus/$target" "build/fuzz-artifacts/$target"
  say "fuzzing $target for $seconds s"
  "$program" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="build/fuzz-artifacts/$target/" \
    "build/fuzz-corpus/$target" "$corpus"
}
