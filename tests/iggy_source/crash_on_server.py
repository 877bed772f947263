#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: whoever dies, and in whatever order, the program, the Iggy server or the way to the store: no message is lost (INV-1), no offset
is kept ahead of what is durable, and with exactly_once no message stands twice at any time.

Method: messages that count flow into the partitions of two topics while one to three of them are killed at random instants and come back
in random order. After each kill, with the rest still as it is, everything up to a stored offset must be in the objects already. The last run reads to the end (INV-2).
Files are cut by time, so a replay makes other ones. The server is the stand-in, which loses nothing that it has acknowledged; objects
outlive a death of the store, so it dies by being cut off, silently or not.

  crash_on_server.py MILLRACE S3_FAULT_SERVER classic|vsr at_least_once|exactly_once
MILLRACE_CRASH_KILLS kills of each (4), MILLRACE_CRASH_SEED to repeat a run; MILLRACE_TEST_S3_ENDPOINT, ..._ACCESS_KEY and ..._SECRET_KEY name a
store, without them it is the project's own.
"""
import contextlib
import os
import random
import sys
import tempfile

from on_stand_in import Feed, IggyRuns, StandIn, ahead, places_of, wait_for

from mortals import Program, Store, WayToStore, kill_in_every_order

RATE = 2000  # messages a second; what a killed run has in hand is what counts


class Server:
    def __init__(self, stand_in):
        self.stand_in = stand_in

    def die(self):
        self.stand_in.kill()

    def rise(self):
        self.stand_in.start()


def check(stand_in, store, once):
    stored = stand_in.stored()  # before the objects: those of a live run become more
    places = places_of(store.lines())
    missing = ahead(stored, places)
    assert not missing, f"stored offsets {stored} are ahead of {len(missing)} messages, {missing[:5]} first"
    assert not once or set(places.values()) <= {1}, f"a message stands twice: {[place for place, times in places.items() if times > 1][:5]}"


def main():
    millrace, server_program, framing, delivery = sys.argv[1:]
    kills, once = int(os.environ.get("MILLRACE_CRASH_KILLS", "4")), delivery == "exactly_once"
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", str(random.randrange(1 << 30))))
    print(f"MILLRACE_CRASH_SEED={seed}, {kills} kills of each", flush=True)
    rng = random.Random(seed)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace-iggy-"))
        stand_in = stack.enter_context(StandIn(framing, folder))
        store = Store(server_program, stack, "iggy-crash")
        runs = stack.enter_context(IggyRuns(millrace, stand_in.port))
        feed = Feed(stand_in)
        config = runs.config("crash", {"member": "one"}, store.sink(delivery))
        program, way = Program(runs, config), WayToStore(store.proxy, rng)

        def before():
            feed.flow(rng.uniform(0.1, 1.0), RATE)
            if rng.random() < 0.8:  # the others die while it begins
                wait_for(lambda: feed.flow(0.05, RATE) and "were assigned" in runs.log_of(program.run) or program.run.poll() is not None, "its lanes")

        def between(died):
            if died:
                check(stand_in, store, once)
            if stand_in.fake:
                feed.flow(rng.uniform(0.0, 0.3), RATE)

        killed = kill_in_every_order([program, Server(stand_in), way], kills, rng, before, between)
        wait_for(lambda: feed.flow(0.05, RATE) and "were assigned" in runs.log_of(program.run) or program.run.poll() is not None, "its lanes")
        program.die()
        check(stand_in, store, once)
        feed.flow(0.5, RATE)
        text = runs.run(runs.config("last", {"member": "one", "bounded": True}, store.sink(delivery)))
        assert "Completed" in text, text
        places = places_of(store.lines(anew=True))
        lost = feed.everything() - set(places)
        assert not lost, f"{len(lost)} of {feed.total()} messages were lost, {sorted(lost)[:5]} first"
        assert set(places) == feed.everything(), "there are messages that were never sent"
        assert not once or set(places.values()) == {1}, "a message stands twice"
        assert stand_in.stored() == feed.last(), f"{stand_in.stored()} is stored, not {feed.last()}"
        print(f"{feed.total()} messages, {sum(places.values()) - feed.total()} of them twice; {killed} kills")


if __name__ == "__main__":
    main()
