# SPDX-License-Identifier: Apache-2.0
"""Goal: the official client of one framing finds nothing wrong with the fake server, nor the other way about.

Method: the session of client_suite.py, and what the server logged of it.

  official_test.py classic|vsr    MILLRACE_TEST_IGGY_CLIENTS, or what tools/setup/iggy_clients.sh made
"""
import sys
import unittest

import client_suite
from fake import Fake


class ClassicClient(unittest.TestCase):
    framing = "classic"

    def setUp(self):
        self.fake = self.enterContext(Fake(self.framing, "--heartbeat", "30"))

    def test_it_creates_sends_polls_joins_and_commits(self):
        client_suite.official(self, self.framing, ("127.0.0.1", self.fake.port), "orders", "create")
        stores = self.fake.do("log", {"where": {"command": "store_offset", "kind": "group"}})
        told = {(entry["partition"], entry["offset"], entry["answer"]) for entry in stores}
        self.assertLessEqual({(0, client_suite.COUNT - 1, "ok"), (1, 0, "ok")}, told)
        where = {"stream": "orders", "topic": "events"}
        self.assertTrue(self.fake.until(lambda: not self.fake.do("groups", where)[0]["members"]))  # gone with its connection

    def test_it_reads_what_others_sent(self):
        self.fake.do("create", {"stream": "orders", "topic": "events", "partitions": 2})
        client_suite.official(self, self.framing, ("127.0.0.1", self.fake.port), "orders", "use")

    def test_the_independent_client(self):
        client_suite.independent(self, self.framing, ("127.0.0.1", self.fake.port), "orders")


class VsrClient(ClassicClient):
    framing = "vsr"

    def test_it_settles_an_open_outcome_with_the_same_request(self):
        self.fake.do("fault", {"on": "join", "do": "status", "code": 57, "apply": True})
        client_suite.official(self, self.framing, ("127.0.0.1", self.fake.port), "orders", "create")
        joins = self.fake.do("log", {"where": {"command": "join"}})
        self.assertEqual([entry["answer"] for entry in joins], [57, "ok"])
        self.assertEqual(joins[0]["request"], joins[1]["request"])


if __name__ == "__main__":
    unittest.main(defaultTest={"classic": "ClassicClient", "vsr": "VsrClient"}[sys.argv.pop(1)])
