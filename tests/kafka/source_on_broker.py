#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: the Kafka source under a real broker reads each record once where nothing crashes, stores no position ahead of what is
durable (INV-1), and says what is wrong in words.

Method: each case has a topic of its own, filled and read by kcat, and runs of the program over it; outputs are compared by partition and offset.

  source_on_broker.py MILLRACE KAFKA_TOOL CASE      with MILLRACE_TEST_KAFKA (and _LIB for `restart`)
"""
import collections
import json
import os
import signal
import subprocess
import sys
import time

from on_broker import Feed, Member, Runs, Topic, broker_of_its_own, group_of, wait_for


COUNT_OF_MEMBERS = 300_000  # far more than one member, its pipe and the records under way hold
HEARTBEATS = {"heartbeat.interval.ms": "500"}  # by which members learn that they must join again


def all_places(partitions, ends):
    return {(p, o) for p in range(partitions) for o in range(ends[p])}


def contents(tool, brokers, runs):
    """Key, headers, timestamp, offset and value arrive as another client sees them; positions are one past the end."""
    topic = Topic(tool, brokers, 3)
    topic.put((f'k{i}\t{{"n":{i},"text":"é{"x" * (i % 50)}"}}' for i in range(3000)), "-H", "trace=a b", "-H", "trace=zwei")
    topic.put((f'\t{{"n":{i}}}' for i in range(3000, 3100)), "-Z")
    sink = {"s3": {"url": f"file://{runs.folder}/out/", "path_template": "{topic}", "include_headers": True, "timestamp_precision": 3}}
    source = {"topics": [topic.name], "group": "contents", "bounded": True}
    runs.run(runs.config("contents", source, sink))
    seen = sorted((r["partition_id"], r["offset"], r["timestamp"], json.dumps(r["payload"]), json.dumps(r.get("headers"))) for r in map(json.loads, runs.lines()))
    expected = []
    for line in topic.records("%p\t%o\t%T\t%s\t%h\n").splitlines():
        partition, offset, millis, value, headers = line.split("\t")
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(millis) // 1000)) + f".{int(millis) % 1000:03}Z"
        as_seen = {"trace": ["a b", "zwei"]} if headers else None
        expected.append((int(partition), int(offset), stamp, json.dumps(json.loads(value)), as_seen))
    assert len(expected) == 3100
    assert [s[:4] for s in seen] == [e[:4] for e in sorted(expected, key=lambda e: e[:2])]
    with_headers = [s[4] for s in seen if s[4] != "null"]
    assert len(with_headers) == 3000 and set(with_headers) == {with_headers[0]}, set(with_headers)
    assert "zwei" in with_headers[0], with_headers[0]
    ends = [sum(1 for e in expected if e[0] == p) for p in range(3)]
    assert [topic.position("contents", p) for p in range(3)] == ends
    config = runs.config("contents", source, sink)
    assert "0 in" in runs.run(config)  # nothing is left
    told = json.loads(runs.ask("status", config, "--format", "json"))
    assert told["behind"] == 0 and [p["stored"] for p in told["partitions"]] == ends, told
    assert "0 records behind" in runs.ask("status", config)


def keys(tool, brokers, runs):
    """Keys reach the sink as they are; a record without one has none."""
    topic = Topic(tool, brokers)
    topic.put(["alpha\tone", "beta\ttwo", "\tnone"], "-Z")
    sink = {"s3": {"url": f"file://{runs.folder}/out/", "path_template": "{topic}/{key}", "output_format": "raw", "delimiter": "\n"}}
    runs.run(runs.config("keys", {"topics": [topic.name], "group": "keys", "bounded": True}, sink))
    found = {os.path.basename(folder): names for folder, _, names in os.walk(os.path.join(runs.folder, "out", topic.name)) if names}
    assert set(found) == {"alpha", "beta", "__HIVE_DEFAULT_PARTITION__"}, found


def bounded(tool, brokers, runs):
    """A bounded run ends at the ends of its start, also while records go on coming."""
    topic = Topic(tool, brokers, 2)
    topic.put(f"k{i}\t{i}" for i in range(2000))
    before = topic.records("%p %o\n").splitlines()
    feed = Feed(topic)
    run = runs.start(runs.config("bounded", {"topics": [topic.name], "group": "bounded", "bounded": True}))
    while run.poll() is None:
        feed.send(50)
        time.sleep(0.02)
    feed.end()
    text = runs.end(run)
    assert "Completed" in text
    places = runs.places()
    assert set(places.values()) == {1} and {tuple(map(int, line.split())) for line in before} <= set(places)
    ends = [topic.position("bounded", p) for p in range(2)]
    assert all(o < ends[p] for p, o in places)
    assert len(places) < 2000 + feed.sent, "the run went on to the end of what came meanwhile"


def bounded_members(tool, brokers, runs):
    """INV-2: of two bounded members neither is Completed before everything is read, though a rebalance leaves both with nothing for a while."""
    for assignment in ("eager", "cooperative"):
        topic = Topic(tool, brokers, 4)
        topic.put(f"k{i}\t{i}" for i in range(COUNT_OF_MEMBERS))
        there = {tuple(map(int, line.split())) for line in topic.records("%p %o\n").splitlines()}
        assert len(there) == COUNT_OF_MEMBERS
        group = f"members-{assignment}"
        source = {"topics": [topic.name], "group": group, "bounded": True, "assignment": assignment, "properties": HEARTBEATS}
        sink = {"stdout": {"format": "json_lines", "wrap": True}}
        config = runs.config(group, source, sink, pipeline={"name": "kafka", "threads": 2, "max_inflight_bytes": "1MiB"})
        written = [os.path.join(runs.folder, f"{group}.{member}.jsonl") for member in range(2)]
        with open(written[0], "wb") as of_first, open(written[1], "wb") as of_second:
            # Nobody reads the pipe of the first member until the group is shared anew, so it is in the midst of its reading then.
            ours, its = os.pipe()
            first = runs.start(config, its)
            os.close(its)
            wait_for(lambda: "partitions come" in runs.log_of(first), "the first member's partitions")
            second = runs.start(config, of_second)
            wait_for(lambda: "partitions go" in runs.log_of(first), "the second member to join")
            with subprocess.Popen(["cat"], stdin=ours, stdout=of_first):
                os.close(ours)
                texts = [runs.end(run) for run in (first, second)]
        assert all("Completed" in text for text in texts)
        assert "partitions come partitions=2" in texts[1], f"{assignment}: the second member was given something else:\n{texts[1]}"
        places = collections.Counter((line["partition_id"], line["offset"]) for path in written for line in map(json.loads, open(path, encoding="utf-8")))
        assert set(places) == there, f"{assignment}: a run was Completed with {len(there - set(places))} records unread"
        assert set(places.values()) == {1}, f"{assignment}: {sum(places.values())} lines of {len(there)} records"
        ends = sum(topic.position(group, p) or 0 for p in range(4))
        assert ends == COUNT_OF_MEMBERS, ends


def transactions(tool, brokers, runs):
    """What was aborted is not seen; positions pass the marks that transactions leave, at the end too."""
    topic = Topic(tool, brokers)
    topic.put(f"k\tplain {i}" for i in range(10))
    topic.ask("transaction", topic.name, "0", "abort", stdin="".join(f"aborted {i}\n" for i in range(20)))
    topic.ask("transaction", topic.name, "0", "commit", stdin="".join(f"committed {i}\n" for i in range(5)))
    topic.ask("transaction", topic.name, "0", "abort", stdin="aborted at the end\n")
    sink = {"s3": {"url": f"file://{runs.folder}/out/", "path_template": "{topic}", "output_format": "raw", "delimiter": "\n"}}
    text = runs.run(runs.config("tx", {"topics": [topic.name], "group": "tx", "bounded": True}, sink))
    assert "Completed" in text
    assert runs.lines() == [f"plain {i}" for i in range(10)] + [f"committed {i}" for i in range(5)]
    # 10 records, 20 and a mark, 5 and a mark, 1 and a mark
    assert topic.position("tx") == 10 + 21 + 6 + 2


def rebalance(tool, brokers, runs, assignment):
    """Members come and go while records flow: none is read less than once, and none twice, as nothing crashes."""
    partitions = 6
    topic = Topic(tool, brokers, partitions)
    source = {"topics": [topic.name], "group": "rebalance", "assignment": assignment, "properties": HEARTBEATS}
    config = runs.config("rebalance", source)
    feed = Feed(topic)
    feed.send(3000)
    first = runs.start(config)
    wait_for(lambda: len(runs.places()) > 500, "records of the first member")

    def until(run, words):
        def look():
            feed.send(20)
            return words in runs.log_of(run)
        wait_for(look, words)

    second = runs.start(config)
    until(second, "partitions come partitions=3")
    third = runs.start(config)
    until(third, "partitions come partitions=2")
    feed.send(500)
    runs.stop(first)
    gone = runs.log_of(second).count("partitions come") + runs.log_of(third).count("partitions come")
    wait_for(lambda: feed.send(20) or runs.log_of(second).count("partitions come") + runs.log_of(third).count("partitions come") > gone, "the others to take over")
    feed.send(500)
    runs.stop(second)
    feed.end()
    wait_for(lambda: len(runs.places()) >= feed.sent, "every record")
    runs.stop(third)
    places = runs.places()
    assert len(places) == feed.sent and set(places.values()) == {1}, f"{len(places)} of {feed.sent}, {sum(places.values())} lines"
    ends = [topic.position("rebalance", p) or 0 for p in range(partitions)]
    assert set(places) == all_places(partitions, ends)


def eager(tool, brokers, runs):
    rebalance(tool, brokers, runs, "eager")


def cooperative(tool, brokers, runs):
    rebalance(tool, brokers, runs, "cooperative")


def killed(tool, brokers, runs):
    """A member that is killed is replaced when its session ends; what it had not stored is read again, and nothing is missing."""
    topic = Topic(tool, brokers, 4)
    source = {"topics": [topic.name], "group": "killed", "properties": {"session.timeout.ms": "6000"}}
    config = runs.config("killed", source)
    feed = Feed(topic)
    feed.send(2000)
    first, second = runs.start(config), runs.start(config)
    wait_for(lambda: feed.send(20) or all("partitions come" in runs.log_of(r) for r in (first, second)), "both")
    wait_for(lambda: feed.send(20) or len(runs.places()) > 2000, "records")
    first.kill()
    first.wait()
    feed.send(1000)
    feed.end()
    wait_for(lambda: len(runs.places()) >= feed.sent, "every record")
    runs.stop(second)
    assert len(runs.places()) == feed.sent


def session(tool, brokers, runs):
    """A member that sleeps through its session finds its partitions lost, joins again and reads on; nothing is missing."""
    topic = Topic(tool, brokers, 4)
    source = {"topics": [topic.name], "group": "session", "properties": {"session.timeout.ms": "6000"} | HEARTBEATS}
    config = runs.config("session", source)
    feed = Feed(topic)
    feed.send(2000)
    first = runs.start(config)
    wait_for(lambda: feed.send(20) or len(runs.places()) > 500, "records of the first member")
    second = runs.start(config)
    wait_for(lambda: feed.send(20) or "partitions come partitions=2" in runs.log_of(second), "both")
    comings = [runs.log_of(run).count("partitions come") for run in (first, second)]
    first.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: feed.send(20) or runs.log_of(second).count("partitions come") > comings[1], "the other to take over")
    finally:
        first.send_signal(signal.SIGCONT)
    wait_for(lambda: feed.send(20) or "partitions are lost" in runs.log_of(first), "the loss to be noticed")
    wait_for(lambda: feed.send(20) or runs.log_of(first).count("partitions come") > comings[0], "it to join again")
    feed.send(1000)
    feed.end()
    wait_for(lambda: len(runs.places()) >= feed.sent, "every record")
    runs.stop(first)
    runs.stop(second)
    ends = [topic.position("session", p) for p in range(4)]
    assert set(runs.places()) == all_places(4, ends) and sum(ends) == feed.sent


def restart(tool, _, runs):
    """The broker is killed and comes back: the run rides through, without a record less or more than once too often."""
    with broker_of_its_own(runs) as broker:
        topic = Topic(tool, runs.brokers, 2)
        run = runs.start(runs.config("restart", {"topics": [topic.name], "group": "restart"}))
        topic.put(f'k{i}\t{{"n":{i}}}' for i in range(2000))
        wait_for(lambda: len(runs.places()) == 2000, "the first records")
        broker.kill()
        wait_for(lambda: "trouble with the brokers" in runs.log_of(run), "the run to notice")
        broker.start()
        topic.put(f'k{i}\t{{"n":{i}}}' for i in range(2000, 4000))
        wait_for(lambda: len(runs.places()) == 4000, "the records behind the restart")
        wait_for(lambda: sum(topic.position("restart", p) or 0 for p in range(2)) == 4000, "the positions")
        runs.stop(run)
        assert set(runs.places().values()) == {1}


def positions_lost(tool, brokers, runs):
    """A stored position that the broker no longer holds fails by default, with both numbers; or goes on where it is told."""
    topic = Topic(tool, brokers)
    topic.put(f"k\t{{\"n\":{i}}}" for i in range(100))
    source = {"topics": [topic.name], "group": "lost", "bounded": True}
    topic.ask("store", group_of(topic.name, "lost"), topic.name, "0", "20")
    topic.ask("trim", topic.name, "0", "60")
    text = runs.run(runs.config("lost", source), expected=1)
    assert "20" in text and "60" in text and "on_position_lost" in text, text
    text = runs.run(runs.config("lost", source | {"on_position_lost": "earliest"}))
    assert set(runs.places()) == {(0, o) for o in range(60, 100)}
    assert "20" in text and "60" in text, text
    topic.ask("store", group_of(topic.name, "behind"), topic.name, "0", "5000")
    text = runs.run(runs.config("behind", source | {"group": "behind"}), expected=1)
    assert "5000" in text and "100" in text, text
    runs.run(runs.config("behind", source | {"group": "behind", "on_position_lost": "latest"}))
    assert topic.position("behind") == 100


def lost_while_reading(tool, brokers, runs):
    """Retention that is faster than a run ends it with both numbers; the next run goes on as on_position_lost says."""
    topic = Topic(tool, brokers)
    topic.put(f'k\t{{"n":{i}}}' for i in range(100))
    source = {"topics": [topic.name], "group": "fast"}
    run = runs.start(runs.config("fast", source))
    wait_for(lambda: topic.position("fast") == 100, "the first records")
    run.send_signal(signal.SIGSTOP)
    try:
        topic.put(["k\t{}"])  # which answers a request that is under way
        topic.put(f'k\t{{"n":{i}}}' for i in range(101, 200))
        topic.ask("trim", topic.name, "0", "150")
    finally:
        run.send_signal(signal.SIGCONT)
    text = runs.end(run, 1)
    assert "is not there any more: the partition holds offsets 150 to 199" in text and "set on_position_lost" in text, text
    assert topic.position("fast") in (100, 101)
    runs.run(runs.config("fast", source | {"bounded": True, "on_position_lost": "earliest"}))
    assert set(runs.places()) - {(0, 100)} == {(0, o) for o in [*range(100), *range(150, 200)]}


def start(tool, brokers, runs):
    """`start` decides where nothing is stored, and only there; `latest` stands from the moment that the partition was taken."""
    topic = Topic(tool, brokers)
    topic.put(f'k\t{{"n":{i}}}' for i in range(100))
    source = {"topics": [topic.name], "group": "latest", "start": "latest", "properties": {"session.timeout.ms": "6000"}}
    run = runs.start(runs.config("latest", source))
    wait_for(lambda: topic.position("latest") == 100, "the position to be kept")
    run.kill()
    run.wait()
    topic.put(f'k\t{{"n":{i}}}' for i in range(10))
    runs.run(runs.config("latest", source | {"bounded": True}))
    assert set(runs.places()) == {(0, o) for o in range(100, 110)}
    runs.run(runs.config("offset", {"topics": [topic.name], "group": "offset", "start": {"offset": 95}, "bounded": True}))
    assert set(runs.places()) == {(0, o) for o in range(95, 110)}


def start_at_a_time(tool, brokers, runs):
    """`start: {timestamp: ...}` begins at the first record of that time or later; at the end where none is that young."""
    topic = Topic(tool, brokers)
    for batch in range(2):
        topic.put(f'k\t{{"n":{i}}}' for i in range(50))
        last = max(map(int, topic.records("%T\n").split()))
        wait_for(lambda: time.time() * 1000 > last + 1, "the clock to move on")
    times = {int(o): int(t) for o, t in map(str.split, topic.records("%o %T\n").splitlines())}

    def begin(group, millis):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(millis // 1000)) + f".{millis % 1000:03}Z"
        runs.run(runs.config(group, {"topics": [topic.name], "group": group, "start": {"timestamp": stamp}, "bounded": True}))
        return topic.position(group)

    assert begin("late", times[99] + 60_000) == 100 and not runs.places()
    assert begin("second", times[50]) == 100
    first = min(o for o, t in times.items() if t >= times[50])
    assert set(runs.places()) == {(0, o) for o in range(first, 100)} and first == 50


def tombstones(tool, brokers, runs):
    """A record without a value is what `on_tombstone` says."""
    topic = Topic(tool, brokers)
    topic.put(['a\t{"n":1}', "b\t", 'c\t{"n":2}'], "-Z")
    first, last = (0, {"n": 1}), (2, {"n": 2})
    for what, expected in (("empty", [first, (1, ""), last]), ("json_null", [first, (1, None), last]), ("skip", [first, last])):
        sink = {"s3": {"url": f"file://{runs.folder}/out/{what}/", "path_template": "{topic}"}}
        runs.run(runs.config(what, {"topics": [topic.name], "group": what, "bounded": True, "on_tombstone": what}, sink))
        assert [(r["offset"], r["payload"]) for r in map(json.loads, runs.lines(what))] == expected
        assert topic.position(what) == 3


def open_transaction(tool, brokers, runs):
    """A position behind the first transaction that is open is there all the same: read_uncommitted leaves such ones."""
    topic = Topic(tool, brokers)
    topic.put(f"k\tplain {i}" for i in range(10))
    topic.ask("transaction", topic.name, "0", "leave", stdin="".join(f"open {i}\n" for i in range(5)))
    topic.ask("store", group_of(topic.name, "open"), topic.name, "0", "13")
    source = {"topics": [topic.name], "group": "open", "bounded": True}
    assert "Completed" in runs.run(runs.config("open", source))
    assert not runs.places() and topic.position("open") == 13
    topic.ask("store", group_of(topic.name, "open"), topic.name, "0", "16")
    text = runs.run(runs.config("open", source), expected=1)
    assert "16" in text and "on_position_lost" in text, text


def named(tool, brokers, runs):
    """Partitions that are named are read without joining; positions are stored all the same."""
    topic = Topic(tool, brokers, 3)
    topic.put(f'k{i}\t{{"n":{i}}}' for i in range(300))
    config = runs.config("named", {"topics": [topic.name], "group": "named", "partitions": [0, 2], "bounded": True})
    runs.run(config)
    assert {p for p, _ in runs.places()} == {0, 2}
    assert topic.position("named", 1) is None and topic.position("named", 2) > 0
    config = runs.config("none", {"topics": [topic.name], "group": "named", "partitions": [7], "bounded": True})
    assert "no partition 7" in runs.run(config, expected=1)


def named_beside_members(tool, brokers, runs):
    """A group that has members takes no position from a run that names its partitions: it does not begin; or waits with its positions until they are gone."""
    topic = Topic(tool, brokers)
    topic.put(f'k{i}\t{{"n":{i}}}' for i in range(10))
    group = group_of(topic.name, "beside")
    source = {"topics": [topic.name], "group": "beside", "partitions": [0], "connect_timeout": "1s"}
    with Member(topic, group):
        text = runs.run(runs.config("beside", source), expected=1)
        assert f"the group '{group}' has members" in text, text
    run = runs.start(runs.config("beside", source | {"connect_timeout": "60s"}))
    wait_for(lambda: topic.position("beside") == 10, "the first positions")
    with Member(topic, group):
        topic.put(f'k{i}\t{{"n":{i}}}' for i in range(10, 20))
        wait_for(lambda: f"the group '{group}' has members" in runs.log_of(run), "the refusal to be told")
        assert run.poll() is None
    wait_for(lambda: topic.position("beside") == 20, "the positions that were held up")
    runs.stop(run)
    assert set(runs.places()) == {(0, o) for o in range(20)}


def unknown(tool, brokers, runs):
    """A topic that is not there, and brokers that are not: named, with a way out, within connect_timeout."""
    text = runs.run(runs.config("unknown", {"topics": ["nowhere"], "group": "g", "connect_timeout": "1s"}), expected=1)
    assert "nowhere" in text and "create it, or correct `topics`" in text, text
    source = {"topics": ["nowhere"], "group": "g", "connect_timeout": "1d", "properties": {"security.protocol": "ssl"}}
    text = runs.run(runs.config("refused", source), expected=1)
    assert "set security.protocol" in text, text
    runs.brokers = "127.0.0.1:1"
    text = runs.run(runs.config("away", {"topics": ["nowhere"], "group": "g", "connect_timeout": "1s"}), expected=1)
    assert "127.0.0.1:1" in text and "check `brokers`" in text, text


def idle(tool, brokers, runs):
    """A run with nothing to do sleeps."""
    topic = Topic(tool, brokers, 8)
    run = runs.start(runs.config("idle", {"topics": [topic.name], "group": "idle"}))
    wait_for(lambda: topic.position("idle", 7) == 0, "the lanes")

    def cpu():
        with open(f"/proc/{run.pid}/stat", encoding="ascii") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    begun, before = time.monotonic(), cpu()
    topic.put(["k\t{}"])
    wait_for(lambda: time.monotonic() > begun + 3, "three seconds")
    used = cpu() - before
    assert used < 1.0, f"{used} s of CPU in three seconds without records"
    runs.stop(run)


CASES = [contents, keys, bounded, bounded_members, transactions, eager, cooperative, killed, session, restart, positions_lost, lost_while_reading, start, start_at_a_time, tombstones, open_transaction, named, named_beside_members, unknown, idle]


def main():
    millrace, tool, case = sys.argv[1:]
    brokers = os.environ["MILLRACE_TEST_KAFKA"]
    with Runs(millrace, brokers) as runs:
        {one.__name__: one for one in CASES}[case](tool, brokers, runs)


if __name__ == "__main__":
    main()
