# SPDX-License-Identifier: Apache-2.0
"""What the newer server remembers of each client id: its session, its newest request id, and the reply to that."""


class Client:
    def __init__(self, session=0, newest=0):
        self.session, self.newest = session, newest
        self.payload, self.outcome = None, None


class Clients:
    """`op` numbers what is replicated on metadata; the number of a login is its session."""

    def __init__(self, op=0):
        self.op = op
        self.known = {}

    def next_op(self):
        self.op += 1
        return self.op

    def register(self, identity):
        """A new session; the newest request id of an id that comes again is kept."""
        client = self.known.setdefault(identity, Client())
        client.session = self.next_op()
        return client.session

    def remember(self, identity, request, outcome):
        client = self.known[identity]
        client.newest, client.payload, client.outcome = request.id, request.payload, outcome
