# SPDX-License-Identifier: Apache-2.0
"""Goal: the fake server's bytes are those of real servers.

Method: the requests of each recorded session (captures/) are fed to it, and each reply must equal the recorded one byte for byte. What
only chance or the past of the real server decided is set beforehand: the clock of each exchange, the numbers of what was made before,
the cluster's id and the node's address. Nothing is masked, so checksums over timestamps are compared too.
"""
import asyncio
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from exchange import Connection  # noqa: E402
from serve import arguments  # noqa: E402
from server import Server  # noqa: E402

# What the real server's clock showed, read off the recorded replies; a topic's partitions were made a little later than the topic.
CLASSIC_CLOCK = {
    "create stream": [1795985964008717],
    "create topic": [1795985964012303, 1795985964012318],
    "send 3": [1795985964024994],
    "send 2": [1795985964027754],
}


def recorded(name):
    """(title, request, reply) of each exchange."""
    lines = (HERE / "captures" / name).read_text(encoding="utf-8").splitlines()[1:]
    title = request = None
    for line in lines:
        if line.startswith("# = "):
            continue
        if line.startswith("# "):
            title = line[2:]
        elif line.startswith("> "):
            request = bytes.fromhex(line[2:])
        elif line.startswith("< "):
            yield title, request, bytes.fromhex(line[2:])


class Written:
    """Stands for the writing side of a connection."""

    def __init__(self):
        self.data = bytearray()

    def is_closing(self):
        return False

    def write(self, data):
        self.data += data


class Session:
    """A server with one connection and no socket."""

    def __init__(self, *options):
        self.server = Server(arguments(options))
        self.written = Written()
        self.connection = Connection(8, self.written)
        self.clock = []
        self.server.broker.now = lambda: self.clock.pop(0) if len(self.clock) > 1 else self.clock[0]

    def ask(self, request, clock):
        self.clock = list(clock)
        self.written.data.clear()
        asyncio.run(self.exchange(request))
        return bytes(self.written.data)

    async def exchange(self, data):
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        request = await self.server.framing.read(self.connection, reader)
        if request is not None:
            await self.server.answer(self.connection, request)


class Replay(unittest.TestCase):
    def same(self, title, got, want):
        if got != want:
            at = next((i for i, (a, b) in enumerate(zip(got, want)) if a != b), min(len(got), len(want)))
            self.fail(f"{title}: byte {at}: got {got[at:at+24].hex()}, recorded {want[at:at+24].hex()} (lengths {len(got)}, {len(want)})")

    def test_the_session_of_0_8_0(self):
        session = Session("--framing", "classic")
        for name in ("before", "before it"):
            session.server.broker.now = lambda: 1
            session.server.broker.create_stream(None, {"name": name})
        session.server.broker.now = lambda: session.clock.pop(0) if len(session.clock) > 1 else session.clock[0]
        count = 0
        for title, request, reply in recorded("classic-0.8.0.txt"):
            self.same(title, session.ask(request, CLASSIC_CLOCK.get(title, [1])), reply)
            count += 1
        self.assertEqual(count, 30)

    def test_the_session_of_0_9_0_edge_5(self):
        exchanges = list(recorded("vsr-0.9.0-edge.5.txt"))
        session = Session("--framing", "vsr", "--version", "0.9.0-edge.5")
        session.server.clients.op = 25
        session.server.settings.cluster = next(reply[32:48] for title, _, reply in exchanges if title == "create stream")
        session.server.broker.nodes = [{"name": "iggy-node", "host": "127.0.0.1", "port": 19090, "http": 13900}]
        for title, request, reply in exchanges:
            clock = int.from_bytes(reply[192:200], "little") if reply[60] == 8 else 0
            self.same(title, session.ask(request, [clock]), reply)
        self.assertEqual(len(exchanges), 33)


if __name__ == "__main__":
    unittest.main()
