# SPDX-License-Identifier: Apache-2.0
"""What the server keeps, and what each command does to it. Knows neither frames nor connections.

A command is a method of its name that takes (client, fields) and returns the body of the reply; it raises Refused or Ignored.
`client` is who a group knows its member by."""
import time

import layouts
import messages_classic
import messages_vsr
from hashes import name_hash
from partition import Polled
from topology import Stream, Topic, found, lowest_free
from wire import NOT_YOURS, Refused, name, u32, u64


class Broker:
    def __init__(self, vsr, rebalance_timeout=30.0):
        self.vsr = vsr
        self.messages = messages_vsr if vsr else messages_classic
        self.layout = layouts.Vsr() if vsr else layouts.Classic()
        self.rebalance_timeout = int(rebalance_timeout * 1e6)
        self.streams, self.tokens, self.nodes = {}, {}, []
        self.ahead = 0  # µs that a test has put the clock forward
        self.on_change = lambda: None  # metadata or a stored offset is not as it was
        self.on_append = lambda partition, now=False: None
        self.last_appended = None

    def now(self):
        """µs since the epoch."""
        return time.time_ns() // 1000 + self.ahead

    # --- where a request leads

    def stream_of(self, fields):
        return found(self.streams, fields["stream"], 1009)

    def topic_of(self, fields):
        return self.stream_of(fields).topic(fields["topic"])

    def group_of(self, fields, key="group"):
        group = self.topic_of(fields).group(fields[key])
        group.complete(self.now(), self.rebalance_timeout)
        return group

    def key_of(self, topic, fields):
        """Under which the offset of this consumer is stored."""
        identifier = fields["consumer"]
        if fields["kind"] == "group":
            return ("group", topic.group(identifier).number)
        return ("consumer", identifier if isinstance(identifier, int) else name_hash(identifier.encode()))

    # --- streams and topics

    def get_stream(self, _client, fields):
        return empty_if_missing(lambda: self.layout.stream_details(self.stream_of(fields)))

    def get_streams(self, _client, _fields):
        return b"".join(map(self.layout.stream, self.streams.values()))

    def create_stream(self, _client, fields):
        if any(stream.name == fields["name"] for stream in self.streams.values()):
            raise Refused(1012)
        layouts.options(fields.get("options", b""))
        number = lowest_free(self.streams)
        self.streams[number] = Stream(number, fields["name"], self.now(), bytes(fields.get("options", b"")))
        return self.layout.stream_details(self.streams[number])

    def delete_stream(self, _client, fields):
        del self.streams[self.stream_of(fields).number]
        return b""

    def purge_stream(self, _client, fields):
        for topic in self.stream_of(fields).topics.values():
            purge(topic)
        return b""

    def get_topic(self, _client, fields):
        return empty_if_missing(lambda: self.layout.topic_details(self.topic_of(fields)))

    def get_topics(self, _client, fields):
        topics = self.stream_of(fields).topics.values()
        return u32(len(topics)) + b"".join(map(self.layout.topic, topics))

    def create_topic(self, _client, fields):
        stream = self.stream_of(fields)
        if any(topic.name == fields["name"] for topic in stream.topics.values()):
            raise Refused(2013)
        if fields["partitions"] > 1000:
            raise Refused(2014)
        settings, options = self.layout.settings(fields), bytes(fields.get("options", b""))
        topic = Topic(stream.number, lowest_free(stream.topics), fields["name"], self.now(), settings, options)
        topic.add_partitions(fields["partitions"], self.now())
        stream.topics[topic.number] = topic
        body = self.layout.topic_details(topic)
        for partition in topic.partitions:  # the reply shows none yet, what is asked later shows one
            partition.segments = 1
        return body

    def delete_topic(self, _client, fields):
        stream = self.stream_of(fields)
        del stream.topics[stream.topic(fields["topic"]).number]
        return b""

    def purge_topic(self, _client, fields):
        purge(self.topic_of(fields))
        return b""

    def create_partitions(self, _client, fields):
        topic = self.topic_of(fields)
        topic.add_partitions(fields["count"], self.now())
        for partition in topic.partitions:
            partition.segments = 1
        self.deal_all(topic)
        return b""

    def delete_partitions(self, _client, fields):
        topic = self.topic_of(fields)
        if not 0 < fields["count"] <= len(topic.partitions):
            raise Refused(3007)
        del topic.partitions[-fields["count"] :]
        self.deal_all(topic)
        return b""

    def deal_all(self, topic):
        for group in topic.groups.values():
            group.deal()

    def delete_segments(self, _client, fields):
        """There is never more than the one that is being written."""
        self.topic_of(fields).partition(fields["partition"])
        return b""

    # --- messages

    def send(self, _client, fields):
        stream = self.stream_of(fields)
        topic = stream.topic(fields["topic"])
        accepted = self.messages.accept(fields["messages"], fields["count"])
        partition = topic.partition(self.partition_to(topic, fields["to"]))
        base = partition.next
        partition.add(self.messages.append(accepted, partition.number, base, self.now()))
        self.last_appended = partition
        self.on_append(partition)
        if not self.vsr:
            return b""
        return u32(1) + u32(stream.number) + u32(topic.number) + u32(partition.number) + u64(base)

    def partition_to(self, topic, to):
        if isinstance(to, int):
            return to
        if to is None:
            topic.turn += 1
            return (topic.turn - 1) % max(len(topic.partitions), 1)
        return name_hash(to) % max(len(topic.partitions), 1)

    def flush(self, _client, fields):
        self.on_append(self.topic_of(fields).partition(fields["partition"]), now=True)
        return b""

    def poll(self, client, fields):
        topic = self.topic_of(fields)
        number = self.partition_to_poll(topic, client, fields)
        polled = number if isinstance(number, Polled) else self.polled(topic, topic.partition(number), fields)
        return layouts.polled_prefix(polled) + polled.data

    def polled(self, topic, partition, fields):
        key = self.key_of(topic, fields)
        polled = partition.poll(fields["strategy"], fields["value"], fields["count"], key, self.messages.cut)
        if polled.count:
            if key[0] == "group":
                partition.polled[key[1]] = polled.last
            if fields["auto_commit"]:
                partition.stored[key] = max(polled.last, partition.stored.get(key, 0))
                self.on_change()
        return polled

    def partition_to_poll(self, topic, client, fields):
        """Its number, or the answer that says there is none for this consumer."""
        wanted = fields["partition"]
        if fields["kind"] == "consumer":
            return wanted or 0
        try:
            group = self.group_of(fields, "consumer")
        except Refused:
            if self.vsr:
                return Polled(NOT_YOURS)
            raise
        member = group.member(client)
        if self.vsr:
            if wanted is None:
                return Polled(0)
            topic.partition(wanted)
            return wanted if member and wanted in member.pollable() else Polled(NOT_YOURS)
        if member is None:
            raise Refused(5006)
        if wanted is None:
            wanted = group.next_partition(member)
        return wanted if wanted in member.partitions else Polled(0)

    # --- offsets

    def get_offset(self, _client, fields):
        def stored():
            topic = self.topic_of(fields)
            partition = topic.partition(fields["partition"] or 0)
            offset = partition.stored.get(self.key_of(topic, fields))
            return b"" if offset is None else layouts.offset_record(partition, offset)

        return empty_if_missing(stored)

    def store_offset(self, client, fields):
        topic, partition = self.partition_to_store(client, fields)
        partition.store(self.key_of(topic, fields), fields["offset"])
        self.on_change()
        if fields["kind"] == "group":
            self.group_of(fields, "consumer")
        return b""

    def delete_offset(self, client, fields):
        topic, partition = self.partition_to_store(client, fields)
        if partition.stored.pop(self.key_of(topic, fields), None) is None:
            raise Refused(3021)
        self.on_change()
        return b""

    def partition_to_store(self, client, fields):
        """Of a group only the owner may store, also what is pending."""
        topic = self.topic_of(fields)
        if fields["kind"] == "consumer":
            return topic, topic.partition(fields["partition"] or 0)
        member = self.group_of(fields, "consumer").member(client)
        if member is None:
            raise Refused(5006, unresolved=True)
        wanted = fields["partition"]
        if wanted is None:
            wanted = next(iter(member.pollable()), 0)
        partition = topic.partition(wanted)
        if wanted not in member.partitions:
            raise Refused(3022, unresolved=True)
        return topic, partition

    # --- groups

    def topics(self):
        return [topic for stream in self.streams.values() for topic in stream.topics.values()]

    def groups(self):
        return [group for topic in self.topics() for group in topic.groups.values()]

    def get_group(self, _client, fields):
        return empty_if_missing(lambda: layouts.group_details(self.group_of(fields)))

    def get_groups(self, _client, fields):
        return b"".join(map(layouts.group_header, self.topic_of(fields).groups.values()))

    def create_group(self, _client, fields):
        return layouts.group_details(self.topic_of(fields).add_group(fields["name"], one_each=not self.vsr))

    def delete_group(self, _client, fields):
        self.topic_of(fields).forget_group(self.group_of(fields))
        return b""

    def join(self, client, fields):
        self.group_of(fields).join(client, self.now())
        return b""

    def leave(self, client, fields):
        if not self.group_of(fields).leave(client):
            raise Refused(5006)
        return b""

    def sync(self, client, fields):
        """Empty where the client is no member."""

        def assignment():
            group = self.group_of(fields)
            member = group.member(client)
            if member is None:
                return b""
            mine = member.pollable()
            return u64(group.generation) + u32(len(mine)) + b"".join(map(u32, mine))

        return empty_if_missing(assignment)

    def leave_all(self, client):
        """The client is gone: no group knows it any more. True if one did."""
        return any([group.leave(client) for group in self.groups()])

    def is_member(self, client):
        return any(group.member(client) for group in self.groups())

    # --- the rest

    def ping(self, _client, _fields):
        return b""

    def cluster(self, _client, _fields):
        if not self.nodes:
            raise Refused(5)
        return layouts.cluster(self.nodes)

    def create_token(self, _client, fields):
        if fields["name"] in self.tokens:
            raise Refused(51)
        self.tokens[fields["name"]] = f"token-{fields['name']}-{self.now()}"
        return name(self.tokens[fields["name"]])

    def delete_token(self, _client, fields):
        if self.tokens.pop(fields["name"], None) is None:
            raise Refused(20)
        return b""

    def get_tokens(self, _client, _fields):
        return b"".join(name(key) + u64(0) for key in self.tokens)



def purge(topic):
    for partition in topic.partitions:
        partition.purge()


def empty_if_missing(make):
    try:
        return make()
    except Refused:
        return b""
