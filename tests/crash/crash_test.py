#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: kill -9 at any instant loses no record (INV-1) and commits nothing that is not durable (INV-2).

Method: a backfill of plain, gzip and zstd objects is killed at random instants and started again until it says Completed, many
times over. After each kill the manifest must be valid, no lane may have gone back, and every record below a committed watermark must be in
the output already. In the end the output holds each input line exactly once: files are cut by content alone, so a replay makes the
same files again and the sink recognises them.

With once the files are cut by time, and by other sizes at each start: a replay makes other files, and the sink's commit objects say
which records are written. With content they are cut by their records alone, and a drain leaves those that are open to the next run.
Some of the kills are SIGTERM then. At no time does a line stand twice. parquet and parquet_content are the same with files of columns,
which are inferred by the first start that writes one.

With letters one line in twenty is no JSON and goes to the dead letters (INV-6): every record below a watermark is in the output or in a letter with
its bytes. Where two sinks cut files, a position may rest inside a file of one of them, so lines may stand twice, and none less than once.

  crash_test.py BINARY file|s3|letters|once|once_s3|content|parquet|parquet_content        MILLRACE_CRASH_KILLS kills (4; 2 of parquet), MILLRACE_CRASH_SEED to repeat a run
For parquet: pyarrow in PYTHONPATH. For s3: MILLRACE_TEST_S3_ENDPOINT, MILLRACE_TEST_S3_ACCESS_KEY, MILLRACE_TEST_S3_SECRET_KEY. What is compared is read by Python's
own gzip, the zstd program and a client of the tests, never by the code under test.
"""
import collections
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "servers"))
import s3_client  # noqa: E402

LANES = 3
OBJECTS = 18
COMPLETE = (1 << 40) - 1  # the record index that says an object is done


class FileStore:
    """Input, output and manifest as files."""

    def __init__(self, folder):
        self.folder = folder
        self.store_yaml = "{}"

    def url(self, key):
        return "file://" + os.path.join(self.folder, key)

    def put(self, key, body):
        path = os.path.join(self.folder, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(body)

    def get(self, key):
        try:
            with open(os.path.join(self.folder, key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def keys(self, prefix):
        found = []
        for folder, _, names in os.walk(os.path.join(self.folder, prefix)):
            found += [os.path.relpath(os.path.join(folder, n), self.folder) for n in names if not n.startswith(".")]
        return found


class BucketStore:
    """The same in a bucket of a real server."""

    def __init__(self, seed):
        endpoint, access, secret = (os.environ["MILLRACE_TEST_S3_" + n] for n in ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY"))
        self.client = s3_client.S3(endpoint, access, secret)
        self.bucket = f"crash-{os.getpid()}-{seed}"
        self.client.create_bucket(self.bucket)
        self.store_yaml = json.dumps(
            {"endpoint": endpoint, "region": "us-east-1", "access_key_id": access, "secret_access_key": secret, "allow_http": "true"}
        )

    def url(self, key):
        return f"s3://{self.bucket}/{key}"

    def put(self, key, body):
        self.client.put(self.bucket, key, body)

    def get(self, key):
        return self.client.get(self.bucket, key)

    def keys(self, prefix):
        return self.client.keys(self.bucket, prefix)


def is_once(kind):
    return kind in ("once", "once_s3", "content", "parquet", "parquet_content")


def by_content(kind):
    return kind.endswith("content")


def is_bad(line):
    return not line.endswith(b"}")


def make_input(store, seed, letters):
    """Puts the objects; returns for each, in listing order, its lines. With `letters` some of them are no JSON."""
    rng = random.Random(seed)
    objects = {}
    for i in range(OBJECTS):
        lines = [
            f'{{"object":{i},"line":{j},"text":"{rng.getrandbits(64):x}{"é" * rng.randrange(60)}"}}'.encode()
            for j in range(0 if i == 7 else rng.randrange(1, 16000))
        ]
        if letters:
            lines = [line[:-2] if rng.randrange(20) == 0 else line for line in lines]
        plain = b"".join(line + b"\n" for line in lines)
        name, body = f"in/part-{i:03d}.ndjson", plain
        if i % 3 == 1:
            cut = len(plain) // 2  # two members, cut inside a line
            name, body = name + ".gz", (gzip.compress(plain[:cut]) + gzip.compress(plain[cut:]) if plain else b"")
        elif i % 3 == 2:
            name, body = name + ".zst", subprocess.run(["zstd", "-q", "-c"], input=plain, stdout=subprocess.PIPE, check=True).stdout
        store.put(name, body)
        objects[name] = lines
    return [objects[name] for name in sorted(objects)]


def lines_of(body):
    """The lines that became this Parquet file."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(pyarrow.BufferReader(body), columns=["object", "line", "text"]).to_pydict()
    return [f'{{"object":{o},"line":{j},"text":"{t}"}}'.encode() for o, j, t in zip(table["object"], table["line"], table["text"])]


