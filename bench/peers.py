#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole backfills against the engines one would pick instead: the same objects, the same server, alternating runs.

  ./dev bench --peers [--rounds N] [--rows plain,gzip-json,...] [--cache DIR]

Compares decoded MiB per CPU second of the whole process (user and system, all threads), since a shared machine makes the
clock on the wall a matter of luck; wall time and peak RSS stand beside it. Rows behind a slow server compare wall time.
The peers' drivers (spate-peer, bento) and the bare S3 server (s3stub) are programs found in --cache/bin
(by default ${XDG_CACHE_HOME:-~/.cache}/millrace-peers/bin). What is not there is named and its rows are left out; a run
without any peer fails. Exit code: 0 when every row that ran met its ratio, 1 otherwise, 2 when nothing could be measured.
"""
import argparse
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

LINE_LENGTHS = (250, 400, 600, 850)
FILES_A_LENGTH = 8
BYTES_A_LENGTH = 128 << 20
SMALL_OBJECTS = 1200
SPATE_TUNED = ["--queue-capacity", "1024", "--inflight", "512MiB", "--linger-ms", "50", "--batch-bytes", "8388608",
               "--checkpoint", "200ms"]
# Bucket, our mode, peer, its arguments, the least ratio, what is compared, the server's delay.
ROWS = {
    "plain": ("plain", "raw", "spate", ["--threads", "1", "--mode", "raw"], 3.2, "cpu", None),
    "gzip": ("gzip", "raw", "spate", ["--threads", "1", "--mode", "raw"], 3.3, "cpu", None),
    "zstd": ("zstd", "raw", "spate", ["--threads", "1", "--mode", "raw"], 2.4, "cpu", None),
    "plain-json": ("plain", "json", "spate", ["--threads", "1", "--mode", "json"], 2.9, "cpu", None),
    "gzip-json": ("gzip", "json", "spate", ["--threads", "1", "--mode", "json"], 2.8, "cpu", None),
    "zstd-json": ("zstd", "json", "spate", ["--threads", "1", "--mode", "json"], 2.4, "cpu", None),
    "bento-gzip": ("gzip", "raw", "bento", [], 25.0, "cpu", None),
    "one-30ms": ("one", "raw", "spate", ["--threads", "2", "--mode", "raw", "--units-held", "32"], 1.0, "wall", "30ms"),
    "many-30ms": ("many", "raw", "spate", ["--threads", "1", "--mode", "raw", "--units-held", "96"], 1.0, "wall", "30ms"),
}


def write_lines(path, mean, size):
    """`size` bytes of events about `mean` bytes long, with the columns that the peers' drivers and backfill_job parse."""
    draw = random.Random(mean)
    words = "order shipped retry basket caf\u00e9 na\u00efve \u6771\u4eac \\\"hi\\\" tab\\tstop C:\\\\temp \\u00e9 stream offset null".split(" ")
    written = number = 0
    with open(path, "w", encoding="utf-8", newline="") as out:
        while written < size:
            line = (f'{{"id":"{draw.getrandbits(96):024x}","seq":{number},"ts":{1700000000000 + 37 * number},'
                    f'"event":"{draw.choice(("click", "login", "purchase", "search"))}","region":"eu-west-{number % 3}",'
                    f'"user":{{"id":{draw.getrandbits(20)},"tier":"{"gold" if number % 8 == 0 else "free"}",'
                    f'"active":{"true" if number % 4 else "false"}}},"amount":{draw.random() * 1000:.2f}')
            want = int(mean * (0.8 + 0.4 * draw.random())) - 3
            filler = 0
            while len(line) + 40 < want:
                text = " ".join(draw.choices(words, k=min((want - len(line) - 24) // 6, 20) + 1))
                line += f',"f{filler}":{{"t":"{text}","v":{draw.random():.12f},"n":{draw.getrandbits(20)}}}'
                filler += 1
            line += "}\n"
            out.write(line)
            written += len(line.encode())
            number += 1


def make_data(folder):
    """32 objects plain, gzip and zstd; the same lines as one object; 1,200 objects of two lines."""
    done = os.path.join(folder, ".complete")
    if os.path.exists(done):
        return
    print(f"making 512 MiB of NDJSON in {folder}, once", file=sys.stderr)
    for name in ("plain", "gzip", "zstd", "one", "many"):
        os.makedirs(os.path.join(folder, name), exist_ok=True)
    whole = os.path.join(folder, "all.tmp")
    for length in LINE_LENGTHS:
        write_lines(whole, length, BYTES_A_LENGTH)
        subprocess.run(["split", "-n", f"l/{FILES_A_LENGTH}", "-d", "-a", "2", "--additional-suffix=.ndjson", whole,
                        os.path.join(folder, "plain", f"l{length}-")], check=True)
    os.remove(whole)
    with open(os.path.join(folder, "one", "all.ndjson"), "wb") as one:
        for entry in sorted(os.scandir(os.path.join(folder, "plain")), key=lambda e: e.name):
            with open(entry.path, "rb") as part:
                shutil.copyfileobj(part, one)
            for name, command in (("gzip", ["gzip", "-6", "-n", "-c"]), ("zstd", ["zstd", "-q", "-3", "-c"])):
                suffix = ".gz" if name == "gzip" else ".zst"
                with open(os.path.join(folder, name, entry.name + suffix), "wb") as out:
                    subprocess.run(command + [entry.path], check=True, stdout=out)
    for i in range(SMALL_OBJECTS):
        with open(os.path.join(folder, "many", f"o{i:04}.ndjson"), "w", encoding="ascii") as small:
            small.write(f'{{"k":"{i:04}-1"}}\n{{"k":"{i:04}-2"}}\n')
    with open(done, "w", encoding="ascii"):
        pass


def decoded(folder, bucket):
    """Bytes and lines that a backfill of the bucket has to bring."""
    bucket = "plain" if bucket in ("gzip", "zstd") else bucket
    size = lines = 0
    for entry in os.scandir(os.path.join(folder, bucket)):
        size += entry.stat().st_size
        with open(entry.path, "rb") as part:
            lines += sum(block.count(b"\n") for block in iter(lambda: part.read(1 << 20), b""))
    return size, lines


class Server:
    """s3stub over the data, each folder a bucket, every response `delay` late."""

    def __init__(self, program, folder, delay):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.endpoint = f"http://127.0.0.1:{port}"
        command = [program, "-root", folder, "-addr", f"127.0.0.1:{port}"] + (["-delay", delay] if delay else [])
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("peers: the S3 server does not answer")

    def stop(self):
        self.process.kill()
        self.process.wait()


def one_line(command):
    out = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if out.returncode != 0:
        raise SystemExit(f"peers: {' '.join(command)} ended with {out.returncode}: {out.stderr.strip()[-800:]}")
    return json.loads(out.stdout.strip().splitlines()[-1])


def run_ours(program, bucket, mode, endpoint):
    return one_line([program, "--url", f"s3://{bucket}/", "--endpoint", endpoint, "--mode", mode])


def run_spate(program, bucket, arguments, endpoint):
    return one_line([program, "--url", f"s3://{bucket}/", "--endpoint", endpoint, "--profile", "tuned"] + SPATE_TUNED +
                    arguments)


def run_bento(program, bucket, folder):
    """Bento reads files; it gets no server to slow it down."""
    scanner = "decompress: {algorithm: gzip, into: {lines: {}}}" if bucket == "gzip" else "lines: {}"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write("http: {enabled: false}\nlogger: {level: ERROR}\ninput:\n  file:\n"
                     f"    paths: [\"{folder}/{bucket}/*\"]\n    scanner:\n      {scanner}\noutput:\n  drop: {{}}\n")
        config.flush()
        begin = time.monotonic()
        process = subprocess.Popen([program, "run", config.name], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"peers: bento ended with {process.returncode}")
        return {"exit_s": time.monotonic() - begin, "user_s": usage.ru_utime, "sys_s": usage.ru_stime,
                "rss_mib": usage.ru_maxrss / 1024}


def spread(values, digits=0):
    return "/".join(f"{v:.{digits}f}" for v in (min(values), statistics.median(values), max(values)))


def measure(name, row, programs, folder, rounds):
    """Alternates the two sides and prints the row. True when it met its ratio."""
    bucket, mode, peer, arguments, least, what, delay = row
    size, lines = decoded(folder, bucket)
    server = Server(programs["s3stub"], folder, delay)
    ours, theirs = [], []
    try:
        for number in range(rounds):
            for side in (("ours", "theirs") if number % 2 == 0 else ("theirs", "ours")):
                if side == "ours":
                    run = run_ours(programs["millrace"], bucket, mode, server.endpoint)
                    if run["state"] != "Completed" or run["rows"] != lines:
                        raise SystemExit(f"peers: millrace brought {run['rows']} of {lines} lines: {run}")
                    ours.append(run)
                elif peer == "spate":
                    run = run_spate(programs[peer], bucket, arguments, server.endpoint)
                    if run["state"] != "Completed" or run["rows"] != lines:
                        raise SystemExit(f"peers: spate brought {run['rows']} of {lines} lines: {run}")
                    theirs.append(run)
                else:
                    theirs.append(run_bento(programs[peer], bucket, folder))
    finally:
        server.stop()

    def cost(run):
        return run["user_s"] + run["sys_s"] if what == "cpu" else run.get("last_write_s") or run["exit_s"]

    mib = size / 2**20
    ratios = [cost(b) / cost(a) for a, b in zip(ours, theirs)]
    ratio = statistics.median(ratios)
    met = ratio >= least
    print(f"{name:<12} {peer:<6} {what:<4} {spread([mib / cost(r) for r in theirs]):>18} {spread([mib / cost(r) for r in ours]):>18}"
          f" {spread(ratios, 2):>18} {least:>6.1f} {'met' if met else 'SHORT':<6}"
          f" {statistics.median(r['exit_s'] for r in theirs):>6.2f} {statistics.median(r['exit_s'] for r in ours):>6.2f}"
          f" {statistics.median(r['rss_mib'] for r in theirs):>6.0f} {max(r['rss_mib'] for r in ours):>6.1f}", flush=True)
    return met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", default=",".join(ROWS), help="of: " + ", ".join(ROWS))
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "millrace-peers")
    parser.add_argument("--cache", default=os.environ.get("PEERS_CACHE", cache), help="where bin/ has the peers' programs")
    parser.add_argument("--data", help="folder of the data; by default in --cache, made once")
    parser.add_argument("--job", required=True, help="our backfill_job, of a release build")
    options = parser.parse_args()

    found = {"spate": "spate-peer", "bento": "bento", "s3stub": "s3stub"}
    programs = {"millrace": options.job}
    for peer, program in found.items():
        path = os.path.join(options.cache, "bin", program)
        if os.access(path, os.X_OK):
            programs[peer] = path
        else:
            print(f"peers: {program} is missing from {options.cache}/bin; its rows are left out", file=sys.stderr)
    if "s3stub" not in programs or len(programs) < 3:
        print("peers: without s3stub and at least one peer nothing can be measured", file=sys.stderr)
        return 2
    rows = options.rows.split(",")
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        print(f"peers: no such row: {', '.join(unknown)}; there are {', '.join(ROWS)}", file=sys.stderr)
        return 2
    folder = options.data or os.path.join(options.cache, "data")
    make_data(folder)
    print(f"{'row':<12} {'peer':<6} {'by':<4} {'peer MiB/s':>18} {'millrace MiB/s':>18} {'ratio min/med/max':>18} {'least':>6} {'':<6}"
          f" {'wall s':>6} {'ours':>6} {'RSS':>6} {'ours':>6}")
    met = [measure(name, ROWS[name], programs, folder, options.rounds) for name in rows if ROWS[name][2] in programs]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
