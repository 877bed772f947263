# SPDX-License-Identifier: Apache-2.0
"""What Python's csv and json modules say of CSV texts, one a line of hex on stdin, the delimiter as hex before it. Each
answer is a line: how many rows there are by its lenient reader, then "records" and, by its strict one, each row as the
hex of a JSON object, or "count" for a row with another number of fields than the header; or "error"."""
import csv
import json
import re
import sys

csv.field_size_limit(1 << 30)


def rows(text, delimiter, strict):
    if text.startswith("\ufeff"):
        text = text[1:]
    lines = re.findall(r"[^\n]*\n|[^\n]+$", text)  # only LF ends a line
    for row in csv.reader(lines, delimiter=delimiter, strict=strict):
        if row:  # as csv.DictReader skips empty lines
            yield row


def records(text, delimiter):
    header = None
    for row in rows(text, delimiter, strict=True):
        if header is None:
            header = row
        elif len(row) != len(header):
            yield "count"
        else:
            record = dict(zip(header, row))
            yield json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode().hex()


for line in sys.stdin:
    delimiter, text = (bytes.fromhex(word).decode() for word in (line.split() + [""])[:2])
    try:
        count = sum(1 for _ in rows(text, delimiter, strict=False))
    except csv.Error:
        count = -1
    try:
        print(count, "records", *records(text, delimiter))
    except csv.Error:
        print(count, "error")
