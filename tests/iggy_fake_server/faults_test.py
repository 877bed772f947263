# SPDX-License-Identifier: Apache-2.0
"""Goal: each scripted fault does to a client what its name says, to the request that was meant, and then no more.

Method: an independent client meets it; the state of the server says whether the request was applied.
"""
import subprocess
import tempfile
import time
import unittest

from fake import ControlError, Fake
from iggy_wire import OFFSET, RESYNC, Broken, Evicted, IggyError, Message, consumer, name, partition

WHERE = {"stream": "s", "topic": "t"}
FRAMINGS = ("classic", "vsr")


class Met:
    """What a client does here, and what is seen of it."""

    def servers(self, count=3):
        for framing in FRAMINGS:
            with self.subTest(framing), Fake(framing) as fake:
                fake.do("create", WHERE)
                if count:
                    fake.do("append", WHERE | {"messages": [{"payload": "x", "repeat": count}]})
                yield fake, fake.client(timeout=5)

    def poll(self, client, count=10):
        return client.poll(consumer(1), "s", "t", 0, OFFSET, 0, count)

    def send(self, client):
        return client.send("s", "t", partition(0), [Message(b"sent")])

    def held(self, fake):
        return fake.do("partitions", WHERE)[0]["messages"]

    def silent(self, client, call):
        client.sock.settimeout(0.2)  # only to see that nothing comes
        with self.assertRaises(TimeoutError):
            call(client)
        client.sock.settimeout(5)