def read_output(store, out):
    """How often each line stands in the output."""
    count = collections.Counter()
    for key in store.keys(out):
        body = store.get(key)
        if body and key.endswith(".parquet"):
            count.update(lines_of(body))
            continue
        if body and "/_millrace/" not in key and not key.endswith("/.millrace-probe"):  # a killed run may leave its probe
            assert body.endswith(b"\n"), f"{key} ends in half a record"
            count.update(body.split(b"\n")[:-1])
    return count


def read_letters(store, bad):
    """How often each line stands in a letter; what else a letter says of it is looked at."""
    count = collections.Counter()
    for key in store.keys(bad):
        for letter in map(json.loads, (store.get(key) or b"").splitlines()):
            line = letter["payload"].encode()
            assert is_bad(line) and letter["reason"] == "malformed" and letter["object"].endswith((".ndjson", ".gz", ".zst")), letter
            count[line] += 1
    return count


def committed_lines(manifest, objects):
    """The lines that the manifest says are durable."""
    lines = []
    for position in manifest["positions"]:
        lane, ordinal, index = position["lane"], position["watermark"] >> 40, position["watermark"] & COMPLETE
        assert ordinal == position["ordinal"], position
        mine = objects[lane::LANES]
        for earlier in mine[:ordinal]:
            lines += earlier
        if ordinal < len(mine):
            assert index == COMPLETE or index <= len(mine[ordinal]), position
            lines += mine[ordinal] if index == COMPLETE else mine[ordinal][:index]
    return lines


def check_manifest(store, key, before):
    """Parses the manifest; no lane may be behind `before`. Returns it, or None where there is none."""
    body = store.get(key)
    if body is None:
        assert not before, "the manifest vanished"
        return None
    manifest = json.loads(body)
    assert manifest["schema"] == 1 and manifest["lanes"] == LANES, manifest
    now = {p["lane"]: p["watermark"] for p in manifest["positions"]}
    for lane, watermark in before.items():
        assert now.get(lane, -1) >= watermark, f"lane {lane} went back from {watermark} to {now.get(lane)}"
    before.update(now)
    kept = manifest["kept_listing"]
    if kept["name"]:
        listing = store.get(f"{key.rpartition('/')[0]}/{kept['name']}")
        assert listing is not None, "the manifest names a listing that is not there"
        assert len(listing) == kept["bytes"], f"the kept listing has {len(listing)} bytes, and the manifest says {kept}"
    return manifest


class ManifestWatch(threading.Thread):
    """Reads the manifest over and over while the program writes it: it must be whole whenever one looks."""

    def __init__(self, store, key):
        super().__init__(daemon=True)
        self.store, self.key, self.done, self.problem, self.reads = store, key, threading.Event(), None, 0

    def run(self):
        while not self.done.is_set():
            try:
                body = self.store.get(self.key)
                if body is not None:
                    json.loads(body)
                    self.reads += 1
            except Exception as problem:  # noqa: BLE001  whatever it is, it is the finding
                self.problem = problem
                return
            self.done.wait(0.005)


