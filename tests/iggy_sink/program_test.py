#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: what the program says is written to a topic of Iggy is there, also behind kills; what it cannot write it says, without a secret.

Method: runs of the program into the stand-in for a server. What is there is read by the independent client, which verifies every checksum, and
by the official one, never by the code under test.

  program_test.py MILLRACE classic|vsr CASE       MILLRACE_CRASH_KILLS kills (4), MILLRACE_CRASH_SEED to repeat a run of `killed`
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "iggy_fake_server")]
import client_suite  # noqa: E402
from fake import Fake  # noqa: E402
from iggy_wire import OFFSET, consumer  # noqa: E402

PASSWORD = "a-password-of-the-test"


class Bench:
    """A server, a folder, and runs of the program."""

    def __init__(self, millrace, framing, fake, folder):
        self.millrace, self.framing, self.fake, self.folder = millrace, framing, fake, pathlib.Path(folder)
        self.user = {"username": "mill", "password": "${IGGY_PASSWORD}"}
        self.reader = fake.client(login=False)
        self.reader.login("mill", PASSWORD)

    def topic(self, name, partitions=2):
        self.fake.do("create", {"stream": "s", "topic": name, "partitions": partitions})

    def sink(self, topic, **more):
        return {"iggy": {"address": f"127.0.0.1:{self.fake.port}", "stream": "s", "topic": topic} | self.user | more}

    def config(self, name, source, sink, **more):
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps({"pipeline": {"name": name}, "source": source, "sink": sink} | more), encoding="utf-8")
        return path

    def files(self, name, lines):
        """A source over one file of these lines."""
        (self.folder / name).mkdir()
        (self.folder / name / "a.ndjson").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return {"s3": {"url": f"file://{self.folder}/{name}/", "checkpoint": {"url": f"file://{self.folder}/{name}.state.json"}}}

    def start(self, config, *more):
        environment = dict(os.environ, IGGY_PASSWORD=PASSWORD)
        with open(f"{config}.log", "wb") as log:
            return subprocess.Popen([self.millrace, "run", "--progress", "none", config, *more], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def run(self, config, *more, expected=0):
        run = self.start(config, *more)
        code = run.wait(timeout=200)
        text = pathlib.Path(f"{config}.log").read_text(encoding="utf-8")
        assert code == expected, f"exit code {code}, not {expected}:\n{text}"
        assert PASSWORD not in text, "the password is shown"
        return text

    def messages(self, topic):
        """What the independent client reads of each partition."""
        all_of_it = []
        for partition in range(self.reader.get_topic("s", topic)["partitions"]):
            messages, at = [], 0
            while some := self.reader.poll(consumer(1), "s", topic, partition, OFFSET, at, 1000).messages:
                messages += some
                at = some[-1].offset + 1
            all_of_it.append(messages)
        return all_of_it

    def payloads(self, topic):
        return [message.payload.decode() for messages in self.messages(topic) for message in messages]


def files_to_topic(bench):
    """Lines of a file become messages, each once where nothing fails, in order in one partition; the topic is made."""
    lines = [f'{{"n":{i},"text":"{"é" * (i % 50)}"}}' for i in range(5000)]
    config = bench.config("files", bench.files("in", lines), bench.sink("made", create_partitions=3, partitioning={"partition": 2}, batch_records=700))
    text = bench.run(config)
    assert "Completed" in text, text
    zero, one, two = bench.messages("made")
    assert not zero and not one
    assert [message.payload.decode() for message in two] == lines
    assert len({message.id for message in two}) == len(lines)
    bench.run(config)  # nothing left to do
    assert len(bench.payloads("made")) == len(lines)
    described = subprocess.run([bench.millrace, "describe", "iggy-sink"], capture_output=True, text=True, check=True).stdout
    assert "partitioning" in described and "key_header" in described
    plan = subprocess.run([bench.millrace, "plan", config], env=dict(os.environ, IGGY_PASSWORD=PASSWORD), capture_output=True, text=True, check=True).stdout
    assert "writers" in plan and PASSWORD not in plan, plan


def killed(bench):
    """INV-1: kill -9 at random instants. Whatever is stored for the source's partitions is in the topic, and in the end all of it, under one id each."""
    kills, seed = int(os.environ.get("MILLRACE_CRASH_KILLS", "4")), int(os.environ.get("MILLRACE_CRASH_SEED", random.randrange(1 << 30)))
    print(f"MILLRACE_CRASH_SEED={seed}")
    rng, sent, partitions = random.Random(seed), 0, 3
    bench.topic("source", partitions)
    bench.topic("target", 2)
    place, ends = {}, [0] * partitions

    def feed(count):
        nonlocal sent
        for _ in range(count):
            partition = sent % partitions
            payloads = [f"{sent}-{i}" for i in range(20)]
            for payload in payloads:
                place[payload] = partition, ends[partition]
                ends[partition] += 1
            bench.fake.do("append", {"stream": "s", "topic": "source", "partition": partition, "messages": [{"payload": p} for p in payloads]})
            sent += 1

    def stored():
        return [one["stored"].get("consumer:7", -1) for one in bench.fake.do("partitions", {"stream": "s", "topic": "source"})]

    def behind(at_least_all=False):
        """What is stored is there; with `at_least_all`, everything is."""
        kept, there = stored(), set(bench.payloads("target"))
        missing = [p for p, (partition, offset) in place.items() if p not in there and (at_least_all or offset <= kept[partition])]
        assert not missing, f"stored {kept}, and not there: {missing[:5]}"

    source = bench.sink("x")["iggy"] | {"topics": ["source"], "consumer": "7", "heartbeat": "100ms"}
    del source["topic"]
    config = bench.config("killed", {"iggy": source}, bench.sink("target", batch_records=10, linger="5ms"), checkpoint={"interval": "50ms"})
    bench.fake.do("fault", {"on": "send", "do": "delay", "ms": 3, "before": True, "times": 0})
    for _ in range(kills):
        feed(30)
        run = bench.start(config)
        begun = bench.fake.do("count", {"where": {"command": "send"}})
        bench.fake.do("wait", {"where": {"command": "send"}, "count": begun + rng.randrange(1, 40), "ms": 20000})
        run.kill()
        run.wait()
        behind()
    bench.fake.do("clear_faults")
    source["bounded"] = True
    bench.run(bench.config("killed", {"iggy": source}, bench.sink("target")))
    behind(at_least_all=True)
    ids = {}
    for messages in bench.messages("target"):
        for message in messages:
            assert ids.setdefault(message.payload, message.id) == message.id, "a message came again under another id"
    assert len(set(ids.values())) == len(place)


def letters(bench):
    """Dead letters go to a topic of their own: what is no record, and what is larger than the sink takes."""
    bench.topic("records", 1)
    lines = ['{"n":1}', "no json", '{"n":2}', '{"text":"' + "x" * 2000 + '"}']
    more = {"decode": {"json": {"on_error": "skip"}}, "dead_letter": bench.sink("letters", create_partitions=1)}
    sink = bench.sink("records", max_record_bytes=1000)
    bench.run(bench.config("letters", bench.files("bad", lines), sink, **more))
    assert bench.payloads("records") == ['{"n":1}', '{"n":2}']
    found = [json.loads(text) for text in bench.payloads("letters")]
    assert [letter["payload"] for letter in found] == [lines[1], lines[3]], found
    assert "max_record_bytes of the sink is 1000" in found[1]["error"], found[1]["error"]
    same = bench.config("same", bench.files("same", lines), sink, **(more | {"dead_letter": bench.sink("records")}))
    assert "nobody could tell them apart" in bench.run(same, expected=2)


def refused(bench):
    """What cannot be written is told before a record moves."""
    source = bench.files("in", ['{"n":1}'])
    missing = bench.config("missing", source, bench.sink("nowhere", connect_timeout="300ms"))
    text = bench.run(missing, expected=1)
    assert "'s/nowhere'" in text and "create_partitions" in text, text
    bench.topic("there")
    wrong = bench.config("wrong", source, bench.sink("there", password=PASSWORD + "!"))
    assert "password is wrong" in bench.run(wrong, expected=1)
    loop = bench.sink("there")["iggy"]
    loop = bench.config("loop", {"iggy": {k: v for k, v in loop.items() if k != "topic"} | {"topics": ["there"], "consumer": "1"}}, bench.sink("there"))
    assert "read its own output" in bench.run(loop, expected=2)
    assert bench.payloads("there") == []


def official(bench):
    """The official client reads what was written."""
    folder = client_suite.clients_folder()
    assert folder is not None, "the official clients are not there; tools/setup/iggy_clients.sh fetches them"
    lines = [f'{{"n":{i}}}' for i in range(500)]
    bench.run(bench.config("files", bench.files("in", lines), bench.sink("made", create_partitions=1)))
    words = [sys.executable, "-B", TESTS / "iggy_sink" / "official_reader.py", bench.framing, f"127.0.0.1:{bench.fake.port}", "mill", "s", "made", str(len(lines))]
    environment = dict(os.environ, PYTHONPATH=str(folder / bench.framing), IGGY_PASSWORD=PASSWORD)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == lines


CASES = [files_to_topic, killed, letters, refused, official]


def main():
    millrace, framing, case = sys.argv[1:]
    with Fake(framing) as fake, tempfile.TemporaryDirectory(prefix="millrace-iggy-sink-") as folder:
        fake.do("user", {"name": "mill", "password": PASSWORD})
        {one.__name__: one for one in CASES}[case](Bench(millrace, framing, fake, folder))


if __name__ == "__main__":
    main()
