#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading and writing streams takes, against the tools that others use for it: kcat, which is librdkafka and a line for each record, and
the official Iggy client of Python, whose work is done in Rust. The same server, the same fetch and batch settings; by CPU time of the client.

  ./dev bench --streams [--rounds N] [--mib SIZE]

kafka read    a topic to nowhere, against kcat to /dev/null; both check the CRC of what comes, or neither does, as librdkafka is told
kafka write   lines of a file to a topic, against kcat -P -l; acks=all, no compression
iggy read     a topic to nowhere, by batches of 1000, against the client polling as many; of each framing
Exit code: 0 when every row met its ratio, 1 otherwise.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import uuid

from alternate import MI, cost_of, heading, in_turns, row, write_lines

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "iggy_fake_server"))
from fake import Fake  # noqa: E402

# What librdkafka is told on both sides.
READ = {"fetch.max.bytes": "52428800", "fetch.message.max.bytes": "1048576", "check.crcs": "false"}
BATCH_MESSAGES = 1000
IGGY_CLIENT = """
import asyncio, os, sys
import apache_iggy as iggy
async def read(address, total):
    client = iggy.IggyClient(address)
    await client.connect()
    await client.login_user("iggy", "iggy")
    who = {"consumer": iggy.Consumer.Single(7)} if hasattr(iggy, "Consumer") else {}
    at = size = 0
    while at < total:
        for message in await client.poll_messages(**who, stream="s", topic="t", partition_id=0, polling_strategy=iggy.PollingStrategy.Offset(value=at), count=1000, auto_commit=False):
            size += len(message.payload())
            at += 1
    assert at == total
asyncio.run(read(sys.argv[1], int(sys.argv[2])))
os._exit(0)
"""


class Bench:
    def __init__(self, given, folder):
        self.program, self.tool, self.rounds, self.folder = given.program, given.kafka_tool, given.rounds, folder
        self.brokers = os.environ["MILLRACE_TEST_KAFKA"]
        (folder / "in").mkdir()
        self.lines = folder / "in" / "a.ndjson"
        self.size, self.count = write_lines(self.lines, given.mib * MI)

    def job(self, source, sink):
        with tempfile.TemporaryDirectory(dir=self.folder) as kept:
            if "s3" in source:
                source["s3"]["checkpoint"] = {"url": f"file://{kept}/m.json"}
            file = pathlib.Path(kept) / "p.yaml"
            file.write_text(json.dumps({"pipeline": {"name": "bench", "threads": 1}, "source": source, "sink": sink}), encoding="utf-8")
            return cost_of([self.program, "run", file, "--progress", "none", "--log-level", "error"])

    def topic(self):
        name = "b" + uuid.uuid4().hex[:10]
        subprocess.run([self.tool, self.brokers, "create", name, "1"], check=True, stdout=subprocess.DEVNULL)
        return name

    def kcat(self, *words):
        return cost_of(["kcat", "-q", "-b", self.brokers, *words])

    def held(self, topic):
        """Records up to the topic's end."""
        out = subprocess.run(["kcat", "-Q", "-b", self.brokers, "-t", f"{topic}:0:-1"], check=True, capture_output=True, text=True).stdout
        return int(out.split("offset ")[1].split()[0])

    def kafka_read(self):
        topic = self.topic()
        self.kcat("-P", "-t", topic, "-l", self.lines)
        assert self.held(topic) == self.count
        settings = [word for name, value in READ.items() for word in ("-X", f"{name}={value}")]

        def ours():
            source = {"brokers": [self.brokers], "topics": [topic], "group": uuid.uuid4().hex, "bounded": True, "prefetch_bytes": "64MiB", "properties": READ}
            return self.job({"kafka": source}, {"blackhole": {}})

        return row("kafka read", "cpu", self.size, *in_turns(self.rounds, lambda: self.kcat("-C", "-e", "-o", "beginning", "-t", topic, *settings), ours), 0.90)

    def kafka_write(self):
        def checked(write):
            topic = self.topic()
            cost = write(topic)
            assert (held := self.held(topic)) == self.count, f"{held} records of {self.count}"
            return cost

        def theirs(topic):
            return self.kcat("-P", "-t", topic, "-l", self.lines, "-X", "acks=all", "-X", "enable.idempotence=true", "-X", "linger.ms=50")

        def ours(topic):
            return self.job({"s3": {"url": f"file://{self.folder}/in/"}}, {"kafka": {"brokers": [self.brokers], "topic": topic, "write_concurrency": 1}})

        return row("kafka write", "cpu", self.size, *in_turns(self.rounds, lambda: checked(theirs), lambda: checked(ours)), 0.90)

    def iggy_read(self, framing, clients):
        with Fake(framing) as server:
            server.do("create", {"stream": "s", "topic": "t", "partitions": 1})
            batch, sent = [], 0
            with open(self.lines, encoding="ascii") as lines:
                for line in lines:
                    batch.append({"payload": line.rstrip("\n")})
                    if len(batch) == BATCH_MESSAGES:
                        server.do("append", {"stream": "s", "topic": "t", "partition": 0, "messages": batch})
                        sent += len(batch)
                        batch = []
                    if sent >= self.count // 4:
                        break
            address = f"127.0.0.1:{server.port}"
            env = os.environ | {"PYTHONPATH": str(pathlib.Path(clients) / framing)}

            def ours():
                source = {"address": address, "username": "iggy", "password": "iggy", "stream": "s", "topics": ["t"], "consumer": str(uuid.uuid4().int % 1_000_000), "partitions": [0],
                          "batch_length": BATCH_MESSAGES, "connections": 1, "bounded": True, "protocol": framing}  # fmt: skip
                return self.job({"iggy": source}, {"blackhole": {}})

            theirs = lambda: cost_of([sys.executable, "-c", IGGY_CLIENT, address, str(sent)], env=env)  # noqa: E731
            return row(f"iggy read, {framing}", "cpu", self.size * sent // self.count, *in_turns(self.rounds, theirs, ours), 1.0)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True, help="the built millrace")
    arguments.add_argument("--kafka-tool", required=True, help="the built kafka_tool")
    arguments.add_argument("--iggy-clients", required=True, help="folder of the official clients, by framing")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--mib", type=int, default=256)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(given, pathlib.Path(name))
        heading()
        met = [bench.kafka_read(), bench.kafka_write(), *(bench.iggy_read(framing, given.iggy_clients) for framing in ("classic", "vsr"))]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
