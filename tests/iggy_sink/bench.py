# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: a stand-in for a server, a folder, and runs of the program.

What is there is read by the independent client, which verifies every checksum, and by the official one, never by the code under test.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "iggy_fake_server")]
from fake import Fake  # noqa: E402
from iggy_wire import OFFSET, consumer  # noqa: E402

PASSWORD = "a-password-of-the-test"
SENDS = {"where": {"command": "send"}}


class Bench:
    """A server, a folder, and runs of the program."""

    def __init__(self, millrace, framing, fake, folder):
        self.millrace, self.framing, self.fake, self.folder = millrace, framing, fake, pathlib.Path(folder)
        self.environment = dict(os.environ, IGGY_PASSWORD=PASSWORD)
        self.server = {"address": f"127.0.0.1:{fake.port}", "username": "mill", "password": "${IGGY_PASSWORD}", "stream": "s"}
        fake.do("user", {"name": "mill", "password": PASSWORD})

    def topic(self, name, partitions=2):
        self.fake.do("create", {"stream": "s", "topic": name, "partitions": partitions})

    def sink(self, topic, **more):
        return {"iggy": self.server | {"topic": topic} | more}

    def source(self, topic, **more):
        """Reads by itself, as consumer 7."""
        return {"iggy": self.server | {"topics": [topic], "consumer": "7", "heartbeat": "100ms"} | more}

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
        with open(f"{config}.log", "wb") as log:
            return subprocess.Popen([self.millrace, "run", "--progress", "none", config, *more], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    @staticmethod
    def log(config):
        text = pathlib.Path(f"{config}.log").read_text(encoding="utf-8")
        assert PASSWORD not in text, "the password is shown"
        return text

    def ended(self, run, config, expected=0):
        """Waits for the end of a run; what it said."""
        code = run.wait(timeout=200)
        text = self.log(config)
        assert code == expected, f"exit code {code}, not {expected}:\n{text}"
        return text

    def run(self, config, *more, expected=0):
        return self.ended(self.start(config, *more), config, expected)

    def told(self, *words):
        """What a command that only tells something prints."""
        done = subprocess.run([self.millrace, *words], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert PASSWORD not in done.stdout + done.stderr, "the password is shown"
        return done.stdout

    def sends(self):
        """Requests with messages that were answered so far."""
        return self.fake.do("count", SENDS)

    def wait_for_sends(self, run, config, more):
        """Until so many more were answered, while the run goes on; how many there were in all."""
        return self.wait_for(run, config, SENDS["where"], self.sends() + more)

    def wait_for(self, run, config, which, wanted):
        """Until so many requests came that are `which`, while the run goes on; how many they are."""
        met = len(self.fake.do("wait", {"where": which, "count": wanted, "ms": 25000}))
        assert met >= wanted, f"{met} of {wanted} requests came:\n{self.log(config)}"
        assert run.poll() is None, f"the run ended by itself:\n{self.log(config)}"
        return met

    def messages(self, topic):
        """What the independent client reads of each partition."""
        reader = self.fake.client(login=False)
        reader.login("mill", PASSWORD)
        all_of_it = []
        for partition in range(reader.get_topic("s", topic)["partitions"]):
            messages, at = [], 0
            while some := reader.poll(consumer(1), "s", topic, partition, OFFSET, at, 1000).messages:
                messages += some
                at = some[-1].offset + 1
            all_of_it.append(messages)
        self.fake.clients.remove(reader)
        reader.close()
        return all_of_it

    def payloads(self, topic):
        return [message.payload.decode() for messages in self.messages(topic) for message in messages]


def first_of_each(payloads):
    """Those that come again left out."""
    return list(dict.fromkeys(payloads))


def numbered(count):
    return [f'{{"n":{i}}}' for i in range(count)]


def main(cases, *options):
    """PROGRAM MILLRACE FRAMING CASE"""
    millrace, framing, case = sys.argv[1:]
    with Fake(framing, *options) as fake, tempfile.TemporaryDirectory(prefix="millrace-iggy-sink-") as folder:
        {one.__name__: one for one in cases}[case](Bench(millrace, framing, fake, folder))
