#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: no record is taken for written that is not, whatever ends the program, the server or the login meanwhile.

Method: runs of the program into the stand-in for a server, which has each message on its disk before it is acknowledged; another client reads
what is there.

  faults_test.py MILLRACE classic|vsr CASE       MILLRACE_CRASH_KILLS kills (4), MILLRACE_CRASH_SEED to repeat a run of `killed`
"""
import os
import random
import signal

from bench import PASSWORD, SENDS, first_of_each, main, numbered


def slowly(bench):
    """Requests take a while, so that there is something to meet."""
    bench.fake.do("fault", {"on": "send", "do": "delay", "ms": 3, "before": True, "times": 0})


def silence(bench, run, config):
    """No request is answered, nor done; returns when one was not. There is one at a time, as there is one file."""
    fault = bench.fake.do("fault_instead", {"on": "send", "do": "silence", "times": 0})
    bench.wait_for(run, config, SENDS["where"] | {"fault": fault}, 1)


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

    def behind(at_least_all=False):
        """What is stored is there; with `at_least_all`, everything is."""
        kept = [one["stored"].get("consumer:7", -1) for one in bench.fake.do("partitions", {"stream": "s", "topic": "source"})]
        there = set(bench.payloads("target"))
        missing = [p for p, (partition, offset) in place.items() if p not in there and (at_least_all or offset <= kept[partition])]
        assert not missing, f"stored {kept}, and not there: {missing[:5]}"
        return sum(last + 1 for last in kept)

    config = bench.config("killed", bench.source("source"), bench.sink("target", batch_records=10, linger="5ms"), checkpoint={"interval": "100ms"})
    slowly(bench)
    for kill in range(kills):
        feed(100)
        run = bench.start(config)
        bench.wait_for_sends(run, config, rng.randrange(1, 180))
        # One of them has stored something.
        assert kill != 0 or bench.fake.until(lambda: behind() > 0), bench.log(config)
        run.kill()
        run.wait()
        behind()
    bench.fake.do("clear_faults")
    bench.run(bench.config("killed", bench.source("source", bounded=True), bench.sink("target")))
    behind(at_least_all=True)
    ids = {}
    for messages in bench.messages("target"):
        for message in messages:
            assert ids.setdefault(message.payload, message.id) == message.id, "a message came again under another id"
    assert len(set(ids.values())) == len(place)


def restarted(bench):
    """A server that is killed and started again, and cuts connections in between, ends no run: each record is there, in its order."""
    bench.topic("target", 1)
    lines = numbered(6000)
    config = bench.config("restarted", bench.files("in", lines), bench.sink("target", batch_records=50, request_timeout="2s"))
    slowly(bench)
    run = bench.start(config)
    for how in ("kill", "term", "kill"):
        bench.wait_for_sends(run, config, 15)
        bench.fake.do("restart", how)
        bench.wait_for_sends(run, config, 5)
        bench.fake.do("disconnect")
    assert "Completed" in bench.ended(run, config)
    assert first_of_each(bench.payloads("target")) == lines
    bench.run(config)  # nothing left to do
    assert first_of_each(bench.payloads("target")) == lines


def topic_gone(bench):
    """A topic that is deleted under a run is waited for, and what it had is nobody's loss but who deleted it."""
    bench.topic("target", 1)
    lines = numbered(3000)
    config = bench.config("gone", bench.files("in", lines), bench.sink("target", batch_records=50, request_timeout="1s"))
    slowly(bench)
    run = bench.start(config)
    bench.wait_for_sends(run, config, 10)
    silence(bench, run, config)
    before = [one["payload"] for one in bench.fake.do("messages", {"stream": "s", "topic": "target", "count": len(lines)})]
    bench.fake.do("delete", {"stream": "s", "topic": "target"})
    bench.fake.do("clear_faults")
    bench.wait_for_sends(run, config, 2)  # which are refused
    bench.topic("target", 1)
    assert "Completed" in bench.ended(run, config)
    after = bench.payloads("target")
    assert before and first_of_each(before + after) == lines, f"{len(before)} before, {len(after)} after"
    assert "there is no such t" in bench.log(config), "the refusal is told"


def login_lost(bench):
    """A password that is changed ends the run with what is wrong; with the new one it goes on."""
    bench.topic("target", 1)
    lines = numbered(3000)
    source, name = bench.files("in", lines), "login"
    config = bench.config(name, source, bench.sink("target", batch_records=50), checkpoint={"interval": "100ms"})
    slowly(bench)
    run = bench.start(config)
    bench.wait_for_sends(run, config, 10)
    bench.fake.do("user", {"name": "mill", "password": PASSWORD + "-of-later"})
    bench.fake.do("disconnect")
    text = bench.ended(run, config, expected=1)
    assert "password is wrong" in text, text
    bench.fake.do("user", {"name": "mill", "password": PASSWORD})
    bench.run(config)
    assert first_of_each(bench.payloads("target")) == lines


def stopped(bench):
    """INV-1: a stop while the server is silent ends in time, says so, and takes nothing for written."""
    bench.topic("target", 1)
    lines = numbered(3000)
    sink = bench.sink("target", batch_records=50)
    config = bench.config("stopped", bench.files("in", lines), sink, pipeline={"name": "stopped", "drain_timeout": "1s"})
    slowly(bench)
    run = bench.start(config)
    bench.wait_for_sends(run, config, 10)
    silence(bench, run, config)
    run.send_signal(signal.SIGTERM)
    bench.ended(run, config, expected=1)
    bench.fake.do("clear_faults")
    bench.run(config)
    assert first_of_each(bench.payloads("target")) == lines


if __name__ == "__main__":
    main([killed, restarted, topic_gone, login_lost, stopped], "--flush-messages", 1)
