# SPDX-License-Identifier: Apache-2.0
"""One session of the official client (the package apache-iggy, in PYTHONPATH): stream, topic, messages, a group that commits.

  official_session.py FRAMING HOST:PORT STREAM create|use    prints what it saw as one JSON object
`use`: stream and topic are there. (0.9.0 asks for options of topics that a server 0.9.0-edge.5 does not know.) The 0.8 package speaks the classic framing, 0.9 the newer one; they name some things differently.
"""
import asyncio
import datetime
import json
import os
import sys

import apache_iggy as iggy

COUNT = 50
KEYS = [f"key {i}" for i in range(20)]


async def session(framing, address, stream, how):
    client = iggy.IggyClient(address)
    await client.connect()
    await client.login_user("iggy", "iggy")
    await client.ping()
    if how == "create":
        await client.create_stream(stream)
        await client.create_topic(stream, "events", 2)
    topic = await client.get_topic(stream, "events")
    seen = {"partitions": topic.partitions_count, "again": await refused(client.create_stream(stream))}
    for start in range(0, COUNT, 10):
        await client.send_messages(stream, "events", 0, [iggy.SendMessage(f'{{"n":{i}}}') for i in range(start, start + 10)])
    await client.send_messages(stream, "events", 1, [iggy.SendMessage("other")])
    seen["polled"] = await poll(client, framing, stream, iggy.PollingStrategy.Offset(value=5), 20)
    seen["last"] = await poll(client, framing, stream, iggy.PollingStrategy.Last(), 3)
    seen["beyond"] = await poll(client, framing, stream, iggy.PollingStrategy.Offset(value=1000), 3)
    seen["group"] = await consume(client, stream)
    if framing == "vsr" and how == "create":
        seen["keyed"] = await keyed(client, stream)
    return seen


async def keyed(client, stream):
    """Which of five partitions this client, which hashes keys by itself, sends a message with this key to."""
    await client.create_topic(stream, "keyed", 5)
    places = {}
    for key in KEYS:
        told = await client.send_messages(stream, "keyed", iggy.Partitioning.messages_key(key), [iggy.SendMessage(key)])
        places[key] = told.confirmations[0].partition_id
    return places


async def refused(call):
    try:
        await call
    except RuntimeError as error:
        return str(error)
    return None


async def poll(client, framing, stream, strategy, count):
    if framing == "classic":
        found = await client.poll_messages(stream, "events", 0, strategy, count, False)
    else:
        consumer = iggy.Consumer.Single(7)
        found = await client.poll_messages(
            stream, "events", consumer=consumer, polling_strategy=strategy, count=count, auto_commit=False, partition_id=0
        )
    return [[message.offset(), message.payload().decode(), message.partition_id()] for message in found]


async def consume(client, stream):
    """Both partitions through a group; the server stores what a poll gave, and the client stores the last ones once more itself.

    (From inside the callback a store would wait for itself; stores after each message go on behind our back.)"""
    consumer = await client.consumer_group(
        "mill", stream, "events", polling_strategy=iggy.PollingStrategy.Next(), batch_length=10,
        auto_commit=iggy.AutoCommit.When(iggy.AutoCommitWhen.PollingMessages()), poll_interval=datetime.timedelta(milliseconds=5),
    )  # fmt: skip
    seen, done = [], asyncio.Event()

    async def take(message):
        seen.append([message.partition_id(), message.offset(), message.payload().decode()])
        if len(seen) == COUNT + 1:
            done.set()

    await asyncio.wait_for(consumer.consume_messages(take, done), 60)
    for partition, last in ((0, COUNT - 1), (1, 0)):
        await consumer.store_offset(last, partition)
    return sorted(seen)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(session(*sys.argv[1:]))), flush=True)
    os._exit(0)  # 0.9.0 may abort while the interpreter ends around its threads
