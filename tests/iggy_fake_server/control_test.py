# SPDX-License-Identifier: Apache-2.0
"""Goal: the control channel says what it was asked, says no by name, and the server is fast enough to test with.

Method: commands over the socket; a bulk of small messages in and out, in processor time.
"""
import unittest

from fake import ControlError, Fake
from iggy_wire import OFFSET, Message, consumer, partition

WHERE = {"stream": "s", "topic": "t"}
LEAST_A_SECOND = 20_000


class Control(unittest.TestCase):
    def test_what_it_cannot_do_is_said_and_the_channel_lives(self):
        with Fake("vsr") as fake:
            for verb, value, words in (
                ("dance", True, "no verb 'dance'"),
                ("messages", WHERE, "status 1009"),
                ("ghost", {}, "KeyError: 'stream'"),
                ("restart", "please", "'kill' or 'term'"),
            ):
                with self.assertRaisesRegex(ControlError, words):
                    fake.do(verb, value)
            fake.lines.write("no json\n")
            fake.lines.flush()
            self.assertIn("JSONDecodeError", fake.lines.readline())
            self.assertEqual(fake.do("connections"), [])

    def test_what_is_made_and_stored_by_command_is_what_clients_see(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing) as fake:
                for _ in range(2):
                    fake.do("create", WHERE | {"partitions": 2, "group": "g"})
                fake.do("append", WHERE | {"partition": 1, "messages": [{"payload": "a"}, {"payload": "b"}]})
                fake.do("store", WHERE | {"partition": 1, "group": "g", "offset": 1})
                fake.do("store", WHERE | {"partition": 1, "consumer": 7, "offset": 0})
                told = fake.do("partitions", WHERE)[1]
                self.assertEqual((told["first"], told["next"], told["stored"]), (0, 2, {"group:g": 1, "consumer:7": 0}))
                client = fake.client()
                self.assertEqual(client.get_offset(consumer(7), "s", "t", 1), {"partition": 1, "end": 1, "stored": 0})
                fake.do("user", {"name": "anna", "password": "other"})
                fake.client(login=False).login("anna", "other")
                self.assertEqual([c["logged_in"] for c in fake.do("connections")], [True, True])

    def test_what_is_deleted_takes_its_offsets_along(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing) as fake:
                fake.do("create", WHERE | {"group": "g"})
                fake.do("append", WHERE | {"messages": [{"payload": "a"}]})
                fake.do("store", WHERE | {"group": "g", "offset": 0})
                fake.do("delete", WHERE | {"group": "g"})
                fake.do("create", WHERE | {"group": "g"})
                told = fake.do("partitions", WHERE)[0]
                self.assertEqual((told["messages"], told["stored"]), (1, {}))
                fake.do("delete", WHERE)
                with self.assertRaisesRegex(ControlError, "status 2010"):
                    fake.do("partitions", WHERE)

    def test_small_messages_by_the_thousand(self):
        for framing in ("classic", "vsr"):
            with self.subTest(framing), Fake(framing) as fake:
                fake.do("create", WHERE)
                client = fake.client()
                packed = client.pack([Message(b'{"n":%d}' % i) for i in range(1000)])
                client.pack = lambda _, packed=packed: packed
                client.parse_poll = len
                begun = fake.do("cpu_seconds")
                for i in range(20):
                    client.send("s", "t", partition(0), [None] * 1000)
                    self.assertGreater(client.poll(consumer(1), "s", "t", 0, OFFSET, i * 1000, 1000), 1000 * 48)
                self.assertEqual(fake.do("partitions", WHERE)[0]["messages"], 20_000)
                self.assertLess(fake.do("cpu_seconds") - begun, 20_000 / LEAST_A_SECOND)


if __name__ == "__main__":
    unittest.main()
