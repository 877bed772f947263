#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds aws-c-auth and aws-checksums (credentials, signing, CRC64NVME) into the cache and prints the prefix.
# Debian has no package of them; see docs/adr/0001-dependencies.md.
#
#   aws_c_auth.sh          build if the cache lacks it, print the prefix for CMAKE_PREFIX_PATH
#   aws_c_auth.sh --where  only print where it would be
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

version=0.38.0
sha256=4a8423c4a76390c6e5c4f386e3e367dccdcf67d6d1a0bc1c59776bb14cdc2ad9
recipe=$(sha256sum "$here/aws_c_auth/CMakeLists.txt" | cut -c1-8)
prefix=$MILLRACE_CACHE/aws-c-auth-$version-$recipe-$(compiler_key)

build() {
  [ ! -e "$prefix" ] || return 0
  local work log
  work=$(mktemp -d "$MILLRACE_CACHE/.aws-c-auth.XXXXXX")
  log=$MILLRACE_CACHE/aws-c-auth.log
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  say "aws-c-auth: fetching the pinned source package awscrt $version (38 MB, once)"
  python3 -m pip download --quiet --disable-pip-version-check --no-binary awscrt --no-deps --dest "$work" \
    "awscrt==$version" >"$log" 2>&1 || { cat "$log" >&2; die "aws-c-auth: awscrt $version could not be fetched"; }
  printf '%s  %s\n' "$sha256" "$work/awscrt-$version.tar.gz" | sha256sum --check --quiet - ||
    die "aws-c-auth: the source package is not the pinned one (sha256 differs)"
  tar -C "$work" -xzf "$work/awscrt-$version.tar.gz"
  say "aws-c-auth: building (about a minute on two cores, once; log $log)"
  {
    cmake -S "$here/aws_c_auth" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DAWS_CRT_DIR="$work/awscrt-$version/crt" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_LIBDIR=lib &&
      ninja -C "$work/build" -j "$(jobs_here)" && ninja -C "$work/build" install
  } >"$log" 2>&1 || { tail -n 40 "$log" >&2; die "aws-c-auth: the build failed; see $log"; }
  mv "$work/prefix" "$prefix"
}

[ "${1:-}" = --where ] || with_lock aws-c-auth build
printf '%s\n' "$prefix"
