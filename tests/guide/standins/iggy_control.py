#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""iggy_control COMMAND: one command of tests/iggy_fake_server (its README lists them) to the server of STANDIN_IGGY; prints the answer."""
import json
import os
import socket
import sys


def main(command):
    host, port = os.environ["STANDIN_IGGY"].split()[2].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 30) as control:
        control.sendall(command.encode() + b"\n")
        answer = json.loads(control.makefile().readline())
    if "error" in answer:
        sys.exit(answer["error"])
    print(json.dumps(answer["ok"]))


if __name__ == "__main__":
    main(sys.argv[1])
