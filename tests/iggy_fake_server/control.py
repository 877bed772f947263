# SPDX-License-Identifier: Apache-2.0
"""The control channel: one JSON object a line, one answer a line. README.md lists what it takes."""
import base64
import json
import os
import signal
import struct
import time

from wire import Refused


class Control:
    """Each verb is a method `do_VERB` that takes the verb's value and returns what is answered."""

    def __init__(self, server):
        self.server, self.broker = server, server.broker

    async def serve(self, reader, writer):
        """One connection to the control channel."""
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self.run(line)).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def run(self, line):
        """{"ok": answer} or {"error": text}."""
        try:
            command = json.loads(line)
            if not isinstance(command, dict) or len(command) != 1:
                raise ValueError("a command is an object with one key, its verb")
            verb, value = next(iter(command.items()))
            act = getattr(self, f"do_{verb}", None)
            if act is None:
                raise ValueError(f"no verb '{verb}'")
            answer = act(value)
            if hasattr(answer, "__await__"):
                answer = await answer
            return {"ok": answer}
        except (ValueError, KeyError, TypeError, struct.error) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        except Refused as refusal:
            return {"error": f"status {refusal.code}"}

    # --- faults

    def do_fault(self, script):
        return self.server.faults.add(script)

    def do_fault_instead(self, script):
        """In place of all there are, with no request in between that meets none."""
        self.server.faults.all.clear()
        return self.server.faults.add(script)

    def do_faults(self, _):
        return [fault.told() for fault in self.server.faults.all]

    def do_clear_faults(self, _):
        self.server.faults.all.clear()

    def do_refuse(self, yes):
        """Connections are closed as soon as they were accepted."""
        self.server.refusing = bool(yes)

    def do_disconnect(self, where):
        """Closes connections: all with true, or those of a client (hex), or one by its number."""
        chosen = self.chosen(where)
        for connection in chosen:
            connection.writer.transport.abort()
        return len(chosen)

    def do_evict(self, what):
        """An eviction frame that nobody asked for (newer framing); {"client": hex or "all", "reason": 13}."""
        chosen = self.chosen(what.get("client", "all"))
        for connection in chosen:
            self.server.framing.evict(connection, what.get("reason", 13))
        self.server.save()
        return len(chosen)

    def chosen(self, which):
        connections = list(self.server.connections.values())
        if which in (True, "all"):
            return connections
        key = int(which, 16) if isinstance(which, str) else which
        return [connection for connection in connections if key in (connection.client, connection.number)]

    # --- what is there

    def topic(self, where):
        return self.broker.topic_of(where)

    def do_create(self, what):
        """{"stream", "topic", "partitions": 1, "group"}: makes those of them that are missing."""
        made = {"name": what["stream"], "partitions": what.get("partitions", 1), "options": b""}
        made |= {"compression": 1, "expiry": 0, "max_size": 0, "replication": 1, "stream": what["stream"]}
        steps = [(self.broker.create_stream, made, 1012)]
        if "topic" in what:
            steps.append((self.broker.create_topic, made | {"name": what["topic"]}, 2013))
        if "group" in what:
            steps.append((self.broker.create_group, what | {"name": what["group"]}, 5004))
        for act, fields, there in steps:
            try:
                act(None, fields)
            except Refused as refusal:
                if refusal.code != there:
                    raise
        self.server.save()

    def do_append(self, what):
        """Messages without a client: payload or payload_base64, headers_hex as they are, id, origin, repeat."""
        partition = self.topic(what).partition(what.get("partition", 0))
        items = []
        for message in what["messages"]:
            payload = base64.b64decode(message["payload_base64"]) if "payload_base64" in message else message.get("payload", "").encode()
            for _ in range(message.get("repeat", 1)):
                identity = int(message.get("id", partition.next + len(items) + 1))
                items.append((identity, int(message.get("origin", self.broker.now())), payload, bytes.fromhex(message.get("headers_hex", ""))))
        self.broker.send(None, what | {"to": partition.number, "count": len(items), "messages": self.broker.messages.pack(items)})
        return {"base": partition.next - len(items), "count": len(items)}

    def do_messages(self, where):
        """Those of a partition from `from` (0) on, `count` at most: payload as base64 and, where it is UTF-8, as text."""
        partition = self.topic(where).partition(where.get("partition", 0))
        start, count = where.get("from", 0), where.get("count", 1000)
        told = []
        for batch in partition.batches:
            for offset, identity, timestamp, origin, payload, headers in self.broker.messages.messages(batch) if batch.end > start else ():
                if start <= offset and len(told) < count:
                    told.append({"offset": offset, "id": str(identity), "timestamp": timestamp, "origin": origin,
                                 "payload_base64": base64.b64encode(payload).decode(), "headers_hex": headers.hex()})  # fmt: skip
                    try:
                        told[-1]["payload"] = payload.decode()
                    except UnicodeDecodeError:
                        pass
        return told

    def do_partitions(self, where):
        """What the partitions of a topic hold, what of it is flushed, and the stored offsets ("group:NAME", "consumer:ID")."""
        topic = self.topic(where)
        return [
            {"partition": p.number, "first": p.first, "next": p.next, "messages": p.count, "unflushed": p.waiting[0], "stored": self.stored(topic, p)}
            for p in topic.partitions
        ]

    def stored(self, topic, partition):
        names = {("group", group.number): f"group:{group.name}" for group in topic.groups.values()}
        return {names.get(key, f"{key[0]}:{key[1]}"): offset for key, offset in partition.stored.items()}

    def do_store(self, what):
        """Stores an offset, whoever owns the partition: {"stream", "topic", "partition", "group" or "consumer", "offset"}."""
        topic = self.topic(what)
        kind = "group" if "group" in what else "consumer"
        key = self.broker.key_of(topic, {"kind": kind, "consumer": what[kind]})
        topic.partition(what.get("partition", 0)).stored[key] = what["offset"]
        self.server.save()

    def do_trim(self, what):
        """Whole batches below the offset `before` are forgotten, as retention does."""
        partition = self.topic(what).partition(what.get("partition", 0))
        self.server.disk.flush(partition)
        partition.trim(what["before"])
        self.server.save()
        return partition.first

    def do_purge(self, where):
        self.broker.purge_topic(None, where)
        self.server.save()

    def do_delete(self, where):
        """A topic, with its groups and offsets; or one of its groups, where it is named."""
        if "group" in where:
            self.broker.delete_group(None, where)
        else:
            self.broker.delete_topic(None, where)
        self.server.save()

    # --- groups

    def do_groups(self, where):
        connected = {connection.client for connection in self.server.connections.values()}
        return [
            {"group": group.name, "id": group.number, "generation": group.generation,
             "members": [
                 {"id": member.number, "client": self.client_told(member.client), "partitions": member.partitions,
                  "pending": sorted(member.pending), "connected": member.client in connected}
                 for member in group.members.values()
             ]}
            for group in self.topic(where).groups.values()
        ]  # fmt: skip

    def client_told(self, client):
        return f"{client:032x}" if self.server.vsr else client

    def do_ghost(self, what):
        """A member with no connection, as one that a restart leaves behind: {"stream", "topic", "group", "client": hex}."""
        group = self.broker.group_of(what)
        group.join(int(what.get("client", "60057"), 16), self.broker.now())
        self.server.save()

    def do_leave(self, what):
        """Takes a member out of a group: {"stream", "topic", "group", "client": hex, or the connection's number}."""
        client = what["client"]
        group = self.broker.group_of(what)
        left = group.leave(int(client, 16) if isinstance(client, str) else client)
        self.server.save()
        return left

    # --- requests

    def do_log(self, what):
        """{"where": {...}, "since": n}: the answered requests that have these values."""
        return self.server.log.select(what.get("where", {}), what.get("since", 0))

    def do_count(self, what):
        return len(self.do_log(what))

    def do_wait(self, what):
        """As `log`, once there are `count` (1) of them or after `ms` (10000)."""
        return self.server.log.wait(what.get("where", {}), what.get("since", 0), what.get("count", 1), what.get("ms", 10000) / 1000)

    def do_connections(self, _):
        return [
            {"connection": c.number, "logged_in": c.logged_in, "evicted": c.evicted, "client": self.client_told(c.client), "session": c.session}
            for c in self.server.connections.values()
        ]

    # --- the server itself

    def do_cpu_seconds(self, _):
        """What the process has taken so far."""
        return time.process_time()

    def do_flush(self, _):
        self.server.disk.flush_all()

    def do_restart(self, how):
        """"kill" loses what was not flushed, "term" does not. Connections are cut; the port stays."""
        if how not in ("kill", "term"):
            raise ValueError("restart is 'kill' or 'term'")
        self.server.restart(how == "kill")

    def do_kill(self, _):
        """The process ends here by SIGKILL; there is no answer."""
        os.kill(os.getpid(), signal.SIGKILL)

    def do_advance_ms(self, milliseconds):
        """Puts the server's clock forward: heartbeats, rebalancing and late flushes go by it."""
        self.broker.ahead += int(milliseconds * 1000)

    def do_heartbeat(self, seconds):
        """The interval; 0 switches the check off."""
        self.server.settings.heartbeat = seconds

    def do_cluster(self, nodes):
        """What cluster metadata tells; see layouts.cluster."""
        self.broker.nodes = nodes

    def do_token(self, what):
        """Makes a personal access token known: {"name", "value"}."""
        self.broker.tokens[what["name"]] = what["value"]
        self.server.save()

    def do_user(self, what):
        """Makes a user known: {"name", "password"}."""
        self.server.users[what["name"]] = what["password"]
