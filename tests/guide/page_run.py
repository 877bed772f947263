#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: what a page of the guide tells one to type works, and looks as the page shows it.

Method: each ```sh block of the page is run by bash, in order, in one scratch folder, and must exit 0. A ```text block right behind it is
what it prints, stdout and stderr as they come, without the lines of the log and
compared when what varies from run to run is masked on both sides (masked()). Blocks of other
languages are read only. `millrace` is the built program, without progress unless it is asked for; the bucket s3://my-bucket/exports/ is the
fault server's, whose endpoint and keys stand in the environment as AWS's tools have them. Code that a line `<!-- file: NAME ... -->` has the reader
write (code_blocks.py) is written before the commands behind it. A line `<!-- needs: iggy aws -->` asks for servers and
commands of needs.py; the addresses that they usually have stand for those of the test. A line `<!-- run: COMMAND -->` is run too: what happens
to the reader's servers without the reader.

  page_run.py PAGE MILLRACE S3_FAULT_SERVER [--kafka-tool PROGRAM] [--iggy-framing classic|vsr] [--update]
--update writes what was printed into the page instead, so that a sample is never written by hand.
"""
import argparse
import contextlib
import difflib
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import code_blocks
import needs

SHOWN_FOLDER = "srv/backfill"  # where the samples say that they ran, without the first slash, as keys are told
NUMBERS_VARY = "<!-- numbers vary -->"  # on the line before a ```text block: all of its numbers are masked, and the plurals behind them
NEEDS = r"^<!-- needs: (.*) -->$"
RUN = r"^<!-- run: (.*) -->$"
LATENCY_MS = 40  # of the server, so that a run with one read at a time can be met in the middle
TIMEOUT_S = 1200  # of a block

# The one list of what may differ between the page and a run.
MASKS = [
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"\b\d+(\.\d+)? s\b|\b\d+m \d+s\b", "<duration>"),
    (r"\b\d+[smhd] ago\b", "<age>"),
    (r"http://127\.0\.0\.1:\d+", "<endpoint>"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b", "<time>"),
    (r"\b[0-9a-f]+-[0-9a-f]{12,}-[0-9a-f]+\b", "<file-etag>"),
    (r"\b[0-9a-f]{16}\b", "<hash>"),
    (r"\bs3-[0-9a-f]{8}\b", "<source>"),
    (r"\b\d{4}-\d\d-\d\d/\d\d\b", "<date/hour>"),
    (r"[ \t]+$", ""),
]


LOG_LINE = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (debug|info |warn |error) .*\n?"  # told in the order of threads


def masked(text, numbers=False):
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
    if numbers:
        text = re.sub(r"\d+([.,]\d+)*", "<n>", text)
        text = re.sub(r"<n> (\w+?)s?\b", r"<n> \1", text)  # and the plural behind them
    return text


class Block:
    """A ```sh block and the ```text block behind it. Lines are numbers in the page, from 0."""

    def __init__(self, line, command):
        self.line, self.command = line, command
        self.shown = None  # text, or None: what it prints is not shown
        self.numbers = False
        self.shown_lines = None  # first, and one behind the last, between the fences


def blocks_of(page):
    """Every ```sh block and `run` line of the page's text; ValueError where fences do not pair or a sample belongs to nothing."""
    lines = page.split("\n")
    found, fence, last_end = [], None, None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            if fence is None and line.strip() not in ("", NUMBERS_VARY):
                last_end = None  # a sample stands right behind its command
            if fence is None and (unseen := re.match(RUN, line)):
                found.append(Block(number, unseen[1]))
            continue
        if fence is None:
            fence = (line[3:].strip(), number)
            continue
        language, begin = fence
        body = "\n".join(lines[begin + 1 : number])
        fence = None
        if language == "sh":
            found.append(Block(begin, body))
            last_end = number
        elif language == "text":
            if last_end is None or found[-1].shown is not None:
                raise ValueError(f"line {begin + 1}: a sample that stands behind no command")
            found[-1].shown, found[-1].shown_lines = body, (begin + 1, number)
            found[-1].numbers = NUMBERS_VARY in lines[last_end:begin]
        else:
            last_end = None
    if fence is not None:
        raise ValueError(f"line {fence[1] + 1}: this block has no end")
    return found


def needs_of(page):
    """The names behind `needs:`, each once, in order."""
    return list(dict.fromkeys(" ".join(re.findall(NEEDS, page, flags=re.MULTILINE)).split()))


class Place:
    """A scratch folder, the program on the PATH, a bucket with 240 objects and what the page needs; everything is gone afterwards."""

    def __init__(self, arguments, wanted):
        millrace, server = os.path.abspath(arguments.millrace), os.path.abspath(arguments.server)
        self.base = tempfile.mkdtemp(prefix="millrace-guide-")
        self.folder, tools, data = (os.path.join(self.base, name) for name in ("page", "bin", "data"))
        for folder in (self.folder, tools, data):
            os.mkdir(folder)
        # A line each ten seconds would depend on how fast the machine is.
        wrapper = os.path.join(tools, "millrace")
        with open(wrapper, "w", encoding="ascii") as file:
            file.write(f'#!/bin/bash\n[[ "$1" = run && "$*" != *--progress* ]] && set -- "$@" --progress none\nexec "{millrace}" "$@"\n')
        os.chmod(wrapper, 0o755)
        start = [server, "--latency-ms", str(LATENCY_MS), "--bucket", "my-bucket"]
        start += [f"my-bucket/exports/{key}={path}" for key, path in self.objects(data)]
        self.server = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "JOB_"))}
        self.environment |= {
            "PATH": tools + os.pathsep + os.environ["PATH"],
            "HOME": self.base,
            "LC_ALL": "C.UTF-8",
            "AWS_ENDPOINT_URL": self.server.stdout.readline().split()[1],
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY",
        }
        self.needed, self.addresses, self.groups = [], {}, []
        try:
            for name in wanted:
                self.needed.append(needs.KNOWN[name](self.base, tools, arguments))
        except BaseException:
            self.close()
            raise
        for one in self.needed:
            self.environment |= one.environment
            self.addresses |= one.addresses

    @staticmethod
    def objects(folder):
        """Keys below exports/ and the files that hold them: 30 days of 8 parts of 50 orders, and what a filter leaves out."""
        for day in range(1, 31):
            for part in range(8):
                path = os.path.join(folder, f"{day:02}-{part}")
                with open(path, "wb") as file:
                    first = ((day - 1) * 8 + part) * 50
                    text = "".join(f'{{"order":{n},"day":"2026-07-{day:02}"}}\n' for n in range(first, first + 50))
                    file.write(gzip.compress(text.encode(), mtime=0))
                yield f"2026-07-{day:02}/part-{part}.ndjson.gz", path
        path = os.path.join(folder, "note")
        with open(path, "w", encoding="ascii") as file:
            file.write("made by the nightly job\n")
        yield "_notes/README.txt", path

    def write(self, block):
        """To the end of a file of the reader's."""
        with open(os.path.join(self.folder, block.file), "a", encoding="utf-8") as file:
            file.write(block.text)

    def run(self, command):
        """Exit code and output, as the page would show it."""
        for shown, real in self.addresses.items():
            command = command.replace(shown, real)
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # what it leaves in the background has its number as group
        ) as running:
            self.groups.append(running.pid)
            try:
                printed = running.communicate(timeout=TIMEOUT_S)[0]
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                raise
        output = printed.decode("utf-8", "replace").replace(self.folder.lstrip("/"), SHOWN_FOLDER)
        for shown, real in self.addresses.items():
            output = output.replace(real, shown)
        output = re.sub(LOG_LINE, "", output, flags=re.MULTILINE)
        return running.returncode, output.rstrip("\n")

    def close(self):
        for group in self.groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        for one in reversed(self.needed):
            one.close()
        self.server.communicate()
        shutil.rmtree(self.base)


def problems_of(block, code, output):
    """What is not as the page says, as text; nothing when all is."""
    where = f"line {block.line + 1}:\n{block.command}\n"
    if code != 0:
        return f"{where}exit code {code}, after\n{output}\n"
    if block.shown is None:
        return ""
    shown, printed = (masked(text, block.numbers).splitlines() for text in (block.shown, output))
    difference = "\n".join(difflib.unified_diff(shown, printed, "the page", "this run", lineterm=""))
    return f"{where}{difference}\nunmasked:\n{output}\n" if difference else ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("page")
    parser.add_argument("millrace")
    parser.add_argument("server")
    parser.add_argument("--kafka-tool", help="the program of tests/kafka, for pages that need kafka")
    parser.add_argument("--iggy-framing", default="vsr", choices=("classic", "vsr"))
    parser.add_argument("--update", action="store_true")
    args = parser.parse_args()
    with open(args.page, encoding="utf-8") as file:
        page = file.read()
    blocks = blocks_of(page)
    if not blocks:
        print(f"{args.page}: it has no command to run")
        return 1
    place = Place(args, needs_of(page))
    lines, problems = page.split("\n"), []
    try:
        written, printed = [block for block in code_blocks.marked_blocks(page) if block.file], []
        for block in blocks:
            while written and written[0].line < block.line:
                place.write(written.pop(0))
            printed.append(place.run(block.command))
    finally:
        place.close()
    for block, (code, output) in reversed(list(zip(blocks, printed))):
        if args.update and code == 0 and block.shown is not None:
            lines[slice(*block.shown_lines)] = output.split("\n") if problems_of(block, code, output) else block.shown.split("\n")
        elif problem := problems_of(block, code, output):
            problems.insert(0, problem)
    if args.update:
        with open(args.page, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    for problem in problems:
        print(f"{args.page}, {problem}")
    print(f"{len(blocks)} commands, {sum(block.shown is not None for block in blocks)} with what they print, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
