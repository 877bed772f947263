#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the folder of the programs of a PostgreSQL server (initdb, pg_ctl, postgres), which the package postgresql brings:
# distributions keep them out of PATH. Nothing but tests needs it.
# Exit 3: there is none here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cache.sh
. "$here/cache.sh"

# The newest of the distribution first, then what PATH has.
for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort --version-sort --reverse) "$(dirname "$(readlink -f "$(command -v postgres || printf .)")")"; do
  if [ -x "$folder/postgres" ] && [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ]; then
    printf '%s\n' "$folder"
    exit 0
  fi
done
say "PostgreSQL: there is no server here (postgresql of tools/setup/packages.txt)"
exit 3
