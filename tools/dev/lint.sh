# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# ./dev lint: every check that runs no test. Sourced by ./dev.

lint_format() {
  git ls-files -z '*.h' '*.cc' | xargs -0 -r clang-format-19 --dry-run -Werror --style=file
}

# The layering, naming, length and word checks, after their own tests.
lint_tidy() {
  python3 tools/tidy/tidy_test.py --quiet && python3 tools/tidy/check.py
}

lint_shell() {
  git ls-files -z dev .ci/run '*.sh' | xargs -0 -r shellcheck --external-sources
}

# Each public header compiles alone, and twice in one file.
lint_headers() {
  configure clang19 && compile clang19 millrace_headers
}

# clang-tidy-19 and, over tests, clang 19 itself over what has not passed unchanged before. ./dev lint clang_tidy FILE... takes
# only these files.
lint_clang_tidy() {
  configure clang19 && tools/tidy/clang_tidy.py build/clang19 --cache "$MILLRACE_CACHE/clang-tidy" --jobs "$(jobs_here)" "$@"
}

dev_lint() {
  local steps=(format tidy shell headers clang_tidy) failed=() step
  if [ $# -gt 0 ]; then
    case " ${steps[*]} " in *" $1 "*) ;; *) die "./dev lint has no step '$1'; it has: ${steps[*]}" ;; esac
    steps=("$1")
    shift
  fi
  tools/setup/apt.sh build test lint
  tools/setup/aws_c_auth.sh >/dev/null
  provide_arrow
  for step in "${steps[@]}"; do
    say "lint: $step"
    "lint_$step" "$@" || failed+=("$step")
  done
  [ ${#failed[@]} -eq 0 ] || die "lint: not clean: ${failed[*]}"
  say "lint: clean (${steps[*]})"
}
