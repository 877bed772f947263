#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which of a build's tests are those of some programs, as a list for `ctest -I`, beside which ctest must not be given
another choice: it counts what that leaves.

  ctest --test-dir BUILD --show-only=json-v1 | tests_of.py [--without LABEL,...] PROGRAM...
Exit 1 if one of the programs has no test: it was not built, or says none.
"""
import json
import os
import sys


def labels_of(test):
    return {label for known in test.get("properties", []) if known["name"] == "LABELS" for label in known["value"]}


def numbers(tests, programs, without):
    """(the tests' numbers as ctest counts them, from 1, and the programs that have none)."""
    found, left = [], set(programs)
    for number, test in enumerate(tests, start=1):
        program = os.path.basename((test.get("command") or [""])[0])
        if program in programs:
            left.discard(program)
            if not labels_of(test) & without:
                found.append(number)
    return found, sorted(left)


def main(programs):
    without = set()
    if programs[:1] == ["--without"]:
        without, programs = set(programs[1].split(",")), programs[2:]
    found, left = numbers(json.load(sys.stdin)["tests"], set(programs), without)
    if left or not found:
        print(f"error: no test of {', '.join(left) or 'no program'}; was it built?", file=sys.stderr)
        return 1
    print("0,0,0," + ",".join(map(str, found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
