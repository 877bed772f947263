#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of the pages is judged: what is not as a page shows it is noticed, and what varies is not."""
import unittest

from page_run import Block, blocks_of, masked, needs_of, problems_of

PAGE = """# Title
```sh
echo one
```
```text
one
```
```yaml
a: 1
```
    ```indented

```sh
echo two
```
<!-- numbers vary -->
```text
two 2
```
```sh
echo three
```
"""


class PageRun(unittest.TestCase):
    def test_blocks_and_their_samples(self):
        blocks = blocks_of(PAGE)
        self.assertEqual([b.command for b in blocks], ["echo one", "echo two", "echo three"])
        self.assertEqual([b.shown for b in blocks], ["one", "two 2", None])
        self.assertEqual([b.numbers for b in blocks], [False, True, False])
        lines = PAGE.split("\n")
        for block in blocks[:2]:
            self.assertEqual("\n".join(lines[slice(*block.shown_lines)]), block.shown)

    def test_what_a_page_needs_and_what_is_run_unseen(self):
        page = "# T\n<!-- needs: iggy aws -->\n```sh\necho 1\n```\n<!-- run: break it -->\n```text\n1\n```\n"
        self.assertEqual(needs_of(page), ["iggy", "aws"])
        self.assertEqual(needs_of(PAGE), [])
        with self.assertRaises(ValueError):  # the sample would be taken for that of the unseen command
            blocks_of(page)
        page = "```sh\necho 1\n```\n```text\n<!-- run: not this -->\n```\n<!-- run: break it -->\n"
        self.assertEqual([(b.line, b.command, b.shown) for b in blocks_of(page)], [(0, "echo 1", "<!-- run: not this -->"), (6, "break it", None)])

    def test_a_sample_without_its_command_and_a_block_without_end(self):
        for page in ("```text\nx\n```\n", "```sh\nx\n```\nwords\n```text\nx\n```\n", "```sh\nx\n```\n```text\nx\n```\n```text\nx\n```\n", "```sh\nx\n"):
            with self.subTest(page), self.assertRaises(ValueError):
                blocks_of(page)

    def test_what_varies_is_masked(self):
        for one, other in (
            ("Completed after 0.1 s", "Completed after 12.3 s"),
            ("saved 3s ago", "saved 2m ago"),
            ("of 2026-11-30T10:32:54Z", 'of 2026-12-01T00:00:00.123456Z'),
            ('"9906ab-18eccc1b240b3a7f-e"', '"1-28eccc1b240b3a7f-94d"'),
            ('"xxh3":"acf95b14954ec5dc"', '"xxh3":"0000000000000000"'),
        ):
            self.assertEqual(masked(one), masked(other))

    def test_what_does_not_vary_is_not(self):
        for one, other in (("3 records", "4 records"), ("exit code 0", "exit code 1"), ("lane 1", "lane 2"), ("240 of 240", "239 of 240"), ("31.1 KiB read", "31.2 KiB read")):
            self.assertNotEqual(masked(one), masked(other))
            self.assertEqual(masked(one, numbers=True), masked(other, numbers=True))
        self.assertEqual(masked("in 1 write", numbers=True), masked("in 20 writes", numbers=True))
        self.assertNotEqual(masked("Completed", numbers=True), masked("Failed", numbers=True))

    def test_another_output_another_exit_code(self):
        block = Block(0, "echo 3 records")
        self.assertEqual(problems_of(block, 0, "anything"), "")
        self.assertIn("exit code 1", problems_of(block, 1, ""))
        block.shown = "3 records"
        self.assertEqual(problems_of(block, 0, "3 records"), "")
        self.assertIn("+4 records", problems_of(block, 0, "4 records"))
        self.assertIn("+more", problems_of(block, 0, "3 records\nmore"))
        block.numbers = True
        self.assertEqual(problems_of(block, 0, "4 records"), "")
        self.assertIn("-<n> record", problems_of(block, 0, "none"))


if __name__ == "__main__":
    unittest.main()
