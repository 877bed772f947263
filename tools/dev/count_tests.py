#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up ctest's JUnit files and prints "N passed, N failed, N skipped", alone on a line.

  count_tests.py [--all-run] FILE...
Exit 1 if a test failed or none was run, or if a file is missing; with --all-run also if one was skipped.
"""
import sys
import xml.etree.ElementTree


def count(paths):
    """(passed, failed, skipped) over all files."""
    passed = failed = skipped = 0
    for path in paths:
        for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            status = case.get("status", "run")
            if case.find("failure") is not None or case.find("error") is not None or status == "fail":
                failed += 1
            elif case.find("skipped") is not None or status in ("notrun", "disabled"):
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped


def main(argv):
    paths = [argument for argument in argv if argument != "--all-run"]
    try:
        passed, failed, skipped = count(paths)
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        print(f"error: {error}; did the tests run?", file=sys.stderr)
        return 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    left_out = skipped if "--all-run" in argv else 0
    return 0 if failed + left_out == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
