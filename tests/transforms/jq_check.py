#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same documents through transforms and through jq: jq_check.py MILLRACE JQ with-jq|without-jq."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

MILLRACE, JQ, WITH_JQ = sys.argv[1], sys.argv[2], sys.argv[3] == "with-jq"
NAMES = ["a", "b", "c", "user", "n.m", "é", 'q"']
FLATTEN = """def flat(p): to_entries | map(if (.value | type) == "object" and (.value | length) > 0
  then (.key as $k | .value | flat(p + $k + "_")) else {(p + .key): .value} end) | add // {}; flat("")"""

# transforms, the same in jq. Documents are objects; what jq makes absent by null is written out.
CASES = [
    ("- add_fields: {fields: [{key: a, value: {static: [1, {x: y}]}}, {key: zz, value: {static: 1.5}}]}",
     '.a = [1, {"x": "y"}] | .zz = 1.5'),
    ("- delete_fields: {fields: [a, user.b, 'n\\.m']}",
     'del(.a, .["n.m"]) | if (.user | type) == "object" then del(.user.b) else . end'),
    ("- update_fields: {fields: [{key: a, value: {static: 0}, condition: key_exists}, "
     "{key: b, value: {static: 0}, condition: key_not_exists}]}",
     'if has("a") then .a = 0 else . end | if has("b") then . else .b = 0 end'),
    ("- unwrap_envelope: {field: user}", 'if has("user") then .user else . end'),
    ("- filter: {where: a > 3}", 'select((.a | type) == "number" and .a > 3)'),
    ('- filter: {where: b == "x" or not (exists(a) and exists(user.c))}',
     'select(.b == "x" or ((has("a") and ((.user | type) == "object" and (.user | has("c")))) | not))'),
    ("- project: [a, user.b, é]",
     '. as $d | with_entries(select(.key == "a" or .key == "é" or (.key == "user" and (.value | type) == "object")))'
     ' | if has("user") then .user |= with_entries(select(.key == "b")) else . end'),
    ("- filter_fields: {keep_fields: [b], patterns: [{key_pattern: {starts_with: u}}, {value_pattern: is_number}]}",
     'with_entries(select(.key == "b" or (.key | startswith("u")) or (.value | type) == "number"))'),
    ("- filter_fields: {include_matching: false, patterns: [{key_pattern: {contains: m}}, {value_pattern: {equals: \"x\"}}]}",
     'with_entries(select(((.key | contains("m")) or .value == "x") | not))'),
    ("- rename: {a: renamed, c: b}",
     'if has("a") then .renamed = .a | del(.a) else . end | if has("c") then .b = .c | del(.c) else . end'),
    ("- flatten: {separator: _}", FLATTEN),
    ("- delete_fields: {fields: [a]}\n- rename: {b: a}\n- filter: {where: exists(a)}\n- add_fields: {fields: [{key: b, value: {static: 1}}]}",
     'del(.a) | if has("b") then .a = .b | del(.b) else . end | select(has("a")) | .b = 1'),
]
IN_JQ = ['.', '.user', '.. | numbers', 'to_entries[]', 'select(.a == null)', 'with_entries(.value |= tojson)', 'empty',
         'label $out | (.a, break $out, .b)', 'try error("x") catch .', '{now: .a, env: .b, user}',
         '[paths | map(tostring) | join(".")]']


def value(chance, depth):
    kind = chance.randrange(9 if depth else 6)
    if kind >= 7:
        return {name: value(chance, depth - 1) for name in chance.sample(NAMES, chance.randrange(4))}
    if kind == 6:
        return [value(chance, depth - 1) for _ in range(chance.randrange(3))]
    return [chance.randrange(-3, 10), chance.randrange(100) / 4, "x", 'tab\t"é\u2028', None, chance.random() < 0.5][kind]


def documents(chance):
    for _ in range(300):
        document = {name: value(chance, 3) for name in chance.sample(NAMES, chance.randrange(len(NAMES) + 1))}
        yield json.dumps(document, ensure_ascii=chance.random() < 0.5, separators=chance.choice([(",", ":"), (" , ", " : ")]))


def transformed(folder, transforms):
    config = folder / "p.yaml"
    config.write_text(f"source: {{s3: {{url: 'file://{folder}/in/', checkpoint: {{url: 'file://{folder}/m.json'}}}}}}\n"
                      f"sink: {{stdout: {{}}}}\ntransforms:\n{transforms}\n", encoding="utf-8")
    (folder / "m.json").unlink(missing_ok=True)
    ran = subprocess.run([MILLRACE, "run", config, "--yes", "--reset"], capture_output=True, text=True)
    assert ran.returncode == 0, f"{transforms}: {ran.stderr}"
    return ran.stdout.split("\n")[:-1]


def by_jq(folder, program):
    ran = subprocess.run([JQ, "-c", program, folder / "in" / "a.ndjson"], capture_output=True, text=True)
    assert ran.returncode == 0, f"{program}: {ran.stderr}"
    return ran.stdout.split("\n")[:-1]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "in").mkdir()
        lines = list(documents(random.Random(7)))
        (folder / "in" / "a.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")
        for transforms, program in CASES:
            ours, theirs = transformed(folder, transforms), by_jq(folder, program)
            assert len(ours) == len(theirs), f"{transforms}: {len(ours)} documents, jq makes {len(theirs)}"
            for mine, other in zip(ours, theirs):
                assert json.loads(mine) == json.loads(other), f"{transforms}\n  {mine}\n  {other}"
        for program in IN_JQ if WITH_JQ else []:
            ours, theirs = transformed(folder, f"- jq: {json.dumps(program)}"), by_jq(folder, program)
            assert ours == theirs, f"jq: {program}: {next((p for p in zip(ours, theirs) if p[0] != p[1]), 'lengths')}"
    print(f"{len(CASES)} lists and {len(IN_JQ)} programs over {len(lines)} documents")


if __name__ == "__main__":
    main()
