# SPDX-License-Identifier: Apache-2.0
"""Goal: over a restart the fake server keeps and loses what real servers were seen to keep and lose.

Method: once by the control channel (same process, same port), once by a real SIGKILL and a second process on the same folder.
"""
import signal
import tempfile
import unittest

from fake import Fake
from iggy_wire import NEXT, OFFSET, IggyError, Message, consumer, group, partition

WHERE = {"stream": "s", "topic": "t"}


class Restarts(unittest.TestCase):
    def fill(self, client):
        """Five messages; all of them processed and stored."""
        client.create_stream("s")
        client.create_topic("s", "t", 2)
        client.create_group("s", "t", "g")
        client.send("s", "t", partition(0), [Message(b"%d" % i) for i in range(5)])
        client.store_offset(consumer(1), "s", "t", 0, 4)

    def polled(self, client, kind=OFFSET):
        return [(m.offset, m.payload) for m in client.poll(consumer(1), "s", "t", 0, kind, 0, 10).messages]

    def test_a_kill_loses_what_was_not_flushed_and_clamps_what_was_stored(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing) as fake:
                self.fill(fake.client())
                fake.do("restart", "kill")
                client = fake.client()
                self.assertEqual(self.polled(client), [])
                self.assertEqual(client.get_offset(consumer(1), "s", "t", 0), {"partition": 0, "end": 0, "stored": 0})
                self.assertEqual(client.get_topic("s", "t")["partition"][0]["messages"], 0)
                client.send("s", "t", partition(0), [Message(b"new"), Message(b"newer")])
                self.assertEqual(self.polled(client), [(0, b"new"), (1, b"newer")])
                self.assertEqual(self.polled(client, NEXT), [(1, b"newer")])  # the first new one is skipped

    def test_the_end_goes_back_to_what_was_flushed(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing) as fake:
                client = fake.client()
                self.fill(client)
                fake.do("flush")
                client.send("s", "t", partition(0), [Message(b"lost")])
                client.store_offset(consumer(1), "s", "t", 0, 5)
                fake.do("restart", "kill")
                client = fake.client()
                self.assertEqual([offset for offset, _ in self.polled(client)], [0, 1, 2, 3, 4])
                self.assertEqual(client.get_offset(consumer(1), "s", "t", 0)["stored"], 4)
                fake.do("append", WHERE | {"messages": [{"payload": "after"}]})
                self.assertEqual(self.polled(client, NEXT), [(5, b"after")])

    def test_an_orderly_end_keeps_everything(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing) as fake:
                client = fake.client()
                self.fill(client)
                topic = client.get_topic("s", "t")
                fake.do("restart", "term")
                with self.assertRaises(ConnectionError):
                    client.ping()
                client = fake.client()
                self.assertEqual(len(self.polled(client)), 5)
                self.assertEqual(client.get_topic("s", "t"), topic)
                self.assertEqual(client.get_offset(consumer(1), "s", "t", 0)["stored"], 4)

    def test_thresholds_flush(self):
        for options, flushed in ((("--flush-messages", 3), True), (("--flush-bytes", 100), True), ((), False)):
            with self.subTest(options), Fake("vsr", *options) as fake:
                self.fill(fake.client())
                fake.do("restart", "kill")
                self.assertEqual(len(self.polled(fake.client())), 5 if flushed else 0)
        with Fake("classic") as fake:
            client = fake.client()
            self.fill(client)
            client.read(102, b"\x02\x01s\x02\x01t" + bytes(4) + b"\1")
            self.assertEqual(fake.do("partitions", WHERE)[0]["unflushed"], 0)
            client.send("s", "t", partition(0), [Message(b"waits its time")])
            fake.do("advance_ms", 30_000)
            self.assertTrue(fake.until(lambda: fake.do("partitions", WHERE)[0]["unflushed"] == 0))
            fake.do("restart", "kill")
            self.assertEqual(len(self.polled(fake.client())), 6)

    def test_members_outlive_a_restart_as_ghosts_and_the_same_client_id_takes_over(self):
        with Fake("vsr") as fake:
            old = fake.client()
            self.fill(old)
            old.join("s", "t", "g")
            fake.do("restart", "term")
            stranger = fake.client()
            stranger.join("s", "t", "g")
            self.assertEqual(stranger.sync("s", "t", "g")[1], [1])  # the ghost has nothing in flight, so one moves
            heir = fake.client(client=old.client)
            self.assertEqual(heir.sync("s", "t", "g")[1], [0])
            heir.counter = old.counter
            heir.store_offset(group("g"), "s", "t", 0, 2)
            self.assertEqual(heir.get_offset(group("g"), "s", "t", 0)["stored"], 2)
            heir.counter = 0  # ids that begin again count as seen: nothing is stored
            heir.store_offset(group("g"), "s", "t", 0, 3)
            self.assertEqual(heir.get_offset(group("g"), "s", "t", 0)["stored"], 2)

    def test_the_older_server_forgets_its_members(self):
        with Fake("classic") as fake:
            client = fake.client()
            self.fill(client)
            client.join("s", "t", "g")
            fake.do("restart", "term")
            client = fake.client()
            self.assertEqual(client.get_group("s", "t", "g")["member"], [])
            with self.assertRaises(IggyError):
                client.poll(group("g"), "s", "t", 0, OFFSET)

    def test_sigkill_and_sigterm_of_the_process(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), tempfile.TemporaryDirectory() as folder:
                with Fake(framing, "--data", folder) as fake:
                    self.fill(fake.client())
                    fake.do("flush")
                    fake.do("append", WHERE | {"messages": [{"payload": "lost"}]})
                    fake.process.kill()
                with Fake(framing, "--data", folder) as fake:
                    self.assertEqual([p["next"] for p in fake.do("partitions", WHERE)], [5, 0])
                    fake.do("append", WHERE | {"messages": [{"payload": "kept"}]})
                    fake.process.send_signal(signal.SIGTERM)
                    self.assertEqual(fake.process.wait(30), 0)
                with Fake(framing, "--data", folder) as fake:
                    client = fake.client()
                    self.assertEqual(self.polled(client)[-1], (5, b"kept"))
                    self.assertEqual(client.get_offset(consumer(1), "s", "t", 0)["stored"], 4)


if __name__ == "__main__":
    unittest.main()
