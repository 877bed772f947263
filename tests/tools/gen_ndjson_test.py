# SPDX-License-Identifier: Apache-2.0
"""tools/gen_ndjson.py: the same lines for the same arguments, however they are made, spread and compressed."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "gen_ndjson.py"


def generate(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *arguments], check=True, capture_output=True).stdout


class GenNdjson(unittest.TestCase):
    def test_count_is_exact_across_blocks_and_lines_are_json_numbered_from_zero(self):
        lines = generate("--count", "4001", "--jobs", "2").splitlines()
        self.assertEqual([json.loads(line)["n"] for line in lines], list(range(4001)))

    def test_jobs_do_not_change_the_bytes_and_the_seed_does(self):
        self.assertEqual(generate("--count", "5000", "--jobs", "1"), generate("--count", "5000", "--jobs", "3"))
        self.assertNotEqual(generate("--count", "10"), generate("--count", "10", "--seed", "2"))

    def test_size_is_kept_and_ends_after_a_whole_line(self):
        data = generate("--size", "1M")
        self.assertTrue(data.endswith(b"}\n"))
        self.assertLessEqual(len(data), 1 << 20)
        self.assertGreater(len(data), (1 << 20) - 500)

    def test_line_is_the_mean_length(self):
        for mean in (200, 1024):
            data = generate("--count", "4000", "--line", str(mean))
            self.assertAlmostEqual(len(data) / 4000 / mean, 1, delta=0.05)

    def test_files_hold_the_same_lines_compressed_by_the_usual_programs(self):
        expected = sorted(generate("--count", "9000").splitlines())
        with tempfile.TemporaryDirectory() as folder:
            generate("--count", "9000", "--files", "3", "--mix", "--out", folder)
            found = b""
            for name, reader in [("part-00000.ndjson", "cat"), ("part-00001.ndjson.gz", "zcat"), ("part-00002.ndjson.zst", "zstdcat")]:
                found += subprocess.run([reader, f"{folder}/{name}"], check=True, capture_output=True).stdout
            self.assertEqual(sorted(found.splitlines()), expected)


if __name__ == "__main__":
    unittest.main()
