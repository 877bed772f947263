# SPDX-License-Identifier: Apache-2.0
"""Messages as the older framing carries and keeps them: a header of 64 bytes each, checksum made by the server."""
import struct

from batch import Batch
from hashes import xxh3
from wire import Refused

HEADER = 64
# checksum, id (two halves), offset, timestamp, origin, length of user headers, length of payload, reserved
FIELDS = struct.Struct("<QQQQQQIIQ")
INDEX = struct.Struct("<IIQ")
STAMP = struct.Struct("<QQ")  # offset and timestamp, at 24


def accept(blob, count):
    """Checks what was sent and returns (bytes of the messages, start of each and the end)."""
    if count == 0 or len(blob) < 16 * count:
        raise Refused(4023)
    body = bytearray(memoryview(blob)[16 * count :])
    ends = [entry[1] for entry in INDEX.iter_unpack(blob[: 16 * count])]
    starts = [0]
    for end in ends:
        start = starts[-1]
        if end < start + HEADER or end > len(body):
            raise Refused(4025)
        sizes = struct.unpack_from("<II", body, start + 48)
        if start + HEADER + sum(sizes) != end:
            raise Refused(4025)
        if body[start + 8 : start + 24] == bytes(16):
            body[start + 8 : start + 24] = made_up_id(body, start, end)
        starts.append(end)
    if starts[-1] != len(body):
        raise Refused(4025)
    return body, starts


def made_up_id(body, start, end):
    return struct.pack("<QQ", xxh3(bytes(body[start:end]), end - start) | 1, start + 1)


def append(accepted, _partition, base, timestamp):
    """The batch as it is kept: offsets, timestamp and checksums filled in."""
    body, starts = accepted
    for i in range(len(starts) - 1):
        start, end = starts[i], starts[i + 1]
        STAMP.pack_into(body, start + 24, base + i, timestamp)
        struct.pack_into("<Q", body, start, xxh3(bytes(memoryview(body)[start + 8 : end]), end - start - 8))
    return Batch(base, timestamp, bytes(body), starts)


def load(data, base, timestamp):
    """The batch from the bytes kept of it."""
    starts = [0]
    while starts[-1] < len(data):
        starts.append(starts[-1] + HEADER + sum(struct.unpack_from("<II", data, starts[-1] + 48)))
    return Batch(base, timestamp, data, starts)


def cut(batch, first, last):
    """The bytes of messages first to last (counted in the batch, last excluded) for a poll reply."""
    return batch.data[batch.starts[first] : batch.starts[last]]


def messages(batch):
    """(offset, id, timestamp, origin, payload, user headers) of each."""
    for start in batch.starts[:-1]:
        _, low, high, offset, timestamp, origin, headers, payload, _ = FIELDS.unpack_from(batch.data, start)
        at = start + HEADER
        yield offset, low | high << 64, timestamp, origin, batch.data[at : at + payload], batch.data[at + payload : at + payload + headers]


def pack(items):
    """What a producer sends for (id, origin, payload, user headers) of each message."""
    index, body = bytearray(), bytearray()
    for identity, origin, payload, headers in items:
        body += FIELDS.pack(0, identity & (2**64 - 1), identity >> 64, 0, 0, origin, len(headers), len(payload), 0) + payload + headers
        index += INDEX.pack(0, len(body), 0)
    return bytes(index + body)
