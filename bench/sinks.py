#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the S3 sink takes to land lines, against programs that only copy the bytes.

  ./dev bench --sinks [--rounds N] [--mib SIZE]

files   lines of files become files of raw records, against cp of the same files by read(2) and write(2), synced, by CPU time.
s3      the same to an S3 server on loopback, against curl uploading the files with as many in flight, by the clock: the server's work is in it.
        curl signs nothing and reads no lines.
Each side writes somewhere new each time. Exit code: 0 when every row met its ratio, 1 otherwise.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from alternate import MI, cost_of, heading, in_turns, row, write_lines

FILES = 16
IN_FLIGHT = 4


class Server:
    """The project's own S3 server, which keeps objects in memory; a new one for each side of each round."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "--bucket", "b", "--check-signatures", "no"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.endpoint = self.process.stdout.readline().split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


class Job:
    """A backfill of the folder in, which keeps no position from one run to the next."""

    def __init__(self, program, folder, size):
        self.program, self.folder, self.size = program, folder, size

    def run(self, sink):
        sink = {"path_template": "{topic}", "output_format": "raw", "delimiter": "\n", "max_file_size": self.size // FILES * 2, "max_file_age": "1h",
                "upload_concurrency": IN_FLIGHT, "probe": False} | sink  # fmt: skip
        with tempfile.TemporaryDirectory(dir=self.folder) as kept:
            source = {"url": f"file://{self.folder}/in/", "checkpoint": {"url": f"file://{kept}/m.json"}}
            file = pathlib.Path(kept) / "p.yaml"
            file.write_text(json.dumps({"pipeline": {"name": "bench", "threads": 1}, "source": {"s3": source}, "sink": {"s3": sink}}), encoding="utf-8")
            return cost_of([self.program, "run", file, "--progress", "none", "--log-level", "error"])


def landed(folder):
    """Bytes in files below it, which are removed."""
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and "_millrace" not in path.parts)
    shutil.rmtree(folder)
    return size


def files(job, rounds):
    out = job.folder / "out"

    def checked(cost):
        assert (size := landed(out)) == job.size, f"{size} bytes landed of {job.size}"
        return cost

    def copy():
        out.mkdir()
        return checked(cost_of(["sh", "-c", 'cp --reflink=never "$1"/* "$2" && sync "$2"/* "$2"', "sh", job.folder / "in", out]))

    return row("lines to raw files", "cpu", job.size, *in_turns(rounds, copy, lambda: checked(job.run({"url": f"file://{out}/"}))), 0.70)


def s3(job, rounds, server):
    def upload():
        with Server(server) as at:
            words = [word for path in sorted((job.folder / "in").iterdir()) for word in ("-T", path, f"{at.endpoint}/b/{path.name}")]
            return cost_of(["curl", "--silent", "--show-error", "--fail", "--parallel", "--parallel-max", IN_FLIGHT, *words])

    def ours():
        with Server(server) as at:
            keys = {"endpoint": at.endpoint, "access_key_id": "a", "secret_access_key": "b", "region": "us-east-1"}
            return job.run({"url": "s3://b/out"} | keys)

    return row("lines to an S3 server", "wall", job.size, *in_turns(rounds, upload, ours), 1.0)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", required=True, help="the built millrace")
    arguments.add_argument("--server", required=True, help="the built s3_fault_server")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--mib", type=int, default=512)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in").mkdir()
        size = sum(write_lines(folder / "in" / f"{number:02}.ndjson", given.mib * MI // FILES)[0] for number in range(FILES))
        os.sync()
        job = Job(given.program, folder, size)
        heading()
        met = [files(job, given.rounds), s3(job, given.rounds, given.server)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
