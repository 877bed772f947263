# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Where set-up keeps what it made, and how it speaks. Sourced by ./dev and by every script of this folder.
#
# Everything made here lies outside the source tree, under one folder, so that a second clone and a cleaned tree
# find it again. The name of each entry holds what it depends on (version, compiler); an entry is complete when it
# has its name, because it is built beside it and renamed at the end.

MILLRACE_CACHE=${MILLRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/millrace}
export MILLRACE_CACHE

say() { printf '%s\n' "== $*" >&2; }
die() { printf '%s\n' "error: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# Prints a short key of the compiler that CMake would take (CC), for example gcc-12.2.0-x86_64-linux-gnu.
compiler_key() {
  local cc=${CC:-cc} kind=gcc
  "$cc" --version 2>/dev/null | head -n 1 | grep -qi clang && kind=clang
  printf '%s-%s-%s' "$kind" "$("$cc" -dumpfullversion -dumpversion | head -n 1)" "$("$cc" -dumpmachine)"
}

# with_lock NAME COMMAND...: runs COMMAND while nobody else who asks for NAME does. Two ./dev at once are fine then.
with_lock() {
  local name=$1
  shift
  mkdir -p "$MILLRACE_CACHE"
  (
    flock 9
    "$@"
  ) 9>"$MILLRACE_CACHE/.$name.lock"
}

# Cores to build with; MILLRACE_JOBS overrides.
jobs_here() { printf '%s' "${MILLRACE_JOBS:-$(nproc)}"; }
