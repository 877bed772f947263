#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: while a store is away, throttles, lies or is full, nothing is lost, no position is ahead of what is durable, the source is paused, memory
stays within the bound that is told, and the log says what is waited for (rows H01, K01, K09, K10 of tests/FAULTS.md).

Method: numbered messages flow from a stand-in for an Iggy server into a store that goes bad for a while and then is well again (bad_stores.py says how);
what is durable is read from the store by a client of the tests, what is committed from the stand-in's disk, never by the code under test.

  store_soak.py MILLRACE S3_FAULT_SERVER FAULT at_least_once|exactly_once small|parts through|ended [--seconds 60] [--rate 3000] [--sanitized]
    through    one run lives through it: the position stands still, polls stop, the log tells of it, the lag comes back to zero
    ended      a run is told to stop, and another is killed, while the store is bad: the exit code and the time of the first, and what the next one makes of both
    backfill   through, with files instead of messages: the run waits and then completes by itself
With --sanitized nothing is said of memory, which a sanitizer holds of its own, nor of time.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import bad_stores

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "iggy_source"))
from on_stand_in import Feed, IggyRuns, StandIn, ahead, free_ports, places_of, wait_for  # noqa: E402

PAD = "x" * 900  # bytes of a message beside its number
DRAIN_S = 3  # pipeline.drain_timeout
GRACE_S = 4  # beyond it, for the last commit and the end of the process
LINES_A_MINUTE = 40  # of the log, at most, while nothing but waiting goes on
SIZES = {
    # Limits of files, and what may be sealed: few enough that a store which is away is felt soon.
    "small": {"file": "128KiB", "open": "4MiB", "sealed": "2MiB", "age": "300ms", "parts_above": "5MiB"},
    "parts": {"file": "12MiB", "open": "64MiB", "sealed": "16MiB", "age": "10s", "parts_above": "5MiB"},
    "parts, in seconds": {"file": "256KiB", "open": "4MiB", "sealed": "2MiB", "age": "300ms", "parts_above": "16KiB"},
}


class Content:
    """What the store holds: how often each message stands in it. No object is read twice."""

    def __init__(self, store, places):
        self.store, self.places_of, self.count, self.objects, self.largest = store, places, collections.Counter(), 0, 0

    def look(self):
        for _, body in self.store.new_bodies():
            self.count.update(self.places_of(body.splitlines()))
            self.objects += 1
            self.largest = max(self.largest, len(body))
        return self.count


