#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: code that a page shows is code of the tree, which is built and tested, and every example is shown somewhere.

Method: a line in front of a block of code says where it is from, and the block must be a literal piece of that file, whole lines, at any indent:

  <!-- from: examples/fan_out.cc -->
  <!-- file: http_source.cc from: examples/http_poll_source/http_source.cc -->   and the reader writes it to the end of that file of theirs
  <!-- file: CMakeLists.txt -->                                                  likewise; the tree has no such file

What a page has its readers write must be the whole file in the end, but for the comment at its top and what a comment of examples tells of the
tree. page_run.py writes these files before it runs the commands behind them.

  code_blocks.py ROOT
"""
import pathlib
import re
import subprocess
import sys
import textwrap

MARK = re.compile(r"^<!-- (?:file: (?P<file>\S+))?(?: ?from: (?P<source>\S+))? -->$")
FENCE = re.compile(r"^```(\w*)$")


class CodeBlock:
    """A marked block of code; `line` is the number of its fence in the page, from 0."""

    def __init__(self, line, file, source, text):
        self.line, self.file, self.source, self.text = line, file, source, text


def marked_blocks(page):
    """ValueError where a mark has no block behind it."""
    found, lines, mark, begin = [], page.split("\n"), None, None
    for number, line in enumerate(lines):
        if begin is not None:
            if line == "```":
                if mark:
                    found.append(CodeBlock(begin, mark["file"], mark["source"], "\n".join(lines[begin + 1 : number]) + "\n"))
                begin = mark = None
        elif FENCE.match(line):
            begin = number
        elif (is_mark := MARK.match(line)) and (is_mark["file"] or is_mark["source"]):
            mark = is_mark
        elif mark:
            raise ValueError(f"line {number}: a block of code stands right behind this mark")
    if mark:
        raise ValueError("the last mark has no block behind it")
    return found


def without_top(text):
    """A file without the comment at its top and the blank lines behind it."""
    lines = text.splitlines(keepends=True)
    at = 0
    while at < len(lines) and re.match(r"(//|#( |!)|\s*$)", lines[at]):
        at += 1
    return "".join(lines[at:])


def is_piece(piece, text):
    """Whole lines that stand in `text` one after the other, all moved by the same indent or none."""
    wanted = textwrap.dedent(piece).splitlines()
    lines = text.splitlines()
    return any(textwrap.dedent("\n".join(lines[at : at + len(wanted)])).splitlines() == wanted for at in range(len(lines) - len(wanted) + 1))


def problems_of(page, read):
    """What is not as the marks of a page's text say. `read`: the text of a file of the tree, None where there is none."""
    problems, written = [], {}
    for block in marked_blocks(page):
        if block.file:
            parts = written.setdefault(block.file, [block.source, ""])
            if parts[0] != block.source:
                problems.append(f"line {block.line}: {block.file} is from {block.source} here and from {parts[0]} before")
            parts[1] += block.text
        if block.source:
            text = read(block.source)
            if text is None:
                problems.append(f"line {block.line}: there is no {block.source}")
            elif not is_piece(block.text, text):
                problems.append(f"line {block.line}: this is no piece of {block.source}")
    for name, (source, text) in written.items():
        if source and read(source) is not None and without_top(read(source)).replace("\n\n", "\n") != text.replace("\n\n", "\n"):
            problems.append(f"what the page has its reader write to {name} is not the whole of {source}")
    return problems


def main(root):
    root = pathlib.Path(root)
    tracked = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout.split("\0")
    problems, shown, count = [], set(), 0

    def read(name):
        return (root / name).read_text(encoding="utf-8") if name in tracked else None

    for page in (name for name in tracked if name.endswith(".md")):
        text = read(page)
        try:
            problems += [f"{page}, {problem}" for problem in problems_of(text, read)]
            blocks = marked_blocks(text)
        except ValueError as problem:
            problems.append(f"{page}, {problem}")
            continue
        count += len(blocks)
        shown |= {block.source for block in blocks}
    for example in (name for name in tracked if re.match(r"examples/.*\.(cc|h)$", name) and name not in shown):
        problems.append(f"{example}: no page shows a piece of it")
    for problem in problems:
        print(problem)
    print(f"{count} blocks of code, {len(problems)} problems")
    return 1 if problems or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
