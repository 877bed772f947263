# SPDX-License-Identifier: Apache-2.0
"""What was asked and how it was answered, so that tests can assert requests by shape and number, and wait for them."""
import asyncio
import collections

KEPT = 200_000


def matches(fields, where):
    """Whether each key of `where` has its value in `fields`; `count_over: N` asks for a `count` above N."""
    for key, value in where.items():
        if key == "count_over":
            if not fields.get("count", 0) > value:
                return False
        elif fields.get(key) != value:
            return False
    return True


def plain(value):
    return value.hex() if isinstance(value, (bytes, bytearray, memoryview)) else value


class RequestLog:
    """Entries are dictionaries: `n` from 1, command, connection, its fields, and `answer`: "ok", a number, "evicted N" or "none"."""

    def __init__(self):
        self.entries = collections.deque(maxlen=KEPT)
        self.number = 0
        self.waiting = []  # (where, since, count, entries found, event) of each who waits

    def add(self, connection, request):
        self.number += 1
        entry = {"n": self.number, "command": request.name, "connection": connection.number}
        for key, value in (request.fields or {}).items():
            if key != "messages":
                entry[key] = plain(value)
        if request.client:
            entry |= {"client": f"{request.client:032x}", "request": request.id, "session": request.session}
        entry["bytes"] = len(request.payload)
        self.entries.append(entry)
        return entry

    def answered(self, entry, answer):
        entry["answer"] = answer
        for where, since, count, found, enough in self.waiting:
            if entry["n"] > since and matches(entry, where):
                found.append(entry)
                if len(found) >= count:
                    enough.set()

    def select(self, where, since=0):
        """The answered entries after number `since` that have these values."""
        return [entry for entry in self.entries if entry["n"] > since and "answer" in entry and matches(entry, where)]

    async def wait(self, where, since, count, seconds):
        """Returns the entries once there are `count`, or those there are when the time is up."""
        found, enough = self.select(where, since), asyncio.Event()
        if len(found) < count:
            waiter = (where, since, count, found, enough)
            self.waiting.append(waiter)
            try:
                await asyncio.wait_for(enough.wait(), seconds)
            except asyncio.TimeoutError:
                pass
            finally:
                self.waiting.remove(waiter)
        return found
