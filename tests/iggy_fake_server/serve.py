#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scriptable stand-in for an Iggy server, on loopback; see README.md.

Prints `listening 127.0.0.1:PORT`, then `control 127.0.0.1:PORT`, and runs until SIGTERM or SIGINT, or until its standard
input ends where --until-eof is given.
"""
import argparse
import asyncio
import os
import signal
import ssl
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from control import Control  # noqa: E402
from server import Server  # noqa: E402


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--control-port", type=int, default=0)
    parser.add_argument("--framing", choices=("classic", "vsr"), required=True, help="classic up to 0.8, vsr from 0.9 on")
    parser.add_argument("--data", help="a folder that outlives the process")
    parser.add_argument("--script", help="a file of control commands, one a line, run at the start")
    parser.add_argument("--user", default="iggy")
    parser.add_argument("--password", default="iggy")
    parser.add_argument("--tls", nargs=2, metavar=("CERTIFICATE", "KEY"), help="PEM files")
    parser.add_argument("--flush-messages", type=int, default=1024, help="a partition is flushed once so many wait")
    parser.add_argument("--flush-bytes", type=int, default=1 << 20)
    parser.add_argument("--flush-seconds", type=float, default=30.0)
    parser.add_argument("--rebalance-timeout", type=float, default=30.0, metavar="S", help="how long a pending partition waits")
    parser.add_argument("--heartbeat", type=float, default=0.0, metavar="S", help="interval; 0: nobody is evicted (real 0.9 servers: 30)")
    parser.add_argument("--version", default="0.9.0", help="announced at login (vsr)")
    parser.add_argument("--protocol", default="0.11.0", help="whose minor a client must have (vsr)")
    parser.add_argument("--lenient-ids", dest="consume_ids", action="store_false",
                        help="request ids of sends and stores may repeat, as 0.9.0-edge.5 takes them (vsr)")  # fmt: skip
    parser.add_argument("--largest", type=int, default=64 << 20, help="frame that is accepted (vsr)")
    parser.add_argument("--until-eof", action="store_true", help="end when standard input does: no server outlives its test")
    settings = parser.parse_args(argv)
    settings.protocol = tuple(map(int, settings.protocol.split(".")))
    settings.cluster = os.urandom(16)
    return settings


async def run(settings):
    server = Server(settings)
    control = Control(server)
    tls = None
    if settings.tls:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*settings.tls)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", settings.port, ssl=tls, limit=1 << 20)
    commands = await asyncio.start_server(control.serve, "127.0.0.1", settings.control_port, limit=1 << 26)
    port = listener.sockets[0].getsockname()[1]
    if server.vsr:
        server.broker.nodes = [{"name": "iggy-node", "host": "127.0.0.1", "port": port}]
    if settings.script:
        with open(settings.script, "rb") as file:
            for line in filter(None, map(bytes.strip, file)):
                if "error" in (answer := await control.run(line)):
                    sys.exit(f"{settings.script}: {line.decode()}: {answer['error']}")
    print(f"listening 127.0.0.1:{port}", flush=True)
    print(f"control 127.0.0.1:{commands.sockets[0].getsockname()[1]}", flush=True)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if settings.until_eof:
        loop.add_reader(sys.stdin, lambda: os.read(0, 4096) or stopped.set())
    ticking = asyncio.create_task(server.tick())
    await stopped.wait()
    ticking.cancel()
    server.stop()
    os._exit(0)  # connections that are still open end with the process


if __name__ == "__main__":
    asyncio.run(run(arguments(sys.argv[1:])))
