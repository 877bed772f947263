# SPDX-License-Identifier: Apache-2.0
"""Messages that were appended together, as the bytes that a poll gives back."""


class Batch:
    """`starts` holds where each message begins in `data`, and at last where the last one ends."""

    __slots__ = ("base", "timestamp", "data", "starts")

    def __init__(self, base, timestamp, data, starts):
        self.base, self.timestamp, self.data, self.starts = base, timestamp, data, starts

    @property
    def count(self):
        return len(self.starts) - 1

    @property
    def end(self):
        """One past the offset of the last message."""
        return self.base + len(self.starts) - 1
