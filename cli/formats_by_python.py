# SPDX-License-Identifier: Apache-2.0
"""Are the lines of OUT the records of IN, as Python's csv and json modules read them?
usage: formats_by_python.py csv DELIMITER IN OUT | json_array IN OUT"""
import csv
import json
import sys


def rows(path, delimiter):
    with open(path, newline="", encoding="utf-8-sig") as file:
        yield from csv.DictReader(file, delimiter=delimiter, strict=True)


def elements(path):
    with open(path, encoding="utf-8-sig") as file:
        yield from json.load(file)


kind, *arguments, out = sys.argv[1:]
expected = list(rows(arguments[1], arguments[0]) if kind == "csv" else elements(arguments[0]))
with open(out, encoding="utf-8") as file:
    got = [json.loads(line) for line in file]
if got != expected:
    sys.exit(f"{len(got)} records in {out}, {len(expected)} expected: {got[:5]} ... {expected[:5]} ...")
