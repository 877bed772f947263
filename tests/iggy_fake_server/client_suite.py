# SPDX-License-Identifier: Apache-2.0
"""What clients do with a server, be it the fake or a real one: an official client's session, and one of the independent client.

Each takes host and port and a stream's name that nobody has, asserts through the given test case, and leaves the stream behind.
"""
import json
import os
import pathlib
import subprocess
import sys

from fake import HERE
from hashes import name_hash
from iggy_client import connect
from iggy_wire import LAST, NEXT, OFFSET, RESYNC, Message, consumer, group, partition, refusal

ROOT = HERE.parent.parent
COUNT = 50  # messages of official_session.py in partition 0; one more is in partition 1


def clients_folder():
    """Where the official clients are, or None."""
    told = os.environ.get("MILLRACE_TEST_IGGY_CLIENTS")
    if not told:
        done = subprocess.run([ROOT / "tools/setup/iggy_clients.sh", "--where"], capture_output=True, text=True, check=True)
        told = done.stdout.strip()
    return pathlib.Path(told) if pathlib.Path(told).is_dir() else None


def official(case, framing, address, stream, how):
    """Sends, polls, joins a group and commits with the official client of this framing."""
    folder = clients_folder()
    case.assertIsNotNone(folder, "the official clients are not there; tools/setup/iggy_clients.sh fetches them")
    program = [sys.executable, "-B", HERE / "official_session.py", framing, "%s:%d" % address, stream, how]
    environment = dict(os.environ, PYTHONPATH=str(folder / framing))
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=100)
    case.assertEqual(done.returncode, 0, done.stderr)
    seen = json.loads(done.stdout)
    payloads = [f'{{"n":{i}}}' for i in range(COUNT)]
    case.assertEqual(seen["partitions"], 2)
    case.assertRegex(seen["again"], "(?i)already ?exists")
    case.assertEqual(seen["polled"], [[i, payloads[i], 0] for i in range(5, 25)])
    case.assertEqual(seen["last"], [[i, payloads[i], 0] for i in range(COUNT - 3, COUNT)])
    case.assertEqual(seen["beyond"], [])
    # XXH32 modulo the number of partitions, as the server does with keys that are sent to it.
    case.assertEqual(seen.get("keyed", {}), {key: name_hash(key.encode()) % 5 for key in seen.get("keyed", {})})
    case.assertEqual("keyed" in seen, framing == "vsr" and how == "create")
    case.assertEqual(seen["group"], [[0, i, payloads[i]] for i in range(COUNT)] + [[1, 0, "other"]])
    read_back(case, framing, address, stream, payloads)


def read_back(case, framing, address, stream, payloads):
    """What the official client sent and committed, as the independent one sees it, checksums verified."""
    client = connect(framing, *address)
    case.addCleanup(client.close)
    client.login("iggy", "iggy")
    polled = client.poll(consumer(3), stream, "events", 0, OFFSET, 0, 100)
    case.assertEqual([m.payload.decode() for m in polled.messages], payloads)
    case.assertEqual(client.get_offset(group("mill"), stream, "events", 0)["stored"], COUNT - 1)
    case.assertEqual(client.get_offset(group("mill"), stream, "events", 1)["stored"], 0)


def independent(case, framing, address, stream):
    """One session of the independent client: what the recorded sessions show, and a hand-over between two members."""
    clients = [connect(framing, *address) for _ in range(2)]
    for client in clients:
        client.login("iggy", "iggy")
        case.addCleanup(client.close)
    first, second = clients
    first.create_stream(stream)
    case.assertEqual(refusal(first.create_stream, stream), 1012)
    case.assertEqual(first.create_topic(stream, "t", 3)["partitions"], 3)
    sent = [Message(b"%d" % i, headers=[(b"k", 2, b"v")], id=i + 1, origin=1_700_000_000_000_000 + i) for i in range(8)]
    first.send(stream, "t", partition(2), sent[:5])
    first.send(stream, "t", partition(2), sent[5:])

    def offsets(kind, value=0, count=10):
        return [m.offset for m in first.poll(consumer(1), stream, "t", 2, kind, value, count).messages]

    whole = first.poll(consumer(1), stream, "t", 2, OFFSET, 0, 10)
    case.assertEqual([(m.id, m.payload, m.origin, m.headers) for m in whole.messages], [(m.id, m.payload, m.origin, m.headers) for m in sent])
    case.assertEqual(whole.end, 7)
    case.assertEqual((offsets(OFFSET, 3, 4), offsets(LAST, 0, 2), offsets(OFFSET, 99)), ([3, 4, 5, 6], [6, 7], []))
    case.assertEqual(refusal(first.poll, consumer(1), stream, "t", 9, OFFSET), 3007)
    case.assertIsNone(first.get_offset(consumer(1), stream, "t", 2))
    case.assertEqual(refusal(first.store_offset, consumer(1), stream, "t", 2, 8), 4100)
    first.store_offset(consumer(1), stream, "t", 2, 6)
    case.assertEqual((first.get_offset(consumer(1), stream, "t", 2)["stored"], offsets(NEXT)), (6, [7]))
    first.create_group(stream, "t", "g")
    first.join(stream, "t", "g")
    hand_over(case, framing, first, second, (stream, "t", "g"))
    first.delete_stream(stream)
    case.assertIsNone(second.get_stream(stream))


def hand_over(case, framing, first, second, where):
    """Partition 2 has messages in flight when the second joins; it moves once the last of them is stored."""

    def poll(client):
        return client.poll(group("g"), *where[:2], 2, OFFSET, 0, 100)

    case.assertEqual(len(poll(first).messages), 8)
    second.join(*where)
    early = poll(second)
    case.assertEqual((early.partition, early.messages), (RESYNC if framing == "vsr" else 0, []))
    first.store_offset(group("g"), *where[:2], 2, 7)
    for _ in range(2000):  # a real server moves it a little later
        if poll(second).messages:
            break
    case.assertEqual(len(poll(second).messages), 8)
    case.assertIn(refusal(first.store_offset, group("g"), *where[:2], 2, 7), (20, 3022, 5009))
    second.leave(*where)
    case.assertEqual(refusal(second.store_offset, group("g"), *where[:2], 2, 7), 20 if framing == "vsr" else 5006)
    if framing == "vsr":
        case.assertEqual(first.sync(*where)[1], [0, 1, 2])
