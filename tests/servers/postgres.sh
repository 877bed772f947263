#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real PostgreSQL server for the tests, on a free loopback port.
#
#   postgres.sh start DIR BIN  start it; BIN is the folder of its programs (tools/setup/postgres.sh). Returns once it takes
#                              connections, and leaves DIR/env (MILLRACE_TEST_POSTGRES=postgresql://..., MILLRACE_TEST_POSTGRES_BIN),
#                              DIR/log and DIR/pid. Where DIR has the state of an earlier start it goes on with it, on the same port.
#   postgres.sh stop DIR       end what was started in DIR, and remove its data. Harmless where nothing runs.
#   postgres.sh kill DIR       end it and all its processes without a goodbye (SIGKILL); the data stay.
# It refuses to run as root: then it runs as the user postgres, with its data outside DIR, where that user may go.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Running, and not a zombie that nobody has waited for.
alive() { [ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"; }

as_server=()
[ "$(id -u)" != 0 ] || as_server=(setpriv --reuid=postgres --regid=postgres --clear-groups --)

# The server leads a session of its own, so its group is all of its processes.
end() {
  local dir=$1 pid
  [ -e "$dir/pid" ] || return 0
  pid=$(cat "$dir/pid")
  if [ "$2" = KILL ]; then
    kill -KILL -- "-$pid" 2>/dev/null || true
  else
    kill -INT "$pid" 2>/dev/null || true # a fast shutdown: connections end, transactions are taken back
  fi
  for _ in $(seq 100); do
    alive "$pid" || break
    sleep 0.1
  done
  kill -KILL -- "-$pid" 2>/dev/null || true
  # Of a server that was killed, whose number may be taken for a live one's until its zombie is gone.
  rm -f "$dir/pid" "$(cat "$dir/data")/data/postmaster.pid"
}

make_data() {
  local dir=$1 bin=$2 data
  data=$(mktemp -d "${TMPDIR:-/tmp}/millrace-postgres.XXXXXX")
  [ "$(id -u)" != 0 ] || chown postgres:postgres "$data"
  (cd "$data" && "${as_server[@]}" "$bin/initdb" --pgdata="$data/data" --username=millrace --auth=trust --encoding=UTF8 --no-locale --no-sync) \
    >"$dir/initdb.log" 2>&1
  printf '%s\n' "$data" >"$dir/data"
}

try_start() {
  local dir=$1 bin=$2 data port
  [ -e "$dir/data" ] || make_data "$dir" "$bin" || return 1
  data=$(cat "$dir/data")
  [ -e "$dir/env" ] || printf '%s\n' "MILLRACE_TEST_POSTGRES=postgresql://millrace@127.0.0.1:$(python3 "$here/free_ports.py" 1)/postgres" \
    "MILLRACE_TEST_POSTGRES_BIN=$bin" >"$dir/env"
  port=$(sed -n 's/^MILLRACE_TEST_POSTGRES=.*:\([0-9]*\).*/\1/p' "$dir/env")
  # Its own session and no inherited descriptors, so that nobody who waits for our output waits for the server. No test loses
  # the machine, so nothing waits for the disk.
  (cd "$data" && exec setsid "${as_server[@]}" "$bin/postgres" -D "$data/data" -c listen_addresses=127.0.0.1 -c port="$port" \
    -c unix_socket_directories= -c fsync=off -c max_connections=200) </dev/null >>"$dir/log" 2>&1 &
  echo $! >"$dir/pid"
  for _ in $(seq 600); do # 60 s; 1 is usual
    alive "$(cat "$dir/pid")" || return 1
    "$bin/pg_isready" --quiet --username=millrace --host=127.0.0.1 --port="$port" && return 0
    sleep 0.1
  done
  return 1
}

start() {
  local dir=$1 bin=$2 attempt first=
  mkdir -p "$dir"
  [ -e "$dir/env" ] || first=1
  for attempt in 1 2 3; do # another program may take the port before it does
    if try_start "$dir" "$bin"; then return 0; fi
    echo "PostgreSQL did not come up (attempt $attempt of 3); the end of its log:" >&2
    tail -n 5 "$dir/initdb.log" "$dir/log" >&2 || true
    end "$dir" KILL
    [ -z "$first" ] || rm -f "$dir/env" # and with it the port
  done
  return 1
}

case "${1:-} $#" in
"start 3") start "$2" "$3" ;;
"stop 2")
  end "$2" INT
  [ ! -e "$2/data" ] || rm -rf "$(cat "$2/data")" "$2/data"
  ;;
"kill 2") end "$2" KILL ;;
*)
  sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p;}' "$0" >&2
  exit 2
  ;;
esac
