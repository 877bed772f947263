#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints N free loopback ports, one a line.  free_ports.py N

Below the range that the kernel hands out to outgoing connections, so that none is taken by one between now and its use.
"""
import random
import socket
import sys


def free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_ports(count):
    candidates = (port for port in random.sample(range(12000, 32000), 2000) if free(port))
    return [next(candidates) for _ in range(count)]


if __name__ == "__main__":
    print("\n".join(map(str, free_ports(int(sys.argv[1])))))
