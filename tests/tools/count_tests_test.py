# SPDX-License-Identifier: Apache-2.0
"""tools/dev/count_tests.py: sums JUnit files as ctest writes them, and fails when it must."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "dev" / "count_tests.py"
PASSED = '<testcase name="a" classname="a" time="0.1" status="run"><system-out/></testcase>'
FAILED = '<testcase name="b" classname="b" time="0.1" status="fail"><failure message=""/></testcase>'
NOT_RUN = '<testcase name="c" classname="c" time="0" status="notrun"><skipped message="Unable to find executable"/></testcase>'
DISABLED = '<testcase name="d" classname="d" time="0" status="disabled"/>'


def count(*suites, options=()):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, suite in enumerate(suites):
            path = pathlib.Path(folder, f"{i}.xml")
            if suite is not None:
                path.write_text(f'<?xml version="1.0" encoding="UTF-8"?><testsuite name="x">{suite}</testsuite>', encoding="utf-8")
            paths.append(path)
        done = subprocess.run([sys.executable, PROGRAM, *options, *paths], capture_output=True, text=True)
        return done.stdout, done.returncode


class CountTests(unittest.TestCase):
    def test_sums_all_files(self):
        self.assertEqual(count(PASSED * 3, PASSED), ("4 passed, 0 failed, 0 skipped\n", 0))

    def test_a_failure_fails(self):
        self.assertEqual(count(PASSED + FAILED, PASSED), ("2 passed, 1 failed, 0 skipped\n", 1))

    def test_what_was_not_run_is_no_pass(self):
        self.assertEqual(count(PASSED + NOT_RUN + DISABLED), ("1 passed, 0 failed, 2 skipped\n", 0))
        self.assertEqual(count(PASSED + NOT_RUN, options=["--all-run"]), ("1 passed, 0 failed, 1 skipped\n", 1))
        self.assertEqual(count(PASSED, options=["--all-run"]), ("1 passed, 0 failed, 0 skipped\n", 0))

    def test_nothing_run_fails(self):
        self.assertEqual(count(""), ("0 passed, 0 failed, 0 skipped\n", 1))

    def test_a_missing_file_fails(self):
        self.assertEqual(count(PASSED, None), ("", 1))


if __name__ == "__main__":
    unittest.main()
