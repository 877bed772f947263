# SPDX-License-Identifier: Apache-2.0
"""Goal: the fake server's replies are those worked out by hand from a description of the protocol, checksums included.

Method: one message {"a":1} with the header k=v at offset 42, appended at 1700000000, polled in both framings. The bytes were made by a
generator that shares nothing with this tree; its XXH3 was held against vectors of other clients.
"""
import unittest

from replay_test import Session

HEADERS = bytes.fromhex("02010000006b020100000076")
CONSUMER = "0202046d696c6c"  # group "mill"
WHERE = "02017302017401 00000000"  # stream "s", topic "t", partition 0
POLL = bytes.fromhex(CONSUMER + WHERE + "01 2a00000000000000 01000000 00")  # from offset 42, one message
MESSAGE = "7b2261223a317d 02010000006b 020100000076"
CLIENT = bytes(range(16))


def prepared(framing):
    """A session whose partition ends with offset 43, and whose connection is a member of the group."""
    session = Session("--framing", framing, "--version", "0.9.0")
    session.clock = [1_700_000_000_000_000]
    broker = session.server.broker
    topic = {"stream": "s", "name": "t", "partitions": 1, "options": b"", "compression": 1, "expiry": 0, "max_size": 0, "replication": 1}
    broker.create_stream(None, {"name": "s", "options": b""})
    broker.create_topic(None, topic)
    broker.create_group(None, {"stream": "s", "topic": "t", "name": "mill"})
    partition = broker.streams[0].topics[0].partitions[0]
    partition.next = partition.trimmed = 42
    for identity in (0x11, 0x12):
        messages = broker.messages.pack([(identity, 1_699_999_999_000_000, b'{"a":1}', HEADERS)])
        broker.send(None, {"stream": "s", "topic": "t", "to": 0, "count": 1, "messages": messages})
    member = 8 if framing == "classic" else int.from_bytes(CLIENT, "little")
    broker.streams[0].topics[0].groups[0].join(member, 0)
    return session


def frame(rows, size):
    """The bytes of {position: hex}, zero elsewhere."""
    data = bytearray(size)
    for at, text in rows.items():
        part = bytes.fromhex(text)
        data[at : at + len(part)] = part
    return bytes(data)


class Examples(unittest.TestCase):
    def test_classic(self):
        session = prepared("classic")
        login = bytes.fromhex("16000000 26000000 0469676779 0469676779 00000000 00000000")
        self.assertEqual(session.ask(login, [1]).hex(), "000000000400000000000000")
        polled = session.ask(bytes.fromhex("24000000 64000000") + POLL, [1])
        self.assertEqual(polled, bytes.fromhex(
            "00000000 63000000  00000000 2b00000000000000 01000000  42ce485e7e858535 11000000000000000000000000000000 2a00000000000000"
            "00401e18240a0600 c0fd0e18240a0600 0c000000 07000000 0000000000000000" + MESSAGE))  # fmt: skip
        store = bytes.fromhex("1e000000 79000000" + CONSUMER + WHERE + "2a00000000000000")
        self.assertEqual(session.ask(store, [1]), bytes(8))

    def test_vsr(self):
        session = prepared("vsr")
        session.server.clients.op, session.server.settings.cluster = 16, bytes(16)
        body = "002c0000 086d696c6c72616365 05302e312e30 0469676779 0469676779 00000000"
        login = frame({0x30: "21010000", 0x3C: "05", 0x80: CLIENT.hex(), 0x90: "e17f6aac1ae51398", 0xB0: "01", 0x100: body}, 289)
        told = "00000000 00000000 1100000000000000 002c0000 05302e392e30"
        self.assertEqual(session.ask(login, [1]), frame(
            {0x30: "1a010000", 0x3C: "08", 0x80: "e17f6aac1ae51398", 0xA0: CLIENT.hex(), 0xB0: "11000000000000001100000000000000",
             0xD0: "01", 0x100: told}, 282))  # fmt: skip
        poll = frame({0x30: "20010000", 0x3C: "05", 0x80: CLIENT.hex(), 0xA8: "02", 0xB0: "02", 0xB8: "11", 0xC4: "64", 0x100: POLL.hex()}, 288)
        self.assertEqual(session.ask(poll, [1]), frame(
            {0x30: "53020000", 0x3C: "08", 0xA0: CLIENT.hex(), 0xB0: "11", 0xC8: "02", 0xD0: "02", 0x100: "00000000 2b00000000000000 01000000",
             0x118: "2a", 0x120: "00401e18240a0600 c0fd0e18240a0600 4301000000000000 26d90db7d5acacb8 01000000",
             0x210: "63ed9463c2274ddf 11", 0x230: "0c000000 07000000 0000000000000000" + MESSAGE}, 595))  # fmt: skip
        store = frame({0x30: "1b010000", 0x3C: "05", 0x80: CLIENT.hex(), 0xA8: "03", 0xB0: "a1", 0xB8: "11",
                       0x100: CONSUMER + WHERE + "2a00000000000000 01"}, 283)  # fmt: skip
        self.assertEqual(session.ask(store, [1])[256:], bytes(4))


if __name__ == "__main__":
    unittest.main()
