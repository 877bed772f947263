#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/JOURNEY.md, src/README.md and tests/journey/journey_test.cc to the same rows.

  rows_check.py ROOT
"""
import os
import re
import sys


def rows(path, pattern):
    with open(path, encoding="utf-8") as file:
        return [(int(number), name) for number, name in re.findall(pattern, file.read(), re.M)]


def main(argv):
    root = argv[0]
    page = rows(os.path.join(root, "docs", "JOURNEY.md"), r"^## (\d+)\. `(\w+)`")
    table = rows(os.path.join(root, "src", "README.md"), r"^\| (\d+) \| `(\w+)`")
    tests = [(n, name.lower()) for n, name in rows(os.path.join(root, "tests", "journey", "journey_test.cc"), r"TEST_F\(Journey, Row(\d+)_([A-Za-z]+)_")]
    problems = []
    if not page or page != table:
        problems.append(f"docs/JOURNEY.md has {page}, src/README.md has {table}")
    if page != tests:
        problems.append(f"docs/JOURNEY.md has {page}, journey_test.cc has {tests}")
    print("\n".join(problems) or f"{len(page)} rows")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
