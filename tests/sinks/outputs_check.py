#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the expected objects of outputs/ with Python's own parser and finds the records in them that the test writes."""
import base64
import datetime
import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1])
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)

# (payload, microseconds since the epoch or None, headers): as in s3_sink_outputs_test.cc.
ORDERS = [('{"id":1,"item":"Käse"}'.encode(), 1773669909000000, [("trace", b"t-1")]),
          (b'{"id":2, "price":12.50}', 1773669909250000, []),
          (b'{"id":3,"tags":["a","b"]}', 1773669910999999, [("trace", b"t-3"), ("attempt", b"2")])]
ODD = [(b'plain "text"', -1, []), (b"", None, []), (b'{"a":1,\n "a":1.0e2}', 0, []),
       (b"\x00\xff\x10", 253402300799999999, [("raw", b"\xff\x00"), ("", b""), ("q", b'say "hi"')]),
       (b"12345678901234567890.123", 1709164800000000, [])]
TABLES = {"orders": ("orders", 3, 100, ORDERS), "odd": ("odd", 0, 0, ODD)}


def pairs(text):
    """Objects as lists of pairs, numbers as they are spelled: what a plain parser would merge or round."""
    return json.loads(text, object_pairs_hook=lambda p: ("object", p), parse_float=lambda s: ("number", s),
                      parse_int=lambda s: ("number", s))


def fields(item):
    kind, members = item
    assert kind == "object"
    assert len({name for name, _ in members}) == len(members)
    return dict(members)


def payload_of(raw):
    try:
        return pairs(raw)
    except ValueError:
        return base64.b64encode(raw).decode()


def header_of(raw):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return base64.b64encode(raw).decode()


def check(path):
    name, *rest = path.name.split(".")
    topic, partition, first, rows = TABLES[name]
    if "raw" in rest:
        assert path.read_bytes() == b"".join(payload + b"\n" for payload, _, _ in rows), path
        return
    text = path.read_text(encoding="utf-8")
    if rest[-1] == "jsonl":
        assert text.endswith("\n")
        items = [pairs(line) for line in text[:-1].split("\n")]
    else:
        items = pairs(text)
    assert len(items) == len(rows), path
    for index, (item, (payload, micros, headers)) in enumerate(zip(items, rows)):
        if "unwrapped" in rest:
            assert item == pairs(payload), path
            continue
        want = {}
        if "metadata" in rest:
            want["offset"] = ("number", str(first + index))
            if micros is not None:
                second = EPOCH + datetime.timedelta(seconds=micros // 1000000)
                want["timestamp"] = second.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
            want.update(stream="shop", topic=topic, partition_id=("number", str(partition)))
        if "headers" in rest and headers:
            want["headers"] = ("object", [(key, header_of(value)) for key, value in headers])
        want["payload"] = payload_of(payload)
        got = fields(item)
        assert list(got) == list(want), (path, index, got)
        assert got == want, (path, index, got, want)


files = sorted(path for path in FOLDER.iterdir() if path.name != "README.md")
assert len(files) == 4 * 2 * 2 + 2 + 2, files
for one in files:
    check(one)
print(f"{len(files)} objects hold the records they should")
