# SPDX-License-Identifier: Apache-2.0
"""One partition: its log of batches, what of it is on the disk, and the offsets stored for consumers and groups."""
import bisect

from wire import Refused


class Polled:
    """The answer to a poll: `data` is cut from the kept batches; first and last say which offsets it holds."""

    __slots__ = ("partition", "current", "count", "data", "first", "last")

    def __init__(self, partition, current=0, count=0, data=b"", first=None):
        self.partition, self.current, self.count, self.data, self.first = partition, current, count, data, first
        self.last = first + count - 1 if count else None


class Partition:
    """Offsets are given out from 0. `place` names its log. `operations` counts what was replicated on it; replies of the newer framing show it."""

    def __init__(self, number, created, place):
        self.number, self.created, self.place = number, created, place
        self.batches, self.bases = [], []
        self.next, self.count, self.size = 0, 0, 0
        self.segments, self.operations = 0, 0
        self.flushed = 0  # how many of the batches are on the disk
        self.waiting = [0, 0]  # messages and bytes that are not
        self.epoch, self.trimmed = 0, 0  # how often it was purged; below which offset messages were forgotten
        self.stored = {}  # (kind, id): offset
        self.polled = {}  # id of a group: the last offset that it was served

    @property
    def first(self):
        """The earliest offset retained."""
        return self.bases[0] if self.bases else self.next

    @property
    def current(self):
        """The offset of the last message; 0 also where there is none."""
        return max(self.next - 1, 0)

    def add(self, batch):
        self.batches.append(batch)
        self.bases.append(batch.base)
        self.next = batch.end
        self.count += batch.count
        self.size += len(batch.data)
        self.waiting[0] += batch.count
        self.waiting[1] += len(batch.data)

    def poll(self, strategy, value, count, key, cut):
        """`cut(batch, first, last)` makes the bytes; `key` says whose stored offset `next` means."""
        if strategy == "next":
            start = self.stored[key] + 1 if key in self.stored else 0
        elif strategy == "last":
            start = max(self.next - count, self.first)
        elif strategy == "timestamp":
            start = next((batch.base for batch in self.batches if batch.timestamp >= value), self.next)
        else:
            start = value if strategy == "offset" else 0
        start = max(start, self.first)
        stop = min(start + count, self.next)
        if start >= stop:
            return Polled(self.number, self.current)
        at = bisect.bisect_right(self.bases, start) - 1
        parts = []
        while at < len(self.batches) and self.batches[at].base < stop:
            batch = self.batches[at]
            parts.append(cut(batch, max(start - batch.base, 0), min(stop - batch.base, batch.count)))
            at += 1
        return Polled(self.number, self.current, stop - start, b"".join(parts), start)

    def store(self, key, offset):
        """Backwards is allowed: that is how a consumer rewinds."""
        if offset >= self.next:
            raise Refused(4100)
        self.stored[key] = offset

    def take_unflushed(self):
        """The batches that are to be written now."""
        batches = self.batches[self.flushed :]
        self.flushed, self.waiting = len(self.batches), [0, 0]
        return batches

    def clamp_stored(self):
        """What a server does at start: offsets stored beyond the end come to point at the end, even of an empty partition."""
        for key, offset in self.stored.items():
            self.stored[key] = min(offset, self.current)

    def trim(self, before):
        """Forgets whole batches below `before`, as retention does."""
        while self.batches and self.batches[0].end <= before:
            self.trimmed = self.batches[0].end
            self.count -= self.batches[0].count
            self.size -= len(self.batches[0].data)
            del self.batches[0], self.bases[0]
            self.flushed = max(self.flushed - 1, 0)

    def purge(self):
        """Everything is gone and offsets begin at 0 again."""
        self.batches, self.bases, self.stored, self.polled = [], [], {}, {}
        self.next, self.count, self.size = 0, 0, 0
        self.flushed, self.waiting, self.trimmed = 0, [0, 0], 0
        self.epoch += 1

    def in_flight(self, group):
        """Whether the group was served messages whose offset it has not stored yet."""
        served = self.polled.get(group)
        return served is not None and self.stored.get(("group", group), -1) < served
