# SPDX-License-Identifier: Apache-2.0
"""What dies and comes back in the crash tests of streams: the program, and the way to a store, whose objects outlive it."""
import os
import subprocess

from s3_client import S3
from tcp_proxy import Proxy


class Store:
    """A bucket, which the program reaches through a network that can be cut, and the test directly.

    MILLRACE_TEST_S3_ENDPOINT, ..._ACCESS_KEY and ..._SECRET_KEY name the server; without them it is the project's own, `server_program`.
    """

    def __init__(self, server_program, stack, name):
        endpoint = os.environ.get("MILLRACE_TEST_S3_ENDPOINT")
        self.bucket = f"{name}-{os.getpid()}"
        if endpoint:
            self.keys = [os.environ["MILLRACE_TEST_S3_" + of] for of in ("ACCESS_KEY", "SECRET_KEY")]
        else:
            server = stack.enter_context(subprocess.Popen([server_program, "--bucket", self.bucket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            stack.callback(server.stdin.close)
            endpoint, self.keys = server.stdout.readline().split()[1], ["AKIDEXAMPLE", "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY"]
        self.client = S3(endpoint, *self.keys)
        if "MILLRACE_TEST_S3_ENDPOINT" in os.environ:
            self.client.create_bucket(self.bucket)
        self.proxy = stack.enter_context(Proxy(int(endpoint.rsplit(":", 1)[1])))
        self.bodies = {}

    def sink(self, delivery):
        store = {"endpoint": f"http://127.0.0.1:{self.proxy.port}", "region": "us-east-1", "allow_http": "true"}
        store |= dict(zip(("access_key_id", "secret_access_key"), self.keys))
        return {"url": f"s3://{self.bucket}/out/", "path_template": "{topic}", "max_file_age": "150ms", "delivery": delivery, "retry_delay": "50ms", "max_attempts": 1000000, "store": store}

    def lines(self, anew=False):
        """Of all objects. Those that were read before are not read again, as none is ever written twice; `anew` reads all."""
        if anew:
            self.bodies.clear()
        for key in self.client.keys(self.bucket, "out/"):
            if key not in self.bodies and "/_millrace" not in key and "/.millrace-probe" not in key:
                self.bodies[key] = self.client.get(self.bucket, key)
        return (line for body in self.bodies.values() for line in body.splitlines())


class Program:
    """Killed and started again as whoever watches over it would do."""

    def __init__(self, runs, config):
        self.runs, self.config = runs, config
        self.rise()

    def die(self):
        self.check()
        self.run.kill()
        self.run.wait()

    def rise(self):
        self.run = self.runs.start(self.config)

    def check(self):
        assert self.run.poll() is None, f"it ended by itself:\n{self.runs.log_of(self.run)}"


class WayToStore:
    def __init__(self, proxy, rng):
        self.proxy, self.rng = proxy, rng

    def die(self):
        self.proxy.cut(silently=self.rng.random() < 0.5)

    def rise(self):
        self.proxy.mend()


def kill_in_every_order(mortals, kills, rng, before, between):
    """Kills some or all of them at a time, each `kills` times, and lets them come back in random order; how many kills it were.

    `before()` passes the time until the next ones die, `between(died)` that after each death (True) and return (False).
    """
    times = dict.fromkeys(mortals, 0)
    while min(times.values()) < kills:
        before()
        unfinished = [one for one in mortals if times[one] < kills]
        dying = rng.sample(unfinished, rng.randrange(1, len(unfinished) + 1))
        for one in dying:
            one.die()
            times[one] += 1
            between(True)
        for one in rng.sample(dying, len(dying)):
            one.rise()
            between(False)
    return sum(times.values())
