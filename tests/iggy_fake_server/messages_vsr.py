# SPDX-License-Identifier: Apache-2.0
"""Messages as the newer framing carries and keeps them: batches with a header of 256 bytes, checksums made by the producer.

What is not right is not answered, as the real server was seen to do."""
import struct

from batch import Batch
from hashes import checksum, xxh3
from wire import Ignored

BATCH, FRAME = 256, 48
HEAD = struct.Struct("<QQQQQQI")  # partition, base offset, base timestamp, origin, length, checksum, count
SEALED = struct.Struct("<QQQQQI")  # what the checksum covers of them
FIELDS = struct.Struct("<QQQIIIIQ")  # checksum, id (two halves), offset delta, origin delta, headers, payload, zero


def accept(blob, count):
    """Checks what was sent and returns (bytes of the batch, start of each frame and the end)."""
    if count == 0 or len(blob) < BATCH:
        raise Ignored()
    partition, base, timestamp, origin, length, seal, number = HEAD.unpack_from(blob)
    if partition or base or timestamp or number != count or length != len(blob) or any(blob[52:BATCH]):
        raise Ignored()
    starts = frame_starts(blob)
    for i, start in enumerate(starts[:-1]):
        end = starts[i + 1]
        fields = FIELDS.unpack_from(blob, start)
        if fields[0] != xxh3(blob[start + 8 : end], end - start - 8) or fields[3] != i or fields[7]:
            raise Ignored()
    if len(starts) != count + 1 or seal != seal_of(blob, starts, (0, 0, 0, origin, length)):
        raise Ignored()
    return blob, starts


def frame_starts(blob):
    starts = [BATCH]
    while starts[-1] < len(blob):
        if starts[-1] + FRAME > len(blob):
            raise Ignored()
        starts.append(starts[-1] + FRAME + sum(struct.unpack_from("<II", blob, starts[-1] + 32)))
    if starts[-1] != len(blob):
        raise Ignored()
    return starts


def seal_of(data, starts, head):
    """The checksum of a batch: over six values of its header and the checksums of its frames."""
    return checksum(SEALED.pack(*head, len(starts) - 1) + b"".join([data[start : start + 8] for start in starts[:-1]]))


def append(accepted, partition, base, timestamp):
    """The batch as it is kept: its place and time filled in, sealed anew."""
    blob, starts = accepted
    origin = struct.unpack_from("<Q", blob, 24)[0]
    return Batch(base, timestamp, sealed(blob, starts, (partition, base, timestamp, origin)), starts)


def sealed(data, starts, place):
    head = (*place, BATCH + starts[-1] - starts[0])
    return HEAD.pack(*head, seal_of(data, starts, head), len(starts) - 1) + bytes(204) + data[starts[0] : starts[-1]]


def load(data, base, timestamp):
    """The batch from the bytes kept of it."""
    return Batch(base, timestamp, data, frame_starts(data))


def cut(batch, first, last):
    """Messages first to last (counted in the batch, last excluded) as a batch record of their own."""
    if first == 0 and last == batch.count:
        return batch.data
    partition, base, timestamp, origin = struct.unpack_from("<QQQQ", batch.data)
    return sealed(batch.data, batch.starts[first : last + 1], (partition, base, timestamp, origin))


def messages(batch):
    """(offset, id, timestamp, origin, payload, user headers) of each."""
    _, base, timestamp, origin = struct.unpack_from("<QQQQ", batch.data)
    for start in batch.starts[:-1]:
        _, low, high, offset, later, headers, payload, _ = FIELDS.unpack_from(batch.data, start)
        at = start + FRAME
        yield (base + offset, low | high << 64, timestamp, origin + later, batch.data[at : at + payload],
               batch.data[at + payload : at + payload + headers])  # fmt: skip


def pack(items):
    """What a producer sends for (id, origin, payload, user headers) of each message."""
    origin = min(item[1] for item in items)
    frames, starts = [], [BATCH]
    for i, (identity, made, payload, headers) in enumerate(items):
        tail = FIELDS.pack(0, identity & (2**64 - 1), identity >> 64, i, made - origin, len(headers), len(payload), 0)[8:] + payload + headers
        frames.append(checksum(tail).to_bytes(8, "little") + tail)
        starts.append(starts[-1] + len(frames[-1]))
    return sealed(bytes(BATCH) + b"".join(frames), starts, (0, 0, 0, origin))
