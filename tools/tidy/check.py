#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks of the tree that no compiler makes: layers, names, lengths, licence lines, threads, catch, words,
and the page of fault rows.

  check.py [ROOT]     prints findings, one a line; exit 1 if there is an error among them
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fault_rows
import file_rules
import layers
import source_rules
import words
from tree import Tree

CHECKS = [layers.check, source_rules.check, file_rules.check, words.check, fault_rows.check]


def main(argv):
    root = argv[0] if argv else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    tree = Tree.of_git(root)
    if not tree.cpp():
        print(f"error: no C++ file under {root}: nothing was checked", file=sys.stderr)
        return 1
    findings = [finding for check in CHECKS for finding in check(tree)]
    for finding in sorted(findings, key=lambda f: (f.path, f.line)):
        print(finding)
    errors = sum(not finding.warning for finding in findings)
    print(f"tidy: {len(tree.texts)} files, {errors} errors, {len(findings) - errors} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
