# SPDX-License-Identifier: Apache-2.0
"""Stores that a test can make go bad and well again: begin() and end(). What they hold is read by clients of the tests.

FAULTS names them all: stopped and killed (SeaweedFS), slow_down, lies, lies_done, full (the project's own server), full_disk (a folder on a small disk).
"""
import os
import pathlib
import signal
import subprocess
import sys

SERVERS = pathlib.Path(__file__).resolve().parent.parent / "servers"
sys.path.insert(0, str(SERVERS))
from s3_client import S3  # noqa: E402

BUCKET = "soak"
WRITES = ("PutObject", "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "AbortMultipartUpload", "HeadObject")
ERROR = "<?xml version=\"1.0\"?><Error><Code>InternalError</Code><Message>it was not stored</Message></Error>"


class Bucket:
    """What all stores behind S3 share. Each object is read once, since none is ever written twice."""

    readable = True  # while it is bad

    def __init__(self, endpoint, access_key, secret_key):
        self.client, self.seen = S3(endpoint, access_key, secret_key), {}
        own = {"endpoint": endpoint, "region": "us-east-1", "allow_http": "true", "access_key_id": access_key, "secret_access_key": secret_key}
        self.settings = {"url": f"s3://{BUCKET}/out/", "store": own}

    def new_bodies(self):
        for key in self.client.keys(BUCKET, "out/"):
            if key not in self.seen and "/_millrace" not in key and "/.millrace-probe" not in key:
                self.seen[key] = None
                yield key, self.client.get(BUCKET, key)


class Scripted(Bucket):
    """The project's own server, with faults for every request that writes; those of the test's own client pass."""

    def __init__(self, program, stack, faults):
        self.server = stack.enter_context(subprocess.Popen([program, "--bucket", BUCKET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        stack.callback(self.server.stdin.close)
        super().__init__(self.server.stdout.readline().split()[1], "AKIDEXAMPLE", "wJalrXUtnFEMI+K7MDENG/bPxRfiCYEXAMPLEKEY")
        self.faults = faults

    def ask(self, command):
        self.server.stdin.write(command + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline().strip()
        assert not answer.startswith("error"), answer
        return answer

    def begin(self):
        for fault in self.faults:
            self.ask("fault " + fault)

    def end(self):
        self.ask("clear")

    def puts(self):
        return int(self.ask("count PutObject")) + int(self.ask("count UploadPart"))


class Weed(Bucket):
    """SeaweedFS of its own, which is frozen, or killed and started again over what it has."""

    readable = False

    def __init__(self, folder, stack, kill):
        self.folder, self.kill = os.path.join(folder, "weed"), kill
        os.mkdir(self.folder)
        weed = subprocess.run([str(SERVERS.parent.parent / "tools" / "setup" / "seaweedfs.sh")], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
        stack.callback(self.tell, "stop")
        self.tell("start", weed)
        with open(os.path.join(self.folder, "env"), encoding="ascii") as file:
            values = [line.strip().split("=", 1)[1] for line in file]
        super().__init__(*values)
        self.client.create_bucket(BUCKET)

    def tell(self, verb, *words):
        if os.path.exists(os.path.join(self.folder, "pid")):
            os.kill(self.pid(), signal.SIGCONT)
        subprocess.run([str(SERVERS / "seaweedfs.sh"), verb, self.folder, *words], check=True)

    def pid(self):
        with open(os.path.join(self.folder, "pid"), encoding="ascii") as file:
            return int(file.read())

    def begin(self):
        if self.kill:
            self.tell("kill")
        else:
            os.kill(self.pid(), signal.SIGSTOP)

    def end(self):
        if self.kill:
            self.tell("again")
        else:
            os.kill(self.pid(), signal.SIGCONT)


class SmallDisk:
    """A folder on a disk of its own, which ballast fills up, where the objects themselves have not done so yet."""

    readable = True

    def __init__(self, folder, stack, mebibytes):
        self.folder = os.path.join(folder, "disk")
        os.mkdir(self.folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", self.folder], check=True)
        stack.callback(subprocess.run, ["umount", self.folder], check=False)
        self.settings, self.seen = {"url": f"file://{self.folder}/out/"}, {}
        self.ballast = os.path.join(self.folder, "ballast")

    def begin(self):
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while file.write(bytes(1 << 16)):
                    pass
            except OSError:
                pass

    def end(self):
        os.remove(self.ballast)
        subprocess.run(["mount", "-o", "remount,size=4g", self.folder], check=True)

    def new_bodies(self):
        for folder, _, names in os.walk(os.path.join(self.folder, "out")):
            for name in names:
                path = os.path.join(folder, name)
                if path not in self.seen and not name.startswith(".") and "/_millrace" not in folder:
                    self.seen[path] = None
                    with open(path, "rb") as file:
                        yield path, file.read()


def on_every_write(answer):
    return [f"op={op} times=every {answer}" for op in WRITES]


def lie(answer):
    return [f"op={op} times=every status=200 {answer}" for op in ("PutObject", "CompleteMultipartUpload")]


SCRIPTS = {
    "slow_down": on_every_write("status=503 code=SlowDown"),
    "lies": lie(f"body='{ERROR}' content_type=application/xml"),
    "lies_done": lie("code=InternalError error_after_success"),
    "full": [f"op={op} times=8 status=507 code=XMinioStorageFull" for op in WRITES] + on_every_write("status=500 code=InternalError"),
}
FAULTS = (*SCRIPTS, "stopped", "killed", "full_disk")


def make(fault, program, folder, stack, mebibytes):
    if fault in SCRIPTS:
        return Scripted(program, stack, SCRIPTS[fault])
    return SmallDisk(folder, stack, mebibytes) if fault == "full_disk" else Weed(folder, stack, kill=fault == "killed")


__all__ = ["FAULTS", "make"]
