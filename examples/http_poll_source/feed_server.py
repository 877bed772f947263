#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An API to try the source on: a feed of orders that do not change.  feed_server.py HOST:PORT ORDERS"""
import http.server
import json
import sys
import urllib.parse


class Feed(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    orders = 0

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path != "/orders":
            return self.answer(404, b"{}")
        query = dict(urllib.parse.parse_qsl(url.query))
        first = int(query["from"])
        end = min(first + int(query["limit"]), self.orders)
        items = [{"offset": n, "record": {"order": n, "customer": f"c{n % 7}", "cents": n * 31 % 1000}} for n in range(first, end)]
        self.answer(200, json.dumps({"items": items, "next": max(first, end), "more": end < self.orders}).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Feed.orders = int(sys.argv[2])
    host, port = sys.argv[1].split(":")
    http.server.ThreadingHTTPServer((host, int(port)), Feed).serve_forever()
