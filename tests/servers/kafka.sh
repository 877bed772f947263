#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real Kafka broker for the integration tests, alone in its cluster, on free loopback ports.
#
#   kafka.sh start DIR LIB [FAR]
#                            start it with all its state in DIR; LIB is the folder of its jars. Returns once it listens, and
#                            leaves DIR/env (MILLRACE_TEST_KAFKA=host:port, MILLRACE_TEST_KAFKA_LIB), DIR/log and DIR/pid.
#                            With FAR (host:port) it listens for others too, at MILLRACE_TEST_KAFKA_FAR, and tells them that it is
#                            to be found at FAR: what lies there can be a network that a test cuts.
#                            Where DIR has the state of an earlier start it goes on with it, on the same port.
#   kafka.sh stop DIR        end what was started in DIR. Harmless where nothing runs.
#   kafka.sh kill DIR        the same without a goodbye (SIGKILL)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Small, and quick to start: it answers for a few topics.
java_options=(-Xms128m -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn
  -Dorg.slf4j.simpleLogger.log.kafka.server=info)

# Running, and not a zombie that nobody has waited for.
alive() { [ -r "/proc/$1/stat" ] && ! grep -q ') Z ' "/proc/$1/stat"; }

# end DIR SIGNAL
end() {
  local dir=$1 pid
  [ -e "$dir/pid" ] || return 0
  pid=$(cat "$dir/pid")
  kill "-$2" "$pid" 2>/dev/null || true
  for _ in $(seq 200); do
    alive "$pid" || break
    sleep 0.05
  done
  kill -9 "$pid" 2>/dev/null || true
  rm -f "$dir/pid"
}

# The two broker timeouts let one that was killed come back in seconds.
write_properties() {
  local dir=$1 port=$2 controller=$3 far_port=$4 far=$5
  cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller${far:+,FAR://127.0.0.1:$far_port}
advertised.listeners=PLAINTEXT://127.0.0.1:$port${far:+,FAR://$far}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,FAR:PLAINTEXT
log.dirs=$dir/data
num.partitions=1
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
background.threads=2
log.cleaner.enable=false
log.retention.ms=-1
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=400
PROPERTIES
}

format() {
  local dir=$1 lib=$2 id
  id=$(head -c16 /dev/urandom | base64 | tr '+/' 'ab' | tr -d =)
  java "${java_options[@]}" -cp "$lib/*" kafka.tools.StorageTool format --standalone -t "$id" \
    -c "$dir/server.properties" >"$dir/format.log" 2>&1
}

try_start() {
  local dir=$1 lib=$2 far=$3 ports
  if [ ! -e "$dir/data/meta.properties" ]; then
    mapfile -t ports < <(python3 "$here/free_ports.py" 3)
    printf '%s\n' "MILLRACE_TEST_KAFKA=127.0.0.1:${ports[0]}" "MILLRACE_TEST_KAFKA_LIB=$lib" \
      ${far:+"MILLRACE_TEST_KAFKA_FAR=127.0.0.1:${ports[2]}"} >"$dir/env"
    write_properties "$dir" "${ports[@]}" "$far"
    format "$dir" "$lib" || return 1
  fi
  # Its own session and no inherited descriptors, so that nobody who waits for our output waits for the server.
  setsid java "${java_options[@]}" -cp "$lib/*" kafka.Kafka "$dir/server.properties" </dev/null >>"$dir/log" 2>&1 &
  echo $! >"$dir/pid"
  local port
  port=$(sed -n 's/^MILLRACE_TEST_KAFKA=.*://p' "$dir/env")
  for _ in $(seq 600); do # 60 s; 3 to 7 are usual
    alive "$(cat "$dir/pid")" || return 1
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && return 0
    sleep 0.1
  done
  return 1
}

start() {
  local dir=$1 lib=$2 far=$3 attempt
  mkdir -p "$dir"
  for attempt in 1 2 3; do # another program may take one of the ports before it does
    if try_start "$dir" "$lib" "$far"; then return 0; fi
    echo "Kafka did not come up (attempt $attempt of 3); the end of its log:" >&2
    tail -n 5 "$dir/format.log" "$dir/log" >&2 || true
    end "$dir" TERM
  done
  return 1
}

case "${1:-} $#" in
"start 3") start "$2" "$3" "" ;;
"start 4") start "$2" "$3" "$4" ;;
"stop 2") end "$2" TERM ;;
"kill 2") end "$2" KILL ;;
*)
  sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p;}' "$0" >&2
  exit 2
  ;;
esac
