#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A few S3 requests signed by AWS Signature Version 4, standard library only: what tests need to fill and read a bucket without the code
under test.

  s3_client.py ENDPOINT ACCESS_KEY SECRET_KEY create BUCKET
  s3_client.py ENDPOINT ACCESS_KEY SECRET_KEY put BUCKET KEY FILE
  s3_client.py ENDPOINT ACCESS_KEY SECRET_KEY get BUCKET KEY            (to standard output)
  s3_client.py ENDPOINT ACCESS_KEY SECRET_KEY list BUCKET [PREFIX]
Exit 0 when the server says 2xx, 1 otherwise.
"""
import datetime
import hashlib
import hmac
import sys
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree


class S3:
    """One server and one pair of keys. Region us-east-1, path style. Raises urllib.error.HTTPError on anything but 2xx."""

    def __init__(self, endpoint, access_key, secret_key):
        self.endpoint, self.access_key, self.secret_key = endpoint.rstrip("/"), access_key, secret_key
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def request(self, method, path, query=None, body=b""):
        """`path` is not encoded yet; returns the body of the answer."""
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        host = self.endpoint.split("://", 1)[1]
        encoded = urllib.parse.quote(path, safe="/-._~")
        pairs = sorted((urllib.parse.quote(k, safe="-._~"), urllib.parse.quote(v, safe="-._~")) for k, v in (query or {}).items())
        query_text = "&".join(f"{k}={v}" for k, v in pairs)
        digest = hashlib.sha256(body).hexdigest()
        names = "host;x-amz-content-sha256;x-amz-date"
        headers = f"host:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{stamp}\n"
        canonical = f"{method}\n{encoded}\n{query_text}\n{headers}\n{names}\n{digest}"
        scope = f"{day}/us-east-1/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = ("AWS4" + self.secret_key).encode()
        for part in (day, "us-east-1", "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        url = self.endpoint + encoded + ("?" + query_text if query_text else "")
        request = urllib.request.Request(url, method=method, data=body if method == "PUT" else None)
        request.add_header("x-amz-content-sha256", digest)
        request.add_header("x-amz-date", stamp)
        credential = f"{self.access_key}/{scope}"
        request.add_header("Authorization", f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}")
        with self.opener.open(request, timeout=60) as answer:
            return answer.read()

    def create_bucket(self, bucket):
        self.request("PUT", f"/{bucket}")

    def put(self, bucket, key, body):
        self.request("PUT", f"/{bucket}/{key}", body=body)

    def get(self, bucket, key):
        """None when there is no such object."""
        try:
            return self.request("GET", f"/{bucket}/{key}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise

    def keys(self, bucket, prefix=""):
        """All keys under the prefix, over all pages."""
        found, token = [], None
        while True:
            query = {"list-type": "2", "prefix": prefix}
            if token:
                query["continuation-token"] = token
            page = xml.etree.ElementTree.fromstring(self.request("GET", f"/{bucket}", query))
            space = page.tag[: page.tag.index("}") + 1] if page.tag.startswith("{") else ""
            found += [entry.findtext(space + "Key") for entry in page.iter(space + "Contents")]
            token = page.findtext(space + "NextContinuationToken")
            if page.findtext(space + "IsTruncated") != "true":
                return found


def main(argv):
    if len(argv) < 5:
        sys.exit(__doc__)
    store, verb, rest = S3(*argv[:3]), argv[3], argv[4:]
    try:
        if verb == "create" and len(rest) == 1:
            store.create_bucket(rest[0])
        elif verb == "put" and len(rest) == 3:
            with open(rest[2], "rb") as file:
                store.put(rest[0], rest[1], file.read())
        elif verb == "get" and len(rest) == 2:
            body = store.get(*rest)
            if body is None:
                return 1
            sys.stdout.buffer.write(body)
        elif verb == "list" and len(rest) in (1, 2):
            print("\n".join(store.keys(*rest)))
        else:
            sys.exit(__doc__)
    except (urllib.error.URLError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
