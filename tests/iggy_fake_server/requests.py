# SPDX-License-Identifier: Apache-2.0
"""Reads the payload of each command into a dictionary of plain values, which faults match and the request log keeps."""
from wire import Malformed, Reader

STRATEGIES = {1: "offset", 2: "timestamp", 3: "first", 4: "last", 5: "next"}
CONSUMERS = {1: "consumer", 2: "group"}
# Filled in below: command name: function of (Reader, newer framing?) that returns a dictionary.
DECODERS = {}


def decode(name, payload, vsr):
    """The fields of one request; Malformed if the payload is short, long or nonsense."""
    reader = Reader(payload)
    fields = DECODERS[name](reader, vsr)
    if not reader.at_end():
        raise Malformed(f"{name}: {len(payload) - reader.at} bytes too many")
    return fields


def decodes(*names):
    def enter(function):
        for name in names:
            DECODERS[name] = function
        return function

    return enter


@decodes("ping", "cluster", "logout", "get_tokens", "get_streams")
def nothing(_reader, _vsr):
    return {}


@decodes("get_stream", "delete_stream", "purge_stream", "get_topics")
def one_stream(reader, _vsr):
    return {"stream": reader.identifier()}


@decodes("get_topic", "delete_topic", "purge_topic", "get_groups")
def one_topic(reader, _vsr):
    return {"stream": reader.identifier(), "topic": reader.identifier()}


@decodes("get_group", "delete_group", "join", "leave", "sync")
def one_group(reader, vsr):
    return one_topic(reader, vsr) | {"group": reader.identifier()}


@decodes("create_group")
def new_group(reader, vsr):
    return one_topic(reader, vsr) | {"name": reader.name()}


@decodes("create_stream")
def new_stream(reader, vsr):
    return {"name": reader.name(), "options": reader.rest() if vsr else b""}


@decodes("create_topic")
def new_topic(reader, vsr):
    fields = {"stream": reader.identifier(), "partitions": reader.u32()}
    if vsr:
        return fields | {"name": reader.name(), "options": reader.rest()}
    fields |= {"compression": reader.u8(), "expiry": reader.u64(), "max_size": reader.u64(), "replication": reader.u8()}
    return fields | {"name": reader.name()}


@decodes("create_partitions", "delete_partitions")
def some_partitions(reader, vsr):
    return one_topic(reader, vsr) | {"count": reader.u32()}


@decodes("delete_segments")
def some_segments(reader, vsr):
    return one_topic(reader, vsr) | {"partition": reader.u32(), "count": reader.u32()}


@decodes("flush")
def flush(reader, vsr):
    return one_topic(reader, vsr) | {"partition": reader.u32(), "fsync": reader.u8()}


def consumer_at(reader):
    kind = CONSUMERS.get(reader.u8())
    if kind is None:
        raise Malformed("a consumer of no known kind")
    fields = {"kind": kind, "consumer": reader.identifier(), "stream": reader.identifier(), "topic": reader.identifier()}
    given, partition = reader.u8(), reader.u32()
    return fields | {"partition": partition if given else None}


def acknowledged(reader, vsr):
    return {"ack": reader.u8()} if vsr else {}


@decodes("poll")
def poll(reader, _vsr):
    fields = consumer_at(reader)
    strategy = STRATEGIES.get(reader.u8())
    if strategy is None:
        raise Malformed("a strategy of no known kind")
    return fields | {"strategy": strategy, "value": reader.u64(), "count": reader.u32(), "auto_commit": bool(reader.u8())}


@decodes("get_offset")
def get_offset(reader, _vsr):
    return consumer_at(reader)


@decodes("store_offset")
def store_offset(reader, vsr):
    return consumer_at(reader) | {"offset": reader.u64()} | acknowledged(reader, vsr)


@decodes("delete_offset")
def delete_offset(reader, vsr):
    return consumer_at(reader) | acknowledged(reader, vsr)


@decodes("send")
def send(reader, _vsr):
    """`messages` are the bytes after the metadata: a batch in the layout of the framing."""
    end = reader.u32() + 4
    fields = {"stream": reader.identifier(), "topic": reader.identifier()}
    kind, size = reader.u8(), reader.u8()
    value = bytes(reader.take(size))
    if kind == 1 and size == 0:
        fields["to"] = None
    elif kind == 2 and size == 4:
        fields["to"] = int.from_bytes(value, "little")
    elif kind == 3 and size > 0:
        fields["to"] = value
    else:
        raise Malformed(f"a partitioning of kind {kind} and {size} bytes")
    fields["count"] = reader.u32()
    if reader.at != end:
        raise Malformed("the length of the metadata is wrong")
    return fields | {"messages": reader.rest()}


@decodes("login")
def login(reader, _vsr):
    return {"user": reader.name(), "password": reader.name(), "version": reader.long_text(), "context": reader.long_text()}


@decodes("login_token")
def login_token(reader, _vsr):
    return {"token": reader.name()}


@decodes("create_token")
def create_token(reader, _vsr):
    return {"name": reader.name(), "expiry": reader.u64()}


@decodes("delete_token")
def delete_token(reader, _vsr):
    return {"name": reader.name()}


def register(payload):
    """The login of the newer framing: announced version, then credentials in one of two shapes (the second has a token alone)."""
    reader = Reader(payload)
    fields = {"protocol": reader.u32(), "sdk": reader.name(), "sdk_version": reader.name()}
    start = reader.at
    for shape in (("user", "password"), ("token",)):
        reader.at = start
        try:
            found = {field: reader.name() for field in shape}
            reader.long_text()
        except Malformed:
            continue
        if reader.at_end():
            return fields | found
    raise Malformed("credentials of no known shape")
