#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goal: who used Iggy's S3 sink gets the same objects from Millrace, by its own file, and loses none of them.

Method: the connector file and the messages of that sink's documentation, sent by the official client; `millrace import iggy` makes the
pipeline, which lands them on a real object store. What lies there is compared with bytes worked out by hand.

  journey_test.py FRAMING MILLRACE     MILLRACE_TEST_S3_ENDPOINT, ..._ACCESS_KEY, ..._SECRET_KEY; MILLRACE_TEST_IGGY_CLIENTS
"""
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "iggy_fake_server"), str(TESTS / "servers")]
import client_suite  # noqa: E402
import s3_client  # noqa: E402
from fake import Fake  # noqa: E402

STREAM = "application_logs"
CONNECTOR = """type = "sink"
key = "s3"
enabled = true
version = 0
name = "S3 sink"
path = "target/release/libiggy_connector_s3_sink"
plugin_config_format = "toml"

[[streams]]
stream = "application_logs"
topics = [%s]
schema = "json"
batch_length = 1000
poll_interval = "100ms"
consumer_group = "s3_sink"

[plugin_config]
bucket = "%s"
region = "us-east-1"
endpoint = "%s"
access_key_id = "minioadmin"
secret_access_key = "minioadmin"
file_rotation = "messages"
max_messages_per_file = 1
output_format = "json_lines"
"""


class Journey(unittest.TestCase):
    framing = millrace = ""
    # One topic: of several, the partitions of all but the first have numbers of their own in names and wrappers (ADR-0022).
    topics = '"api_requests"'

    def setUp(self):
        endpoint, access, secret = (os.environ["MILLRACE_TEST_S3_" + name] for name in ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY"))
        self.store = s3_client.S3(endpoint, access, secret)
        self.bucket = f"journey-{self.framing}-{os.getpid()}-{self._testMethodName[-8:].replace('_', '-')}"
        self.store.create_bucket(self.bucket)
        self.fake = self.enterContext(Fake(self.framing))
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace-journey-")))
        (self.folder / "s3.toml").write_text(CONNECTOR % (self.topics, self.bucket, endpoint), encoding="utf-8")
        (self.folder / "config.toml").write_text(f'[iggy]\naddress = "127.0.0.1:{self.fake.port}"\nusername = "iggy"\npassword = "iggy"\n', encoding="utf-8")
        self.environment = dict(os.environ, IGGY_PASSWORD="iggy", S3_ACCESS_KEY_ID=access, S3_SECRET_ACCESS_KEY=secret)

    def send(self, topic, *payloads):
        environment = dict(os.environ, PYTHONPATH=str(client_suite.clients_folder() / self.framing))
        program = [sys.executable, "-B", TESTS / "iggy_journey" / "sender.py", f"127.0.0.1:{self.fake.port}", STREAM, topic, *payloads]
        done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)

    def program(self, *arguments):
        done = subprocess.run([self.millrace, *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}{done.stderr}")
        return done.stdout

    def imported(self):
        """The pipeline that stands for the documented connector."""
        yaml = self.program("import", "iggy", "s3.toml", "--runtime", "config.toml")
        self.assertNotIn("minioadmin", yaml)
        (self.folder / "s3.yaml").write_text(yaml, encoding="utf-8")
        self.assertEqual(self.program("validate", "s3.yaml"), "s3.yaml: ok\n")

    def objects(self):
        return {key: self.store.get(self.bucket, key).decode() for key in self.store.keys(self.bucket)}

    def expected(self, topic, payloads):
        """Key and body of each message's object, by hand."""
        found = {}
        told = self.fake.do("messages", {"stream": STREAM, "topic": topic, "partition": 0})
        self.assertEqual([message["payload"] for message in told], payloads)
        for message, payload in zip(told, payloads):
            time = datetime.datetime.fromtimestamp(message["timestamp"] // 1_000_000, datetime.timezone.utc)
            offset = message["offset"]
            key = f"{STREAM}/{topic}/{time:%Y-%m-%d}/{time:%H}/00000-{offset:020}-{offset:020}.jsonl"
            found[key] = (
                f'{{"offset":{offset},"timestamp":"{time:%Y-%m-%dT%H:%M:%SZ}","stream":"{STREAM}","topic":"{topic}","partition_id":0,"payload":{payload}}}\n'
            )
        return found

    def stored(self, topic):
        return self.fake.do("partitions", {"stream": STREAM, "topic": topic})[0]["stored"].get("group:s3_sink")

    def test_the_documented_messages_land_as_documented(self):
        requests = ['{"method":"GET","path":"/api/users","status":200}', '{"n":1.50,"a":1,"a":2}', '{"error":"\\u00e9 \U0001f600"}']
        self.send("api_requests", *requests)
        self.imported()
        self.program("run", "s3.yaml", "--set", "source.iggy.bounded=true", "--progress", "none")
        self.assertEqual(self.objects(), self.expected("api_requests", requests))
        self.assertEqual(self.stored("api_requests"), 2)
        # What comes later is all that the next run adds.
        self.send("api_requests", '{"later":true}')
        self.program("run", "s3.yaml", "--set", "source.iggy.bounded=true", "--progress", "none")
        self.assertEqual(self.objects(), self.expected("api_requests", [*requests, '{"later":true}']))

    def test_a_run_without_end_lands_a_quiet_partition_and_stops_in_order(self):
        self.send("api_requests")
        self.imported()
        run = subprocess.Popen(
            [self.millrace, "run", "s3.yaml", "--progress", "none", "--set", "sink.s3.max_messages_per_file=1000", "--set", "sink.s3.max_file_age=200ms"],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            self.send("api_requests", *[json.dumps({"n": n}) for n in range(50)])
            committed = self.fake.until(lambda: self.stored("api_requests") == 49 or run.poll() is not None)
            self.assertTrue(committed and run.poll() is None, "the quiet partition was not committed")
            run.send_signal(signal.SIGTERM)
            said = run.communicate(timeout=60)[1]
        finally:
            run.kill()
            run.wait()
        self.assertEqual(run.returncode, 0, said)
        lines = "".join(body for key, body in sorted(self.objects().items()) if "/api_requests/" in key).splitlines()
        self.assertEqual([json.loads(line)["payload"]["n"] for line in lines], list(range(50)))


if __name__ == "__main__":
    Journey.framing, Journey.millrace = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1])
