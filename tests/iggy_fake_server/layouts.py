# SPDX-License-Identifier: Apache-2.0
"""How streams, topics, partitions, groups and tokens look on the wire: one table per version of the protocol."""
import struct

from topology import DEFAULT_SETTINGS
from wire import NEVER, Malformed, Reader, Refused, long_text, name, u8, u32, u64

PARTITION = struct.Struct("<IQIQQQ")


def partition_record(partition):
    return PARTITION.pack(partition.number, partition.created, partition.segments, partition.current, partition.size, partition.count)


def group_header(group):
    return u32(group.number) + u32(len(group.partitions)) + u32(len(group.members)) + name(group.name)


def group_details(group):
    """Pending partitions are listed under their old owner."""
    body = group_header(group)
    for member in group.members.values():
        body += u32(member.number) + u32(len(member.partitions)) + b"".join(map(u32, member.partitions))
    return body


def offset_record(partition, stored):
    return u32(partition.number) + u64(partition.current) + u64(stored)


def cluster(nodes):
    """`nodes`: dictionaries with name, host, port, and optionally quic, http, websocket, role (0 leader), status (0 healthy)."""
    body = long_text("single-node" if len(nodes) == 1 else "cluster") + u32(len(nodes))
    for node in nodes:
        ports = (node["port"], *(node.get(kind, 0) for kind in ("quic", "http", "websocket")))
        body += long_text(node["name"]) + long_text(node["host"]) + struct.pack("<4H", *ports)
        body += u8(node.get("role", 0)) + u8(node.get("status", 0))
    return body


def polled_prefix(polled):
    return struct.pack("<IQI", polled.partition, polled.current, polled.count)


class Layout:
    """What does not differ; the two below say what does."""

    def stream(self, stream):
        partitions = [partition for topic in stream.topics.values() for partition in topic.partitions]
        return (u32(stream.number) + u64(stream.created) + u32(len(stream.topics)) + u64(sum(p.size for p in partitions))
                + u64(sum(p.count for p in partitions)) + name(stream.name) + self.after_stream(stream))  # fmt: skip

    def stream_details(self, stream):
        return self.stream(stream) + b"".join(map(self.topic, stream.topics.values()))

    def topic(self, topic):
        settings = topic.settings
        return (u32(topic.number) + u64(topic.created) + u32(len(topic.partitions)) + u64(settings["expiry"])
                + u8(settings["compression"]) + u64(settings["max_size"]) + self.before_size(topic)
                + u64(sum(p.size for p in topic.partitions)) + u64(sum(p.count for p in topic.partitions))
                + name(topic.name) + self.after_topic(topic))  # fmt: skip

    def topic_details(self, topic):
        return self.topic(topic) + b"".join(map(partition_record, topic.partitions))


class Classic(Layout):
    """Up to 0.8."""

    def after_stream(self, _stream):
        return b""

    def before_size(self, topic):
        return u8(topic.settings["replication"])

    def after_topic(self, _topic):
        return b""

    def settings(self, fields):
        """Of a topic to be made: 0 asks for the server's default, which is for ever and without limit."""
        return {key: fields[key] or DEFAULT_SETTINGS[key] for key in DEFAULT_SETTINGS}


class Vsr(Layout):
    """0.9: blocks of options behind the names."""

    def after_stream(self, stream):
        return u32(len(stream.options)) + stream.options

    def before_size(self, _topic):
        return b""

    def after_topic(self, topic):
        explicit = options(topic.options)
        derived = b"".join(option(key, *value) for key, value in DERIVED.items() if key not in explicit)
        return u32(len(topic.options)) + topic.options + u32(len(derived)) + derived

    def settings(self, fields):
        given = options(fields["options"])
        settings = dict(DEFAULT_SETTINGS)
        if "compression_algorithm" in given:
            settings["compression"] = 2 if given["compression_algorithm"][1] == b"gzip" else 1
        for key, field in (("message_expiry", "expiry"), ("max_topic_size", "max_size")):
            if key in given:
                settings[field] = int.from_bytes(given[key][1], "little") or NEVER
        return settings


# What the server adds where the client was silent, in the order in which it shows it: kind, value.
DERIVED = {
    "compression_algorithm": (2, b"none"),
    "enforce_fsync": (3, b"\0"),
    "max_topic_size": (12, u64(NEVER)),
    "message_expiry": (12, u64(NEVER)),
    "messages_required_to_save": (11, u32(1024)),
    "preallocate_segments": (3, b"\0"),
    "segment_size": (12, u64(1 << 30)),
    "size_of_messages_required_to_save": (12, u64(1 << 20)),
}


def option(key, kind, value):
    return u8(2) + u32(len(key)) + key.encode() + u8(kind) + u32(len(value)) + value


def options(block):
    """{key: (kind, value)} of a block of options; refused where it is not one."""
    reader, found = Reader(block), {}
    try:
        while not reader.at_end():
            if reader.u8() != 2:
                raise Malformed("a key that is no string")
            key = reader.long_text()
            found[key] = (reader.u8(), bytes(reader.take(reader.u32())))
    except Malformed:
        raise Refused(4) from None
    return found
