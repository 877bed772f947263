# SPDX-License-Identifier: Apache-2.0
"""examples/data: what SOURCE.md says of the earthquakes is what zcat, zstdcat and json find in them."""
import json
import pathlib
import re
import subprocess
import unittest

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "data"
READER = {".gz": "zcat", ".zst": "zstdcat", ".ndjson": "cat"}


class ExampleData(unittest.TestCase):
    def test_every_object_has_the_lines_that_its_page_names(self):
        named = {}
        for row in re.findall(r"^\| (`.*`) \| .* \| ([0-9, ]+) \|$", (DATA / "SOURCE.md").read_text(encoding="utf-8"), re.MULTILINE):
            named |= dict(zip(re.findall(r"`([^`]+)`", row[0]), map(int, row[1].split(", "))))
        found, ids = {}, set()
        for path in (DATA / "earthquakes").iterdir():
            lines = subprocess.run([READER[path.suffix], path], check=True, capture_output=True).stdout.splitlines()
            found[path.name] = len(lines)
            ids.update(json.loads(line)["id"] for line in lines)
        self.assertEqual(found, named)
        self.assertEqual(len(ids), 1707)
        self.assertLess(sum(path.stat().st_size for path in DATA.rglob("*")), 1 << 20)


if __name__ == "__main__":
    unittest.main()
