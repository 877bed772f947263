#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what the codec tests read: plain files and their compressed forms, by the gzip, zstd, bzip2, xz and lz4 programs and
python's modules.

  make_test_data.py FOLDER
Every NAME.gz, NAME.zst, NAME.bz2, NAME.xz and NAME.lz4 decodes to FOLDER/NAME's plain file, which is named before the first dot: lines.multi.gz is `lines`.
"""
import bz2
import gzip
import lzma
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


def lz4_each(folder, pieces):
    """Each piece as an lz4 frame of its own, all by one run of the program."""
    folder.mkdir(exist_ok=True)
    names = []
    for n, piece in enumerate(pieces):
        names.append(folder / f"{n}")
        names[-1].write_bytes(piece)
    run("lz4", "-q", "-m", *map(str, names))
    frames = [name.with_suffix(".lz4").read_bytes() for name in names]
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    return frames


def claiming_4_gib(xz):
    """The headers of an xz file, with a dictionary of 4 GiB in place of theirs."""
    at = 12  # behind the stream's header
    size = (xz[at] + 1) * 4
    block = bytearray(xz[at:at + size - 4])
    assert block[1:4] == b"\0\x21\1"  # no sizes; LZMA2, whose one property is the dictionary's size
    block[4] = 40
    return xz[:at] + block + struct.pack("<I", zlib.crc32(block))


def more_codecs(plain, short, out):
    """The forms of bz2, xz and lz4."""
    files = {}
    programs = {
        "bz2": {"": ["bzip2", "-c"], "fast.": ["bzip2", "-1c"]},
        "xz": {"": ["xz", "-c"], "best.": ["xz", "-9ec"], "crc32.": ["xz", "-0c", "--check=crc32"], "nocheck.": ["xz", "-1c", "--check=none"],
               "sha256.": ["xz", "-2c", "--check=sha256"], "blocks.": ["xz", "-1c", "--block-size=20000"], "x86.": ["xz", "-c", "--x86", "--lzma2"]},
        "lz4": {"": ["lz4", "-qc"], "best.": ["lz4", "-q9c", "-BD", "-B5"], "small.": ["lz4", "-qc", "-B4", "-BX"],
                "linked.": ["lz4", "-qc", "-B4", "-BD", "-BX"], "nocheck.": ["lz4", "-qc", "--no-frame-crc"]},
    }
    for codec, forms in programs.items():
        for form, command in forms.items():
            for name in ("lines", "short", "empty", "noise", "zeros"):
                files[f"{name}.{form}{codec}"] = run(*command, given=plain[name])
        command = forms[""]
        half = len(plain["lines"]) // 2
        files[f"lines.two.{codec}"] = run(*command, given=plain["lines"][:half]) + run(*command, given=plain["lines"][half:])
        text = plain["short"]
        files[f"short.midline.{codec}"] = run(*command, given=text[:100]) + run(*command, given=text[100:])
        three = [run(*command, given=b"".join(short[i:i + 2])) for i in (0, 2, 4)]
        files[f"short.three.{codec}"] = b"".join(three)
        files[f"short.hollow.{codec}"] = three[0] + run(*command, given=b"") + three[1] + files[f"empty.{codec}"] + three[2]
        if codec == "xz":
            files["short.padded.xz"] = three[0] + bytes(4) + three[1] + bytes(1000) + three[2]
        if codec == "lz4":
            files["short.skippable.lz4"] = (skippable(b"in front") + three[0] + skippable(b"", 15) + three[1] + skippable(b"x" * 5000, 7)
                                            + three[2] + skippable(b"behind"))
    some = plain["some"].splitlines(keepends=True)
    files["some.members.bz2"] = b"".join(bz2.compress(line, 1) for line in some)
    files["some.members.xz"] = b"".join(lzma.compress(line, preset=0) for line in some)
    files["some.members.lz4"] = b"".join(lz4_each(out / "pieces", some))
    with open(out / "short.known", "wb") as known:  # lz4 notes the size of a file, not of a pipe
        known.write(plain["short"])
    files["short.size.lz4"] = run("lz4", "-qc", "--content-size", str(out / "short.known"))
    files["short.claim.xz"] = claiming_4_gib(files["short.xz"])
    files["short.legacy.lz4"] = run("lz4", "-qcl", given=plain["short"])
    return files


def main(folder):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    dice = random.Random(20260701)
    words = [bytes(dice.choices(b"abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9))) for _ in range(500)]
    lines = [b'{"n":%d,"text":"%s"}\n' % (n, b" ".join(dice.choices(words, k=dice.randint(1, 25)))) for n in range(6000)]
    plain = {
        "lines": b"".join(lines),
        "tiny": b"".join(lines[:10_000 // 10]) * 10,
        "some": b"".join(lines[:1000]),
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
    files |= more_codecs(plain, short, out)
    for name, content in files.items():
        (out / name).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1])
