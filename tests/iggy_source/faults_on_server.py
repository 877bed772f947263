#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: while messages flow, whatever happens to the network, the server or a member of the group, the lag comes back to zero and nothing is lost (INV-1).

Method: messages that count, over a stand-in for the server and a network that can be cut; the objects are compared with what was sent.

  faults_on_server.py MILLRACE classic|vsr CASE
    cut [SECONDS...]     the network is away for so long (1 10), each time silently and once more with connections that end
    restart              the server ends in order and comes back while messages flow
    members              three members of one group, of which two are killed and others come
    given_again          with exactly_once, a server that lost its newest messages and gave their offsets to others, and a topic that was purged
    positions_lost       what on_position_lost says, each way: to a position that retention has passed, and to one beyond the end
"""
import contextlib
import json
import re
import sys
import tempfile

from on_stand_in import STREAM, Feed, IggyRuns, StandIn, ahead, free_ports, wait_for
from tcp_proxy import Proxy

RATE = 10_000  # messages a second that are meant to flow; a slow machine has less, and it is told how many


def whole(feed, places):
    """Nothing is lost; how many stand twice."""
    lost = feed.everything() - set(places)
    assert not lost, f"{len(lost)} of {feed.total()} messages were lost, {sorted(lost)[:5]} first"
    assert set(places) == feed.everything(), "there are messages that were never sent"
    return sum(places.values()) - feed.total()


def caught_up(stand_in, feed, run, ports):
    """Waits until everything is stored and the lag, as the runs tell it, is zero."""
    wait_for(lambda: stand_in.stored() == feed.last() or run.poll() is not None, "the last offsets")
    for port in ports:
        wait_for(lambda port=port: IggyRuns.metric(port, "etl_iggy_lag_records") == 0 or run.poll() is not None, "a lag of zero")
    assert run.poll() is None, f"it ended by itself:\n{IggyRuns.log_of(run)}"


def cut(stand_in, runs, stack, *lengths):
    (port,) = free_ports(1)
    proxy = stack.enter_context(Proxy(stand_in.port))
    runs.port = proxy.port
    feed = Feed(stand_in)
    run = runs.start(runs.config("cut", {"member": "one"}, metrics={"listen": f"127.0.0.1:{port}"}))
    rates = [feed.flow(2, RATE)]
    caught_up(stand_in, feed, run, [port])
    for seconds in map(float, lengths or (1, 10)):
        for silently in (True, False):
            rates.append(feed.flow(0.5, RATE))
            proxy.cut(silently)
            rates.append(feed.flow(seconds, RATE))
            missing = ahead(stand_in.stored(), runs.places())
            assert not missing, f"stored offsets are ahead of {missing[:5]}"
            proxy.mend()
            rates.append(feed.flow(0.5, RATE))
            caught_up(stand_in, feed, run, [port])
    runs.stop(run)
    twice = whole(feed, runs.places())
    assert twice == 0, f"nobody else was there and nothing crashed, but {twice} messages stand twice"
    print(f"{feed.total()} messages at {min(rates):.0f} to {max(rates):.0f} a second")


def restart(stand_in, runs, _):
    (port,) = free_ports(1)
    feed = Feed(stand_in)
    run = runs.start(runs.config("restart", {"member": "one"}, metrics={"listen": f"127.0.0.1:{port}"}))
    for _ in range(3):
        feed.flow(1, RATE)
        stand_in.end()
        stand_in.start()
        feed.flow(1, RATE)
        caught_up(stand_in, feed, run, [port])
    runs.stop(run)
    whole(feed, runs.places())


def members(stand_in, runs, _):
    """Each kill is a rebalance with messages in flight, each newcomer another one."""
    ports = free_ports(5)
    feed = Feed(stand_in)
    alive = {}

    def come(number):
        config = runs.config(f"member{number}", {"batch_length": 200}, metrics={"listen": f"127.0.0.1:{ports[number]}"})
        run = alive[number] = runs.start(config)
        wait_for(lambda: feed.flow(0.05, RATE) and "were assigned" in runs.log_of(run) or "no partition" in runs.log_of(run) or run.poll() is not None, "its partitions")

    for number in (0, 1, 2):
        come(number)
        feed.flow(0.5, RATE)
    for killed, comes in ((0, 3), (2, 4)):
        feed.flow(0.5, RATE)
        alive[killed].kill()
        alive.pop(killed).wait()
        missing = ahead(stand_in.stored(), runs.places())
        assert not missing, f"stored offsets are ahead of {missing[:5]}"
        feed.flow(1, RATE)
        come(comes)
    feed.flow(0.5, RATE)
    for number, run in alive.items():
        caught_up(stand_in, feed, run, [ports[number]])
    for run in alive.values():
        runs.stop(run)
    twice = whole(feed, runs.places())
    print(f"{feed.total()} messages, {twice} of them twice")


def positions_lost(stand_in, _, stack):
    """Both numbers are said, and what is skipped is what the server does not have, or what `latest` says."""
    feed, place = Feed(stand_in), {"stream": STREAM, "topic": "t"}
    for _ in feed.sent:
        feed.send(20)
    ways = {way: stack.enter_context(IggyRuns(MILLRACE, stand_in.port)) for way in ("fail", "earliest", "latest")}
    run = lambda way, expected=0: ways[way].run(ways[way].config("run", {"consumer_group": way, "on_position_lost": way, "bounded": True}), expected)  # noqa: E731
    read = lambda way, partition: sorted(offset for (topic, p, offset), n in ways[way].places().items() for _ in range(n) if (topic, p) == ("t", partition))  # noqa: E731
    for way in ways:
        run(way)
    # Retention was faster in partition 0: read up to 20, held from 30 on.
    for _ in range(2):
        feed.turn = 0
        feed.send(10)
    stand_in.fake.do("trim", place | {"partition": 0, "before": 30})
    for way in ways:
        said(run(way, 1 if way == "fail" else 0), "partition 0", 20, 30)
    assert read("fail", 0) == list(range(20))
    assert read("earliest", 0) == [*range(20), *range(30, 40)]
    assert read("latest", 0) == list(range(20))
    # A position of partition 1 that the server never came to: 100, where it ends at 20.
    stand_in.fake.do("store", place | {"partition": 0, "group": "fail", "offset": 39})
    for way in ways:
        stand_in.fake.do("store", place | {"partition": 1, "group": way, "offset": 99})
        text = run(way, 1 if way == "fail" else 0)
        said(text, "partition 1", 100, 19)
        assert f"{20 if way == 'earliest' else 0} in," in text, text
    feed.turn = 1
    feed.send(5)
    run("fail", 1)
    run("earliest")
    run("latest")
    assert read("fail", 1) == list(range(20))
    assert read("earliest", 1) == read("latest", 1) == list(range(25))  # what is read again makes the same file


def given_again(_, __, stack):
    """What stands under the offsets of messages that are in objects already is not left out as if it were those."""
    for away in ({"restart": "kill"}, {"purge": {"stream": STREAM, "topic": "t"}}):
        stand_in = stack.enter_context(StandIn(FRAMING, stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-iggy-")), "--flush-messages", 100_000))
        runs = stack.enter_context(IggyRuns(MILLRACE, stand_in.port))

        def send(first, count, fake=stand_in.fake):
            fake.do("append", {"stream": STREAM, "topic": "t", "partition": 0, "messages": [{"payload": '{"n":%d}' % n} for n in range(first, first + count)]})

        sink = {"url": f"file://{runs.folder}/out/", "path_template": "{topic}", "max_file_age": "200ms", "delivery": "exactly_once"}
        config = runs.config("once", {"topics": ["t"], "on_position_lost": "fail", "bounded": True}, sink)
        send(0, 50)
        stand_in.fake.do("flush", True)
        send(50, 50)
        runs.run(config)
        runs.run(config)  # which finds all of it written
        for verb, value in away.items():
            stand_in.fake.do(verb, value)
        send(1000, 30)
        text = runs.run(config, 1)
        written = sorted(json.loads(line)["payload"]["n"] for line in runs.lines())
        assert written == list(range(100)), f"{len(written)} records, not the 100:\n{text}"
        first = 50 if "restart" in away else 0
        assert re.search(rf"offset {first} of partition 0 \(s/t\): the record there is of 20\S+Z, but .* up to offset 99 was of 20\S+Z or earlier", text), text
        assert "_millrace/iggy/commits-" in text, f"the way out is not said:\n{text}"


def said(text, partition, kept, held):
    """A line names the partition and both numbers."""
    assert any(all(re.search(rf"\b{word}\b", line) for word in (partition, kept, held)) for line in text.splitlines()), f"{partition}, {kept} and {held}:\n{text}"


if __name__ == "__main__":
    MILLRACE, FRAMING, case, *words = sys.argv[1:]
    with contextlib.ExitStack() as at_end:
        data = at_end.enter_context(tempfile.TemporaryDirectory(prefix="millrace-iggy-"))
        server = at_end.enter_context(StandIn(FRAMING, data))
        {each.__name__: each for each in (cut, restart, members, given_again, positions_lost)}[case](server, at_end.enter_context(IggyRuns(MILLRACE, server.port)), at_end, *words)
