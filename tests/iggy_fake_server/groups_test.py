# SPDX-License-Identifier: Apache-2.0
"""Goal: groups move partitions as real servers were seen to: who owns, who polls, who stores, before and after joins and leaves.

Method: independent clients, several members each, in one process.
"""
import unittest

from fake import Fake
from iggy_wire import NEXT, OFFSET, RESYNC, Message, group, partition, refusal

WHERE = ("s", "t", "g")
TOPIC = {"stream": "s", "topic": "t"}


class Groups(unittest.TestCase):
    framing = "vsr"

    def setUp(self):
        self.fake = self.enterContext(Fake(self.framing, "--rebalance-timeout", "30"))
        self.fake.do("create", {"stream": "s", "topic": "t", "partitions": 3, "group": "g"})
        for number in range(3):
            self.fake.do("append", TOPIC | {"partition": number, "messages": [{"payload": "x", "repeat": 5}]})

    def member(self):
        client = self.fake.client()
        client.join(*WHERE)
        return client

    def poll(self, client, number, count=100):
        return client.poll(group("g"), "s", "t", number, OFFSET, 0, count)

    def store(self, client, number, offset):
        return refusal(client.store_offset, group("g"), "s", "t", number, offset)

    def owned(self):
        """The partitions of each member, in the order in which they joined."""
        (told,) = self.fake.do("groups", TOPIC)
        return [member["partitions"] for member in told["members"]]


class VsrGroups(Groups):
    def test_join_is_idempotent_and_gives_all_to_the_first(self):
        client = self.member()
        client.join(*WHERE)
        self.assertEqual(client.sync(*WHERE), (1, [0, 1, 2]))
        self.assertEqual(client.get_group(*WHERE)["member"], [(0, [0, 1, 2])])

    def test_what_has_nothing_in_flight_moves_at_once(self):
        first, second = self.member(), self.member()
        self.assertEqual(first.sync(*WHERE), (2, [0, 1]))
        self.assertEqual(second.sync(*WHERE), (2, [2]))
        third = self.member()
        self.assertEqual([client.sync(*WHERE)[1] for client in (first, second, third)], [[0], [2], [1]])

    def test_what_is_in_flight_waits_for_the_last_offset_served(self):
        first = self.member()
        self.assertEqual(len(self.poll(first, 2).messages), 5)
        second = self.member()
        self.assertEqual((first.sync(*WHERE)[1], second.sync(*WHERE)[1]), ([0, 1], []))
        self.assertEqual(self.owned(), [[0, 1, 2], []])  # still listed under its old owner
        self.assertEqual(self.poll(first, 2).partition, RESYNC)
        self.assertEqual(self.poll(second, 2).partition, RESYNC)
        self.assertEqual((self.store(second, 2, 1), self.store(first, 2, 3)), (20, None))
        self.assertEqual(second.sync(*WHERE)[1], [])
        self.assertIsNone(self.store(first, 2, 4))
        self.assertEqual(second.sync(*WHERE), (3, [2]))
        self.assertEqual(self.store(first, 2, 4), 20)
        self.assertEqual(second.poll(group("g"), "s", "t", 2, NEXT, 0, 9).messages, [])

    def test_what_is_in_flight_moves_when_the_time_is_up(self):
        first = self.member()
        self.poll(first, 2)
        second = self.member()
        self.fake.do("advance_ms", 29_000)
        self.assertEqual(second.sync(*WHERE)[1], [])
        self.fake.do("advance_ms", 1_000)
        self.assertEqual(second.sync(*WHERE)[1], [2])
        self.assertEqual(self.store(first, 2, 4), 20)

    def test_a_leave_deals_everything_anew(self):
        first, second = self.member(), self.member()
        self.poll(second, 2)
        first.leave(*WHERE)
        self.assertIsNone(first.sync(*WHERE))
        self.assertEqual(second.sync(*WHERE), (3, [0, 1, 2]))
        self.assertEqual(self.poll(first, 0).partition, RESYNC)
        self.assertEqual(self.store(first, 0, 1), 20)
        self.assertEqual(refusal(first.leave, *WHERE), 5006)

    def test_a_closed_connection_and_a_logout_leave(self):
        first, second, third = self.member(), self.member(), self.member()
        third.logout()
        self.assertEqual(second.sync(*WHERE)[1], [1])
        self.fake.clients.remove(first)
        first.close()
        self.assertTrue(self.fake.until(lambda: second.sync(*WHERE)[1] == [0, 1, 2]))

    def test_a_missing_group_and_a_poll_without_partition(self):
        client = self.member()
        self.assertEqual(client.poll(group("h"), "s", "t", 0, OFFSET).partition, RESYNC)
        without = client.poll(group("g"), "s", "t", None, OFFSET)
        self.assertEqual((without.partition, without.end, without.messages), (0, 0, []))
        self.assertIsNone(client.sync("s", "t", "h"))
        self.assertEqual(refusal(client.join, "s", "t", "h"), 5000)
        self.assertIsNone(client.get_offset(group("h"), "s", "t", 0))

    def test_more_partitions_deal_anew(self):
        first, second = self.member(), self.member()
        self.poll(first, 0)
        self.fake.client().write(402, b"\x02\x01s\x02\x01t" + (1).to_bytes(4, "little"))
        self.assertEqual((first.sync(*WHERE), second.sync(*WHERE)), ((3, [0, 2]), (3, [1, 3])))

    def test_a_ghost_keeps_its_partitions(self):
        self.fake.do("ghost", TOPIC | {"group": "g", "client": "abc"})
        client = self.member()
        self.assertEqual(client.sync(*WHERE)[1], [2])
        (told,) = self.fake.do("groups", TOPIC)
        self.assertEqual([m["connected"] for m in told["members"]], [False, True])
        heir = self.fake.client(client=0xABC)
        self.assertEqual(heir.sync(*WHERE)[1], [0, 1])
        self.fake.do("leave", TOPIC | {"group": "g", "client": "abc"})
        self.assertEqual(client.sync(*WHERE)[1], [0, 1, 2])

    def test_a_silent_member_is_evicted_unasked_and_a_silent_other_is_not(self):
        other, member = self.fake.client(), self.member()
        self.fake.do("heartbeat", 30)
        self.fake.do("advance_ms", 37_000)
        frame = member.recv(256)
        self.assertEqual((frame[60], frame[255], int.from_bytes(frame[128:144], "little")), (13, 13, member.client))
        member.ping()
        self.assertEqual(refusal(member.sync, *WHERE), 40)
        self.assertEqual(refusal(member.join, *WHERE), 40)
        other.ping()
        self.assertIsNone(other.sync(*WHERE))
        member.login("iggy", "iggy")
        member.join(*WHERE)
        self.assertEqual(member.sync(*WHERE)[1], [0, 1, 2])


