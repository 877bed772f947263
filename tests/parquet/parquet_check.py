#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: what the program writes with output_format parquet is read by others as what was put in.

Method: the program lands files of JSON lines below file:// (or on the fault server); pyarrow and duckdb read them back, and values,
types, row groups and bytes are compared with what is written here by hand, or by a model in Python that knows nothing of the program.

  parquet_check.py MILLRACE S3_FAULT_SERVER CASE       one of: values groups same bad inferred model parts memory
Needs pyarrow and duckdb in PYTHONPATH (tools/setup/arrow.sh --python). MILLRACE_SEED repeats a run of `model`.
"""
import base64
import datetime
import decimal
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "servers")]
import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
import s3_client  # noqa: E402
from inference_model import any_value, as_cell, column_of  # noqa: E402

ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY"  # which the fault server knows
UTC = datetime.timezone.utc
D = decimal.Decimal


class Rig:
    """A folder with an input, and pipelines that read it."""

    def __init__(self, millrace):
        self.millrace = os.path.abspath(millrace)
        self.folder = tempfile.mkdtemp(prefix="millrace-parquet-")
        self.runs = 0

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def put(self, name, lines):
        path = self.path("in", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.writelines(line if isinstance(line, bytes) else line.encode() + b"\n" for line in lines)

    def config(self, sink, out="out", source="", extra="", decode="{json: {}}"):
        self.runs += 1
        path = self.path(f"p{self.runs}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f"pipeline: {{name: pipe}}\n"
                f"source: {{s3: {{url: 'file://{self.path('in')}/', name: things, lanes: 1, {source}"
                f" checkpoint: {{url: 'file://{self.path(f'state-{self.runs}.json')}'}}}}}}\n"
                f"decode: {decode}\n"
                f"sink:\n  s3:\n    url: {out if '://' in out else 'file://' + self.path(out)}\n    path_template: '{{topic}}'\n"
                f"    output_format: parquet\n" + "".join(f"    {line}\n" for line in sink) + extra
            )
        return path

    def start(self, config, **more):
        environment = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=1:malloc_context_size=0:detect_leaks=0", **more)
        return subprocess.Popen(
            [self.millrace, "run", config, "--progress", "none"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
        )

    def run(self, sink, code=0, **more):
        process = self.start(self.config(sink, **more))
        said, _ = process.communicate(timeout=300)
        assert process.returncode == code, f"exit code {process.returncode}, expected {code}:\n{said[-4000:]}"
        return said

    def files(self, out="out"):
        found = []
        for folder, _, names in os.walk(self.path(out)):
            found += [os.path.join(folder, name) for name in names if name.endswith(".parquet")]
        return sorted(found)

    def kept_columns(self, out="out"):
        with open(self.path(out, "_millrace", "pipe", "schema.json"), encoding="utf-8") as file:
            return json.load(file)["columns"]


def rows(files):
    return [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]


def same(found, expected, what):
    assert found == expected, f"{what}:\n  found    {found!r}\n  expected {expected!r}"


ALL_TYPES = [
    "b bool", "i int32", "l int64 required", "f float", "d double", "s string", "x binary", "t timestamp", "day date",
    "small decimal(5,2)", "wide decimal(38,10)", "any json", "u.name.first string", "u.age int32",
]  # fmt: skip

# What is put in, and what comes out: written by hand.
VALUES = [
    (
        '{"b":true,"i":-2147483648,"l":9223372036854775807,"f":0.1,"d":0.1,"s":"Grüße, 世界 \\ud83d\\ude00 \\"\\\\\\n","x":"AP+A",'
        '"t":"2026-07-01T12:00:00.123456Z","day":"2026-07-01","small":999.99,"wide":"-1234567890123456789012345678.0123456789",'
        '"any":{"k": [1, 2.50, null]},"u":{"name":{"first":"Ada"},"age":36}}',
        {
            "b": True, "i": -2147483648, "l": 9223372036854775807, "f": 0.10000000149011612, "d": 0.1,
            "s": "Grüße, 世界 😀 \"\\\n", "x": b"\x00\xff\x80",
            "t": datetime.datetime(2026, 7, 1, 12, 0, 0, 123456, UTC), "day": datetime.date(2026, 7, 1), "small": D("999.99"),
            "wide": D("-1234567890123456789012345678.0123456789"), "any": '{"k": [1, 2.50, null]}',
            "u.name.first": "Ada", "u.age": 36,
        },
    ),
    (
        '{"l":-9223372036854775808,"b":false,"i":2147483647,"f":-3.4e38,"d":1.7976931348623157e308,"s":"","x":"",'
        '"t":"1969-12-31T23:59:59.999999-00:00","day":"0001-01-01","small":-1.5e1,"wide":0,"any":"text","u":null}',
        {
            "b": False, "i": 2147483647, "l": -9223372036854775808, "f": -3.3999999521443642e38, "d": 1.7976931348623157e308,
            "s": "", "x": b"", "t": datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), "day": datetime.date(1, 1, 1),
            "small": D("-15.00"), "wide": D("0E-10"), "any": '"text"', "u.name.first": None, "u.age": None,
        },
    ),
    (
        '{"l":0,"b":null,"any":9007199254740993123,"u":{"name":null,"age":null},"t":"2026-07-01T14:00:00+02:00","l":1}',
        {
            "b": None, "i": None, "l": 1, "f": None, "d": None, "s": None, "x": None,
            "t": datetime.datetime(2026, 7, 1, 12, 0, 0, 0, UTC), "day": None, "small": None, "wide": None,
            "any": "9007199254740993123", "u.name.first": None, "u.age": None,
        },
    ),
]  # fmt: skip

SCHEMA = pa.schema(
    [
        pa.field("b", pa.bool_()), pa.field("i", pa.int32()), pa.field("l", pa.int64(), nullable=False), pa.field("f", pa.float32()),
        pa.field("d", pa.float64()), pa.field("s", pa.string()), pa.field("x", pa.binary()), pa.field("t", pa.timestamp("us", "UTC")),
        pa.field("day", pa.date32()), pa.field("small", pa.decimal128(5, 2)), pa.field("wide", pa.decimal128(38, 10)),
        pa.field("any", pa.string()), pa.field("u.name.first", pa.string()), pa.field("u.age", pa.int32()),
    ]
)  # fmt: skip


def case_values(rig, _server):
    """A value of every type, at its ends, null and absent, nested, read by both readers."""
    rig.put("a.ndjson", [line for line, _ in VALUES])
    given = f"parquet: {{schema: {json.dumps(ALL_TYPES)}, on_unknown_field: fail}}"
    for compression in ("none", "gzip", "zstd"):
        out = f"out-{compression}"
        rig.run(["include_metadata: false", f"compression: {compression}", given], out=out)
        (file,) = rig.files(out)
        assert file.endswith(".parquet"), file
        same(rows([file]), [row for _, row in VALUES], "rows by pyarrow")
        found = pq.read_schema(file)
        assert found.equals(SCHEMA), f"{found}\nexpected {SCHEMA}"
        column = pq.ParquetFile(file).metadata.row_group(0).column(0)
        same(column.compression, {"none": "UNCOMPRESSED"}.get(compression, compression.upper()), "codec of the pages")
        duck = duckdb.sql(f"SELECT b, i, l, s, x, epoch_us(t), day, small, wide, \"any\", \"u.name.first\" FROM '{file}'").fetchall()
        micros = [(row["t"] - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(microseconds=1) for _, row in VALUES]
        names = ["b", "i", "l", "s", "x", None, "day", "small", "wide", "any", "u.name.first"]
        expected = [tuple(micros[i] if n is None else row[n] for n in names) for i, (_, row) in enumerate(VALUES)]
        same(duck, expected, "rows by duckdb")

    # With metadata, and what is no column kept.
    rig.run(["include_headers: true", "parquet: {schema: [l int64 required]}"], out="meta")
    (file,) = rig.files("meta")
    found = rows([file])
    same(list(found[0]), ["_offset", "_timestamp", "_stream", "_topic", "_partition_id", "_headers", "l", "_extra"], "columns")
    same([r["l"] for r in found], [row["l"] for _, row in VALUES], "values")
    same([(r["_topic"], r["_partition_id"], r["_headers"]) for r in found], [("things", 0, None)] * 3, "metadata")
    first = int(os.path.basename(file).split("-")[1])
    same([r["_offset"] for r in found], [first, first + 1, first + 2], "offsets, as the key has the first")
    modified = datetime.datetime.fromtimestamp(int(os.stat(rig.path("in", "a.ndjson")).st_mtime), UTC)
    same([r["_timestamp"].replace(microsecond=0) for r in found], [modified] * 3, "times, of the object")
    for row, (line, _) in zip(found, VALUES):
        put = json.loads(line)
        put.pop("l")
        same(json.loads(row["_extra"]), put, "the rest")


def case_groups(rig, _server):
    """Row groups are bounded by rows and by bytes; an array, a text and a number beside objects are bad records."""
    count = 5000
    rig.put("a.ndjson", [f'{{"n":{i},"s":"{i:0100d}"}}' for i in range(count)])
    schema = "schema: [n int64, s string]"
    rig.run(["include_metadata: false", f"parquet: {{{schema}, row_group_rows: 999}}"], out="rows")
    (file,) = rig.files("rows")
    meta = pq.ParquetFile(file).metadata
    same([meta.row_group(i).num_rows for i in range(meta.num_row_groups)], [999] * 5 + [5], "rows of the groups")
    same(meta.created_by, "millrace version 1", "created_by")
    rig.run(["include_metadata: false", f"parquet: {{{schema}, row_group_size: 64KiB}}"], out="bytes")
    (file,) = rig.files("bytes")
    meta = pq.ParquetFile(file).metadata
    # A row is 8 and 100 bytes of values, 4 of a length, 2 x 2 of levels; _extra has 2 of a level.
    same(meta.row_group(0).num_rows, -(-65536 // 118), "rows of a group that is bounded by bytes")
    same(sum(meta.row_group(i).num_rows for i in range(meta.num_row_groups)), count, "rows of all groups")
    same([row["n"] for row in rows([file])], list(range(count)), "values over all groups")
    # A file ends by its lines of JSON, whatever becomes of them.
    rig.run(["include_metadata: false", f"parquet: {{{schema}}}", "max_messages_per_file: 1000"], out="many")
    same([len(rows([f])) for f in rig.files("many")], [1000] * 5, "records of the files")


def read_all(files):
    found = []
    for path in files:
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def case_same(rig, _server):
    """The same records make the same bytes: run again, with little memory and a spool, and after a replay in place."""
    rng = random.Random(7)
    rig.put("a.ndjson", [f'{{"n":{i},"s":"{rng.getrandbits(4000):x}","d":{rng.random()}}}' for i in range(4000)])
    sink = ["compression: zstd", "max_file_size: 3MiB", "max_file_age: 0s", "parquet: {row_group_size: 1MiB}"]
    rig.run(sink, out="one")
    rig.run(sink, out="two")
    os.mkdir(rig.path("spool"))
    rig.run(sink + ["buffer_memory: 1MiB", f"spool_dir: {rig.path('spool')}", "delivery: exactly_once"], out="spilled", source="frozen: strict,")
    one = read_all(rig.files("one"))
    assert len(one) == 2, len(one)
    assert read_all(rig.files("two")) == one, "other bytes in a second run"
    assert read_all(rig.files("spilled")) == one, "other bytes with little memory"
    same(os.listdir(rig.path("spool")), [], "left in the spool")
    said = rig.run(sink, out="one")  # its position is another, so it writes all of it again
    assert read_all(rig.files("one")) == one, said


def case_bad(rig, _server):
    """A record that does not fit fails the run, or is skipped and kept, and is named; the file has the others."""
    bad = [
        ('{"id":"x"}', "field 'id' (byte 6): expected a whole number, found a string"),
        ('{"id":null}', "field 'id': is required, and absent or null"),
        ('{"id":1,"at":"soon"}', "field 'at': expected a time as in 2026-07-01T12:00:00.123456Z"),
        ('{"id":1,"more":1}', "field 'more': is no column"),
        ("[1]", "expected an object, found an array"),
        ("7", "expected an object, found a number"),
    ]
    sink = ["parquet: {schema: [id int64 required, at timestamp], on_unknown_field: fail}"]
    letters = f"dead_letter: {{s3: {{url: 'file://{rig.path('bad')}', path_template: '{{topic}}'}}}}\n"
    lines = []
    for line, _ in bad:
        lines += ['{"id":%d}' % len(lines), line]
    rig.put("a.ndjson", lines)
    said = rig.run(sink, code=1, out="failed")
    assert bad[0][1] in said and "offset 1" in said, said
    same([row["id"] for row in rows(rig.files("failed"))], [0], "of a run that failed at its second record")
    said = rig.run(sink, out="skipped", decode="{json: {on_error: skip}}", extra=letters)
    same([row["id"] for row in rows(rig.files("skipped"))], list(range(0, len(lines), 2)), "the good ones")
    kept = []
    for folder, _, names in os.walk(rig.path("bad")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                kept += [json.loads(line) for line in file]
    same([letter["payload"] for letter in kept], [line for line, _ in bad], "the letters")
    for letter, (_, why) in zip(kept, bad):
        assert why in letter["error"], (letter, why)
    # ignore and keep take what is no column.
    sink = ["include_metadata: false", "parquet: {schema: [id int64], on_unknown_field: ignore}"]
    rig.put("a.ndjson", ['{"id":1,"more":{"x":1}}'])
    rig.run(sink, out="ignored")
    same(rows(rig.files("ignored")), [{"id": 1}], "without the rest")


def case_inferred(rig, _server):
    """Columns are those of the first file's records, for all later files and runs."""
    rig.put("a.ndjson", ['{"n":1,"s":"x","z":null}', '{"n":2.5,"o":{"a":1},"big":12345678901234567890}'])
    rig.run(["include_metadata: false"])
    same(rig.kept_columns(), ["n double", "s string", "z json", "o json", "big json"], "kept")
    first = rows(rig.files())
    same(first[0], {"n": 1.0, "s": "x", "z": None, "o": None, "big": None, "_extra": None}, "the first")
    same(first[1], {"n": 2.5, "s": None, "z": None, "o": '{"a":1}', "big": "12345678901234567890", "_extra": None}, "the second")
    # Whole numbers that a double would round are not, whichever comes first.
    for out, order in (("large", [0, 1]), ("large-later", [1, 0])):
        shutil.rmtree(rig.path("in"))
        lines = ['{"n":9007199254740993,"_id":"x"}', '{"n":2.5,"_id":"y"}']
        rig.put("a.ndjson", [lines[i] for i in order])
        rig.run(["include_metadata: false"], out=out)
        same(rig.kept_columns(out), ["n json", "_id string"], "kept")
        same([row["n"] for row in rows(rig.files(out))], [["9007199254740993", "2.5"][i] for i in order], "numbers")
    # Another run, with a field more, and values of other types.
    shutil.rmtree(rig.path("in"))
    rig.put("b.ndjson", ['{"new":[true],"n":3,"z":{"now": "known"}}', '{"s":7}', '{"s":"ok"}'])
    said = rig.run(["include_metadata: false"], code=1)
    assert "field 's'" in said and "expected a string, found a number" in said, said
    rig.run(["include_metadata: false"], decode="{json: {on_error: skip}}")
    later = [row for file in rig.files() for row in rows([file])][-2:]
    same(later[0], {"n": 3.0, "s": None, "z": '{"now": "known"}', "o": None, "big": None, "_extra": '{"new":[true]}'}, "the third")
    same(later[1]["s"], "ok", "the last")
    schemas = {pq.read_schema(file) for file in rig.files()}
    same(len(schemas), 1, "schemas of all files")
    # Two of the first run, one in front of what failed the second, two of the third.
    same(duckdb.sql(f"SELECT count(*), sum(n) FROM '{rig.path('out', '*', '*.parquet')}'").fetchall(), [(5, 9.5)], "all files by duckdb")