class Faults(Met, unittest.TestCase):
    def test_silence_meets_the_nth_request_and_no_other(self):
        for fake, client in self.servers():
            fake.do("fault", {"on": "poll", "nth": 2, "do": "silence"})
            self.poll(client)
            self.silent(client, self.poll)
            self.assertEqual(len(self.poll(client).messages), 3)
            self.assertEqual([(f["seen"], f["hits"]) for f in fake.do("faults")], [(3, 1)])
            self.assertEqual([e["answer"] for e in fake.do("log", {"where": {"command": "poll"}})], ["ok", "none", "ok"])

    def test_where_and_times(self):
        for fake, client in self.servers():
            fake.do("fault", {"on": "poll", "where": {"count_over": 5}, "times": 2, "do": "status", "code": 20})
            self.assertEqual(len(self.poll(client, 5).messages), 3)
            for _ in range(2):
                with self.assertRaises(IggyError):
                    self.poll(client, 6)
            self.assertEqual(len(self.poll(client, 6).messages), 3)
            fake.do("fault", {"on": ["poll", "ping"], "times": 0, "do": "status", "code": 5009})
            for call in (client.ping, lambda: self.poll(client, 1), client.ping):  # noqa: B023
                with self.assertRaises(IggyError):
                    call()
            fake.do("clear_faults")
            client.ping()

    def test_a_connection_drops_before_or_after_the_request_is_applied(self):
        for fake, client in self.servers(0):
            for apply, held in ((False, 0), (True, 1)):
                fake.do("fault", {"on": "send", "do": "drop", "apply": apply})
                with self.assertRaises(ConnectionError):
                    self.send(client)
                self.assertEqual(self.held(fake), held)
                client = fake.client()
            fake.do("fault", {"on": "send", "do": "drop", "reset": True})
            with self.assertRaises(ConnectionResetError):
                self.send(client)
            client = fake.client()
            fake.do("fault", {"on": "poll", "do": "drop", "after_bytes": 20})
            with self.assertRaisesRegex(ConnectionError, "closed after"):
                self.poll(client)

    def test_a_torn_reply_is_whole_in_the_end(self):
        for fake, client in self.servers():
            fake.do("fault", {"on": "poll", "do": "torn", "pieces": [1, 2, 3], "size": 50})
            self.assertEqual(len(self.poll(client).messages), 3)

    def test_a_delayed_reply_comes_late(self):
        for fake, client in self.servers(0):
            for before in (False, True):
                fake.do("fault", {"on": "send", "do": "delay", "ms": 100, "before": before})
                begun = time.monotonic()
                self.send(client)
                self.assertGreaterEqual(time.monotonic() - begun, 0.1)
            self.assertEqual(self.held(fake), 2)

    def test_statuses(self):
        for fake, client in self.servers():
            for code in (57, 58, 20, 5009, 40, 12345):
                fake.do("fault", {"on": "get_topic", "do": "status", "code": code})
                with self.assertRaises(IggyError) as caught:
                    client.get_topic("s", "t")
                self.assertEqual(caught.exception.code, code)

    def test_a_reply_without_bound(self):
        for fake, client in self.servers():
            fake.do("fault", {"on": "poll", "where": {"count_over": 2}, "times": 0, "do": "oversize", "bytes": 1_000_000_000})
            promised = []
            client.recv = lambda size, take=client.recv: take(size) if size < 257 else promised.append(size) or take(1 << 20)  # noqa: B023
            with self.assertRaises(Broken):
                self.poll(client)
            self.assertEqual(promised, [1_000_000_000])
            client.close()
            self.assertEqual(len(self.poll(fake.client(), 2).messages), 2)

    def test_corruption_is_seen(self):
        for fake, client in self.servers():
            for at in (-1, 30):
                fake.do("fault", {"on": "poll", "do": "corrupt", "at": at})
                with self.assertRaises(Broken):
                    self.poll(client)
            fake.do("fault", {"on": "poll", "do": "empty"})
            found = self.poll(client)
            self.assertEqual((found.partition, found.end, found.messages), (0, 0, []))

    def test_what_is_no_fault_is_refused(self):
        with Fake("classic") as fake:
            for script in ({"do": "miracle"}, {"do": "silence", "ms": 3}, {"do": "sentinel"}, {}):
                with self.assertRaises(ControlError):
                    fake.do("fault", script)
            self.assertEqual(fake.do("faults"), [])

    def test_connections_are_closed_or_refused_on_demand(self):
        for fake, client in self.servers():
            self.assertEqual(fake.do("disconnect"), 1)
            with self.assertRaises(ConnectionError):
                client.ping()
            fake.do("refuse", True)
            with self.assertRaises(ConnectionError):
                fake.client()
            fake.do("refuse", False)
            self.poll(fake.client())

    def test_a_script_is_run_at_the_start(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as script:
            script.write('{"create": {"stream": "s", "topic": "t"}}\n\n{"fault": {"on": "ping", "do": "status", "code": 5}}\n')
            script.flush()
            with Fake("vsr", "--script", script.name) as fake:
                client = fake.client()
                with self.assertRaises(IggyError):
                    client.ping()
                self.assertEqual(client.get_topic("s", "t")["partitions"], 1)

    def test_tls(self):
        import ssl

        with tempfile.TemporaryDirectory() as folder:
            made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]  # fmt: skip
            subprocess.run(made, check=True, capture_output=True)
            with Fake("vsr", "--tls", f"{folder}/cert.pem", f"{folder}/key.pem") as fake:
                import iggy_client

                context = ssl.create_default_context(cafile=f"{folder}/cert.pem")
                context.check_hostname = False
                client = iggy_client.connect("vsr", "127.0.0.1", fake.port, tls=context)
                fake.clients.append(client)
                client.login("iggy", "iggy")
                client.create_stream("s")


