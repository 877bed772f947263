# SPDX-License-Identifier: Apache-2.0
"""Consumer groups: who is a member, who owns which partition, and how a join or a leave moves them.

Joins are cooperative: what a member still has in flight stays with it as a pending revocation until it has stored the last
offset it was served, or the time is up. Whoever leaves is dealt out of the game, and all partitions are dealt anew."""


class Member:
    """`client` is the id of the connection (older framing) or of the client (newer). `pending`: partition: (member's key, since)."""

    def __init__(self, number, client):
        self.number, self.client = number, client
        self.partitions, self.pending = [], {}
        self.turn = 0

    def pollable(self):
        return [partition for partition in self.partitions if partition not in self.pending]


class Group:
    """`partitions` is the list of the topic, shared. `one_each`: of what is too much a join moves one partition to each idle
    member and no more, the defect of the older server."""

    def __init__(self, number, name, partitions, one_each):
        self.number, self.name, self.partitions, self.one_each = number, name, partitions, one_each
        self.members = {}  # key: Member; the lowest free key is given out
        self.generation, self.joined = 0, 0

    def member(self, client):
        return next((member for member in self.members.values() if member.client == client), None)

    def join(self, client, now):
        """Joining twice changes nothing."""
        if self.member(client):
            return
        key = next(key for key in range(len(self.members) + 1) if key not in self.members)
        number = self.joined if self.one_each else key
        self.joined += 1
        self.members[key] = Member(number, client)
        self.members = dict(sorted(self.members.items()))
        self.cooperate(now)

    def leave(self, client):
        """False if it was no member."""
        for key, member in self.members.items():
            if member.client == client:
                del self.members[key]
                self.deal()
                return True
        return False

    def deal(self):
        """All partitions round-robin over the members, at once."""
        self.generation += 1
        members = list(self.members.values())
        for member in members:
            member.partitions, member.pending = [], {}
        for i, partition in enumerate(self.partitions):
            if members:
                members[i % len(members)].partitions.append(partition.number)

    def idle(self):
        targets = {target for member in self.members.values() for target, _ in member.pending.values()}
        return [key for key, member in self.members.items() if not member.partitions and key not in targets]

    def cooperate(self, now):
        """After a join: what nobody owns goes to the idle, then what others have too much of."""
        self.generation += 1
        owned = {partition for member in self.members.values() for partition in member.partitions}
        free = [partition.number for partition in self.partitions if partition.number not in owned]
        idle = self.idle()
        for i, partition in enumerate(free if idle else []):
            self.members[idle[i % len(idle)]].partitions.append(partition)
        idle = self.idle()
        if not idle:
            return
        excess = self.excess()
        for i, (partition, member) in enumerate(excess[: len(idle)] if self.one_each else excess):
            target = idle[i % len(idle)]
            member.pending[partition] = (target, now)
        self.complete(now, None, counted=False)

    def excess(self):
        """(partition, member) for each partition above a fair share, from the end of each member's list."""
        share, more = divmod(len(self.partitions), len(self.members))
        found = []
        for member in self.members.values():
            have = member.pollable()
            allowed = share + (1 if more else 0)
            if len(have) > share and more:
                more -= 1
            if len(have) > allowed:
                found += [(partition, member) for partition in have[::-1][: len(have) - allowed]]
        return found

    def complete(self, now, timeout, counted=True):
        """Moves each pending partition that has nothing in flight any more, or has waited longer than `timeout` (µs)."""
        at = {partition.number: partition for partition in self.partitions}
        for member in list(self.members.values()):
            for partition, (target, since) in list(member.pending.items()):
                late = timeout is not None and now - since >= timeout
                if not late and partition in at and at[partition].in_flight(self.number):
                    continue
                del member.pending[partition]
                member.partitions.remove(partition)
                if target not in self.members:
                    self.deal()
                    return
                self.members[target].partitions.append(partition)
                self.generation += counted

    def next_partition(self, member):
        """The partition a poll without one gets (older framing); None if the member has none."""
        mine = member.pollable()
        if not mine:
            return None
        member.turn += 1
        return mine[(member.turn - 1) % len(mine)]