def case_model(rig, _server):
    """Random records: the kept columns and every cell are those of the model."""
    seed = int(os.environ.get("MILLRACE_SEED", random.randrange(1 << 30)))
    print(f"MILLRACE_SEED={seed}")
    for round_number in range(8):
        rng = random.Random(seed + round_number)
        names = [f"f{i}" for i in range(rng.randrange(1, 6))] + ["größe", "a.b"]
        # Most fields have few kinds of values, as in life.
        habits = {name: [any_value(rng) for _ in range(rng.choice([1, 2, 20]))] for name in names}
        records = []
        for _ in range(rng.randrange(1, 200)):
            chosen = [name for name in names if rng.random() < 0.6]
            rng.shuffle(chosen)
            records.append({name: rng.choice(habits[name]) for name in chosen})
        values = {}
        for record in records:
            for name, text in record.items():
                values.setdefault(name, []).append(text)
        kinds = {name: column_of(texts) for name, texts in values.items()}
        shutil.rmtree(rig.path("in"), ignore_errors=True)
        rig.put("a.ndjson", ["{" + ",".join(f"{json.dumps(n)}:{t}" for n, t in record.items()) + "}" for record in records])
        out = f"out-{round_number}"
        rig.run(["include_metadata: false", "max_file_size: 1GiB"], out=out)
        same(rig.kept_columns(out), [f"{name} {kind or 'json'}" for name, kind in kinds.items()], "kept columns")
        expected = [dict({name: as_cell(record.get(name), kind) for name, kind in kinds.items()}, _extra=None) for record in records]
        same(rows(rig.files(out)), expected, "rows")


