#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pages use of the AWS command line: `aws s3 ls --recursive s3://BUCKET/PREFIX` and `aws s3 cp s3://BUCKET/KEY -`."""
import os
import pathlib
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "servers"))
import s3_client  # noqa: E402


def main(words):
    store = s3_client.S3(*(os.environ["AWS_" + name] for name in ("ENDPOINT_URL", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY")))
    if words[:3] == ["s3", "ls", "--recursive"] and len(words) == 4:
        bucket, _, prefix = words[3].removeprefix("s3://").partition("/")
        page = xml.etree.ElementTree.fromstring(store.request("GET", f"/{bucket}", {"list-type": "2", "prefix": prefix}))
        for entry in page.findall("{*}Contents"):
            changed = entry.findtext("{*}LastModified")[:19].replace("T", " ")
            print(f"{changed} {int(entry.findtext('{*}Size')):10} {entry.findtext('{*}Key')}")
        return 0
    if words[:2] == ["s3", "cp"] and len(words) == 4 and words[3] == "-":
        body = store.get(*words[2].removeprefix("s3://").split("/", 1))
        if body is None:
            print(f"{words[2]}: no such object", file=sys.stderr)
            return 1
        sys.stdout.buffer.write(body)
        return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
