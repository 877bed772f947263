#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real S3 server for the integration tests, on free loopback ports.
#
#   seaweedfs.sh start DIR WEED   start it with all its state in DIR (empty: an old folder starts three times slower);
#                                 WEED is the program. Returns once it has created a bucket for us, and leaves
#                                 DIR/env (MILLRACE_TEST_S3_ENDPOINT, ..._ACCESS_KEY, ..._SECRET_KEY) and DIR/log.
#   seaweedfs.sh again DIR        the same program over the same state and ports, once it has been ended; returns when it answers.
#   seaweedfs.sh kill DIR         end it without a goodbye (SIGKILL)
#   seaweedfs.sh stop DIR         end what was started in DIR. Harmless where nothing runs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Running, and not a zombie that nobody has waited for.
alive() { [ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"; }

# end DIR SIGNAL
end() {
  local dir=$1 pid
  [ -e "$dir/pid" ] || return 0
  pid=$(cat "$dir/pid")
  kill "-$2" "$pid" 2>/dev/null || true
  for _ in $(seq 100); do
    alive "$pid" || break
    sleep 0.1
  done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$dir/pid"
}

start() {
  local dir=$1 weed=$2 attempt
  for attempt in 1 2 3; do # another program may take one of the ports before it does
    if try_start "$dir" "$weed"; then return 0; fi
    echo "SeaweedFS did not come up (attempt $attempt of 3); the end of $dir/log:" >&2
    tail -n 5 "$dir/log" >&2
    end "$dir" TERM
  done
  return 1
}

try_start() {
  local dir=$1 weed=$2 ports endpoint
  rm -rf "$dir/data"
  mkdir -p "$dir/data"
  : >"$dir/log"
  mapfile -t ports < <(python3 "$here/free_ports.py" 10)
  endpoint=http://127.0.0.1:${ports[0]}
  cat >"$dir/s3.json" <<'JSON'
{"identities":[
  {"name":"admin","credentials":[{"accessKey":"ak","secretKey":"sk"}],"actions":["Admin","Read","Write","List","Tagging"]},
  {"name":"writer","credentials":[{"accessKey":"writer","secretKey":"writer-secret"}],"actions":["Write"]},
  {"name":"verifier","credentials":[{"accessKey":"verifier","secretKey":"verifier-secret"}],"actions":["Read","Write"]},
  {"name":"reader","credentials":[{"accessKey":"reader","secretKey":"reader-secret"}],"actions":["Read"]}]}
JSON
  printf '%s\n' "MILLRACE_TEST_S3_ENDPOINT=$endpoint" MILLRACE_TEST_S3_ACCESS_KEY=ak MILLRACE_TEST_S3_SECRET_KEY=sk >"$dir/env"
  # A bucket takes a volume of its own, and the server makes as many as would fit on the disk if each were full: small
  # ones, or the tests have more buckets than a disk of 10 GiB has volumes.
  printf '%q ' "$weed" -logtostderr=true mini -dir="$dir/data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
    -s3.port="${ports[0]}" -s3.port.grpc="${ports[1]}" -s3.port.iceberg=0 -s3.port.lance=0 -s3.config="$dir/s3.json" \
    -master.port="${ports[2]}" -master.port.grpc="${ports[3]}" -master.telemetry=false \
    -master.volumeSizeLimitMB=64 \
    -volume.port="${ports[4]}" -volume.port.grpc="${ports[5]}" -filer.port="${ports[6]}" -filer.port.grpc="${ports[7]}" \
    -admin.port="${ports[8]}" -admin.port.grpc="${ports[9]}" -admin.port.legacy=0 -admin.ui=false -webdav=false >"$dir/command"
  again "$dir"
}

again() {
  local dir=$1 endpoint command
  # shellcheck disable=SC1091  # written by try_start
  . "$dir/env"
  endpoint=$MILLRACE_TEST_S3_ENDPOINT
  eval "command=($(cat "$dir/command"))"
  # Its own session and no inherited descriptors, so that nobody who waits for our output waits for the server.
  setsid "${command[@]}" </dev/null >>"$dir/log" 2>&1 &
  echo $! >"$dir/pid"
  for _ in $(seq 240); do # 60 s; 4 to 5 are usual
    alive "$(cat "$dir/pid")" || return 1
    for verb in create list; do # whichever start it is
      if python3 "$here/s3_client.py" "$endpoint" ak sk $verb millrace-ready >/dev/null 2>&1; then return 0; fi
    done
    sleep 0.25
  done
  return 1
}

case "${1:-} $#" in
"start 3") start "$2" "$3" ;;
"again 2") again "$2" ;;
"kill 2") end "$2" KILL ;;
"stop 2") end "$2" TERM ;;
*)
  sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p;}' "$0" >&2
  exit 2
  ;;
esac
