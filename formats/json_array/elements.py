# SPDX-License-Identifier: Apache-2.0
"""What Python's json module says of JSON arrays, one a line of hex on stdin: a line "elements HEX HEX ...", each element
spelled as it came, or "error"."""
import json
import sys

BLANKS = " \t\r\n"


def elements(text):
    json.loads(text)  # raises unless all of it is sound
    decoder = json.JSONDecoder()
    found = []
    at = text.index("[") + 1
    while True:
        while text[at] in BLANKS + ",":
            at += 1
        if text[at] == "]":
            return found
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end


for line in sys.stdin:
    try:
        print("elements", *(found.encode().hex() for found in elements(bytes.fromhex(line).decode())))
    except ValueError:
        print("error")
