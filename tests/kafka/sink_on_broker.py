#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: what the Kafka sink says is written is in the topic, with its key, headers and time, in the order of its source.

Method: runs of the program into a topic of each case's own; kcat reads what is there.

  sink_on_broker.py MILLRACE KAFKA_TOOL CASE      with MILLRACE_TEST_KAFKA (and _LIB for `restart`)
"""
import datetime
import hashlib
import json
import os
import sys

from on_broker import Runs, Topic, broker_of_its_own, wait_for


def sink_to(topic, **more):
    return {"kafka": {"brokers": [topic.brokers], "topic": topic.name} | more}


def topic_to_topic(tool, brokers, runs):
    """Key, value, headers and time arrive as they were; records of one key keep their order."""
    source, target = Topic(tool, brokers, 3), Topic(tool, brokers, 4)
    source.put((f"k{i % 50}\tvalue {i} é" for i in range(5000)), "-H", "trace=a", "-H", "trace=b")
    source.put((f"\tvalue {i}" for i in range(5000, 5050)), "-Z")
    config = runs.config("copy", {"topics": [source.name], "group": "copy", "bounded": True}, sink_to(target, compression="lz4"))
    runs.run(config)
    form = "%K %k|%h|%T|%s\n"
    assert sorted(source.records(form).splitlines()) == sorted(target.records(form).splitlines())

    def by_key(topic):
        order = {}
        for line in topic.records("%k|%s\n").splitlines():
            key, value = line.split("|")
            order.setdefault(key, []).append(value)
        return {key: values for key, values in order.items() if key}

    assert by_key(source) == by_key(target)


def files_to_topic(tool, brokers, runs):
    """Lines of a file become values without keys; the position of the file is kept only behind what is in the topic."""
    topic = Topic(tool, brokers, 2)
    os.mkdir(os.path.join(runs.folder, "in"))
    lines = [f'{{"n":{i}}}' for i in range(20000)]
    with open(os.path.join(runs.folder, "in", "a.ndjson"), "w", encoding="ascii") as file:
        file.write("".join(line + "\n" for line in lines))
    source = {"s3": {"url": f"file://{runs.folder}/in/", "checkpoint": {"url": f"file://{runs.folder}/state.json"}}}
    runs.run(runs.file("files", source, sink_to(topic, batch_records=1000)))
    assert sorted(topic.records("%s\n").splitlines()) == sorted(lines)


def hash_of(records):
    """Of records in any order: (partition, offset, milliseconds, headers, value)."""
    return hashlib.sha256("\n".join(sorted(json.dumps(record) for record in records)).encode()).hexdigest()


def there_and_back(tool, brokers, runs):
    """A topic becomes objects, and these, read by the S3 source, a topic again: partition, offset, time, headers and value of
    each record are what another client saw at first."""
    source, target = Topic(tool, brokers, 3), Topic(tool, brokers, 2)
    source.put((f'k{i % 50}\t{{"n":{i}, "exact":1.50e+{i % 7},"text":"é\\u00e9{"x" * (i % 40)}"}}' for i in range(4000)), "-H", "trace=a b", "-H", "node=é")
    source.put((f'\t{{"n":{i}}}' for i in range(4000, 4100)), "-Z")
    objects = {"url": f"file://{runs.folder}/out/", "path_template": "{topic}/{partition}", "compression": "gzip", "max_file_size": "64KiB"}
    sink = {"s3": objects | {"include_headers": True, "timestamp_precision": 3, "probe": False}}
    runs.run(runs.config("there", {"topics": [source.name], "group": "there", "bounded": True}, sink))
    back = {"s3": {"url": f"file://{runs.folder}/out/", "include": ["**.jsonl.gz"], "checkpoint": {"url": f"file://{runs.folder}/state.json"}}}
    runs.run(runs.file("back", back, sink_to(target)))

    expected = []
    for line in source.records("%p\t%o\t%T\t%h\t%s\n").splitlines():
        partition, offset, millis, headers, value = line.split("\t")
        pairs = [pair.split("=", 1) for pair in headers.split(",")] if headers else []
        expected.append([int(partition), int(offset), int(millis), pairs, value])
    seen = []
    for line in target.records("%s\n").splitlines():
        wrapped = json.loads(line)
        at = datetime.datetime.fromisoformat(wrapped["timestamp"].replace("Z", "+00:00"))
        millis = round(at.timestamp() * 1000)
        value = line[line.index('"payload":') + len('"payload":') : -1]  # its bytes, not what Python makes of them
        seen.append([wrapped["partition_id"], wrapped["offset"], millis, [list(pair) for pair in wrapped.get("headers", {}).items()], value])
    assert len(expected) == 4100, len(expected)
    assert hash_of(seen) == hash_of(expected), (sorted(seen)[:2], sorted(expected)[:2])


def too_large(tool, brokers, runs):
    """A record that is larger than it may be is one for the record policy; what the topic alone refuses ends the run."""
    source, target = Topic(tool, brokers), Topic(tool, brokers)
    source.put(["a\tshort", "b\t" + "x" * 5000, "c\tshort too"])
    copy = {"topics": [source.name], "group": "large", "bounded": True}
    text = runs.run(runs.config("fail", copy, sink_to(target, max_record_bytes=4000)), expected=1)
    assert "5001 bytes" in text and "max_record_bytes of the sink is 4000" in text, text
    target = Topic(tool, brokers)
    skip = runs.config("skip", copy | {"group": "skip"}, sink_to(target, max_record_bytes=4000), decode={"text": {"on_error": "skip"}})
    text = runs.run(skip)
    assert "1 skipped" in text, text
    assert target.records("%k\n").split() == ["a", "c"]
    narrow = Topic(tool, brokers, 1, "max.message.bytes=2000")
    text = runs.run(runs.config("narrow", copy | {"group": "narrow"}, sink_to(narrow)), expected=1)
    assert f"the record of offset 1 to topic '{narrow.name}'" in text and "max.message.bytes" in text, text
    # Small records are not refused for what is sent with them.
    many, packed = Topic(tool, brokers), Topic(tool, brokers, 1, "max.message.bytes=2000")
    many.put(f"k\t{i}" for i in range(2000))
    runs.run(runs.config("packed", {"topics": [many.name], "group": "packed", "bounded": True}, sink_to(packed)))
    # Which sets the client makes is a matter of time. One that is taken behind a refused one is sent again with it: the last of each stands in order.
    last = {value: at for at, value in enumerate(packed.records("%s\n").split())}
    missing = [i for i in range(2000) if str(i) not in last]
    assert not missing, f"{len(missing)} of 2000 records are not there, {missing[0]} the first"
    found = sorted(last, key=last.get)
    assert found == [str(i) for i in range(2000)], f"not in order at {next(i for i, value in enumerate(found) if value != str(i))}"


def unknown(tool, brokers, runs):
    """A topic that is not there is named before a record moves."""
    source = Topic(tool, brokers)
    sink = {"kafka": {"brokers": [brokers], "topic": "nowhere", "connect_timeout": "1s"}}
    text = runs.run(runs.config("unknown", {"topics": [source.name], "group": "g"}, sink), expected=1)
    assert "topic 'nowhere' cannot be written" in text and "create the topic" in text, text
    text = runs.run(runs.config("loop", {"topics": [source.name], "group": "g"}, sink_to(source)), expected=2)
    assert "read its own output" in text, text


def restart(tool, _, runs):
    """The broker is killed while records are written and comes back: every record is there, once, in its order."""
    with broker_of_its_own(runs) as broker:
        source, target = Topic(tool, runs.brokers), Topic(tool, runs.brokers)
        source.put(f"k\t{i}" for i in range(3000))
        config = runs.config("restart", {"topics": [source.name], "group": "restart"}, sink_to(target, batch_records=100))
        run = runs.start(config)
        wait_for(lambda: (source.position("restart") or 0) > 0, "the first records")
        broker.kill()
        wait_for(lambda: "trouble with the brokers" in runs.log_of(run), "the run to notice")
        broker.start()
        source.put(f"k\t{i}" for i in range(3000, 4000))
        wait_for(lambda: source.position("restart") == 4000, "the last position")
        runs.stop(run)
        assert target.records("%s\n").split() == [str(i) for i in range(4000)]


CASES = [topic_to_topic, files_to_topic, there_and_back, too_large, unknown, restart]


def main():
    millrace, tool, case = sys.argv[1:]
    brokers = os.environ["MILLRACE_TEST_KAFKA"]
    with Runs(millrace, brokers) as runs:
        {one.__name__: one for one in CASES}[case](tool, brokers, runs)


if __name__ == "__main__":
    main()
