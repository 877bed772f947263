# SPDX-License-Identifier: Apache-2.0
"""Goal: a real server takes and gives what the fake one does. Method: the same suite (client_suite.py) against it.

  real_server_test.py classic|vsr    MILLRACE_TEST_IGGY_CLASSIC or MILLRACE_TEST_IGGY_VSR=host:port (iggy/iggy)
Streams named millrace-... are made there and deleted. Exit 77 where no server is named: not run.
"""
import os
import secrets
import sys
import unittest

import client_suite
from iggy_client import connect, probe


class RealServer(unittest.TestCase):
    framing, address = "", None

    def setUp(self):
        self.stream = f"millrace-{secrets.token_hex(8)}"

    def test_it_speaks_the_framing_that_was_said(self):
        self.assertEqual(probe(*self.address), self.framing)

    def test_the_official_client(self):
        client = connect(self.framing, *self.address)
        client.login("iggy", "iggy")
        client.create_stream(self.stream)
        self.addCleanup(lambda: (client.delete_stream(self.stream), client.close()))
        client.create_topic(self.stream, "events", 2)
        client_suite.official(self, self.framing, self.address, self.stream, "use")

    def test_the_independent_client(self):
        client_suite.independent(self, self.framing, self.address, self.stream)


if __name__ == "__main__":
    RealServer.framing = sys.argv.pop(1)
    variable = f"MILLRACE_TEST_IGGY_{RealServer.framing.upper()}"
    if not os.environ.get(variable):
        print(f"not run: {variable} names no server")
        sys.exit(77)
    host, port = os.environ[variable].rsplit(":", 1)
    RealServer.address = (host, int(port))
    unittest.main()
