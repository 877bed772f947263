#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the official Python clients of Apache Iggy into the cache, one folder for each framing of the protocol, and prints the
# folder that holds them: classic/ (apache-iggy 0.8.0) and vsr/ (0.9.0), each fit for PYTHONPATH. Nothing but tests needs them.
#
#   iggy_clients.sh          fetch what the cache lacks, print the path
#   iggy_clients.sh --where  only print where it would be
# Exit 3: they are not to be had here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

classic=0.8.0 # the last that speaks the older framing
vsr=0.9.0
folder=$MILLRACE_CACHE/iggy-clients-$classic-$vsr-$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')-$(uname -m)

# The packages that are taken, by content: for CPython 3.11, x86_64 and aarch64. For another Python or machine there is none pinned.
hashes() {
  case $1 in
  classic)
    echo "apache-iggy==$classic" \
      --hash=sha256:e2734829c928331e94a5c6b7fe2dbab01e0a58e850fa37ba5d933558ee07e0f9 \
      --hash=sha256:32c399bdfc6541b0382989aa1bb47047fffae68fd182b12bdb8bfb0019a97812
    ;;
  vsr)
    echo "apache-iggy==$vsr" \
      --hash=sha256:18d8a9cc06acfbfb8d0bef9d73dfe71b5ea2d866d87c76875773a5615e82bf09 \
      --hash=sha256:d32b687eb5242a8981de5d0e7a440374f2ddb50d9a3e34701176a99c8b6c9e0f
    ;;
  esac
}

fetch() {
  [ ! -d "$folder" ] || return 0
  local work framing
  work=$(mktemp -d "$MILLRACE_CACHE/.iggy-clients.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  for framing in classic vsr; do
    hashes $framing >"$work/$framing.txt"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --only-binary=:all: \
      --require-hashes --target "$work/clients/$framing" -r "$work/$framing.txt" >&2 || {
      say "the package apache-iggy is not to be had here: $(cat "$work/$framing.txt")"
      exit 3
    }
  done
  mv "$work/clients" "$folder"
}

[ "${1:-}" = --where ] || with_lock iggy-clients fetch
printf '%s\n' "$folder"
