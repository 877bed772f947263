# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: a stand-in for an Iggy server that may be killed, messages that count, and runs of the program.

What the server has and keeps is told by its control channel and its disk, what is durable by the objects, never by the code under test.
"""
import collections
import json
import os
import pathlib
import sys
import time
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / folder) for folder in ("iggy_fake_server", "kafka", "servers")]
from fake import Fake  # noqa: E402
from free_ports import free_ports  # noqa: E402
from on_broker import Runs, wait_for  # noqa: E402

STREAM, GROUP = "s", "mill"
TOPICS = {"t": 3, "u": 2}  # partitions of each


class StandIn:
    """Always on the same port and over the same folder, however often it is killed. Each message is on its disk before it is acknowledged."""

    def __init__(self, framing, folder, *options):
        self.framing, self.folder, (self.port,) = framing, str(folder), free_ports(1)
        self.options = options or ("--flush-messages", 1)
        self.fake = None

    def __enter__(self):
        self.start()
        for topic, partitions in TOPICS.items():
            self.fake.do("create", {"stream": STREAM, "topic": topic, "partitions": partitions, "group": GROUP})
        return self

    def __exit__(self, *_):
        if self.fake:
            self.fake.__exit__()

    def start(self):
        self.fake = Fake(self.framing, "--data", self.folder, "--port", self.port, *self.options)

    def end(self):
        """In order."""
        self.fake.process.terminate()
        self.fake.process.wait(30)
        self.fake.__exit__()
        self.fake = None

    def kill(self):
        self.fake.process.kill()
        self.fake.__exit__()
        self.fake = None

    def stored(self):
        """The group's offsets by (topic, partition), as they are on its disk, also while it is dead."""
        with open(os.path.join(self.folder, "metadata.json"), "rb") as file:
            streams = json.load(file)["streams"]
        return {
            (topic["name"], number): offset
            for topic in streams[0]["topics"] for number, partition in enumerate(topic["partitions"])
            for _, _, offset in partition["stored"]
        }  # fmt: skip


class Feed:
    """Puts numbered messages into all partitions in turn; in each they count from 0, as offsets do."""

    def __init__(self, stand_in, pad=""):
        self.stand_in, self.pad = stand_in, f',"pad":"{pad}"' if pad else ""
        self.sent = {(topic, partition): 0 for topic, partitions in TOPICS.items() for partition in range(partitions)}
        self.turn = 0

    def send(self, count):
        """So many, to one partition."""
        topic, partition = place = list(self.sent)[self.turn % len(self.sent)]
        self.turn += 1
        messages = [{"payload": '{"n":%d%s}' % (n, self.pad)} for n in range(self.sent[place], self.sent[place] + count)]
        told = self.stand_in.fake.do("append", {"stream": STREAM, "topic": topic, "partition": partition, "messages": messages})
        assert told["base"] == self.sent[place], f"{place} continues at {told['base']}, though {self.sent[place]} messages were taken"
        self.sent[place] += count

    def flow(self, seconds, rate):
        """At so many a second, or as many as the server takes."""
        begun, sent = time.monotonic(), 0
        while (passed := time.monotonic() - begun) < seconds:
            if (due := int(passed * rate) - sent) > 0:
                self.send(min(due, 500))
                sent += min(due, 500)
            else:
                time.sleep(0.005)
        return sent / seconds

    def total(self):
        return sum(self.sent.values())

    def everything(self):
        return {(*place, offset) for place, count in self.sent.items() for offset in range(count)}

    def last(self):
        """The offsets that are stored when everything is done."""
        return {place: count - 1 for place, count in self.sent.items() if count}


def places_of(lines):
    """How often each (topic, partition, offset) stands in the output; a record is where its message counted."""
    count = collections.Counter()
    for line in map(json.loads, lines):
        assert line["payload"]["n"] == line["offset"], f"another message than was sent there: {line}"
        count[line["topic"], line["partition_id"], line["offset"]] += 1
    return count


def ahead(stored, places):
    """What the group's offsets say is done, and is not durable."""
    return [(*place, offset) for place, last in stored.items() for offset in range(last + 1) if (*place, offset) not in places]


class IggyRuns(Runs):
    """Runs over the stand-in, or over what stands in front of it."""

    def __init__(self, millrace, port):
        super().__init__(millrace, None)
        self.port = port

    def config(self, name, source=None, sink=None, **top):
        """Writes a pipeline file; returns its path."""
        own = {"address": f"127.0.0.1:{self.port}", "username": "iggy", "password": "iggy", "stream": STREAM, "topics": list(TOPICS), "consumer_group": GROUP,
               "request_timeout": "2s", "heartbeat": "100ms", "connect_timeout": "2m"}  # fmt: skip
        sink = sink or {"url": f"file://{self.folder}/out/", "path_template": "{topic}", "max_file_age": "200ms", "probe": False}
        return self.file(name, {"iggy": own | (source or {})}, {"s3": sink}, **{"pipeline": {"name": "iggy", "threads": 2}} | top)

    def places(self):
        return places_of(self.lines())

    @staticmethod
    def metric(port, name):
        """The value of a series without labels other than the pipeline's, or None while there is none."""
        try:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
                lines = page.read().decode().splitlines()
        except OSError:
            return None
        return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((name + "{", name + " "))), None)


__all__ = ["Feed", "GROUP", "IggyRuns", "STREAM", "StandIn", "TOPICS", "ahead", "free_ports", "places_of", "wait_for"]
