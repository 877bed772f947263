#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: whoever dies, and in whatever order, the program, the broker or the way to the store: no record is lost (INV-1), no position is
kept ahead of what is durable, and with exactly_once no record stands twice at any time.

Method: numbered records flow into a topic while one to three of them are killed at random instants and come back in random order. After
each kill, with the rest still as it is, everything below a stored position must be in the objects already; while the broker is dead
nobody tells its positions, and those that it told before count. The last run reads to the end (INV-2). Files are cut by time, so a
replay makes other ones. What the topic has is told by kcat. Objects outlive a death of the store, so it dies by being cut off, silently or not.

  kills_on_broker.py MILLRACE S3_FAULT_SERVER KAFKA_TOOL at_least_once|exactly_once
MILLRACE_CRASH_KILLS kills of each (2), MILLRACE_CRASH_SEED to repeat a run; MILLRACE_TEST_KAFKA_LIB is the broker's folder. The store: tests/servers/mortals.py.
"""
import collections
import contextlib
import json
import os
import random
import sys

from on_broker import Feed, Runs, Topic, broker_of_its_own, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
from mortals import Program, Store, WayToStore, kill_in_every_order  # noqa: E402

PARTITIONS = 3
RATE = 2000  # records a second; what a killed run has in hand is what counts
GROUP = "crash"


class Server:
    def __init__(self, broker):
        self.broker, self.alive = broker, True

    def die(self):
        self.alive = False
        self.broker.kill()

    def rise(self):
        self.broker.start()
        self.alive = True


class Check:
    """Compares what is stored for the group with what is durable."""

    def __init__(self, topic, store, server, once):
        self.topic, self.store, self.server, self.once = topic, store, server, once
        self.positions = [0] * PARTITIONS

    def places(self, anew=False):
        return collections.Counter((line["partition_id"], line["offset"]) for line in map(json.loads, self.store.lines(anew)))

    def __call__(self):
        if self.server.alive:  # before the objects: those of a live run become more
            self.positions = [self.topic.position(GROUP, p) or 0 for p in range(PARTITIONS)]
        places = self.places()
        missing = [(p, o) for p in range(PARTITIONS) for o in range(self.positions[p]) if (p, o) not in places]
        assert not missing, f"stored positions {self.positions} are ahead of {len(missing)} records, {missing[:5]} first"
        assert not self.once or set(places.values()) <= {1}, f"a record stands twice: {[place for place, times in places.items() if times > 1][:5]}"


def main():
    millrace, server_program, tool, delivery = sys.argv[1:]
    kills = int(os.environ.get("MILLRACE_CRASH_KILLS", "2"))
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", str(random.randrange(1 << 30))))
    print(f"MILLRACE_CRASH_SEED={seed}, {kills} kills of each", flush=True)
    rng = random.Random(seed)
    with contextlib.ExitStack() as stack:
        store = Store(server_program, stack, "kafka-crash")
        runs = stack.enter_context(Runs(millrace, None))
        server = Server(stack.enter_context(broker_of_its_own(runs)))
        topic = Topic(tool, runs.brokers, PARTITIONS)
        feed = Feed(topic)
        stack.callback(feed.kcat.kill)  # it waits for a broker that is gone
        source = {"topics": [topic.name], "group": GROUP, "connect_timeout": "10m", "properties": {"group.instance.id": "one", "session.timeout.ms": "45000"}}
        sink = {"s3": store.sink(delivery)}
        program, way = Program(runs, runs.config("crash", source, sink)), WayToStore(store.proxy, rng)
        check = Check(topic, store, server, delivery == "exactly_once")

        def lanes():
            wait_for(lambda: feed.flow(0.05, RATE) and "partitions come" in runs.log_of(program.run) or program.run.poll() is not None, "its lanes")

        def before():
            feed.flow(rng.uniform(0.1, 1.0), RATE)
            if rng.random() < 0.8:  # the others die while it begins
                lanes()

        def between(died):
            if died:
                check()
            feed.flow(rng.uniform(0.0, 0.3), RATE)

        killed = kill_in_every_order([program, server, way], kills, rng, before, between)
        lanes()
        program.die()
        check()
        feed.flow(0.5, RATE)
        feed.end()
        text = runs.run(runs.config("last", source | {"bounded": True}, sink))
        assert "Completed" in text, text
        sent = [line.split(" ", 2) for line in topic.records("%p %o %s\n").splitlines()]
        assert {json.loads(value)["n"] for _, _, value in sent} == set(range(feed.sent)), "kcat did not deliver everything"
        held = {(int(partition), int(offset)) for partition, offset, _ in sent}
        places = check.places(anew=True)
        assert not held - set(places), f"{len(held - set(places))} of {len(held)} records were lost, {sorted(held - set(places))[:5]} first"
        assert set(places) == held, "there are records that were never sent"
        assert not check.once or set(places.values()) == {1}, "a record stands twice"
        positions = [topic.position(GROUP, p) for p in range(PARTITIONS)]
        assert sum(positions) == len(held), f"{positions} is stored, of {len(held)} records"
        print(f"{len(held)} records, {sum(places.values()) - len(held)} of them twice; {killed} kills")


if __name__ == "__main__":
    main()
