#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: kill -9 at any instant loses no record of a topic (INV-1), and with exactly_once none stands twice at any time.

Method: a run over a topic that goes on growing is killed at random instants and started again, many times; files are cut by time, so a
replay makes other ones. After each kill every record below a stored position must be in the output already. The last run reads to the end.
Members are known to the group by a name of their own, so that a new one need not wait until the killed one is missed.

  crash_on_broker.py MILLRACE KAFKA_TOOL at_least_once|exactly_once|to_topic
MILLRACE_CRASH_KILLS kills (4), MILLRACE_CRASH_SEED to repeat a run; MILLRACE_TEST_KAFKA names the broker.
"""
import os
import random
import sys
import time

from on_broker import Feed, Runs, Topic, wait_for

PARTITIONS = 3


class Files:
    """Output as files; a place is (partition, offset)."""

    def __init__(self, runs, delivery):
        self.runs, self.once = runs, delivery == "exactly_once"
        self.sink = {"s3": {"url": f"file://{runs.folder}/out/", "path_template": "{topic}", "max_file_age": "150ms", "delivery": delivery}}

    def places(self):
        return self.runs.places()


class Target:
    """Output as a topic; the number in each record stands for its place."""

    once = False

    def __init__(self, tool, source):
        self.source, self.topic = source, Topic(tool, source.brokers, 2)
        self.sink = {"kafka": {"brokers": [source.brokers], "topic": self.topic.name, "batch_records": 50}}

    def places(self):
        place_of = {}
        for line in self.source.records("%p %o %s\n").splitlines():
            partition, offset, value = line.split(" ", 2)
            place_of[value] = (int(partition), int(offset))
        count = {}
        for value in self.topic.records("%s\n").splitlines():
            count[place_of[value]] = count.get(place_of[value], 0) + 1
        return count


def main():
    millrace, tool, kind = sys.argv[1:]
    kills = int(os.environ.get("MILLRACE_CRASH_KILLS", "4"))
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", str(random.randrange(1 << 30))))
    print(f"seed {seed}, {kills} kills")
    rng = random.Random(seed)
    brokers = os.environ["MILLRACE_TEST_KAFKA"]
    topic = Topic(tool, brokers, PARTITIONS)
    feed = Feed(topic)
    with Runs(millrace, brokers) as runs:
        output = Target(tool, topic) if kind == "to_topic" else Files(runs, kind)
        source = {"topics": [topic.name], "group": "crash", "properties": {"group.instance.id": "one", "session.timeout.ms": "45000"}}
        for _ in range(kills):
            run = runs.start(runs.config("crash", source, output.sink))
            if rng.random() < 0.8:  # the others are killed while they begin
                wait_for(lambda: feed.send(20) or "partitions come" in runs.log_of(run) or run.poll() is not None, "its lanes")
            until = time.monotonic() + rng.uniform(0.1, 2.0)
            while time.monotonic() < until and run.poll() is None:
                feed.send(rng.randrange(1, 60))
                time.sleep(0.01)
            assert run.poll() is None, f"it ended by itself:\n{runs.log_of(run)}"
            run.kill()
            run.wait()
            positions = [topic.position("crash", p) or 0 for p in range(PARTITIONS)]
            places = output.places()
            missing = [(p, o) for p in range(PARTITIONS) for o in range(positions[p]) if (p, o) not in places]
            assert not missing, f"stored positions {positions} are ahead of {len(missing)} records, {missing[:5]} first"
            assert not output.once or set(places.values()) <= {1}, "a record stands twice"
        feed.send(500)
        feed.end()
        text = runs.run(runs.config("crash", source | {"bounded": True}, output.sink))
        assert "Completed" in text, text
        places = output.places()
        assert len(places) == feed.sent, f"{len(places)} of {feed.sent} records"
        assert not output.once or set(places.values()) == {1}, "a record stands twice"
        wait_for(lambda: sum(topic.position("crash", p) for p in range(PARTITIONS)) == feed.sent, "the last positions")
        print(f"{feed.sent} records, {sum(places.values()) - feed.sent} of them twice")


if __name__ == "__main__":
    main()
