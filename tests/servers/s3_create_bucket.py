#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Creates a bucket with one request signed by AWS Signature Version 4 (standard library only).

  s3_create_bucket.py ENDPOINT ACCESS_KEY SECRET_KEY BUCKET
Exit 0 when the server says 200, 1 otherwise. The only true sign that an S3 server is ready.
"""
import datetime
import hashlib
import hmac
import sys
import urllib.error
import urllib.request


def signed_put(endpoint, access_key, secret_key, path):
    """A PUT without a body, its headers signed for region us-east-1."""
    now = datetime.datetime.now(datetime.timezone.utc)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    host = endpoint.split("://", 1)[1]
    empty = hashlib.sha256(b"").hexdigest()
    names = "host;x-amz-content-sha256;x-amz-date"
    canonical = f"PUT\n{path}\n\nhost:{host}\nx-amz-content-sha256:{empty}\nx-amz-date:{stamp}\n\n{names}\n{empty}"
    scope = f"{day}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = ("AWS4" + secret_key).encode()
    for part in (day, "us-east-1", "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    request = urllib.request.Request(endpoint + path, method="PUT")
    request.add_header("x-amz-content-sha256", empty)
    request.add_header("x-amz-date", stamp)
    request.add_header(
        "Authorization", f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return request


def main(argv):
    if len(argv) != 4:
        sys.exit(__doc__)
    endpoint, access_key, secret_key, bucket = argv
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(signed_put(endpoint, access_key, secret_key, f"/{bucket}"), timeout=10) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
