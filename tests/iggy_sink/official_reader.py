#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads partition 0 of a topic with the official client (the package apache-iggy, in PYTHONPATH), and prints payload and headers of each message.

  official_reader.py FRAMING HOST:PORT USER STREAM TOPIC COUNT       with IGGY_PASSWORD
The package of 0.8 shows no headers.
"""
import asyncio
import json
import os
import sys

import apache_iggy as iggy


def text_of(value):
    """A header's kind and value: "String b", "Raw fffe"."""
    kind = type(value).__name__.rsplit("_", 1)[-1]
    return f"{kind} {value.value.hex() if isinstance(value.value, bytes) else value.value}"


def headers_of(message):
    found = getattr(message, "user_headers", lambda: None)() or {}
    return {key.value: text_of(value) for key, value in found.items()}


async def read(framing, address, user, stream, topic, count):
    client = iggy.IggyClient(address)
    await client.connect()
    await client.login_user(user, os.environ["IGGY_PASSWORD"])
    strategy = iggy.PollingStrategy.Offset(value=0)
    if framing == "classic":
        messages = await client.poll_messages(stream, topic, 0, strategy, int(count), False)
    else:
        consumer = iggy.Consumer.Single(7)
        messages = await client.poll_messages(stream, topic, consumer=consumer, polling_strategy=strategy, count=int(count), auto_commit=False, partition_id=0)
    return [[message.payload().decode(), headers_of(message)] for message in messages]


print(json.dumps(asyncio.run(read(*sys.argv[1:]))), flush=True)
os._exit(0)  # the package of 0.9.0 may abort while the interpreter ends
