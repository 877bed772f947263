#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends messages with the official client (the package apache-iggy, in PYTHONPATH), as its users do.

  sender.py HOST:PORT STREAM [TOPIC PAYLOAD...]    makes stream and topics `api_requests` and `errors` when they are missing
"""
import asyncio
import os
import sys

import apache_iggy as iggy


async def send(address, stream, topic, payloads):
    client = iggy.IggyClient(address)
    await client.connect()
    await client.login_user("iggy", "iggy")
    try:
        await client.create_stream(stream)
        for name in ("api_requests", "errors"):
            await client.create_topic(stream, name, 1)
    except RuntimeError as error:
        if "already" not in str(error).lower():
            raise
    if payloads:
        await client.send_messages(stream, topic, 0, [iggy.SendMessage(payload) for payload in payloads])


# The package of 0.9.0 may abort while the interpreter ends, after all is sent; so it does not end in order.
asyncio.run(send(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "", sys.argv[4:]))
sys.stdout.flush()
os._exit(0)
