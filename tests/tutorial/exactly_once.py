#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: examples/postgres_sink over examples/http_poll_source loads each record exactly once, whoever dies and when.

Method: an API with faults (answers that break off, 503, 429) gives three feeds, some offsets missing, a page at a time. load_feed is killed
with SIGKILL at random instants and started again. After each kill no record stands twice in the table, and every record below a position
in the file is there already (INV-1). The last run ends Completed (INV-2), with each record in the table once. What is there is told by psql.

  kills              the program is killed
  kills_with_server  so is the server, at other times or at once; they come back in any order
  connections        the server ends the program's connections, over and over; the program goes on

  exactly_once.py LOAD_FEED CASE     MILLRACE_CRASH_KILLS kills (12), MILLRACE_CRASH_SEED to repeat a run
MILLRACE_TEST_POSTGRES is a server's URL, MILLRACE_TEST_POSTGRES_BIN the folder of its programs.
"""
import contextlib
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER_SCRIPT = os.path.join(HERE, "..", "servers", "postgres.sh")
BIN = os.environ["MILLRACE_TEST_POSTGRES_BIN"]

FEEDS = ("/orders", "/customers", "/returns")
ITEMS = 6000  # of a feed
PAGE = 50
PACE_S = 0.02  # of a page, so that kills fall all over a run


def offset(n):
    """Of item n: every fourth offset is missing."""
    return n + n // 3


def record(feed, n):
    return {"feed": feed, "n": n, "text": "\\ \t, \" é " + "x" * (n % 50)}


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rng = None

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        time.sleep(PACE_S)
        fault = self.rng.randrange(30)
        if fault == 0:
            return self.answer(503, b"down", "1")
        if fault == 1:
            return self.answer(429, b"slowly", "0")
        at = next((n for n in range(int(query["from"]) * 3 // 4 - 1, ITEMS) if n >= 0 and offset(n) >= int(query["from"])), ITEMS)
        end = min(at + PAGE, ITEMS)
        items = [{"offset": offset(n), "record": record(url.path, n)} for n in range(at, end)]
        after = offset(end) if items else int(query["from"])
        body = json.dumps({"items": items, "next": after, "more": end < ITEMS}, indent=1).encode()
        if fault == 2:
            self.close_connection = True
            return self.answer(200, body[: len(body) // 2], size=len(body))
        self.answer(200, body)

    def answer(self, status, body, retry_after=None, size=None):
        self.send_response(status)
        self.send_header("Content-Length", str(size or len(body)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server:
    """The server of the tests, or one of this test alone, which can die."""

    def __init__(self, folder=None):
        self.folder, self.alive = folder, True
        self.url = os.environ["MILLRACE_TEST_POSTGRES"]
        if folder:
            self.rise()
            with open(os.path.join(folder, "env"), encoding="ascii") as file:
                self.url = file.readline().strip().split("=", 1)[1]

    def rise(self):
        subprocess.run([SERVER_SCRIPT, "start", self.folder, BIN], check=True)
        self.alive = True

    def die(self):
        subprocess.run([SERVER_SCRIPT, "kill", self.folder], check=True)
        self.alive = False

    def close(self):
        if self.folder:
            subprocess.run([SERVER_SCRIPT, "stop", self.folder], check=True)

    def ask(self, sql):
        command = [os.path.join(BIN, "psql"), "--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", sql, self.url]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


class Load:
    """The program, its positions, and the table that it loads."""

    def __init__(self, program, folder, server, api):
        self.folder, self.server = folder, server
        self.table = f"load_{os.getpid()}"
        self.positions = os.path.join(folder, "positions.txt")
        self.log = os.path.join(folder, "log")
        self.command = [program, server.url + f"?application_name={self.table}", self.table, api, self.positions, *FEEDS]
        server.ask(f"CREATE TABLE {self.table} (data jsonb NOT NULL)")
        self.running = None

    def start(self):
        with open(self.log, "ab") as log:
            self.running = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        self.running.kill()
        return self.running.wait()

    def wait(self, seconds):
        """Its exit code; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.running.wait(seconds)
        return None

    def said(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()[-3000:]

    def check(self):
        """How many rows there are."""
        rows = [tuple(json.loads(row)) for row in self.server.ask(f"SELECT jsonb_build_array(data->>'feed', (data->>'n')::int) FROM {self.table}")]
        there = set(rows)
        assert len(there) == len(rows), f"{len(rows) - len(there)} records stand twice, for instance {next(r for r in rows if rows.count(r) > 1)}"
        if os.path.exists(self.positions):
            with open(self.positions, encoding="ascii") as file:
                for line in file:
                    at, feed = line.split()
                    missing = [n for n in range(ITEMS) if offset(n) < int(at) and (feed, n) not in there]
                    assert not missing, f"position {at} of {feed} is ahead of {len(missing)} records, {missing[0]} first"
        return len(rows)

    def check_all(self):
        assert self.check() == ITEMS * len(FEEDS)
        rows = self.server.ask(f"SELECT data FROM {self.table}")
        expected = sorted(json.dumps(record(feed, n), sort_keys=True) for feed in FEEDS for n in range(ITEMS))
        assert sorted(json.dumps(json.loads(row), sort_keys=True) for row in rows) == expected, "the rows are not the records"
        with open(self.positions, encoding="ascii") as file:
            assert file.read() == "".join(f"{offset(ITEMS - 1) + 1} {feed}\n" for feed in sorted(FEEDS)), "the positions are not at the end"


def kills(load, server, rng, count):
    for number in range(count):
        load.start()
        code = load.wait(rng.uniform(0.1, 2))
        if code is None:
            load.kill()
        else:
            assert code == 0, load.said()
        print(f"kill {number + 1}: {load.check()} rows", flush=True)


def kills_with_server(load, server, rng, count):
    """`count` times either dies, or both do."""
    load.start()
    for number in range(count):
        code = load.wait(rng.uniform(0.1, 2))
        # A program that begins while there is no server says so; one that runs waits for it.
        assert code in (None, 0), load.said()
        victims = rng.choice((("server",), ("program", "server"), ("server", "program")))
        for victim in victims:
            load.kill() if victim == "program" else server.die()
            time.sleep(rng.uniform(0, 0.05))
        if load.running.poll() is not None and rng.randrange(2):
            load.start()
            assert load.wait(60) == 1 and "Connection refused" in load.said(), load.said()
        server.rise()
        if load.running.poll() is not None:
            load.start()
        print(f"{' and '.join(victims)} killed, {number + 1} of {count}: {load.check()} rows", flush=True)
    code = load.wait(300)
    assert code == 0, load.said()


def connections(load, server, rng, count):
    load.start()
    for _ in range(count):
        if load.wait(rng.uniform(0.1, 0.5)) is not None:
            break
        server.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{load.table}'")
        load.check()
    assert load.wait(300) == 0, load.said()


def main():
    program, case = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = int(os.environ.get("MILLRACE_CRASH_KILLS", "12"))
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", str(random.randrange(1 << 30))))
    print(f"{case}: {count} kills, MILLRACE_CRASH_SEED={seed}", flush=True)
    rng = random.Random(seed)
    Api.rng = random.Random(seed)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        api = stack.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api))
        stack.callback(api.shutdown)
        threading.Thread(target=api.serve_forever, daemon=True).start()
        server = Server(os.path.join(folder, "server") if case == "kills_with_server" else None)
        stack.callback(server.close)
        load = Load(program, folder, server, f"http://127.0.0.1:{api.server_address[1]}")
        stack.callback(lambda: load.running and load.running.poll() is None and load.kill())
        {"kills": kills, "kills_with_server": kills_with_server, "connections": connections}[case](load, server, rng, count)
        if load.running.poll() != 0:
            load.start()
            assert load.wait(300) == 0, load.said()
        load.check_all()
        print(load.said().splitlines()[-1])
        server.ask(f"DROP TABLE {load.table}")


if __name__ == "__main__":
    main()
