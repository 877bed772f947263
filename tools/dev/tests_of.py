#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which of a build's tests are those of some programs, as a list for `ctest -I`.

  ctest --test-dir BUILD --show-only=json-v1 | tests_of.py PROGRAM...
Exit 1 if one of the programs has no test: it was not built, or says none.
"""
import json
import os
import sys


def numbers(tests, programs):
    """(the tests' numbers as ctest counts them, from 1, and the programs that have none)."""
    found, left = [], set(programs)
    for number, test in enumerate(tests, start=1):
        program = os.path.basename((test.get("command") or [""])[0])
        if program in programs:
            found.append(number)
            left.discard(program)
    return found, sorted(left)


def main(programs):
    found, left = numbers(json.load(sys.stdin)["tests"], set(programs))
    if left or not found:
        print(f"error: no test of {', '.join(left) or 'no program'}; was it built?", file=sys.stderr)
        return 1
    print("0,0,0," + ",".join(map(str, found)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