def case_parts(rig, server):
    """On S3, a file that is sent in parts; what it says of itself."""
    rng = random.Random(3)
    texts = [f"{rng.getrandbits(16000):x}" for _ in range(1600)]
    rig.put("a.ndjson", [f'{{"n":{i},"s":"{text}"}}' for i, text in enumerate(texts)])
    process = subprocess.Popen([server, "--bucket", "my-bucket"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        endpoint = process.stdout.readline().split()[1]
        store = [f"endpoint: {endpoint}", "region: us-east-1", f"access_key_id: {ACCESS_KEY}", f"secret_access_key: {SECRET_KEY}",
                 "store: {allow_http: 'true'}", "max_file_size: 64MiB", "multipart_threshold: 1MiB", "part_size: 5MiB"]  # fmt: skip
        rig.run(store, out="s3://my-bucket/lake")
        client = s3_client.S3(endpoint, ACCESS_KEY, SECRET_KEY)
        keys = client.keys("my-bucket", "lake/")
        (key,) = [k for k in keys if k.endswith(".parquet")]
        same([k for k in keys if k.endswith("schema.json")], ["lake/_millrace/pipe/schema.json"], "where the columns are kept")
        body = client.get("my-bucket", key)
        assert len(body) > 6 << 20, f"{len(body)} bytes are no two parts"
        found = pq.read_table(pa.BufferReader(body)).to_pylist()
        same([(row["n"], row["s"]) for row in found], list(enumerate(texts)), "rows")
    finally:
        process.communicate()


def anonymous_memory(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) << 10
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def case_memory(rig, _server):
    """A file of many row groups takes no more memory than one of a few."""
    megabytes = int(os.environ.get("MILLRACE_PARQUET_MIB", "96"))
    rng = random.Random(5)
    texts = [f"{rng.getrandbits(3000):x}" for _ in range(1000)]
    os.mkdir(rig.path("spool"))
    peaks = []
    for size in (16, megabytes):
        shutil.rmtree(rig.path("in"), ignore_errors=True)
        rig.put("a.ndjson", (f'{{"n":{i},"s":"{texts[i * 7 % 1000]}{i}"}}' for i in range((size << 20) // 800)))
        out = f"out-{size}"
        sink = ["max_file_size: 1GiB", "max_file_age: 0s", "buffer_memory: 4MiB", f"spool_dir: {rig.path('spool')}",
                "parquet: {row_group_size: 2MiB, schema: [n int64, s string]}"]  # fmt: skip
        process = rig.start(rig.config(sink, out=out))
        peak = 0
        while process.poll() is None:
            peak = max(peak, anonymous_memory(process.pid))
            time.sleep(0.005)
        said = process.stdout.read()
        assert process.returncode == 0, said
        (file,) = rig.files(out)
        meta = pq.ParquetFile(file).metadata
        same(meta.num_rows, (size << 20) // 800, "rows")
        print(f"{size} MiB of lines: {os.stat(file).st_size >> 20} MiB in {meta.num_row_groups} row groups, {peak >> 20} MiB at most")
        peaks.append(peak)
    assert peaks[1] < peaks[0] + (24 << 20), peaks


def main(argv):
    if len(argv) != 3 or f"case_{argv[2]}" not in globals():
        sys.exit(__doc__)
    rig = Rig(argv[0])
    globals()[f"case_{argv[2]}"](rig, argv[1])
    shutil.rmtree(rig.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
