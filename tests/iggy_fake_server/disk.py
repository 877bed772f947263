# SPDX-License-Identifier: Apache-2.0
"""What outlives the server: metadata and offsets at once, messages once they were flushed. A folder, or memory alone."""
import json
import os
import struct

from clients import Client
from groups import Member
from topology import Stream, Topic

ENTRY = struct.Struct("<QQQ")  # base offset, timestamp, length of a batch in a log


class Memory:
    def __init__(self):
        self.files = {}

    def read(self, name):
        return bytes(self.files.get(name, b""))

    def write(self, name, data):
        self.files[name] = bytearray(data)

    def append(self, name, data):
        self.files.setdefault(name, bytearray()).extend(data)


class Folder:
    def __init__(self, path):
        self.path = path
        os.makedirs(path, exist_ok=True)

    def at(self, name):
        return os.path.join(self.path, name)

    def read(self, name):
        try:
            with open(self.at(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def write(self, name, data):
        with open(self.at(name + ".new"), "wb") as file:
            file.write(data)
        os.replace(self.at(name + ".new"), self.at(name))

    def append(self, name, data):
        with open(self.at(name), "ab") as file:
            file.write(data)


def log_name(partition):
    return f"{partition.place}-{partition.created}-{partition.epoch}.log"


class Disk:
    """`limits`: messages, bytes and seconds after which a partition is flushed."""

    def __init__(self, files, limits):
        self.files, self.limits = files, limits
        self.since = {}  # partition: when its oldest message that is not flushed came

    # --- messages

    def appended(self, partition, now, at_once=False):
        self.since.setdefault(partition, now)
        messages, size = partition.waiting
        if at_once or messages >= self.limits.flush_messages or size >= self.limits.flush_bytes:
            self.flush(partition)

    def flush(self, partition):
        self.since.pop(partition, None)
        data = b"".join(ENTRY.pack(batch.base, batch.timestamp, len(batch.data)) + batch.data for batch in partition.take_unflushed())
        if data:
            self.files.append(log_name(partition), data)

    def flush_late(self, now):
        """Those that have waited their time."""
        for partition, since in list(self.since.items()):
            if now - since >= self.limits.flush_seconds * 1e6:
                self.flush(partition)

    def flush_all(self):
        for partition in list(self.since):
            self.flush(partition)

    # --- the rest

    def save(self, broker, clients):
        told = {
            "op": clients.op,
            "clients": [[f"{identity:x}", client.session, client.newest] for identity, client in clients.known.items()],
            "tokens": broker.tokens,
            "streams": [stream_told(stream) for stream in broker.streams.values()],
        }
        self.files.write("metadata.json", json.dumps(told).encode())

    def load(self, broker, clients):
        """As a server starts: what was not flushed is gone, and stored offsets beyond the end are clamped to it."""
        self.since.clear()
        told = json.loads(self.files.read("metadata.json") or b"{}")
        clients.op = told.get("op", clients.op)
        clients.known = {int(identity, 16): Client(session, newest) for identity, session, newest in told.get("clients", [])}
        broker.tokens = told.get("tokens", dict(broker.tokens))
        broker.streams = {}
        for entry in told.get("streams", []):
            stream = Stream(entry["number"], entry["name"], entry["created"], bytes.fromhex(entry["options"]))
            broker.streams[stream.number] = stream
            for inner in entry["topics"]:
                stream.topics[inner["number"]] = self.topic(inner, stream, broker)

    def topic(self, told, stream, broker):
        topic = Topic(stream.number, told["number"], told["name"], told["created"], told["settings"], bytes.fromhex(told["options"]))
        for entry in told["partitions"]:
            topic.add_partitions(1, entry["created"])
            self.fill(topic.partitions[-1], entry, broker.messages)
        for entry in told["groups"]:
            topic.groups_made = entry["number"]
            group = topic.add_group(entry["name"], one_each=not broker.vsr)
            for key, client, partitions in entry["members"] if broker.vsr else []:
                group.members[key] = Member(key, int(client, 16))
                group.members[key].partitions = partitions
            group.generation = entry["generation"]
        topic.groups_made = told["groups_made"]
        return topic

    def fill(self, partition, told, messages):
        partition.segments, partition.epoch, partition.trimmed = 1, told["epoch"], told["trimmed"]
        partition.next = partition.trimmed
        log, at = self.files.read(log_name(partition)), 0
        while at + ENTRY.size <= len(log):
            base, timestamp, size = ENTRY.unpack_from(log, at)
            at += ENTRY.size + size
            if base >= partition.trimmed and at <= len(log):
                partition.add(messages.load(log[at - size : at], base, timestamp))
        partition.take_unflushed()
        partition.stored = {(kind, number): offset for kind, number, offset in told["stored"]}
        partition.clamp_stored()


def stream_told(stream):
    topics = [topic_told(topic) for topic in stream.topics.values()]
    return {"number": stream.number, "name": stream.name, "created": stream.created, "options": stream.options.hex(), "topics": topics}


def topic_told(topic):
    return {
        "number": topic.number, "name": topic.name, "created": topic.created, "settings": topic.settings,
        "options": topic.options.hex(), "groups_made": topic.groups_made,
        "partitions": [
            {"created": p.created, "epoch": p.epoch, "trimmed": p.trimmed, "stored": [[*key, offset] for key, offset in p.stored.items()]}
            for p in topic.partitions
        ],
        "groups": [
            {"number": group.number, "name": group.name, "generation": group.generation,
             "members": [[key, f"{member.client:x}", member.partitions] for key, member in group.members.items()]}
            for group in topic.groups.values()
        ],
    }  # fmt: skip
