# SPDX-License-Identifier: Apache-2.0
"""What tests of the Kafka connectors share: topics of a real broker, records by kcat, and runs of the program over them.

The broker is the one of MILLRACE_TEST_KAFKA (tests/servers/kafka.sh). What a topic holds is told by kcat, never by the code under test.
"""
import collections
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 120  # of anything that is waited for


def wait_for(condition, what):
    """Waits until condition() is true; what it returned."""
    until = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)
    return found


def group_of(topic, group):
    """No group is shared by two runs of a test: the members of one that was killed are waited for."""
    return f"{topic}-{group}"


class Topic:
    """A topic of its own for one test."""

    def __init__(self, tool, brokers, partitions=1, *settings):
        self.tool, self.brokers, self.name = tool, brokers, "t" + uuid.uuid4().hex[:10]
        self.ask("create", self.name, str(partitions), *settings)

    def ask(self, command, *words, stdin=None):
        ended = subprocess.run([self.tool, self.brokers, command, *words], input=stdin, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        assert ended.returncode == 0, f"kafka_tool {command}: {ended.stderr}"
        return ended.stdout.strip()

    def put(self, lines, *more):
        """Appends lines by kcat; key and value are parted by a tab."""
        text = "".join(line + "\n" for line in lines)
        subprocess.run(["kcat", "-P", "-q", "-b", self.brokers, "-t", self.name, "-K", "\t", *more], input=text, text=True, check=True, timeout=DEADLINE_S)

    def position(self, group, partition=0):
        found = self.ask("position", group_of(self.name, group), self.name, str(partition))
        return None if found == "none" else int(found)

    def records(self, form):
        """Every record as kcat prints it with this format, by partition and offset."""
        read = subprocess.run(
            ["kcat", "-C", "-q", "-e", "-b", self.brokers, "-t", self.name, "-o", "beginning", "-X", "isolation.level=read_committed", "-f", form],
            capture_output=True, text=True, check=True, timeout=DEADLINE_S,
        )
        return read.stdout


class Runs:
    """Runs of the program in a folder of their own, ended and removed at the end."""

    def __init__(self, millrace, brokers):
        self.millrace, self.brokers = millrace, brokers
        self.folder = tempfile.mkdtemp(prefix="millrace-kafka-")
        self.alive = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for run in self.alive:
            if run.poll() is None:
                run.kill()
                run.wait()
            if kind:
                sys.stdout.write(f"---- {run.args[-1]}\n{self.log_of(run)}\n")
        shutil.rmtree(self.folder)

    def config(self, name, source, sink=None, **top):
        """Writes a pipeline file; returns its path."""
        own = {"brokers": [self.brokers], "group": group_of(source["topics"][0], source["group"])}
        sink = sink or {"s3": {"url": f"file://{self.folder}/out/", "path_template": "{topic}", "max_file_age": "200ms", "probe": False}}
        return self.file(name, {"kafka": source | own}, sink, **top)

    def file(self, name, source, sink, **top):
        """The same with any source."""
        file = {"pipeline": {"name": "kafka", "threads": 2}, "checkpoint": {"interval": "100ms"}, "source": source, "sink": sink} | top
        path = os.path.join(self.folder, name + ".yaml")
        with open(path, "w", encoding="utf-8") as to:
            json.dump(file, to)  # JSON is YAML
        return path

    def start(self, config, stdout=None):
        """Its log takes what it prints, but for where `stdout` is given."""
        log = open(f"{config}.{len(self.alive)}.log", "wb")
        with log:
            run = subprocess.Popen([self.millrace, "run", "--progress", "none", config], stdout=stdout or log, stderr=log, stdin=subprocess.DEVNULL)
        run.log_path = log.name
        self.alive.append(run)
        return run

    def ask(self, *words):
        """What another command of the program prints."""
        return subprocess.run([self.millrace, *words], stdout=subprocess.PIPE, check=True, text=True, timeout=DEADLINE_S).stdout

    @staticmethod
    def log_of(run):
        with open(run.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def end(self, run, expected=0, sign=None):
        """Waits for the end of a run, asked for by `sign` if that is given; its log."""
        if sign:
            run.send_signal(sign)
        code = run.wait(timeout=DEADLINE_S)
        text = self.log_of(run)
        assert code == expected, f"exit code {code}, not {expected}:\n{text}"
        return text

    def run(self, config, expected=0):
        return self.end(self.start(config), expected)

    def stop(self, run):
        return self.end(run, 0, signal.SIGTERM)

    def lines(self, *below):
        """The lines of all output files that are whole; or of those below a folder."""
        found = []
        for folder, _, names in os.walk(os.path.join(self.folder, "out", *below)):
            for name in sorted(names):
                if name.startswith(".") or "/_millrace" in folder:  # the probe of a run that was killed, and what the sink keeps for itself
                    continue
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    found += file.read().splitlines()
        return found

    def places(self, *below):
        """How often each (partition, offset) stands in the output."""
        return collections.Counter((line["partition_id"], line["offset"]) for line in map(json.loads, self.lines(*below)))


@contextlib.contextmanager
def broker_of_its_own(runs, far=None):
    """A broker that a test may kill; from here on that of the runs. With `far`, the runs are told to find it there."""
    broker = Broker(os.path.join(runs.folder, "broker"), far)
    broker.start()
    try:
        runs.brokers = far or broker.address()
        yield broker
    finally:
        broker.ask("stop")


class Broker:
    def __init__(self, folder, far=None):
        self.folder, self.far = folder, [far] if far else []

    def ask(self, command, *words):
        subprocess.run([os.path.join(HERE, "..", "servers", "kafka.sh"), command, self.folder, *words], check=True)

    def start(self):
        self.ask("start", os.environ["MILLRACE_TEST_KAFKA_LIB"], *self.far)

    def kill(self):
        self.ask("kill")

    def address(self, name="MILLRACE_TEST_KAFKA"):
        with open(os.path.join(self.folder, "env"), encoding="ascii") as file:
            return dict(line.strip().split("=") for line in file)[name]


class Member:
    """kcat as a member of a group, which stores nothing, while this is entered."""

    def __init__(self, topic, group):
        self.words = ["kcat", "-b", topic.brokers, "-X", "enable.auto.commit=false", "-G", group, topic.name]

    def __enter__(self):
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
            with open(log.name, "wb") as to:
                self.kcat = subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=to)
            wait_for(lambda: "assigned" in open(log.name, encoding="utf-8").read(), "kcat to be a member")

    def __exit__(self, *_):
        self.kcat.terminate()  # it says goodbye to the group
        self.kcat.wait(timeout=DEADLINE_S)


class Feed:
    """kcat fed with numbered lines until it is told to stop."""

    def __init__(self, topic, keys=97):
        self.topic, self.keys, self.sent = topic, keys, 0
        # Enough room for what comes while no broker is there.
        settings = ["linger.ms=20", "message.timeout.ms=600000", "queue.buffering.max.messages=5000000", "reconnect.backoff.max.ms=500"]
        self.kcat = subprocess.Popen(
            ["kcat", "-P", "-q", "-E", "-b", topic.brokers, "-t", topic.name, "-K", "\t", *(word for one in settings for word in ("-X", one))], stdin=subprocess.PIPE, text=True
        )

    def send(self, count):
        for _ in range(count):
            self.kcat.stdin.write(f"k{self.sent % self.keys}\t{{\"n\":{self.sent}}}\n")
            self.sent += 1
        self.kcat.stdin.flush()

    def flow(self, seconds, rate):
        """At so many a second, or as many as kcat takes; how many it were."""
        begun, sent = time.monotonic(), 0
        while (passed := time.monotonic() - begun) < seconds:
            if (due := int(passed * rate) - sent) > 0:
                self.send(min(due, 500))
                sent += min(due, 500)
            else:
                time.sleep(0.005)
        return sent / seconds

    def end(self):
        self.kcat.stdin.close()
        assert self.kcat.wait(timeout=DEADLINE_S) == 0, "kcat did not deliver everything"