def configure(folder, store, round_number, kind, rng):
    """Writes the pipeline file of one round; returns (file, manifest key, output prefix, prefix of letters or None)."""
    manifest, out, bad = f"state/{round_number}.json", f"out-{round_number}/", f"bad-{round_number}/"
    text = f"""
pipeline: {{name: crash, threads: 2, max_inflight_bytes: 1MiB}}
checkpoint: {{interval: 100ms}}
source:
  s3:
    url: "{store.url('in/')}"
    lanes: {LANES}
    name: input
    checkpoint: {{url: "{store.url(manifest)}"}}
    frozen: {"strict" if is_once(kind) else "below"}
    store: {store.store_yaml}
sink:
  s3:
    url: "{store.url(out)}"
    {"output_format: parquet" if kind.startswith("parquet") else 'output_format: raw'}
    max_file_size: {rng.choice([16, 64, 300]) if is_once(kind) and not by_content(kind) else 64}KiB
    path_template: "{{topic}}"
    store: {store.store_yaml}
"""
    if not kind.startswith("parquet"):
        text += '    delimiter: "\\n"\n'
    if is_once(kind) and not by_content(kind):
        text += f"""
    delivery: exactly_once
    max_file_age: {rng.choice([5, 20, 100])}ms
    buffer_memory: 1MiB
    upload_concurrency: {rng.randrange(1, 5)}
"""
        if kind.endswith("s3"):
            text += "    multipart_threshold: 100KiB\n"
    if by_content(kind):
        text += "    delivery: exactly_once\n    max_file_age: 0s\n"
    if kind.startswith("parquet"):
        text += "decode: {json: {}}\n"
    if kind == "letters":
        text += f"""
decode: {{json: {{on_error: skip}}}}
dead_letter:
  s3:
    url: "{store.url(bad)}"
    max_file_size: 16KiB
    path_template: "{{topic}}"
    store: {store.store_yaml}
"""
    path = os.path.join(folder, f"round-{round_number}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path, manifest, out, bad if kind == "letters" else None


def start(binary, path, log):
    return subprocess.Popen([binary, "run", path, "--progress", "none"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def end(process, asks):
    """Kills it, or asks it to stop. None; 3 when it stopped as asked, 0 when it was through before."""
    if asks:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        return None if code == -signal.SIGTERM else code  # it did not listen yet, or no more
    process.send_signal(signal.SIGKILL)
    process.wait()
    return None


def run_round(binary, folder, store, objects, round_number, kills, rng, lasts, kind):
    """One backfill, killed up to `kills` times on its way; returns how often it was killed and how long its last start ran."""
    expected = collections.Counter(line for lines in objects for line in lines)
    before, killed = {}, 0
    log_path = os.path.join(folder, f"round-{round_number}.log")
    while True:
        path, manifest_key, out, bad = configure(folder, store, round_number, kind, rng)
        with open(log_path, "ab") as log:
            watch = ManifestWatch(store, manifest_key)
            watch.start()
            began = time.monotonic()
            process = start(binary, path, log)
            try:
                code = process.wait(rng.uniform(0, lasts) if killed < kills else 300)
            except subprocess.TimeoutExpired:
                code = end(process, asks=is_once(kind) and rng.randrange(3) == 0)
            took = time.monotonic() - began
            watch.done.set()
            watch.join()
        assert watch.problem is None, f"the manifest was not whole: {watch.problem!r}"
        assert code in (0, 3, None), f"exit code {code}; the end of {log_path}:\n" + open(log_path, encoding="utf-8").read()[-3000:]
        manifest = check_manifest(store, manifest_key, before)
        output = read_output(store, out)
        if bad:
            assert not any(map(is_bad, output)), "a line that is no JSON is in the output"
            output += read_letters(store, bad)
        if is_once(kind):
            doubled = [line for line, times in output.items() if times > 1]
            assert not doubled, f"{len(doubled)} records stand twice, for instance {doubled[0]!r}"
        stray = [line for line in output if line not in expected]
        assert not stray, f"not in the input: {stray[:3]}"
        if manifest:
            missing = [line for line in committed_lines(manifest, objects) if not output[line]]
            assert not missing, f"{len(missing)} records are committed but not in the output, for instance {missing[0]!r}"
        if code == 0:
            assert output == expected or (bad and not expected - output), (
                f"lost {sum((expected - output).values())}, doubled {sum((output - expected).values())} of {sum(expected.values())}"
            )
            assert manifest["complete"] is True, manifest
            return killed, took
        killed += 1


def main(argv):
    if len(argv) != 2 or argv[1] not in ("file", "s3", "letters", "once", "once_s3", "content", "parquet", "parquet_content"):
        sys.exit(__doc__)
    binary, kind = os.path.abspath(argv[0]), argv[1]
    kills = int(os.environ.get("MILLRACE_CRASH_KILLS", "2" if kind.startswith("parquet") else "4"))
    seed = int(os.environ.get("MILLRACE_CRASH_SEED", str(random.randrange(1 << 30))))
    print(f"{kind}: {kills} kills, MILLRACE_CRASH_SEED={seed}", flush=True)
    rng = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="millrace-crash-")
    store = BucketStore(seed) if kind.endswith("s3") else FileStore(os.path.join(folder, "store"))
    letters = kind == "letters"
    objects = make_input(store, seed, letters)
    # One round undisturbed tells how long a run lasts, so that kills fall all over it.
    _, lasts = run_round(binary, folder, store, objects, 0, 0, rng, 0, kind)
    killed, round_number = 0, 0
    while killed < kills:
        round_number += 1
        now, took = run_round(binary, folder, store, objects, round_number, min(kills - killed, rng.randrange(1, 8)), rng, lasts, kind)
        if now == 0:
            lasts = took  # the machine has other work at times
        killed += now
        print(f"round {round_number}: Completed after {now} kills ({killed} of {kills}), {'no line lost' if letters else 'every line once'}", flush=True)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
