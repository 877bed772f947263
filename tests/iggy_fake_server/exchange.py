# SPDX-License-Identifier: Apache-2.0
"""A connection, one request that came over it, and what is to be answered."""


class Connection:
    """`client` is who groups know its member by: the connection's number (older framing) or the client's id (newer)."""

    def __init__(self, number, writer):
        self.number, self.writer = number, writer
        self.client, self.session = number, 0
        self.logged_in = self.evicted = False
        self.last_request = 0

    def write(self, data):
        if not self.writer.is_closing():
            self.writer.write(data)

    def close(self):
        self.writer.close()


class Request:
    """`fields` is None where the payload is not what the command asks for. The rest is of the newer framing."""

    def __init__(self, name, fields, payload, code=0):
        self.name, self.fields, self.payload, self.code = name, fields, payload, code
        self.client = self.id = self.session = self.operation = self.stamp = 0


class Outcome:
    """Status and body of a reply. `op`, `commit`, `timestamp`: what replies of the newer framing tell about the log; `origin`
    says whose id stands in them ("client" or "connection"), `clustered` whether the cluster's does."""

    def __init__(self, status=0, body=b"", op=0, commit=0, timestamp=0, origin="client", clustered=False):
        self.status, self.body, self.op, self.commit, self.timestamp = status, body, op, commit, timestamp
        self.origin, self.clustered = origin, clustered
        self.eviction = 0  # the reason; then there is no reply but this
        self.result = 0  # the code that the result section of the body holds
