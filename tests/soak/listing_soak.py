#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: a prefix of millions of keys is listed, and every object read, in one run within a stated memory (row E05 of tests/FAULTS.md).

Method: the fault server makes objects of one record up while they are listed and read, its pages slow; the program reads them all
and drops the records. Its highest resident memory is what the kernel says of the ended process.

  listing_soak.py MILLRACE S3_FAULT_SERVER [--objects 2000000] [--page-latency-ms 200] [--limit-mib 512]
MILLRACE is a release build: sanitizers hold memory of their own.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

KEYS = {"region": "us-east-1", "access_key_id": "AKIDEXAMPLE", "secret_access_key": "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY"}


def pipeline_in(folder, endpoint):
    """Defaults but for the sink, as a user would have them."""
    path = os.path.join(folder, "pipeline.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""
pipeline: {{name: listing}}
source:
  s3:
    url: "s3://many/in/"
    checkpoint: {{url: "file://{folder}/manifest.json"}}
    store: {json.dumps(KEYS | {"endpoint": endpoint})}
sink:
  blackhole: {{}}
""")
    return path


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("millrace")
    parser.add_argument("server")
    parser.add_argument("--objects", type=int, default=2_000_000)
    parser.add_argument("--page-latency-ms", type=int, default=200)
    parser.add_argument("--limit-mib", type=int, default=512)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="millrace-listing-")
    arguments = [os.path.abspath(args.server), "--made-up", str(args.objects), "--page-latency-ms", str(args.page_latency_ms)]
    server = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pipeline = pipeline_in(folder, server.stdout.readline().split()[1])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    log_path = os.path.join(folder, "run.log")
    began = time.monotonic()
    with open(log_path, "wb") as log:
        run = subprocess.Popen(
            [os.path.abspath(args.millrace), "run", pipeline, "--progress", "json"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
        _, status, usage = os.wait4(run.pid, 0)
    took = time.monotonic() - began
    server.communicate()
    with open(log_path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    told = [json.loads(line) for line in lines if line.startswith("{")]
    code, peak_mib = os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024
    records = told[-1].get("records_in", -1) if told else -1
    print(f"{args.objects} objects in {took:.0f} s, {records} records, exit code {code}, {peak_mib:.0f} MiB at most")
    found = []
    if code != 0:
        found.append(f"exit code {code}")
    if records != args.objects:
        found.append(f"{records} records, not {args.objects}")
    if peak_mib > args.limit_mib:
        found.append(f"{peak_mib:.0f} MiB of memory, above {args.limit_mib}")
    for problem in found:
        print(f"problem: {problem}")
    if found:
        print(f"the end of {log_path}:\n" + "\n".join(lines[-20:]))
    else:
        shutil.rmtree(folder)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
