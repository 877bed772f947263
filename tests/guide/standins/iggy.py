#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pages use of Iggy's command line, over the wire, by the independent client of tests/iggy_fake_server/oracle:

  iggy -u USER -p PASSWORD stream create STREAM
  iggy -u USER -p PASSWORD topic create STREAM TOPIC PARTITIONS none EXPIRY
  iggy -u USER -p PASSWORD topic purge STREAM TOPIC
  iggy -u USER -p PASSWORD message send --partition-id N STREAM TOPIC MESSAGE...
The server is that of STANDIN_IGGY. Nothing is printed.
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "iggy_fake_server" / "oracle"))
import iggy_client  # noqa: E402


def act(client, words):
    match words:
        case ["stream", "create", stream]:
            client.create_stream(stream)
        case ["topic", "create", stream, topic, partitions, "none", _]:
            client.create_topic(stream, topic, int(partitions))
        case ["topic", "purge", stream, topic]:
            client.write(305, iggy_client.ident(stream) + iggy_client.ident(topic))
        case ["message", "send", "--partition-id", partition, stream, topic, *payloads] if payloads:
            messages = [iggy_client.Message(payload.encode()) for payload in payloads]
            client.send(stream, topic, iggy_client.partition(int(partition)), messages)
        case _:
            sys.exit(__doc__)


def main(words):
    if len(words) < 5 or words[0] != "-u" or words[2] != "-p":
        sys.exit(__doc__)
    framing, address, _ = os.environ["STANDIN_IGGY"].split()
    host, port = address.rsplit(":", 1)
    client = iggy_client.connect(framing, host, int(port))
    try:
        client.login(words[1], words[3])
        act(client, words[4:])
    finally:
        client.close()


if __name__ == "__main__":
    main(sys.argv[1:])
