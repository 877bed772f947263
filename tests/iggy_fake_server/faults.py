# SPDX-License-Identifier: Apache-2.0
"""Scripted faults: which request they meet, and what becomes of it and of its reply. README.md has the table."""
import asyncio
import socket
import struct

from exchange import Outcome
from request_log import matches
from wire import NOT_YOURS, u32, u64

KNOWN = {"on", "nth", "times", "where", "do"}
VSR_ONLY = {"operation", "request_id", "command", "sentinel"}
# What each deed may be told.
DEEDS = {
    "silence": {"apply"},
    "delay": {"ms", "before"},
    "drop": {"apply", "reset", "after_bytes"},
    "torn": {"pieces", "size", "ms"},
    "status": {"code", "apply"},
    "evict": {"reason", "apply", "reply"},
    "oversize": {"bytes"},
    "operation": {"value"},
    "request_id": {"value"},
    "command": {"value"},
    "patch": {"at", "hex"},
    "corrupt": {"at", "xor"},
    "empty": {"current"},
    "sentinel": set(),
    "body": {"hex"},
}
BODY = {False: 8, True: 256}  # where the body of a reply begins, by framing


class Fault:
    """Meets the `nth` request (from now, 1 by default) that fits, and the following ones up to `times` (1; 0: for ever)."""

    def __init__(self, number, script, vsr):
        self.number, self.script = number, script
        self.do = script.get("do")
        if self.do in VSR_ONLY and not vsr:
            raise ValueError(f"'{self.do}' is a fault of the newer framing")
        if self.do not in DEEDS:
            raise ValueError(f"no fault does '{self.do}'; there are: {', '.join(DEEDS)}")
        unknown = set(script) - KNOWN - DEEDS[self.do]
        if unknown:
            raise ValueError(f"the fault '{self.do}' knows no '{unknown.pop()}'")
        on = script.get("on", "any")
        self.names = on if isinstance(on, list) else [on]
        self.seen = self.hits = 0

    def meets(self, request, entry):
        if "any" not in self.names and request.name not in self.names:
            return False
        if not matches(entry, self.script.get("where", {})):
            return False
        self.seen += 1
        times = self.script.get("times", 1)
        if self.seen < self.script.get("nth", 1) or (times and self.hits >= times):
            return False
        return True

    def told(self):
        return {"id": self.number, "seen": self.seen, "hits": self.hits, **self.script}


class Faults:
    def __init__(self, vsr):
        self.vsr, self.all, self.made = vsr, [], 0

    def add(self, script):
        self.all.append(Fault(self.made + 1, script, self.vsr))
        self.made += 1
        return self.made

    def match(self, request, entry):
        """The first fault that this request meets, or None. All that it fits are counted."""
        met = [fault for fault in self.all if fault.meets(request, entry)]
        if not met:
            return None
        met[0].hits += 1
        return met[0]


class Deed:
    """One fault at work on one request. `framing` applies and encodes; what is returned goes into the request log."""

    def __init__(self, fault, framing, connection, request):
        self.fault, self.script, self.framing = fault, fault.script, framing
        self.connection, self.request = connection, request

    def apply(self):
        return self.framing.apply(self.connection, self.request)

    def encode(self, outcome):
        return self.framing.encode(self.connection, self.request, outcome)

    async def perform(self):
        return await getattr(self, self.fault.do)()

    async def silence(self):
        if self.script.get("apply"):
            self.apply()
        return "none"

    async def delay(self):
        if self.script.get("before"):
            await asyncio.sleep(self.script["ms"] / 1000)
        outcome = self.apply()
        if not self.script.get("before"):
            await asyncio.sleep(self.script["ms"] / 1000)
        return self.give(outcome)

    def give(self, outcome, change=lambda reply: reply):
        if outcome is None:
            return "none"
        self.connection.write(change(self.encode(outcome)))
        return answer_of(outcome)

    async def drop(self):
        after = self.script.get("after_bytes")
        outcome = self.apply() if self.script.get("apply") or after is not None else None
        if outcome is not None and after is not None:
            self.connection.write(self.encode(outcome)[:after])
        if self.script.get("reset"):
            plug = self.connection.writer.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.writer.transport.abort()
        self.connection.close()
        return "none"

    async def torn(self):
        """In pieces, each in a segment of its own."""
        outcome = self.apply()
        if outcome is None:
            return "none"
        reply = self.encode(outcome)
        sizes = list(self.script.get("pieces", []))
        while reply:
            size = sizes.pop(0) if sizes else self.script.get("size", len(reply))
            self.connection.write(reply[:size])
            reply = reply[size:]
            await self.connection.writer.drain()
            await asyncio.sleep(self.script.get("ms", 1) / 1000)
        return answer_of(outcome)

    async def status(self):
        """`apply`: it is done all the same, and the same request once more tells."""
        if self.script.get("apply"):
            self.apply()
        self.give(self.framing.refused(self.request, self.script["code"]))
        return self.script["code"]

    async def evict(self):
        """Ends the session. `reply`: the answer follows the eviction, which nobody asked for."""
        outcome = self.apply() if self.script.get("apply") or self.script.get("reply") else None
        self.framing.evict(self.connection, self.script.get("reason", 13))
        if outcome is not None and self.script.get("reply"):
            self.give(outcome)
        return f"evicted {self.script.get('reason', 13)}"

    async def oversize(self):
        """The header promises `bytes` of body and zeros follow as long as the client takes them."""
        size = self.script["bytes"]
        head = BODY[self.framing.newer]
        reply = bytearray(self.encode(Outcome())[:head])
        at, extra = (48, 256) if self.framing.newer else (4, 0)
        reply[at : at + 4] = u32(size + extra)
        self.connection.write(bytes(reply))
        while size > 0 and not self.connection.writer.is_closing():
            part = min(size, 1 << 16)
            self.connection.write(bytes(part))
            size -= part
            await self.connection.writer.drain()
        return "ok"

    async def operation(self):
        return self.patched(208, bytes([self.script["value"]]))

    async def request_id(self):
        return self.patched(200, u64(self.script["value"]))

    async def command(self):
        return self.patched(60, bytes([self.script["value"]]))

    async def patch(self):
        """Other bytes at `at` of the reply."""
        return self.patched(self.script["at"], bytes.fromhex(self.script["hex"]))

    def patched(self, at, data):
        return self.give(self.apply(), lambda reply: reply[:at] + data + reply[at + len(data) :])

    async def corrupt(self):
        """One byte of the body, at `at` (negative: from its end), is not what it was."""

        def change(reply):
            at = self.script.get("at", -1)
            at = at + BODY[self.framing.newer] if at >= 0 else len(reply) + at
            return reply[:at] + bytes([reply[at] ^ self.script.get("xor", 1)]) + reply[at + 1 :]

        return self.give(self.apply(), change)

    async def empty(self):
        """A poll that seems to find nothing, whatever there is."""
        return self.instead(u32(0) + u64(self.script.get("current", 0)) + u32(0))

    async def sentinel(self):
        return self.instead(u32(NOT_YOURS) + u64(0) + u32(0))

    async def body(self):
        return self.instead(bytes.fromhex(self.script["hex"]))

    def instead(self, body):
        outcome = self.apply()
        if outcome is not None:
            outcome.status, outcome.body = 0, body
        return self.give(outcome)


def answer_of(outcome):
    """As the request log says it. The result section of a refused operation tells its code too."""
    if outcome.eviction:
        return f"evicted {outcome.eviction}"
    if outcome.status:
        return outcome.status
    return outcome.result or "ok"
