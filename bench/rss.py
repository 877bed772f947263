#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The most memory that a run takes, against the bound that `millrace plan` prints for it (1.1 x at most).

  ./dev bench --rss [--full]

Three backfills from files to nowhere: one large object, many of 1 MiB, and many small gzip ones; --full takes 8 GiB and 10,000
objects instead of a tenth of that. A fourth lands records of 10,000 tenants in files of their own, all open at once, which share
buffer_memory and spill the rest; --full takes ten times the records. What is compared is the peak resident set of the whole
process, so no clock is in it.
Exit code: 0 when every row keeps to its bound, 1 otherwise.
"""
import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LINE = b'{"id":1234567,"name":"a name of a usual length","tags":["x","y"],"value":3.25}\n'
MI = 1 << 20
MOST = 1.1


def text_of(size):
    return (LINE * (size // len(LINE) + 1))[: size - 1] + b"\n"


def large(folder, scale):
    block = text_of(MI)
    with open(folder / "one.ndjson", "wb") as file:
        for _ in range(8192 // scale):
            file.write(block)


def many(folder, scale):
    block = text_of(MI)
    for i in range(10000 // scale):
        (folder / f"{i:05}.ndjson").write_bytes(block)


def small_gzip(folder, scale):
    block = gzip.compress(text_of(64 << 10))
    for i in range(100000 // scale):
        (folder / f"{i:06}.ndjson.gz").write_bytes(block)


def tenants(folder, scale):
    """Lines of 10,000 tenants in an order that visits all of them again and again: 4 GiB, or a fourth."""
    tenant = 0
    for number in range(400 // (4 if scale > 1 else 1)):
        with open(folder / f"{number:03}.ndjson", "wb") as file:
            for _ in range(100_000):
                tenant = (tenant + 7919) % 10_000
                file.write(b'{"tenant":"t%d",' % tenant + LINE[1:])


def sink_of(make, keep):
    """Everything but the open files is kept small, so that these are what the bound is about."""
    if make is not tenants:
        return "sink: {blackhole: {}}\n"
    return (
        f"sink: {{s3: {{url: 'file://{keep}/out/', path_template: '{{field.tenant}}', output_format: json_lines, max_file_size: 1MiB,\n"
        f"  max_open_files: 10000, buffer_memory: 64MiB, spool_dir: '{keep}'}}}}\n"
        "pipeline: {max_inflight_bytes: 16MiB}\ncheckpoint: {max_pending_batches: 64}\n"
    )


def measure(program, folder, keep, sink):
    """The bound in bytes, and the peak in bytes."""
    file = keep / "p.yaml"
    file.write_text(
        f"source: {{s3: {{url: 'file://{folder}/', lanes: {1 if 'tenant' in sink else 4}, max_record_bytes: 1MiB, checkpoint: {{url: 'file://{keep}/m.json'}}}}}}\n{sink}",
        encoding="utf-8",
    )
    plan = subprocess.run([program, "plan", file, "--format", "json"], check=True, capture_output=True, text=True)
    bound = json.loads(plan.stdout)["memory"]["bytes"]
    child = subprocess.Popen([program, "run", file, "--progress", "none", "--log-level", "error"], stderr=subprocess.PIPE)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"the run failed: {child.stderr.read().decode()}")
    return bound, usage.ru_maxrss << 10


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--program", required=True, help="the built millrace")
    arguments.add_argument("--full", action="store_true", help="the sizes that a release is held to")
    given = arguments.parse_args()
    scale = 1 if given.full else 10
    kept = True
    print(f"{'row':<12}{'peak':>12}{'bound':>12}{'ratio':>8}")
    for make in (large, many, small_gzip, tenants):
        with tempfile.TemporaryDirectory() as name:
            folder, keep = pathlib.Path(name) / "in", pathlib.Path(name) / "keep"
            folder.mkdir()
            keep.mkdir()
            make(folder, scale)
            bound, peak = measure(given.program, folder, keep, sink_of(make, keep))
        kept = kept and peak <= MOST * bound
        print(f"{make.__name__:<12}{peak / MI:>8.1f} MiB{bound / MI:>8.1f} MiB{peak / bound:>8.2f}")
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
