#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Apache Arrow C++ into the cache and prints the folder that holds its headers and libraries. Distributions lack it; the
# wheel of its Python package carries both, and for the tests a reader of Parquet files that is not ours.
#
#   arrow.sh          unpack if the cache lacks it (55 MB to fetch, once), print the folder
#   arrow.sh --where  only print where it would be
#   arrow.sh --python unpack the readers of the tests, pyarrow and duckdb (25 MB more), print a PYTHONPATH with them
#   arrow.sh --where-python  only print that
# Exit 3: there is no pinned package for this machine, or it could not be fetched (an error where CI is true).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

version=26.0.1
duckdb_version=2.0.1
arrow=$MILLRACE_CACHE/arrow-$version-$(uname -m)
duckdb=$MILLRACE_CACHE/duckdb-$duckdb_version-$(uname -m)

# unpack NAME VERSION SHA256 FOLDER PLATFORM...: the wheel of a Python package for Python 3.11, as it is.
unpack() {
  local name=$1 version=$2 sha256=$3 folder=$4 work platforms=()
  shift 4
  [ ! -e "$folder" ] || return 0
  for platform in "$@"; do platforms+=(--platform "$platform"); done
  work=$(mktemp -d "$MILLRACE_CACHE/.$name.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  say "$name: fetching the pinned package $name $version (once)"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.11 \
    --implementation cp "${platforms[@]}" --dest "$work" "$name==$version" >&2 || {
    [ "${CI:-}" != true ] || die "$name: the package $name $version could not be fetched"
    say "$name: the package $name $version could not be fetched; Parquet files are left out"
    exit 3
  }
  printf '%s  %s\n' "$sha256" "$(echo "$work/$name"-*.whl)" | sha256sum --check --quiet - >&2 ||
    die "$name: the package is not the pinned one (sha256 differs)"
  python3 -m zipfile -e "$work/$name"-*.whl "$work/unpacked"
  mv "$work/unpacked" "$folder"
  rm -rf "$work"
}

unpack_arrow() {
  if [ "$(uname -m)" != x86_64 ]; then
    say "Arrow: there is no pinned package for $(uname -m); an installed Arrow is taken where CMake finds one"
    exit 3
  fi
  unpack pyarrow "$version" 39cb0f2418282c24bea6ceda77b03e5a8f0a5766b63a8bf194d4e2a2c423548c "$arrow" manylinux_2_28_x86_64
}

unpack_duckdb() {
  unpack duckdb "$duckdb_version" eb32b389d99d14cbbec4c110f58237c77eacefc65ef6f737619f413c97a91a77 "$duckdb" \
    manylinux_2_27_x86_64 manylinux_2_28_x86_64
}

case ${1:-} in
--where | --where-python) ;;
--python)
  # Not joined by &&, under which nothing inside of the first would end it.
  with_lock arrow unpack_arrow
  with_lock arrow unpack_duckdb
  ;;
*) with_lock arrow unpack_arrow ;;
esac
case ${1:-} in
*python) printf '%s\n' "$arrow:$duckdb" ;;
*) printf '%s\n' "$arrow/pyarrow" ;;
esac