class VsrFaults(Met, unittest.TestCase):
    def setUp(self):
        self.fake = self.enterContext(Fake("vsr"))
        self.fake.do("create", WHERE | {"group": "g"})
        self.client = self.fake.client(timeout=5)

    def once(self, operation, body):
        """One request under the next id; what came back."""
        self.client.counter += 1
        return self.client.exchange(operation, self.client.counter, body, 0, operation < 160)

    def test_57_is_settled_by_the_same_request_once_more(self):
        join = b"\x02\x01s\x02\x01t\x02\x01g"
        for apply in (False, True):
            self.fake.do("fault", {"on": ["join", "leave"], "do": "status", "code": 57, "apply": apply})
            operation = 149 if apply else 148
            with self.assertRaises(IggyError) as caught:
                self.once(operation, join)
            self.assertEqual(caught.exception.code, 57)
            self.assertEqual(self.client.sync("s", "t", "g"), None)  # not joined yet; or left although it said 57
            self.assertEqual(self.client.exchange(operation, self.client.counter, join), b"")
            self.assertEqual(self.client.sync("s", "t", "g"), None if apply else (1, [0]))

    def test_the_same_id_is_the_same_request(self):
        self.once(128, name("one"))
        again = self.client.exchange(128, self.client.counter, name("one"))
        self.assertEqual(again[4 + 8 + 4 + 8 + 8 :], b"\x03one\0\0\0\0")
        self.silent(self.client, lambda client: client.exchange(128, client.counter, name("two")))
        with self.assertRaises(IggyError) as caught:
            self.once(128, name("two")) and self.client.exchange(128, self.client.counter - 1, name("one"))
        self.assertEqual(caught.exception.code, 59)

    def test_a_send_or_store_with_a_known_id_is_a_success_that_does_nothing(self):
        self.assertEqual(self.send(self.client), [(0, 0, 0, 0)])
        self.client.counter -= 1
        self.assertEqual(self.send(self.client), [])
        self.assertEqual(self.held(self.fake), 1)
        self.client.store_offset(consumer(1), "s", "t", 0, 0)
        self.send(self.client)
        self.client.counter -= 1
        self.client.store_offset(consumer(1), "s", "t", 0, 1)
        self.assertEqual(self.client.get_offset(consumer(1), "s", "t", 0)["stored"], 0)

    def test_edge_5_takes_repeated_ids_on_partitions(self):
        with Fake("vsr", "--lenient-ids") as fake:
            fake.do("create", WHERE)
            client = fake.client()
            client.fresh_ids = False
            for base in range(3):
                self.assertEqual(self.send(client), [(0, 0, 0, base)])

    def test_sessions_that_are_over(self):
        other = self.fake.client(client=self.client.client)
        with self.assertRaises(Evicted) as caught:
            self.once(128, name("x"))
        self.assertEqual(caught.exception.reason, 7)
        other.session += 1000
        with self.assertRaises(Evicted) as caught:
            other.exchange(128, 1, name("x"))
        self.assertEqual(caught.exception.reason, 1)

    def test_a_wrong_stamp(self):
        frame = bytearray(self.client.frame(128, 1, name("x"), stamp=True))
        frame[144] ^= 1
        self.client.sock.sendall(frame)
        self.assertEqual(int.from_bytes(self.client.recv(256)[216:220], "little"), 4)

    def test_evictions_between_replies(self):
        self.fake.do("fault", {"on": "poll", "do": "evict", "reason": 13, "reply": True})
        with self.assertRaises(Evicted):
            self.poll(self.client)
        self.assertEqual(self.client.recv(256 + 16)[60], 8)  # the answer that followed
        self.client.ping()
        with self.assertRaises(IggyError):
            self.poll(self.client)
        self.client.login("iggy", "iggy")
        self.poll(self.client)
        self.assertEqual(self.fake.do("evict", {"client": f"{self.client.client:x}", "reason": 8}), 1)
        self.assertEqual(self.client.recv(256)[255], 8)

    def test_headers_that_are_not_those_of_the_request(self):
        for fault in ({"do": "operation", "value": 64}, {"do": "request_id", "value": 999}, {"do": "command", "value": 5}):
            self.fake.do("fault", fault | {"on": "poll"})
            with self.assertRaises(Broken):
                self.poll(self.client)
        self.fake.do("fault", {"on": "poll", "do": "patch", "at": 216, "hex": "39000000"})
        with self.assertRaises(IggyError):
            self.poll(self.client)
        self.fake.do("fault", {"on": "poll", "do": "sentinel"})
        self.assertEqual(self.poll(self.client).partition, RESYNC)

    def test_a_leader_elsewhere(self):
        nodes = [{"name": "a", "host": "127.0.0.1", "port": 1, "role": 1}, {"name": "b", "host": "127.0.0.1", "port": 2, "role": 0}]
        self.fake.do("cluster", nodes)
        told = [("a", "127.0.0.1", (1, 0, 0, 0), 1, 0), ("b", "127.0.0.1", (2, 0, 0, 0), 0, 0)]
        self.assertEqual(self.client.cluster(), {"name": "cluster", "node": told})


if __name__ == "__main__":
    unittest.main()
