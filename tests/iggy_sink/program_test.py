#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: what the program says is written to a topic of Iggy is there, and what it cannot write it says, without a secret.

Method: runs of the program into the stand-in for a server; other clients read what is there.

  program_test.py MILLRACE classic|vsr CASE
"""
import base64
import json
import os
import subprocess
import sys

from bench import PASSWORD, TESTS, Bench, main, numbered
from fake import Fake

import client_suite


def files_to_topic(bench):
    """Lines of a file become messages, each once where nothing fails, in order in one partition; the topic is made."""
    lines = [f'{{"n":{i},"text":"{"é" * (i % 50)}"}}' for i in range(5000)]
    config = bench.config("files", bench.files("in", lines), bench.sink("made", create_partitions=3, partitioning={"partition": 2}, batch_records=700))
    assert "Completed" in bench.run(config)
    zero, one, two = bench.messages("made")
    assert not zero and not one
    assert [message.payload.decode() for message in two] == lines
    assert len({message.id for message in two}) == len(lines)
    bench.run(config)  # nothing left to do
    assert len(bench.payloads("made")) == len(lines)


def told(bench):
    """What it would do is told before, of a server that is not there."""
    config = bench.config("told", bench.files("in", numbered(3)), bench.sink("t", address="127.0.0.1:1", partitioning="key"))
    assert bench.told("validate", config) == f"{config}: ok\n"
    described = bench.told("describe", "iggy-sink")
    assert "partitioning" in described and "key_header" in described
    assert "sends to topic 's/t' of 127.0.0.1:1; a write that fails: stall" in bench.told("explain", config)
    assert "2 writers, 21.2 MiB each" in bench.told("plan", config)


def to_objects_and_back(bench):
    """Files to a topic and the topic to files: the same lines."""
    lines = numbered(3000)
    bench.run(bench.config("there", bench.files("in", lines), bench.sink("way", create_partitions=3, batch_records=100)))
    back = {"s3": {"url": f"file://{bench.folder}/out/", "path_template": "{topic}", "wrap": False, "probe": False}}
    bench.run(bench.config("back", bench.source("way", bounded=True), back))
    found = [line for path in (bench.folder / "out").rglob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(found) == sorted(lines)
    assert all(messages for messages in bench.messages("way")), "balanced: each partition has some"


def letters(bench):
    """Dead letters go to a topic of their own: what is no record, and what is larger than the sink takes."""
    bench.topic("records", 1)
    lines = ['{"n":1}', "no json", '{"n":2}', '{"text":"' + "x" * 2000 + '"}']
    more = {"decode": {"json": {"on_error": "skip"}}, "dead_letter": bench.sink("letters", create_partitions=1)}
    sink = bench.sink("records", max_record_bytes=1000)
    bench.run(bench.config("letters", bench.files("bad", lines), sink, **more))
    assert bench.payloads("records") == ['{"n":1}', '{"n":2}']
    found = [json.loads(text) for text in bench.payloads("letters")]
    assert [letter["payload"] for letter in found] == [lines[1], lines[3]], found
    assert "max_record_bytes of the sink is 1000" in found[1]["error"], found[1]["error"]
    same = bench.config("same", bench.files("same", lines), sink, **(more | {"dead_letter": bench.sink("records")}))
    assert "nobody could tell them apart" in bench.run(same, expected=2)


def given_up(bench):
    """`drop`: what the server does not take goes to the dead letters, and the run goes on and says how many."""
    bench.topic("records", 1)
    bench.topic("letters", 1)
    lines = numbered(30)
    sink = bench.sink("records", on_write_failure="drop", max_attempts=2, batch_records=10)
    bench.fake.do("fault", {"on": "send", "do": "status", "code": 41, "times": 1})
    text = bench.run(bench.config("given_up", bench.files("in", lines), sink, dead_letter=bench.sink("letters")))
    (letter,) = map(json.loads, bench.payloads("letters"))
    assert "10 dead-lettered" in text, text
    first = letter["offset"]
    assert (letter["last_offset"], letter["records"], letter["reason"]) == (first + 9, 10, "permission_denied"), letter
    assert bench.payloads("records") == lines[:first] + lines[first + 10 :]
    assert all(line.encode() in base64.b64decode(letter["payload"]) for line in lines[first : first + 10])


def refused(bench):
    """What cannot be written is told before a record moves."""
    source = bench.files("in", numbered(1))
    missing = bench.config("missing", source, bench.sink("nowhere", connect_timeout="300ms"))
    text = bench.run(missing, expected=1)
    assert "'s/nowhere'" in text and "create_partitions" in text, text
    away = bench.config("away", source, bench.sink("there", address="127.0.0.1:1", connect_timeout="300ms"))
    text = bench.run(away, expected=1)
    assert "127.0.0.1:1" in text and "check `address`" in text, text
    bench.topic("there")
    wrong = bench.config("wrong", source, bench.sink("there", password=PASSWORD + "!"))
    assert "password is wrong" in bench.run(wrong, expected=1)
    loop = bench.config("loop", bench.source("there"), bench.sink("there"))
    assert "read its own output" in bench.run(loop, expected=2)
    letters_back = bench.config("letters", bench.source("there"), {"blackhole": {}}, decode={"json": {"on_error": "skip"}}, dead_letter=bench.sink("there"))
    assert "read its own output" in bench.run(letters_back, expected=2)
    assert bench.payloads("there") == []


def tls(bench):
    """Over TLS, where the server's certificate is trusted; else nothing is sent, and the option is named."""
    certificate, key = bench.folder / "certificate.pem", bench.folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    lines = numbered(100)
    with Fake(bench.framing, "--tls", certificate, key) as secure:
        encrypted = Bench(bench.millrace, bench.framing, secure, bench.folder)
        encrypted.topic("t", 1)
        encrypted.server["address"] = f"localhost:{secure.port}"
        source = encrypted.files("in", lines)
        nobodys = encrypted.config("nobodys", source, encrypted.sink("t", tls={"enabled": True}))
        assert "tls.ca_file" in encrypted.run(nobodys, expected=1)
        plain = encrypted.config("plain", source, encrypted.sink("t", connect_timeout="300ms", protocol=bench.framing))
        assert "check `address`, `tls`" in encrypted.run(plain, expected=1)
        assert secure.do("count", {"where": {"command": "login"}}) == 0
        encrypted.run(encrypted.config("trusted", source, encrypted.sink("t", tls={"enabled": True, "ca_file": str(certificate)})))
        assert [m["payload"] for m in secure.do("messages", {"stream": "s", "topic": "t"})] == lines


