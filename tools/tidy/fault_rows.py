# SPDX-License-Identifier: Apache-2.0
"""tests/FAULTS.md and the tests named after fault rows tell of each other: neither names what the other does not have."""
import re

from tree import Finding, without_comments

PAGE = "tests/FAULTS.md"
# Behind the invariants that a name begins with.
ROWS = re.compile(r"(?:INV\d+_)*((?:[A-M]\d\d_)+)")
TEST = re.compile(r"\b(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\s*\(\s*(\w+)\s*,\s*(\w+)")
# A case of a suite that many stores run: {"A05_EmptySegmentsAreKept", function, predicate}.
CASE = re.compile(r'^\s*\{"(\w+)",\s*\w+,', re.MULTILINE)
PAGE_ROW = re.compile(r"^\| ([A-M]\d\d) \|(.*)\|\s*$")


def rows_of(name):
    front = ROWS.match(name)
    return front.group(1).rstrip("_").split("_") if front else []


def tests_of(tree):
    """Name as the page writes it to (path, line, rows): `Suite.Name`, a suite's bare case, or a file of the fault server."""
    found = {}
    for path, text in tree.texts.items():
        if path.endswith("_test.cc"):
            for match in TEST.finditer(without_comments(text)):
                found[".".join(match.groups())] = (path, text.count("\n", 0, match.start()) + 1, rows_of(match.group(2)))
        elif path.endswith("_cases.cc"):
            for match in CASE.finditer(text):
                found[match.group(1)] = (path, text.count("\n", 0, match.start(1)) + 1, rows_of(match.group(1)))
        elif path.endswith(".fault"):
            name = path.rsplit("/", 1)[-1]
            found[name] = (path, 1, rows_of(name))
    return found


def check(tree):
    tests = tests_of(tree)
    findings = []
    page = {}
    for number, line in enumerate(tree.texts.get(PAGE, "").splitlines(), 1):
        row = PAGE_ROW.match(line)
        if not row:
            continue
        if row.group(1) in page:
            findings.append(Finding(PAGE, number, "fault-rows", f"row {row.group(1)} stands here twice"))
        named = re.findall(r"`([^`]+)`", row.group(2))
        page[row.group(1)] = set(named)
        findings += [
            Finding(PAGE, number, "fault-rows", f"{row.group(1)} names {name}, and there is no such test") for name in named if name not in tests
        ]
        if not named and "not yet:" not in row.group(2):
            findings.append(Finding(PAGE, number, "fault-rows", f"{row.group(1)} names no test and does not say 'not yet:' and why"))
    for name, (path, line, rows) in sorted(tests.items()):
        for row in rows:
            if name not in page.get(row, ()):
                findings.append(Finding(path, line, "fault-rows", f"{name} is not named in row {row} of {PAGE}"))
    return findings