class Watched:
    """A run and what is seen of it."""

    def __init__(self, runs, config, metrics_port):
        self.runs, self.port, self.process = runs, metrics_port, runs.start(config)

    def log(self):
        return self.runs.log_of(self.process)

    def metric(self, name):
        return self.runs.metric(self.port, name)

    def peak(self):
        """MiB of memory at most so far."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024

    def paused(self):
        return (self.metric("etl_backpressure_paused") or 0) > 0

    def lives(self):
        assert self.process.poll() is None, f"it ended by itself:\n{self.log()}"


def bound_of(millrace, config, lanes):
    """MiB that `millrace explain` says the stages hold at most, summed."""
    told = subprocess.run([millrace, "explain", config], stdout=subprocess.PIPE, check=True, text=True).stdout
    each = re.findall(r"^ +([\d.]+) (B|KiB|MiB|GiB)( a lane)?  ", told, re.M)
    assert each, told
    mib = {"B": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10}
    return sum(float(number) * mib[unit] * (lanes if lane else 1) for number, unit, lane in each)


class Scene:
    """The servers, the store, and a pipeline between them."""

    def __init__(self, args, stack):
        self.args, self.once = args, args.delivery == "exactly_once"
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-soak-"))
        self.stand_in = stack.enter_context(StandIn("classic", os.path.join(folder, "iggy")))
        # A backfill fills its disk before it is through; of a stream all has room, until the ballast comes.
        volume = args.rate * 3 if args.form == "backfill" else 2 * int(args.rate * (args.seconds + 90))
        self.store = bad_stores.make(args.fault, args.server, folder, stack, volume * (len(PAD) + 150) >> 20)
        self.runs = stack.enter_context(IggyRuns(args.millrace, self.stand_in.port))
        self.feed = Feed(self.stand_in, PAD)
        self.content = Content(self.store, places_of)
        (self.port,) = free_ports(1)
        self.size = SIZES[args.size if args.seconds >= 30 or args.size == "small" else "parts, in seconds"]
        source = {"member": "one", "max_reply_bytes": "4MiB", "batch_length": 500, "prefetch_bytes": "1MiB"}
        self.config = self.runs.config("soak", source, self.sink(), **self.around())

    def sink(self):
        own = {"path_template": "{topic}", "max_file_size": self.size["file"], "max_file_age": self.size["age"], "buffer_memory": self.size["open"],
               "delivery": self.args.delivery, "retry_delay": "200ms"}  # fmt: skip
        if self.args.fault != "full_disk":  # a file is its bytes
            own["multipart_threshold"] = self.size["parts_above"]
        return self.store.settings | own

    def around(self):
        pipeline = {"name": "soak", "threads": 2, "max_inflight_bytes": self.size["sealed"], "drain_timeout": f"{DRAIN_S}s"}
        return {"metrics": {"listen": f"127.0.0.1:{self.port}"}, "pipeline": pipeline}

    def start(self):
        return Watched(self.runs, self.config, self.port)

    def polls(self):
        return self.stand_in.fake.do("count", {"where": {"command": "poll", "count_over": 1}})  # one of 1 looks where a partition begins

    def check_positions(self):
        stored = self.stand_in.stored()  # before the objects: those of a live run become more
        missing = ahead(stored, self.content.look())
        assert not missing, f"positions {stored} are ahead of {len(missing)} messages, {missing[:5]} first"
        return stored

    def caught_up(self, run):
        wait_for(lambda: self.stand_in.stored() == self.feed.last() or run.process.poll() is not None, "the last offsets")
        wait_for(lambda: run.metric("etl_iggy_lag_records") == 0 or run.process.poll() is not None, "a lag of zero")
        run.lives()

    def whole(self):
        places = self.content.look()
        lost = self.feed.everything() - set(places)
        assert not lost, f"{len(lost)} of {self.feed.total()} messages were lost, {sorted(lost)[:5]} first"
        assert set(places) == self.feed.everything(), "there are messages that were never sent"
        twice = sum(places.values()) - self.feed.total()
        assert not (self.once and twice), f"{twice} messages stand twice"
        assert self.args.fault == "full_disk" or self.size["age"] != "10s" or self.content.largest > 5 << 20, "no object was large enough for parts"
        return f"{self.feed.total()} messages in {self.content.objects} objects, largest {self.content.largest >> 10} KiB, {twice} twice"


def check_log(text, seconds, scene):
    """What is waited for, and no flood."""
    lines = text.splitlines()
    most = 6 + LINES_A_MINUTE * seconds / 60
    assert len(lines) <= most, f"{len(lines)} lines in {seconds:.0f} s:\n" + text[:4000]
    assert "is tried again" in text, f"nothing tells of a write that fails:\n{text}"
    assert re.search(r"out/[tu]/0000\d-|out/_millrace/soak/commits-", text), f"the key is not told:\n{text}"
    if seconds >= 40:
        assert re.search(r"failing_for=[1-9]", text), f"it does not say for how long:\n{text}"
    return len(lines)


def through(scene):
    args = scene.args
    run = scene.start()
    wait_for(lambda: scene.feed.flow(0.1, args.rate) and scene.content.look() or run.process.poll() is not None, "the first objects")
    scene.feed.flow(min(3, args.seconds), args.rate)
    before = len(run.log())
    scene.store.begin()
    began, samples = time.monotonic(), []
    for _ in range(10):
        scene.feed.flow(args.seconds / 10, args.rate)
        run.lives()
        stored = scene.check_positions() if scene.store.readable else scene.stand_in.stored()
        samples.append((stored, scene.polls(), run.peak()))
    wait_for(lambda: scene.feed.flow(0.1, args.rate) and run.paused() or run.process.poll() is not None, "a pause of the source")
    wait_for(lambda: "is tried again" in run.log() or run.process.poll() is not None, "a line about the write that fails")
    run.lives()
    log = run.log()[before:]
    took = time.monotonic() - began
    scene.store.end()
    ended = time.monotonic()
    scene.caught_up(run)
    back = time.monotonic() - ended
    assert args.sanitized or samples[-1][0] == samples[len(samples) // 2][0], f"positions moved while nothing could be written: {samples}"
    grown = samples[-1][1] - samples[-3][1]
    assert args.sanitized or grown == 0, f"the source was not paused, polls: {[sample[1] for sample in samples]}"
    lines = check_log(log, took, scene)
    peak, bound = run.peak(), bound_of(args.millrace, scene.config, len(scene.feed.sent))
    assert args.sanitized or peak <= bound, f"{peak:.0f} MiB, and the bound is {bound:.0f} MiB"
    scene.runs.stop(run.process)
    print(f"{took:.0f} s bad; {scene.whole()}; polls {[s[1] for s in samples]}; peak {peak:.0f} MiB of {bound:.0f} MiB; "
          f"{lines} lines of log; caught up after {back:.1f} s")  # fmt: skip
    print(log)


def ended(scene):
    args = scene.args
    run = scene.start()
    wait_for(lambda: scene.feed.flow(0.1, args.rate) and scene.content.look() or run.process.poll() is not None, "the first objects")
    scene.feed.flow(min(2, args.seconds), args.rate)
    scene.store.begin()
    scene.feed.flow(args.seconds / 4, args.rate)
    asked = time.monotonic()
    text = scene.runs.end(run.process, 1, signal.SIGTERM)
    took = time.monotonic() - asked
    assert args.sanitized or took <= DRAIN_S + GRACE_S, f"the stop took {took:.1f} s, with a drain_timeout of {DRAIN_S} s:\n{text}"
    assert "not done by the drain deadline" in text or "drain" in text, f"it does not say why it failed:\n{text}"
    starts, began = 0, time.monotonic()
    while time.monotonic() - began < args.seconds / 2:  # whoever watches over it starts it again
        run, starts = scene.start(), starts + 1
        scene.feed.flow(args.seconds / 8, args.rate)
        if run.process.poll() is None:
            run.process.kill()
        run.process.wait()
        if scene.store.readable:
            scene.check_positions()
    scene.feed.flow(args.seconds / 8, args.rate)
    scene.store.end()
    scene.check_positions()
    run = scene.start()
    scene.caught_up(run)
    scene.check_positions()
    scene.runs.stop(run.process)
    print(f"a stop took {took:.1f} s, exit code 1; {starts} starts while it was bad; {scene.whole()}")


def backfill(scene):
    """The same of files: a run with an end waits too, and is Completed."""
    args, runs = scene.args, scene.runs
    below = os.path.join(runs.folder, "in")
    os.mkdir(below)
    lines = [f'{{"n":{n},"pad":"{PAD}"}}'.encode() for n in range(args.rate * (10 if args.sanitized else 100))]  # of which a part is through before the store goes bad
    for part in range(8):
        with open(os.path.join(below, f"{part}.ndjson"), "wb") as file:
            file.write(b"".join(line + b"\n" for line in lines[part::8]))
    scene.content.places_of = lambda found: found
    source = {"url": f"file://{below}/", "name": "in", "lanes": 4, "frozen": "strict", "prefetch_bytes": "1MiB", "checkpoint": {"url": f"file://{runs.folder}/state.json"}}
    config = runs.file("backfill", {"s3": source}, {"s3": scene.sink() | {"wrap": False}}, **scene.around())
    run = Watched(runs, config, scene.port)
    wait_for(lambda: scene.content.look() or run.process.poll() is not None, "the first objects")
    run.lives()
    scene.store.begin()
    read = []
    for _ in range(10):
        time.sleep(args.seconds / 10)
        run.lives()
        read.append(run.metric("etl_source_records_total"))
    peak = run.peak()
    wait_for(lambda: run.paused() or run.process.poll() is not None, "a pause of the source")
    assert args.sanitized or read[-1] == read[len(read) // 2] < len(lines), f"the source was not paused, records: {read}"
    scene.store.end()
    text = runs.end(run.process)
    assert "Completed" in text, text
    count = scene.content.look()
    assert set(count) == set(lines), f"{len(set(lines) - set(count))} lines are missing"
    assert not scene.once or set(count.values()) == {1}, "a line stands twice"
    print(f"{args.seconds:.0f} s bad; {len(lines)} lines; records read {read}; peak {peak:.0f} MiB")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("millrace", type=os.path.abspath)
    parser.add_argument("server", type=os.path.abspath)
    parser.add_argument("fault", choices=bad_stores.FAULTS)
    parser.add_argument("delivery", choices=("at_least_once", "exactly_once"))
    parser.add_argument("size", choices=("small", "parts"))
    parser.add_argument("form", choices=("through", "ended", "backfill"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=3000)
    parser.add_argument("--sanitized", action="store_true")
    args = parser.parse_args()
    print(f"{args.fault}, {args.delivery}, {args.size}, {args.form}:", end=" ", flush=True)
    with contextlib.ExitStack() as stack:
        {"through": through, "ended": ended, "backfill": backfill}[args.form](Scene(args, stack))


if __name__ == "__main__":
    main()