def official(bench):
    """The official client reads what was written: payloads in order, and headers where it can show them."""
    folder = client_suite.clients_folder()
    assert folder is not None, "the official clients are not there; tools/setup/iggy_clients.sh fetches them"
    bench.topic("source", 1)
    # string a=b, uint32 n=7 and raw r: what is no text for the source is written as a string or as raw bytes.
    headers = "020100000061020100000062" "02010000006e0b0400000007000000" "0201000000720102000000fffe"
    messages = [{"payload": line, "headers_hex": headers if i % 2 else ""} for i, line in enumerate(numbered(500))]
    bench.fake.do("append", {"stream": "s", "topic": "source", "messages": messages})
    bench.run(bench.config("official", bench.source("source", bounded=True), bench.sink("made", create_partitions=1)))
    words = [sys.executable, "-B", TESTS / "iggy_sink" / "official_reader.py", bench.framing, f"127.0.0.1:{bench.fake.port}", "mill", "s", "made", str(len(messages))]
    environment = dict(os.environ, PYTHONPATH=str(folder / bench.framing), IGGY_PASSWORD=PASSWORD)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    expected = {} if bench.framing == "classic" else {"a": "String b", "n": "String 7", "r": "Raw fffe"}
    assert json.loads(done.stdout) == [[line, expected if i % 2 else {}] for i, line in enumerate(numbered(500))]


if __name__ == "__main__":
    main([files_to_topic, told, to_objects_and_back, letters, given_up, refused, tls, official])
