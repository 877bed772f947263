# SPDX-License-Identifier: Apache-2.0
"""Starts the fake server for a test and speaks to its control channel."""
import json
import pathlib
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SERVE = HERE / "serve.py"
sys.path.insert(0, str(HERE / "oracle"))
import iggy_client  # noqa: E402


class ControlError(Exception):
    """The control channel said no."""


class Fake:
    """A server process and a connection to its control channel; use it in a `with`."""

    def __init__(self, framing, *options):
        self.process = subprocess.Popen(
            [sys.executable, "-B", SERVE, "--framing", framing, "--until-eof", *map(str, options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.framing, self.clients = framing, []
        self.port = self.announced("listening")
        self.control_port = self.announced("control")
        self.socket = socket.create_connection(("127.0.0.1", self.control_port), 30)
        self.lines = self.socket.makefile("rw")

    def announced(self, what):
        words = self.process.stdout.readline().split()
        if words[:1] != [what]:
            raise ControlError(f"the server did not say '{what}' but {words}")
        return int(words[1].rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.close()
        self.lines.close()
        self.socket.close()
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def client(self, login=True, timeout=10.0, **options):
        """An independent client, logged in."""
        client = iggy_client.connect(self.framing, "127.0.0.1", self.port, timeout)
        self.clients.append(client)
        if login:
            client.login("iggy", "iggy", **options)
        return client

    def do(self, verb, value=True):
        """What the server answers to this command."""
        self.lines.write(json.dumps({verb: value}) + "\n")
        self.lines.flush()
        answer = json.loads(self.lines.readline())
        if "error" in answer:
            raise ControlError(answer["error"])
        return answer["ok"]

    def until(self, holds, seconds=30):
        """Waits until `holds()` is true; False if it did not come to that."""
        for _ in range(seconds * 100):
            if holds():
                return True
            self.do("wait", {"where": {"command": "none"}, "ms": 10})
        return False
