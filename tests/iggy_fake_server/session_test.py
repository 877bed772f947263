# SPDX-License-Identifier: Apache-2.0
"""Goal: what an ordinary client does with the fake server turns out as with a real one, in both framings.

Method: an independent client (oracle/), which verifies every checksum it receives, and the answers that real servers were seen to give.
"""
import socket
import unittest

from fake import Fake
from iggy_client import probe
from iggy_wire import (FIRST, LAST, NEXT, OFFSET, TIMESTAMP, Evicted, IggyError, Message, balanced, consumer, key, name, partition, u8, u32,
                       xxh32)  # fmt: skip


class InBothFramings(unittest.TestCase):
    def both(self, *options):
        """A fake server and a client of each framing, one after the other."""
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing, *options) as fake:
                yield fake, fake.client()

    def refused(self, code, call, *arguments):
        with self.assertRaises(IggyError) as caught:
            call(*arguments)
        self.assertEqual(caught.exception.code, code)


class Sessions(InBothFramings):
    def test_the_framing_can_be_probed(self):
        for framing in ("classic", "vsr"):
            with Fake(framing) as fake:
                self.assertEqual(probe("127.0.0.1", fake.port), framing)

    def test_login(self):
        for fake, client in self.both():
            before = fake.client(login=False)
            before.ping()
            self.refused(40, before.get_stream, "s")
            self.refused(42, before.login, "iggy", "wrong")
            fake.do("token", {"name": "mine", "value": "secret-token"})
            if fake.framing == "vsr":
                other = fake.client(login=False)
                other.login_token("secret-token")
                self.assertIsNone(other.get_stream("s"))
                self.refused(53, fake.client(login=False).login_token, "no such token")
                self.assertEqual(client.server[3], "0.9.0")
                self.assertEqual(client.cluster()["node"][0][2][0], fake.port)
            else:
                client.exchange(44, name("secret-token"))
                self.refused(20, client.exchange, 44, name("no such token"))
                self.refused(5, client.exchange, 12, b"")
            self.refused(3, client.read, 20, b"")

    def test_streams_topics_groups(self):
        for _, client in self.both():
            self.assertEqual(client.create_stream("s")["id"], 0)
            self.assertEqual(client.create_stream("s2")["id"], 1)
            self.refused(1012, client.create_stream, "s")
            self.assertEqual(client.create_topic("s", "t", 3)["partitions"], 3)
            self.refused(2013, client.create_topic, "s", "t", 3)
            self.refused(1009, client.create_topic, "nowhere", "t", 3)
            self.assertIsNone(client.get_topic("s", "nothing"))
            self.assertEqual([topic["name"] for topic in client.get_stream(0)["topic"]], ["t"])
            self.assertEqual(client.create_group("s", "t", "g")["id"], 0)
            self.refused(5004, client.create_group, "s", "t", "g")
            client.delete_group("s", "t", "g")
            self.assertEqual(client.create_group("s", "t", "g")["id"], 1)  # never given out again
            self.assertIsNone(client.get_group("s", "t", "h"))
            client.delete_stream("s")
            self.assertIsNone(client.get_stream("s"))
            self.assertEqual(client.create_stream("s3")["id"], 0)

    def test_all_strategies(self):
        for fake, client in self.both():
            client.create_stream("s")
            client.create_topic("s", "t", 1)
            sent = [Message(b"%d" % i, origin=1_700_000_000_000_000 + i) for i in range(10)]
            for start, end in ((0, 4), (4, 5), (5, 10)):
                client.send("s", "t", partition(0), sent[start:end])
                fake.do("advance_ms", 1000)

            def poll(kind, value=0, count=3):
                return [m.offset for m in client.poll(consumer(1), "s", "t", 0, kind, value, count).messages]  # noqa: B023

            whole = client.poll(consumer(1), "s", "t", 0, OFFSET, 0, 100)
            self.assertEqual([m.payload for m in whole.messages], [m.payload for m in sent])
            self.assertEqual([m.origin for m in whole.messages], [m.origin for m in sent])
            self.assertEqual(whole.end, 9)
            for start in range(10):
                for count in range(1, 11):
                    self.assertEqual(poll(OFFSET, start, count), list(range(start, min(start + count, 10))))
            self.assertEqual(poll(OFFSET, 0, 0), [])
            self.assertEqual(poll(FIRST), [0, 1, 2])
            self.assertEqual(poll(LAST), [7, 8, 9])
            self.assertEqual(poll(TIMESTAMP, whole.messages[4].timestamp), [4, 5, 6])
            self.assertEqual(poll(TIMESTAMP, whole.messages[3].timestamp + 1, 1), [4])
            self.assertEqual(poll(NEXT), [0, 1, 2])
            client.store_offset(consumer(1), "s", "t", 0, 7)
            self.assertEqual(poll(NEXT), [8, 9])
            client.poll(consumer(1), "s", "t", 0, OFFSET, 0, 9, 1)
            self.assertEqual(client.get_offset(consumer(1), "s", "t", 0)["stored"], 8)
            client.poll(consumer(1), "s", "t", 0, OFFSET, 0, 3, 1)  # auto-commit never goes back, a store may
            self.assertEqual(client.get_offset(consumer(1), "s", "t", 0)["stored"], 8)
            client.store_offset(consumer(1), "s", "t", 0, 1)
            self.assertEqual(client.get_offset(consumer(1), "s", "t", 0)["stored"], 1)
            client.delete_offset(consumer(1), "s", "t", 0)
            self.assertIsNone(client.get_offset(consumer(1), "s", "t", 0))
            self.refused(3021, client.delete_offset, consumer(1), "s", "t", 0)

    def test_partitioning(self):
        for fake, client in self.both():
            client.create_stream("s")
            client.create_topic("s", "t", 3)
            for _ in range(4):
                client.send("s", "t", balanced(), [Message(b"x")])
            client.send("s", "t", key(b"some key"), [Message(b"keyed")])
            counts = [2, 1, 1]
            counts[xxh32(b"some key") % 3] += 1
            self.assertEqual([p["messages"] for p in fake.do("partitions", {"stream": "s", "topic": "t"})], counts)
            self.refused(20 if fake.framing == "vsr" else 3007, client.send, "s", "t", partition(9), [Message(b"x")])
            self.refused(20 if fake.framing == "vsr" else 2010, client.send, "s", "u", partition(0), [Message(b"x")])

    def test_headers_payloads_and_ids_are_kept_as_they_came(self):
        for fake, client in self.both():
            fake.do("create", {"stream": "s", "topic": "t"})
            client.send("s", "t", partition(0), [Message(b"", id=5), Message(b"x", headers=[(b"k", 2, b"v")], id=2**127), Message(b"y")])
            garbage = {"payload_base64": "/w==", "headers_hex": "63ff00", "id": 9, "origin": 4}
            fake.do("append", {"stream": "s", "topic": "t", "messages": [garbage, {"payload": "z", "repeat": 2, "origin": 4}]})
            got = client.poll(consumer(1), "s", "t", 0, OFFSET, 0, 10).messages
            self.assertEqual([m.payload for m in got], [b"", b"x", b"y", b"\xff", b"z", b"z"])
            self.assertEqual([m.id for m in got][:2] + [got[3].id], [5, 2**127, 9])
            self.assertNotEqual(got[2].id, 0)
            self.assertEqual((got[3].raw_headers, got[3].headers, got[3].origin), (b"\x63\xff\x00", None, 4))
            told = fake.do("messages", {"stream": "s", "topic": "t", "from": 1, "count": 3})
            self.assertEqual([m["offset"] for m in told], [1, 2, 3])
            self.assertEqual(told[0]["id"], str(2**127))
            self.assertEqual((told[0]["payload"], told[0]["headers_hex"]), ("x", "02010000006b020100000076"))
            self.assertNotIn("payload", told[2])

    def test_what_retention_forgot_is_not_served(self):
        for fake, client in self.both():
            fake.do("create", {"stream": "s", "topic": "t"})
            for start in (0, 10):
                fake.do("append", {"stream": "s", "topic": "t", "messages": [{"payload": str(start), "repeat": 10}]})
            self.assertEqual(fake.do("trim", {"stream": "s", "topic": "t", "before": 10}), 10)
            self.assertEqual([m.offset for m in client.poll(consumer(1), "s", "t", 0, OFFSET, 3, 2).messages], [10, 11])
            self.assertEqual(client.get_topic("s", "t")["partition"][0]["messages"], 10)
            self.assertEqual(client.get_topic("s", "t")["partition"][0]["end"], 19)
            fake.do("purge", {"stream": "s", "topic": "t"})
            self.assertEqual(client.poll(consumer(1), "s", "t", 0, OFFSET, 0, 2).messages, [])

    def test_requests_can_be_counted_and_waited_for(self):
        for fake, client in self.both():
            fake.do("create", {"stream": "s", "topic": "t"})
            client.poll(consumer(1), "s", "t", 0, OFFSET, 7, 2)
            client.poll(consumer(1), "s", "t", 0, OFFSET, 8, 2)
            (entry,) = fake.do("log", {"where": {"command": "poll", "value": 8}})
            self.assertEqual((entry["strategy"], entry["count"], entry["answer"]), ("offset", 2, "ok"))
            self.assertEqual(fake.do("count", {"where": {"command": "poll"}, "since": entry["n"]}), 0)
            self.assertEqual(len(fake.do("wait", {"where": {"command": "poll"}, "count": 2})), 2)
            self.assertEqual(fake.do("wait", {"where": {"command": "join"}, "ms": 1}), [])


