# SPDX-License-Identifier: Apache-2.0
"""The framing up to 0.8: `length u32, code u32, payload`; answered by `status u32, length u32, body`."""
import requests
from commands import NAMES
from exchange import Outcome, Request
from wire import U32, Ignored, Malformed, Refused, u32

LONGEST = 10_000_000  # of what is no send
BEFORE_LOGIN = ("ping", "login", "login_token")
INVALID = u32(3) + u32(0)


class Framing:
    newer = False

    def __init__(self, broker, users):
        self.broker, self.users = broker, users

    async def read(self, connection, reader):
        """The next request; None where the frame was answered at once."""
        head = await reader.readexactly(8)
        length, code = U32.unpack(head[:4])[0], U32.unpack(head[4:])[0]
        name = NAMES.get(code, "unknown")
        if length < 4 or (length - 4 > LONGEST and name != "send"):
            connection.write(INVALID)
            return None
        payload = await reader.readexactly(length - 4)
        try:
            fields = requests.decode(name, payload, False) if name in requests.DECODERS else None
        except Malformed:
            fields = None
        return Request(name, fields, payload, code)

    def apply(self, connection, request):
        """Does what is asked and returns the Outcome; None where there is none to return."""
        try:
            return Outcome(body=self.body(connection, request))
        except Refused as refusal:
            return Outcome(refusal.code)
        except Ignored:
            return None

    def body(self, connection, request):
        name, fields = request.name, request.fields
        if not connection.logged_in and name not in BEFORE_LOGIN:
            raise Refused(40)
        if fields is None or name == "sync":
            raise Refused(3)
        if name == "login":
            self.enter(connection, self.users.get(fields["user"]) == fields["password"], 42)
            return u32(0)
        if name == "login_token":
            self.enter(connection, fields["token"] in self.broker.tokens.values(), 20)
            return u32(0)
        if name == "logout":
            connection.logged_in = False
            self.broker.leave_all(connection.client)
            return b""
        return getattr(self.broker, name)(connection.client, fields)

    def enter(self, connection, granted, code):
        if not granted:
            raise Refused(code)
        connection.logged_in = True

    def encode(self, _connection, _request, outcome):
        body = outcome.body if outcome.status == 0 else b""
        return u32(outcome.status) + u32(len(body)) + body

    def refused(self, _request, code):
        return Outcome(code)

    def gone(self, connection):
        """The connection is closed."""
        return self.broker.leave_all(connection.client)

    def evict(self, connection, _reason):
        self.stale(connection)

    def stale(self, connection):
        """No heartbeat came in time: the membership is gone, and nobody is told."""
        self.broker.leave_all(connection.client)
