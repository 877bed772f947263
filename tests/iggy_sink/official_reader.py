#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads partition 0 of a topic with the official client (the package apache-iggy, in PYTHONPATH), and prints the payloads as JSON.

  official_reader.py FRAMING HOST:PORT USER STREAM TOPIC COUNT       with IGGY_PASSWORD
"""
import asyncio
import json
import os
import sys

import apache_iggy as iggy


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
    return [message.payload().decode() for message in messages]


print(json.dumps(asyncio.run(read(*sys.argv[1:]))), flush=True)
os._exit(0)  # the package of 0.9.0 may abort while the interpreter ends
