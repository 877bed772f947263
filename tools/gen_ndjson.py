#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes NDJSON of any size, the same bytes each time, for the demo, tests and benchmarks.

  gen_ndjson.py --count 1000                                        1,000 lines on standard output
  gen_ndjson.py --size 300M --files 24 --out build/demo/in          build/demo/in/part-00000.ndjson ...
  gen_ndjson.py --size 300M --files 24 --out DIR --mix              every third file gzip, every third zstd
  gen_ndjson.py --count 5000 --files 4 --line 1024 --gzip --out DIR

Each line is one flat-ish JSON object with a number `n` that counts from 0 over all files, so every line differs from
every other; `--line` is the mean length in bytes, the newline included. Content depends on --seed, --line and the
line's number alone, never on --jobs or --files. Compression is done by the gzip and zstd programs.
"""
import argparse
import itertools
import multiprocessing
import os
import random
import subprocess
import sys

BLOCK = 2000  # lines made by one task; each block has a seed of its own

KINDS = ["reading", "alarm", "door", "pump", "valve", "heartbeat", "login", "shipment"]
PLACES = ["Åland", "Bergen", "Cádiz", "Debrecen", "Évora", "Frankfurt", "Gdańsk", "Ħamrun", "İzmir", "京都", "София", "Zürich"]
PHRASES = [
    "pressure steady", "valve opened by hand", "said \\\"wait\\\" twice", "path C:\\\\data\\\\in", "tab\\there", "line\\nbreak",
    "escaped \\u00fcmlaut", "pair \\ud83d\\ude80", "naïve café", "temperature rising", "счётчик", "在庫なし", "🚚 on its way",
    "retry in 5 s", "a\\/b", "null and void",
]


def make_block(task):
    """The lines of one block as bytes. task: (index of the block, seed, mean length, number of lines)."""
    index, seed, mean, lines = task
    rng = random.Random(f"{seed}/{mean}/{index}")
    out = []
    for i in range(lines):
        n = index * BLOCK + i
        bits = rng.getrandbits(96)
        head = (
            f'{{"n":{n},"id":"{bits:024x}","at":{1_600_000_000_000 + n * 41 + bits % 41},"kind":"{KINDS[bits % 8]}",'
            f'"place":"{PLACES[bits % 12]}","value":{(bits % 2_000_003) / 1000 - 1000:.3f},"ok":{"true" if bits % 5 else "false"}'
        )
        missing = int(mean * rng.uniform(0.85, 1.15)) - len(head.encode()) - 2
        if missing > 12:
            words = [PHRASES[bits >> 8 & 15]]
            missing -= len(words[0].encode()) + 10
            while missing > 9:
                word = PHRASES[rng.getrandbits(4)]
                words.append(word)
                missing -= len(word.encode()) + 1
            head += f',"note":"{" ".join(words)}"'
        out.append(head + "}\n")
    return "".join(out).encode()


def blocks(options):
    """Tasks for make_block without end, or until --count lines are spoken for."""
    index, left = 0, options.count
    while left is None or left > 0:
        lines = BLOCK if left is None else min(BLOCK, left)
        yield index, options.seed, options.line, lines
        left = None if left is None else left - lines
        index += 1


class Output:
    """A file, standard output, or a compressor writing to a file."""

    def __init__(self, path, program):
        self.child = None
        if path is None:
            self.stream = sys.stdout.buffer
        elif program is None:
            self.stream = open(path, "wb")
        else:
            with open(path, "wb") as file:
                self.child = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=file)
            self.stream = self.child.stdin

    def close(self):
        if self.stream is sys.stdout.buffer:
            self.stream.flush()
            return
        self.stream.close()
        if self.child is not None and self.child.wait() != 0:
            sys.exit(f"error: {self.child.args[0]} ended with {self.child.returncode}")


GZIP, ZSTD = ["gzip", "-n", "-6", "-c"], ["zstd", "-q", "-3", "-c"]


def outputs(options):
    if options.files == 0:
        return [Output(None, None)]
    os.makedirs(options.out, exist_ok=True)
    made = []
    for k in range(options.files):
        program = GZIP if options.gzip else ZSTD if options.zstd else [None, GZIP, ZSTD][k % 3] if options.mix else None
        suffix = {None: "", "gzip": ".gz", "zstd": ".zst"}[program and program[0]]
        made.append(Output(os.path.join(options.out, f"part-{k:05d}.ndjson{suffix}"), program))
    return made


def size_of(text):
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    try:
        return int(text.rstrip("KMGkmg")) * unit
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; write for instance 300M") from None


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    amount = parser.add_mutually_exclusive_group(required=True)
    amount.add_argument("--size", type=size_of, help="bytes before compression, K, M or G allowed; ends after a whole line")
    amount.add_argument("--count", type=int, help="lines")
    parser.add_argument("--line", type=int, default=200, help="mean length of a line in bytes (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=0, help="spread over this many files of --out")
    parser.add_argument("--out", help="folder for --files")
    codec = parser.add_mutually_exclusive_group()
    codec.add_argument("--gzip", action="store_true")
    codec.add_argument("--zstd", action="store_true")
    codec.add_argument("--mix", action="store_true", help="plain, gzip, zstd by turns")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (one a core)")
    options = parser.parse_args(argv)
    if options.files and not options.out:
        parser.error("--files needs --out")
    if not options.files and (options.out or options.gzip or options.zstd or options.mix):
        parser.error("--out, --gzip, --zstd and --mix need --files")
    return options


def made_blocks(pool, options):
    """The blocks in order. A few tasks at a time, so that what is made and not yet written stays small."""
    tasks = blocks(options)
    while batch := list(itertools.islice(tasks, 4 * options.jobs)):
        yield from pool.map(make_block, batch, 1)


def main(argv):
    options = arguments(argv)
    sinks = outputs(options)
    left = options.size
    with multiprocessing.Pool(options.jobs) as pool:
        for index, data in enumerate(made_blocks(pool, options)):
            if left is not None:
                data = data if len(data) <= left else data[: data.rfind(b"\n", 0, left) + 1]
                left -= len(data)
            sinks[index % len(sinks)].stream.write(data)
            if left is not None and left < 2 * options.line:
                break
    for sink in sinks:
        sink.close()


if __name__ == "__main__":
    main(sys.argv[1:])
