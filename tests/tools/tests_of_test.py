# SPDX-License-Identifier: Apache-2.0
"""tools/dev/tests_of.py: finds the tests of programs as ctest tells them, and fails where a program has none."""
import json
import pathlib
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "dev" / "tests_of.py"
TESTS = {"tests": [
    {"name": "A.1", "command": ["/b/src/a_test", "--gtest_filter=A.1"]},
    {"name": "b_test_NOT_BUILT"},
    {"name": "tools.x", "command": ["/usr/bin/python3", "a_test"]},
    {"name": "C.1", "command": ["/b/src/c_test", "--gtest_filter=C.1"]},
    {"name": "A.2", "command": ["/b/src/a_test", "--gtest_filter=A.2"], "properties": [{"name": "LABELS", "value": ["unit", "slow"]}]},
]}


def tests_of(*programs):
    done = subprocess.run([sys.executable, PROGRAM, *programs], input=json.dumps(TESTS), capture_output=True, text=True)
    return done.stdout, done.returncode


class TestsOf(unittest.TestCase):
    def test_numbers_count_all_tests_from_one(self):
        self.assertEqual(tests_of("a_test"), ("0,0,0,1,5\n", 0))
        self.assertEqual(tests_of("c_test", "a_test"), ("0,0,0,1,4,5\n", 0))

    def test_labels_leave_out_and_do_not_count_anew(self):
        self.assertEqual(tests_of("--without", "slow,other", "a_test", "c_test"), ("0,0,0,1,4\n", 0))
        self.assertEqual(tests_of("--without", "unit", "c_test"), ("0,0,0,4\n", 0))

    def test_a_program_without_tests_fails(self):
        self.assertEqual(tests_of("a_test", "b_test"), ("", 1))
        self.assertEqual(tests_of(), ("", 1))


if __name__ == "__main__":
    unittest.main()
