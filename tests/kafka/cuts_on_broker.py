#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: while records flow, whatever happens to the network or the broker, the lag comes back to zero and nothing is lost (INV-1).

Method: numbered records, over a broker that tells the program to find it behind a network that can be cut; kcat is not behind it. The files
are compared with what kcat says that the topic has. Nobody else is in the group and the program does not die, so no record stands twice.

  cuts_on_broker.py MILLRACE KAFKA_TOOL CASE [SECONDS...]     with MILLRACE_TEST_KAFKA_LIB
    cut        the network is away for so long (1 10), each time silently and once more with connections that end
    restart    the broker is killed, and comes back after so long (1 10)
"""
import contextlib
import os
import sys
import urllib.request

from on_broker import Feed, Runs, Topic, broker_of_its_own, wait_for

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
from free_ports import free_ports  # noqa: E402
from tcp_proxy import Proxy  # noqa: E402

PARTITIONS = 4
RATE = 10_000  # records a second that are meant to flow; a slow machine has less, and it is told how many
GROUP = "cuts"


def lag(port):
    """As the program tells it; None where it does not."""
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
            lines = page.read().decode().splitlines()
    except OSError:
        return None
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("etl_kafka_lag_records{")), None)


class Flow:
    """Records that flow through a run, and how many a second they were."""

    def __init__(self, runs, topic, port):
        self.runs, self.topic, self.port, self.feed, self.rates = runs, topic, port, Feed(topic), []
        self.run = runs.start(runs.config("cuts", {"topics": [topic.name], "group": GROUP}, metrics={"listen": f"127.0.0.1:{port}"}))

    def go_on(self, seconds):
        self.rates.append(self.feed.flow(seconds, RATE))

    def caught_up(self):
        """Everything that was sent is in the files, and the lag is zero."""
        wait_for(lambda: len(self.places()) >= self.feed.sent or self.run.poll() is not None, "the last records")
        wait_for(lambda: lag(self.port) == 0 or self.run.poll() is not None, "a lag of zero")
        assert self.run.poll() is None, f"it ended by itself:\n{self.runs.log_of(self.run)}"

    def places(self):
        return self.runs.places()

    def none_ahead(self):
        positions = [self.topic.position(GROUP, p) or 0 for p in range(PARTITIONS)]
        places = self.places()
        missing = [(p, o) for p in range(PARTITIONS) for o in range(positions[p]) if (p, o) not in places]
        assert not missing, f"stored positions {positions} are ahead of {missing[:5]}"


def cut(flow, _, proxy, lengths):
    for seconds in lengths:
        for silently in (True, False):
            flow.go_on(0.5)
            proxy.cut(silently)
            flow.go_on(seconds)
            flow.none_ahead()
            proxy.mend()
            flow.go_on(0.5)
            flow.caught_up()


def restart(flow, broker, _, lengths):
    for seconds in lengths:
        flow.go_on(0.5)
        broker.kill()
        flow.go_on(seconds)
        broker.start()
        flow.go_on(0.5)
        flow.caught_up()


def main():
    millrace, tool, case, *words = sys.argv[1:]
    lengths = [float(word) for word in words or ("1", "10")]
    with contextlib.ExitStack() as stack:
        runs = stack.enter_context(Runs(millrace, None))
        proxy = stack.enter_context(Proxy(0))
        broker = stack.enter_context(broker_of_its_own(runs, f"127.0.0.1:{proxy.port}"))
        proxy.target = int(broker.address("MILLRACE_TEST_KAFKA_FAR").rsplit(":", 1)[1])
        topic = Topic(tool, broker.address(), PARTITIONS)
        flow = Flow(runs, topic, *free_ports(1))
        stack.callback(flow.feed.kcat.kill)  # it waits for a broker that is gone
        flow.go_on(2)
        flow.caught_up()
        {"cut": cut, "restart": restart}[case](flow, broker, proxy, lengths)
        flow.feed.end()
        runs.stop(flow.run)
        held = {tuple(map(int, line.split())) for line in topic.records("%p %o\n").splitlines()}
        places = flow.places()
        assert not held - set(places), f"{len(held - set(places))} of {len(held)} records were lost, {sorted(held - set(places))[:5]} first"
        assert set(places) == held, "there are records that were never sent"
        twice = sum(places.values()) - len(held)
        assert twice == 0, f"nobody else was there and nothing died, but {twice} records stand twice"
        print(f"{len(held)} records at {min(flow.rates):.0f} to {max(flow.rates):.0f} a second")


if __name__ == "__main__":
    main()
