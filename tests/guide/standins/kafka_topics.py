#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What pages use of Kafka's own kafka-topics.sh, whose jar the broker of the tests does not have, by kafka_tool:

  kafka-topics.sh --bootstrap-server ADDRESS --create --topic NAME --partitions N
"""
import subprocess
import sys


def main(words):
    match words:
        case ["--bootstrap-server", _, "--create", "--topic", name, "--partitions", count]:
            return subprocess.run(["kafka_tool", "create", name, count], check=False).returncode
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
