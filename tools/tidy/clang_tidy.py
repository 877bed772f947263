#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads all sources of a build with clang, in parallel, and only those that have not passed already: the product's with
clang-tidy, tests and the like with the compiler itself, as gtest's macros are most of what clang-tidy would read there.

  clang_tidy.py BUILD_FOLDER [--cache FOLDER] [--jobs N] [--all] [FILE...]
A file is passed again unseen when nothing that matters has changed since: its text, that of each header of ours that it
includes, .clang-tidy, how it is compiled, and the version of clang-tidy. Warnings are errors in both, those about locks too.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tree import includes

PROGRAM = "clang-tidy-19"
SOURCES = ("src/", "connectors/", "formats/", "cli/")


class Closure:
    """The text of a file and of every header of ours below it, read once."""

    def __init__(self, root, roots_of_includes):
        self.root, self.roots, self.seen = root, roots_of_includes, {}

    def headers(self, path):
        if path not in self.seen:
            text = path.read_text(encoding="utf-8")
            near = [path.parent / name for _, name, angle in includes(text) if not angle]
            far = [root / name for _, name, _ in includes(text) for root in self.roots]
            self.seen[path] = [p for p in map(pathlib.Path, map(os.path.normpath, near + far)) if p.is_file()]
        return self.seen[path]

    def digest(self, path, *more):
        todo, done = [path], set()
        while todo:
            at = todo.pop()
            if at not in done:
                done.add(at)
                todo += self.headers(at)
        total = hashlib.sha256("\0".join(more).encode())
        for at in sorted(done):
            total.update(str(at.relative_to(self.root)).encode() + b"\0" + at.read_bytes() + b"\0")
        return total.hexdigest()


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--cache", help="folder of what has passed before")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--all", action="store_true", help="take nothing from the cache")
    parser.add_argument("files", nargs="*", help="only these (paths from the root)")
    options = parser.parse_intermixed_args(argv)

    root = pathlib.Path(__file__).resolve().parent.parent.parent
    version = subprocess.run([PROGRAM, "--version"], check=True, capture_output=True, text=True).stdout
    config = (root / ".clang-tidy").read_text(encoding="utf-8")
    closure = Closure(root, [root / "include", root / "src", root])
    todo, known = [], 0
    for entry in json.loads(pathlib.Path(options.build, "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(os.path.normpath(os.path.join(entry["directory"], entry["file"])))
        name = str(path.relative_to(root)) if path.is_relative_to(root) else ""
        if not name or (options.files and name not in options.files):
            continue
        ours = name.startswith(SOURCES) and not name.startswith("src/testing/") and not name.endswith("_test.cc")
        compiler = re.sub(r"^(env )?(CCACHE_\w+=\S*\s|\S*ccache\s|\S*cmake -E env\s|--\s)*", "", entry["command"])
        check = [PROGRAM, "-p", options.build, "--quiet", str(path)] if ours else syntax(compiler)
        stamp = pathlib.Path(options.cache or ".", closure.digest(path, version, config, compiler.replace(str(root), "."), str(ours)))
        if options.cache and not options.all and stamp.exists():
            known += 1
            os.utime(stamp)
        else:
            todo.append((name, stamp, check, entry["directory"] if not ours else str(root)))

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for (name, stamp, check, _), (code, output) in zip(todo, pool.map(lambda item: run(*item[2:]), todo)):
            if code != 0:
                failed += 1
                print(output, flush=True)
            elif options.cache:
                stamp.parent.mkdir(parents=True, exist_ok=True)
                stamp.touch()
            print(f"{os.path.basename(check[0])}: {name}: {'ok' if code == 0 else 'FAILED'}", flush=True)
    print(f"clang: {known + len(todo)} files, {known} unchanged since they passed, {failed} failed")
    if known + len(todo) == 0:
        print("error: clang saw no file", file=sys.stderr)
    return 0 if failed == 0 and known + len(todo) > 0 else 1


def syntax(command):
    """A compiler's command without what it would write."""
    words = shlex.split(command)
    left_out = {at for at, word in enumerate(words) for at in ((at, at + 1) if word in ("-o", "-MF", "-MT") else (at,) if word in ("-c", "-MD") else ())}
    return [word for at, word in enumerate(words) if at not in left_out] + ["-fsyntax-only"]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + ("" if done.returncode == 0 else done.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
