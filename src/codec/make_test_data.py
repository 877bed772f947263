#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what the codec tests read: plain files and their compressed forms, by the gzip and zstd programs and python's zlib.

  make_test_data.py FOLDER
Every NAME.gz and NAME.zst decodes to FOLDER/NAME's plain file, which is named before the first dot: lines.multi.gz is `lines`.
"""
import gzip
import pathlib
import random
import struct
import subprocess
import sys
import zlib


def run(*command, given=None):
    return subprocess.run(command, input=given, check=True, capture_output=True).stdout


def member(plain, level=6, name=b"", extra=None, comment=b"", header_crc=False):
    """One gzip member by the RFC, with what gzip itself writes seldom."""
    flags = (2 if header_crc else 0) | (4 if extra is not None else 0) | (8 if name else 0) | (16 if comment else 0)
    header = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags, 1234567890, 0, 255)
    if extra is not None:
        header += struct.pack("<H", len(extra)) + extra
    header += (name + b"\0" if name else b"") + (comment + b"\0" if comment else b"")
    if header_crc:
        header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    return header + deflate.compress(plain) + deflate.flush() + struct.pack("<II", zlib.crc32(plain), len(plain) & 0xFFFFFFFF)


def skippable(content, nibble=0):
    return struct.pack("<II", 0x184D2A50 + nibble, len(content)) + content


def main(folder):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    dice = random.Random(20260701)
    words = [bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(500)]
    lines = [b'{"n":%d,"text":"%s"}\n' % (n, b" ".join(dice.choices(words, k=dice.randint(1, 25)))) for n in range(6000)]
    plain = {
        "lines": b"".join(lines),
        "tiny": b"".join(lines[:10_000 // 10]) * 10,
        "short": b"".join(lines[:6]),
        "empty": b"",
        "noise": dice.randbytes(300_000),
        "zeros": bytes(1_500_000),
    }
    files = dict(plain)
    short = lines[:6]
    for name in ("lines", "short", "empty", "noise", "zeros"):
        files[f"{name}.gz"] = run("gzip", "-c", given=plain[name])
        files[f"{name}.best.gz"] = run("gzip", "-9c", given=plain[name])
        files[f"{name}.zst"] = run("zstd", "-qc", given=plain[name])
        files[f"{name}.nocheck.zst"] = run("zstd", "-qc", "--no-check", "-19", given=plain[name])
    files["lines.stored.gz"] = gzip.compress(plain["lines"], 0)
    half = len(plain["lines"]) // 2
    files["lines.two.gz"] = run("gzip", "-c", given=plain["lines"][:half]) + run("gzip", "-1c", given=plain["lines"][half:])
    files["lines.two.zst"] = run("zstd", "-qc", given=plain["lines"][:half]) + run("zstd", "-9qc", given=plain["lines"][half:])
    # D01: three members of two records; an empty one in the middle; ten thousand of one line.
    pairs = [b"".join(short[i:i + 2]) for i in (0, 2, 4)]
    three = [run("gzip", "-c", given=pair) for pair in pairs]
    files["short.three.gz"] = b"".join(three)
    files["short.hollow.gz"] = three[0] + run("gzip", "-c", given=b"") + three[1] + member(b"", extra=b"") + three[2]
    files["tiny.members.gz"] = b"".join(gzip.compress(line) for line in plain["tiny"].splitlines(keepends=True))
    files["short.header.gz"] = (member(pairs[0], extra=b"\0\1\2ext", name=b"a name", comment=b"a comment", header_crc=True)
                                + member(pairs[1], name=b"n", header_crc=True) + member(pairs[2], comment=b"c", extra=b"x" * 300))
    # A line that one member begins and the next one ends (C03).
    text = plain["short"]
    files["short.midline.gz"] = gzip.compress(text[:100]) + gzip.compress(text[100:])
    files["short.midline.zst"] = run("zstd", "-qc", given=text[:100]) + run("zstd", "-qc", given=text[100:])
    frames = [run("zstd", "-qc", given=pair) for pair in pairs]
    files["short.three.zst"] = b"".join(frames)
    files["short.skippable.zst"] = (skippable(b"in front") + frames[0] + skippable(b"", 15) + frames[1] + skippable(b"x" * 5000, 7)
                                    + run("zstd", "-qc", given=b"") + frames[2] + skippable(b"behind"))
    files["short.members.zst"] = b"".join(run("zstd", "-qc", given=line) for line in short)
    # D11: from a pipe, so that the size is not known and the whole window is asked for.
    files["short.long31.zst"] = run("zstd", "-qc", "--long=31", given=text)
    files["short.long27.zst"] = run("zstd", "-qc", "--long=27", given=text)
    dictionary = out / "dictionary"
    samples = out / "samples"
    samples.mkdir(exist_ok=True)
    for n, line in enumerate(lines):
        (samples / f"{n}").write_bytes(line)
    run("zstd", "-q", "--train", "-r", str(samples), "--maxdict=4096", "-o", str(dictionary), "-f")
    files["short.dictionary.zst"] = run("zstd", "-qc", "-D", str(dictionary), given=text)
    for sample in samples.iterdir():
        sample.unlink()
    samples.rmdir()
    for name, content in files.items():
        (out / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1])
