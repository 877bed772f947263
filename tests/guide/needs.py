# SPDX-License-Identifier: Apache-2.0
"""What a page asks for with `<!-- needs: NAME -->`: a server, and the commands that its users have for it.

Each is started for the page alone. `addresses` maps what the page types to where the server really listens.
"""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS / "iggy_fake_server"), str(TESTS / "servers")]
import free_ports  # noqa: E402
from fake import Fake  # noqa: E402


def command(folder, name, *words):
    """`name` on the PATH: these words and what it is given."""
    wrapper = os.path.join(folder, name)
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/bash\nexec {shlex.join(words)} "$@"\n')
    os.chmod(wrapper, 0o755)


def standin(folder, name, script):
    """The same by a script of standins/."""
    command(folder, name, sys.executable, "-B", str(HERE / "standins" / script))


class Admin:
    """The admin listener of a run: a port that no other page has at the same time."""

    def __init__(self, _folder, _tools, _arguments):
        self.addresses = {"127.0.0.1:9464": f"127.0.0.1:{free_ports.free_ports(1)[0]}"}
        self.environment = {}

    def close(self):
        pass


class Iggy:
    """The stand-in of tests/iggy_fake_server; `iggy` sends to it, `iggy_control` takes its control commands."""

    def __init__(self, _folder, tools, arguments):
        self.server = Fake(arguments.iggy_framing)
        address = f"127.0.0.1:{self.server.port}"
        self.addresses = {"127.0.0.1:8090": address}
        self.environment = {
            "STANDIN_IGGY": f"{arguments.iggy_framing} {address} 127.0.0.1:{self.server.control_port}",
            "IGGY_PASSWORD": "iggy",
        }
        standin(tools, "iggy", "iggy.py")
        standin(tools, "iggy_control", "iggy_control.py")

    def close(self):
        self.server.__exit__()


class Kafka:
    """A broker of tests/servers/kafka.sh; `kafka-topics.sh` and `kafka_tool` are the kafka_tool of tests/kafka."""

    def __init__(self, folder, tools, arguments):
        self.script, self.folder = TESTS / "servers" / "kafka.sh", os.path.join(folder, "kafka")
        subprocess.run([self.script, "start", self.folder, os.environ["MILLRACE_TEST_KAFKA_LIB"]], check=True)
        with open(os.path.join(self.folder, "env"), encoding="ascii") as file:
            address = file.readline().strip().split("=")[1]
        self.addresses = {"127.0.0.1:9092": address}
        self.environment = {}
        command(tools, "kafka_tool", os.path.abspath(arguments.kafka_tool), address)
        standin(tools, "kafka-topics.sh", "kafka_topics.py")

    def close(self):
        subprocess.run([self.script, "stop", self.folder], check=True)


class S3Commands:
    """`aws s3 ls` and `aws s3 cp` for the bucket that every page has."""

    def __init__(self, _folder, tools, _arguments):
        self.addresses, self.environment = {}, {}
        standin(tools, "aws", "aws.py")

    def close(self):
        pass


class Millrace:
    """A checkout of Millrace to build on, named by MILLRACE."""

    def __init__(self, _folder, _tools, _arguments):
        self.addresses = {}
        self.environment = {"MILLRACE": str(TESTS.parent)}
        if shutil.which("ccache"):
            cache = subprocess.run(["ccache", "--get-config", "cache_dir"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
            self.environment |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_DIR": cache}

    def close(self):
        pass


class Feed:
    """A port for the API of examples/http_poll_source, which the page starts."""

    def __init__(self, _folder, _tools, _arguments):
        self.addresses = {"127.0.0.1:8081": f"127.0.0.1:{free_ports.free_ports(1)[0]}"}
        self.environment = {}

    def close(self):
        pass


class Postgres:
    """A server of tests/servers/postgres.sh, and its `psql`; MILLRACE_TEST_POSTGRES_BIN is the folder of its programs."""

    def __init__(self, folder, tools, _arguments):
        self.script, self.folder = TESTS / "servers" / "postgres.sh", os.path.join(folder, "postgres")
        programs = os.environ["MILLRACE_TEST_POSTGRES_BIN"]
        subprocess.run([self.script, "start", self.folder, programs], check=True)
        with open(os.path.join(self.folder, "env"), encoding="ascii") as file:
            address = file.readline().split("@")[1].split("/")[0]
        self.addresses = {"127.0.0.1:5432": address}
        self.environment = {"PGUSER": "millrace"}
        command(tools, "psql", os.path.join(programs, "psql"), "--no-psqlrc")

    def close(self):
        subprocess.run([self.script, "stop", self.folder], check=True)


KNOWN = {"admin": Admin, "iggy": Iggy, "kafka": Kafka, "aws": S3Commands, "feed": Feed, "millrace": Millrace, "postgres": Postgres}
