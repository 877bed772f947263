# SPDX-License-Identifier: Apache-2.0
"""Streams, their topics, and where an identifier leads."""
from groups import Group
from partition import Partition
from wire import NEVER, Refused


def lowest_free(taken):
    return next(number for number in range(len(taken) + 1) if number not in taken)


class Stream:
    def __init__(self, number, name, created, options=b""):
        self.number, self.name, self.created, self.options = number, name, created, options
        self.topics = {}

    def topic(self, identifier, code=2010):
        return found(self.topics, identifier, code)


class Topic:
    """`stream`: its number. `settings`: compression, expiry, max_size, replication as the layout of the framing shows them; `options` as they were sent."""

    def __init__(self, stream, number, name, created, settings, options=b""):
        self.stream, self.number = stream, number
        self.name, self.created, self.settings, self.options = name, created, settings, options
        self.partitions, self.groups = [], {}
        self.groups_made = 0  # ids of groups are never given out again
        self.turn = 0  # of balanced sends

    def add_partitions(self, count, created):
        for _ in range(count):
            number = len(self.partitions)
            self.partitions.append(Partition(number, created, f"{self.stream}-{self.number}-{number}"))

    def partition(self, number, code=3007):
        if number >= len(self.partitions):
            raise Refused(code, unresolved=True)
        return self.partitions[number]

    def group(self, identifier, code=5000):
        return found(self.groups, identifier, code)

    def add_group(self, name, one_each):
        if any(group.name == name for group in self.groups.values()):
            raise Refused(5004)
        group = Group(self.groups_made, name, self.partitions, one_each)
        self.groups_made += 1
        self.groups[group.number] = group
        return group

    def forget_group(self, group):
        del self.groups[group.number]
        for partition in self.partitions:
            partition.stored.pop(("group", group.number), None)
            partition.polled.pop(group.number, None)


DEFAULT_SETTINGS = {"compression": 1, "expiry": NEVER, "max_size": NEVER, "replication": 1}


def found(things, identifier, code):
    """By number or by name; refused with `code` where there is none."""
    if isinstance(identifier, int):
        if identifier in things:
            return things[identifier]
    else:
        for thing in things.values():
            if thing.name == identifier:
                return thing
    raise Refused(code, unresolved=True)
