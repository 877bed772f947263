#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: examples/http_poll_source prints every record of a feed once, in order, and goes on where it was.

Method: its own feed_server.py answers; the program runs, runs again, and once more when there is more.

  print_feed.py PRINT_FEED
"""
import http.server
import os
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "http_poll_source"))
from feed_server import Feed  # noqa: E402


def line(n):
    return '{"order": %d, "customer": "c%d", "cents": %d}\n' % (n, n % 7, n * 31 % 1000)


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, http.server.ThreadingHTTPServer(("127.0.0.1", 0), Feed) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        command = [program, f"http://127.0.0.1:{server.server_address[1]}", "positions.txt", "/orders"]
        before = 0
        for orders in (1234, 1234, 1300):
            Feed.orders = orders
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
            assert ran.returncode == 0, ran
            assert ran.stdout == "".join(map(line, range(before, orders))), ran.stdout
            assert ran.stderr == f"Completed: {orders - before} records; /orders up to {orders}\n", ran.stderr
            before = orders
        command[-1] = "/invoices"
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 1 and "/invoices: the API answers 404: there is no such feed" in ran.stderr, ran
        server.shutdown()


if __name__ == "__main__":
    main()
