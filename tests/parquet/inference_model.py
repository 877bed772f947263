# SPDX-License-Identifier: Apache-2.0
"""What a column is by the values that it had, in Python alone; and values to try it with."""
import json


def kind_of(text):
    """Of a value, spelled as JSON."""
    if text == "null":
        return None
    if text in ("true", "false"):
        return "bool"
    if text[0] == '"':
        # Half of a surrogate pair is no text.
        return "json" if any("\ud800" <= c <= "\udfff" for c in json.loads(text)) else "string"
    if text[0] in "{[":
        return "json"
    if any(c in text for c in ".eE"):
        return "double" if abs(float(text)) != float("inf") else "json"
    return "int64" if -(2**63) <= int(text) < 2**63 else "json"


def column_of(texts):
    """Of all values of a field, in whatever order: None where all are null."""
    kinds = {kind_of(text) for text in texts} - {None}
    if len(kinds) < 2:
        return kinds.pop() if kinds else None
    whole = [int(text) for text in texts if kind_of(text) == "int64"]
    return "double" if kinds == {"int64", "double"} and max(map(abs, whole)) <= 2**53 else "json"


def as_cell(text, kind):
    if text is None or text == "null":
        return None
    if kind == "json":
        return text
    return float(text) if kind == "double" else json.loads(text)


def any_value(rng):
    letters = "ab é世\\\"\n\u2028"
    return rng.choice(
        [
            lambda: "null",
            lambda: rng.choice(["true", "false"]),
            lambda: str(rng.randrange(-9, 9)),
            lambda: str(rng.getrandbits(rng.choice([16, 53, 63, 64, 80])) * rng.choice([1, -1])),
            lambda: repr(rng.uniform(-1, 1) * 10 ** rng.randrange(-300, 300)),
            lambda: rng.choice(["1E5", "-0.0", "2e-400", "1e400", "5.0"]),
            lambda: json.dumps("".join(rng.choice(letters) for _ in range(rng.randrange(6))), ensure_ascii=rng.random() < 0.5),
            lambda: json.dumps({"k": [rng.randrange(9), None]}),
            lambda: "[]",
            lambda: '"\\ud800"',
        ]
    )()
