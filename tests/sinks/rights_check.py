#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: the S3 sink needs the rights that `millrace describe store` names, and no more.

Method: a real server with identities that have just these: one that may write, one that may also read, none may list. Each lands records in a
bucket of the administrator, who looks at what came. An identity that may only read is refused by name.

  rights_check.py BINARY      MILLRACE_TEST_S3_ENDPOINT, MILLRACE_TEST_S3_ACCESS_KEY, MILLRACE_TEST_S3_SECRET_KEY
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "servers"))
import s3_client  # noqa: E402

LINES = [f'{{"line":{i}}}'.encode() for i in range(5000)]


def run(binary, folder, bucket, endpoint, name, keys, sink):
    """One backfill as that identity; returns the exit code and what was said."""
    text = f"""
pipeline: {{name: {name}}}
source:
  s3: {{url: "file://{folder}/in/", name: input, lanes: 2, frozen: strict, checkpoint: {{url: "file://{folder}/state/{name}.json"}}}}
sink:
  s3:
    url: "s3://{bucket}/{name}"
    path_template: "{{topic}}"
    wrap: false
    max_file_size: 8KiB
    endpoint: {endpoint}
    region: us-east-1
    access_key_id: {keys[0]}
    secret_access_key: {keys[1]}
{sink}"""
    path = os.path.join(folder, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    ended = subprocess.run([binary, "run", path, "--progress", "none"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    return ended.returncode, (ended.stdout + ended.stderr).decode()


def landed(client, bucket, name):
    """The lines in the objects of that run, sorted."""
    lines = []
    for key in client.keys(bucket, name + "/input/"):
        lines += client.get(bucket, key).splitlines()
    return sorted(lines)


def main(binary):
    endpoint, access, secret = (os.environ["MILLRACE_TEST_S3_" + n] for n in ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY"))
    admin = s3_client.S3(endpoint, access, secret)
    bucket = f"rights-{os.getpid()}"
    admin.create_bucket(bucket)
    with tempfile.TemporaryDirectory(prefix="millrace-rights-") as folder:
        os.makedirs(os.path.join(folder, "in"))
        for part in range(2):
            with open(os.path.join(folder, "in", f"{part}.ndjson"), "wb") as file:
                file.write(b"".join(line + b"\n" for line in LINES[part::2]))
        cases = [
            ("writes-only", ("writer", "writer-secret"), "    if_exists: overwrite\n"),
            ("writes-and-verifies", ("verifier", "verifier-secret"), ""),
            ("in-parts", ("verifier", "verifier-secret"), "    multipart_threshold: 4KiB\n"),
            ("exactly-once", ("verifier", "verifier-secret"), "    delivery: exactly_once\n    max_file_age: 50ms\n"),
            ("by-content", ("verifier", "verifier-secret"), "    delivery: exactly_once\n    max_file_age: 0s\n"),
        ]
        for name, keys, sink in cases:
            code, said = run(binary, folder, bucket, endpoint, name, keys, sink)
            assert code == 0, f"{name}: exit code {code}\n{said}"
            assert landed(admin, bucket, name) == sorted(LINES), f"{name}: not each line once"
            assert not admin.get(bucket, f"{name}/.millrace-probe"), f"{name}: the probe stays"
        # Its position is lost: what lies there is found again, or left out, and no line stands twice.
        for name, keys, sink in cases[1:]:
            os.remove(os.path.join(folder, "state", f"{name}.json"))
            code, said = run(binary, folder, bucket, endpoint, name, keys, sink)
            assert code == 0, f"{name}, again: exit code {code}\n{said}"
            assert landed(admin, bucket, name) == sorted(LINES), f"{name}, again: not each line once"
        code, said = run(binary, folder, bucket, endpoint, "reads-only", ("reader", "reader-secret"), "")
        assert code == 1 and "AccessDenied" in said and "reads-only" in said, f"exit code {code}\n{said}"
        assert "reader-secret" not in said and "verifier-secret" not in said
    print(json.dumps({"cases": [case[0] for case in cases]}))
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