class ClassicFrames(InBothFramings):
    def test_what_is_no_request_gets_status_3_and_the_connection_lives(self):
        with Fake("classic") as fake:
            client = fake.client()
            for frame in (bytes(8), u32(20_000_000) + u32(100), u32(4) + u32(9999), u32(5) + u32(100) + b"x"):
                client.sock.sendall(frame)
                self.assertEqual(client.recv(8), u32(3) + u32(0))
            client.ping()

    def test_torn_and_pipelined_requests(self):
        with Fake("classic") as fake:
            client = fake.client()
            for byte in u32(4) + u32(1):
                client.sock.sendall(bytes([byte]))
            client.sock.sendall((u32(4) + u32(1)) * 3)
            self.assertEqual(client.recv(32), bytes(32))


class VsrFrames(InBothFramings):
    def silent(self, client, *frame, **options):
        """This frame gets no answer, but the ping that follows does."""
        client.sock.sendall(client.frame(*frame, **options))
        client.ping()

    def test_what_breaks_a_rule_is_not_answered(self):
        with Fake("vsr") as fake:
            client = fake.client()
            self.silent(client, 128, 0, name("s"))  # request id 0
            self.silent(client, 199, 1, b"")
            fresh = fake.client(login=False)
            fresh.client = 7
            self.silent(fresh, 128, 1, name("s"))  # session 0
            fresh.session = client.session
            self.silent(fresh, 128, 1, name("s"))  # not logged in
            self.assertIsNone(client.get_stream("s"))
            with self.assertRaises(ConnectionError):
                client.sock.sendall(bytes(256))
                client.recv(1)

    def test_malformed_sends_are_not_answered(self):
        with Fake("vsr") as fake:
            client = fake.client()
            fake.do("create", {"stream": "s", "topic": "t"})
            good = client.pack([Message(b"hello"), Message(b"world")])
            for at in (0, 8, 16, 32, 40, 48, 60, 256, 300, len(good) - 1):
                broken = bytearray(good)
                broken[at] ^= 1
                body = u32(14) + u8(2) + name("s") + u8(2) + name("t") + u8(1) + u8(0) + u32(2)
                body = u32(len(body) - 4) + body[4:] + bytes(broken)
                client.counter += 1
                self.silent(client, 160, client.counter, body)
            self.assertEqual(client.send("s", "t", partition(0), [Message(b"x")]), [(0, 0, 0, 0)])

    def test_versions_and_malformed_logins_end_in_evictions(self):
        with Fake("vsr") as fake:
            for version, reason in (((0, 10, 0), 14), ((0, 12, 0), 14), ((0, 11, 9), None)):
                client = fake.client(login=False)
                if reason is None:
                    client.login("iggy", "iggy", version=version)
                    continue
                with self.assertRaises(Evicted) as caught:
                    client.login("iggy", "iggy", version=version)
                self.assertEqual((caught.exception.reason, caught.exception.server, caught.exception.oldest), (14, 0x2C00, 0x2C00))
            client = fake.client(login=False)
            with self.assertRaises(Evicted) as caught:
                client.register(b"\0\0\0")
            self.assertEqual(caught.exception.reason, 15)
            with self.assertRaises(Evicted) as caught:
                client.read(38, name("iggy") + name("iggy") + bytes(8))
            self.assertEqual(caught.exception.reason, 15)

    def test_no_answer_to_the_wrong_framing(self):
        with Fake("vsr") as fake, socket.create_connection(("127.0.0.1", fake.port), 10) as plain:
            plain.sendall(u32(4) + u32(1))
            plain.settimeout(0.2)  # only to see that nothing comes; the server waits for 248 bytes more
            with self.assertRaises(TimeoutError):
                plain.recv(1)


if __name__ == "__main__":
    unittest.main()