class ClassicGroups(Groups):
    framing = "classic"

    def test_only_members_poll_and_only_owners_store(self):
        other, member = self.fake.client(), self.member()
        self.assertEqual(refusal(self.poll, other, 0), 5006)
        self.assertEqual(self.store(other, 0, 1), 5006)
        self.assertIsNone(self.store(member, 0, 1))
        second = self.member()
        self.assertEqual(self.store(second, 0, 1), 3022)
        empty = self.poll(second, 0)
        self.assertEqual((empty.partition, empty.end, empty.messages), (0, 0, []))
        for call in (other.join, other.leave, other.delete_group):
            self.assertEqual(refusal(call, "s", "t", "h"), 5000)
        self.assertEqual(refusal(other.poll, group("h"), "s", "t", 0, OFFSET), 5000)
        self.assertIsNone(other.get_offset(group("h"), "s", "t", 0))

    def test_the_server_rotates_where_no_partition_is_named(self):
        member = self.member()
        turns = [member.poll(group("g"), "s", "t", None, OFFSET, 0, 1).partition for _ in range(6)]
        self.assertEqual(turns, [0, 1, 2, 0, 1, 2])

    def test_a_pending_partition_stays_with_its_owner_until_its_last_offset_is_stored(self):
        first = self.member()
        self.poll(first, 2)
        second = self.member()
        self.assertEqual(self.owned(), [[0, 1, 2], []])
        self.assertEqual(len(self.poll(first, 2, 2).messages), 2)  # explicitly it can still be polled
        self.assertEqual(second.poll(group("g"), "s", "t", None, OFFSET, 0, 1).messages, [])
        self.assertIsNone(self.store(first, 2, 1))
        self.assertEqual(self.owned(), [[0, 1], [2]])
        self.assertEqual(self.store(first, 2, 1), 3022)
        self.assertEqual(len(self.poll(second, 2).messages), 5)

    def test_a_join_moves_one_partition_to_each_idle_member(self):
        self.fake.do("create", {"stream": "s", "topic": "wide", "partitions": 6, "group": "g"})
        first, second = self.fake.client(), self.fake.client()
        for client in (first, second):
            client.join("s", "wide", "g")
        (told,) = self.fake.do("groups", {"stream": "s", "topic": "wide"})
        self.assertEqual([member["partitions"] for member in told["members"]], [[0, 1, 2, 3, 4], [5]])
        first.leave("s", "wide", "g")
        self.assertEqual(second.get_group("s", "wide", "g")["member"], [(1, [0, 1, 2, 3, 4, 5])])

    def test_a_silent_member_loses_its_membership_and_nothing_else(self):
        member = self.member()
        self.fake.do("heartbeat", 5)
        self.fake.do("advance_ms", 6_500)
        self.assertTrue(self.fake.until(lambda: not self.owned()))
        self.assertEqual(refusal(self.poll, member, 0), 5006)
        member.send("s", "t", partition(0), [Message(b"still logged in")])


del Groups  # it has no tests of its own

if __name__ == "__main__":
    unittest.main()
