#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of some groups of packages.txt, and only those that are missing.
#
#   apt.sh GROUP...     build, test, lint, bench
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

[ $# -gt 0 ] || die "apt.sh: name a group of packages.txt (build, test, lint, bench)"

wanted=()
for group in "$@"; do
  found=0
  while read -r row_group package unless _; do
    [ "$row_group" = "$group" ] || continue
    found=1
    [ "$unless" != - ] && have "$unless" && continue
    wanted+=("$package")
  done < <(grep -v '^#' "$here/packages.txt")
  [ $found = 1 ] || die "apt.sh: packages.txt has no group '$group'"
done

if ! have apt-get; then
  say "no apt-get here, so packages are yours to install; Debian's names with reasons: tools/setup/packages.txt"
  exit 0
fi

missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

root=()
if [ "$(id -u)" != 0 ]; then
  have sudo || die "run this once as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  root=(sudo)
fi
install() {
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq </dev/null >&2
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    </dev/null >"$MILLRACE_CACHE/apt.log" 2>&1 || {
    tail -n 20 "$MILLRACE_CACHE/apt.log" >&2
    die "apt-get could not install them; see $MILLRACE_CACHE/apt.log"
  }
}
with_lock apt install
