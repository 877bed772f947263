#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of the pages' code is judged: what is no piece of its file is noticed, and so is what a reader is not given."""
import unittest

from code_blocks import is_piece, marked_blocks, problems_of, without_top

FILE = """// A licence
// and what it is.
#include "a.h"

int one() {
  return 1;
}

int two() {
  return 2;
}
"""
TREE = {"examples/a.cc": FILE}.get

WHOLE = """<!-- file: a.cc from: examples/a.cc -->
```cpp
#include "a.h"

int one() {
  return 1;
}
```
words
<!-- file: a.cc from: examples/a.cc -->
```cpp
int two() {
  return 2;
}
```
"""


class CodeBlocks(unittest.TestCase):
    def test_blocks_and_their_marks(self):
        page = "```cpp\nnot marked\n```\n<!-- from: x/y.cc -->\n```cpp\na\n\nb\n```\n<!-- file: CMakeLists.txt -->\n```cmake\nc\n```\n<!-- needs: it -->\n```sh\nd\n```\n"
        self.assertEqual(
            [(b.line, b.file, b.source, b.text) for b in marked_blocks(page)], [(4, None, "x/y.cc", "a\n\nb\n"), (10, "CMakeLists.txt", None, "c\n")]
        )

    def test_a_mark_without_a_block(self):
        for page in ("<!-- from: x -->\nwords\n```cpp\na\n```\n", "<!-- from: x -->"):
            with self.subTest(page), self.assertRaises(ValueError):
                marked_blocks(page)

    def test_a_piece_is_whole_lines_at_one_indent(self):
        for piece in ("  return 1;\n}\n", "return 1;\n", "    return 2;\n", "int one() {\n  return 1;\n}\n\nint two() {\n", FILE):
            self.assertTrue(is_piece(piece, FILE), piece)
        for piece in ("return 3;\n", "return 1\n", "int one() {\n}\n", "int one() {\nreturn 1;\n", "  return 1;\n}\nint two() {\n"):
            self.assertFalse(is_piece(piece, FILE), piece)

    def test_a_file_without_its_top(self):
        self.assertTrue(without_top(FILE).startswith("#include"))
        self.assertEqual(without_top("#!/bin/x\n# SPDX\n\nimport a\n# b\n"), "import a\n# b\n")

    def test_a_page_that_is_right(self):
        self.assertEqual(problems_of(WHOLE, TREE), [])

    def test_a_page_that_is_wrong(self):
        for change, word in (
            (("return 1", "return 3"), "no piece"),
            (("examples/a.cc", "examples/b.cc"), "there is no examples/b.cc"),
            (("\n```cpp\nint two", "\n```cpp\n"), "no piece"),
            (("int two() {\n  return 2;\n}\n", "int two() {\n"), "not the whole of examples/a.cc"),
        ):
            with self.subTest(change):
                problems = problems_of(WHOLE.replace(*change), TREE)
                self.assertTrue(any(word in problem for problem in problems), problems)


if __name__ == "__main__":
    unittest.main()
