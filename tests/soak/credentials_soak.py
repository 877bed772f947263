#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: a run that outlives its credentials many times over loses no record, renews ahead of the end, and sends no request with expired
keys, although the endpoint that gives them is down for a while (row I01 of tests/FAULTS.md).

Method: the program copies many small objects within the fault server, one read at a time behind a latency, so that the run lasts. Each
request for credentials gets keys of its own that the server takes for LIFETIME seconds; in the middle the endpoint answers 500 for a
third of that. The server counts what became of each pair of keys; the output is read by a client of the tests, with keys that do not end.

  credentials_soak.py MILLRACE S3_FAULT_SERVER [--minutes 20] [--lifetime 60] [--keep]
Lifetimes below 30 s are for the ordinary tests: renewals are counted, and how early they come is not judged.
"""
import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
import s3_client  # noqa: E402

LATENCY_MS = 250  # of each answer, so that a read takes as long
LINES = 20  # of an object
STORES = 2  # of source and manifest, of the sink: each asks for its own credentials


class Server:
    """The fault server with its endpoint for credentials."""

    def __init__(self, program, folder, objects, lifetime, outage_after, outage_for):
        arguments = [program, "--latency-ms", str(LATENCY_MS), "--bucket", "data", "--credentials-lifetime", str(lifetime)]
        arguments += ["--outage-after", str(outage_after), "--outage-for", str(outage_for)]
        for i in range(objects):
            path = os.path.join(folder, f"{i:05d}")
            with open(path, "w", encoding="ascii") as file:
                file.writelines(f'{{"n":{i * LINES + j}}}\n' for j in range(LINES))
            arguments.append(f"data/in/{i:05d}.ndjson={path}")
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = dict(self.process.stdout.readline().split() for _ in range(2))
        self.endpoint, self.credentials = said["endpoint"], said["credentials"]

    def stop(self):
        """Ends it; returns what became of the credentials."""
        output, _ = self.process.communicate()
        return json.loads(output)


def configure(folder, server):
    store = json.dumps({"endpoint": server.endpoint, "region": "us-east-1", "container_credentials_full_uri": server.credentials})
    path = os.path.join(folder, "pipeline.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""
pipeline: {{name: soak, threads: 1}}
checkpoint: {{interval: 2s}}
source:
  s3:
    url: "s3://data/in/"
    lanes: 2
    requests_in_flight: 1
    name: input
    checkpoint: {{url: "s3://data/state/soak.json"}}
    store: {store}
sink:
  s3:
    url: "s3://data/out/"
    output_format: raw
    delimiter: "\\n"
    max_messages_per_file: 400
    path_template: "{{topic}}"
    store: {store}
""")
    return path


def read_output(server):
    """How often each line stands in the output."""
    client = s3_client.S3(server.endpoint, "AKIDEXAMPLE", "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY")
    count = collections.Counter()
    for key in client.keys("data", "out/"):
        count.update(client.get("data", key).split(b"\n")[:-1])
    return count


def problems_of(args, code, log, took, uses, output, expected, outage_for):
    found = []
    if code != 0:
        found.append(f"exit code {code}")
    if output != expected:
        lost, doubled = sum((expected - output).values()), sum((output - expected).values())
        found.append(f"lost {lost}, doubled {doubled} of {sum(expected.values())} records")
    # Keys of that lifetime serve no longer than it; without a renewal the run could not have gone on.
    least = STORES * int(took / args.lifetime)
    if uses["issued"] < least:
        found.append(f"{uses['issued']} credentials were asked for in {took:.0f} s; at least {least} are needed")
    renewed = log.count("credentials renewed")
    if not 0 <= uses["issued"] - STORES - renewed <= STORES:  # those under way at the end are not told
        found.append(f"the log tells of {renewed} renewals, and {uses['issued'] - STORES} were given")
    if log.count("credentials found") != STORES:
        found.append(f"{log.count('credentials found')} stores name whose credentials they took; there are {STORES}")
    for secret in ("mint-secret", "mint-token", "AKMINT"):
        if secret in log:
            found.append(f"the log holds {secret}")
    if args.lifetime >= 30:
        if uses["expired_requests"]:
            found.append(f"{uses['expired_requests']} requests came with expired keys")
        if uses["least_left_ms"] <= 0:
            found.append(f"keys were used {-uses['least_left_ms']} ms after their end")
        if outage_for and not uses["outage_answers"]:
            found.append("nobody asked during the outage")
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("millrace")
    parser.add_argument("server")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--lifetime", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="millrace-soak-")
    objects = max(8, round(args.minutes * 60 * 1000 / LATENCY_MS))
    outage_after, outage_for = round(args.minutes * 30), args.lifetime // 3
    server = Server(os.path.abspath(args.server), folder, objects, args.lifetime, outage_after, outage_for)
    pipeline, log_path = configure(folder, server), os.path.join(folder, "run.log")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    print(f"{objects} objects, keys of {args.lifetime} s, the endpoint down for {outage_for} s after {outage_after} s", flush=True)
    began = time.monotonic()
    with open(log_path, "wb") as log:
        command = [os.path.abspath(args.millrace), "run", pipeline, "--progress", "none"]
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, check=False).returncode
    took = time.monotonic() - began
    output = read_output(server)
    uses = server.stop()
    with open(log_path, encoding="utf-8") as file:
        log = file.read()
    expected = collections.Counter(f'{{"n":{n}}}'.encode() for n in range(objects * LINES))
    found = problems_of(args, code, log, took, uses, output, expected, outage_for)
    print(f"{took:.0f} s, {sum(output.values())} records of {sum(expected.values())}, exit code {code}")
    print("credentials: " + ", ".join(f"{name} {number}" for name, number in uses.items()))
    for problem in found:
        print(f"problem: {problem}")
    if found:
        print(f"the end of {log_path}:\n{log[-3000:]}")
    elif not args.keep:
        shutil.rmtree(folder)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
