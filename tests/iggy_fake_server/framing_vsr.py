# SPDX-License-Identifier: Apache-2.0
"""The framing of 0.9: headers of 256 bytes both ways, sessions, replicated requests with ids, evictions."""
import struct

import requests
from commands import ANSWERED_AS, COMMANDS, LOGOUT, NAME_OF_OPERATION, NAMES, ON_PARTITION, READ, REGISTER, REPLICATED
from exchange import Outcome, Request
from hashes import checksum
from wire import U32, Ignored, Malformed, Refused, name, u32, u64

HEADER = 256
REQUEST, REPLY, EVICTION = 5, 8, 13
BAD_CREDENTIALS, BAD_TOKEN, INCOMPATIBLE, MALFORMED_LOGIN = 9, 10, 14, 15
NO_SESSION, SESSION_TOO_LOW, STALE = 1, 7, 13
ASKED = struct.Struct("<16s16sQQB7xQII")  # from 128: client, stamp, timestamp, request, operation, session, user, code
ANSWER = struct.Struct("<Q8x16s16sQQQQB7xI")  # from 128: stamp, context, client, op, commit, timestamp, request, operation, status


class Framing:
    newer = True

    def __init__(self, broker, users, clients, settings):
        """`settings`: version (text), protocol (major, minor, patch), cluster (16 bytes), largest, consume_ids."""
        self.broker, self.users, self.clients, self.settings = broker, users, clients, settings

    async def read(self, connection, reader):
        """The next request; None where the frame gets no answer."""
        header = await reader.readexactly(HEADER)
        size = U32.unpack_from(header, 48)[0]
        if not HEADER <= size <= self.settings.largest:
            raise ConnectionError(f"a frame of {size} bytes")
        payload = await reader.readexactly(size - HEADER)
        client, stamp, _, number, operation, session, _, code = ASKED.unpack_from(header, 128)
        request = Request(self.name(operation, code), None, payload, code)
        request.client, request.id, request.session, request.operation = int.from_bytes(client, "little"), number, session, operation
        request.stamp = int.from_bytes(stamp, "little")
        if header[60] != REQUEST or request.client == 0 or not self.allowed(request):
            return None
        try:
            if operation == REGISTER:
                request.fields = requests.register(payload)
            elif request.name in requests.DECODERS:
                request.fields = requests.decode(request.name, payload, True)
        except Malformed:
            pass
        return request

    def name(self, operation, code):
        if operation == REGISTER:
            return "login"
        return NAMES.get(code, "unknown") if operation == READ else NAME_OF_OPERATION.get(operation, "unknown")

    def allowed(self, request):
        """The rules of sessions and ids; whoever breaks them hears nothing."""
        if request.operation == REGISTER:
            return request.session == 0 and request.id == 0
        if request.operation == READ:
            return True
        return request.name != "unknown" and request.session > 0 and request.id > 0

    def apply(self, connection, request):
        """Does what is asked and returns the Outcome; None where there is none to return."""
        if request.stamp and request.stamp != checksum(request.payload):
            return Outcome(4)
        if connection.evicted and request.operation != REGISTER and request.name != "ping":
            return Outcome(40)
        try:
            if request.operation == REGISTER:
                return self.register(connection, request)
            if request.operation == READ:
                return self.reading(connection, request)
            return self.replicated(connection, request)
        except Ignored:
            return None

    # --- login

    def register(self, connection, request):
        fields = request.fields
        if fields is None:
            return self.evicted(MALFORMED_LOGIN)
        major, minor, patch = self.settings.protocol
        if fields["protocol"] >> 10 != major << 10 | minor:
            return self.evicted(INCOMPATIBLE)
        if "token" in fields:
            if fields["token"] not in self.broker.tokens.values():
                return self.evicted(BAD_TOKEN)
        elif self.users.get(fields["user"]) != fields["password"]:
            return self.evicted(BAD_CREDENTIALS)
        session = self.clients.register(request.client)
        connection.client, connection.session = request.client, session
        connection.logged_in, connection.evicted = True, False
        body = u32(0) + u32(0) + u64(session) + u32(major << 20 | minor << 10 | patch) + name(self.settings.version)
        return Outcome(body=body, op=session, commit=session)

    def evicted(self, reason):
        outcome = Outcome()
        outcome.eviction = reason
        return outcome

    # --- what changes nothing

    def reading(self, connection, request):
        if request.name in ("login", "login_token"):
            return self.evicted(MALFORMED_LOGIN)
        if not connection.logged_in:
            return Outcome() if request.name == "ping" else Outcome(40, origin="connection")
        if request.fields is None and request.name == "poll":  # the trap: an empty answer that hides a failure
            return Outcome(body=bytes(16), op=connection.session)
        if request.fields is None or COMMANDS[request.code][1] != READ:
            return Outcome(3, op=connection.session)
        try:
            return Outcome(body=getattr(self.broker, request.name)(connection.client, request.fields), op=connection.session)
        except Refused as refusal:
            return Outcome(refusal.code, op=connection.session)

    # --- what is replicated

    def replicated(self, connection, request):
        if not connection.logged_in:
            raise Ignored()
        client = self.clients.known.get(request.client)
        if client is None or request.session > client.session:
            return self.evicted(NO_SESSION)
        if request.session < client.session:
            return self.evicted(SESSION_TOO_LOW)
        if request.operation in ON_PARTITION:
            return self.on_partition(connection, request, client)
        if request.id <= client.newest:
            return self.repeated(request, client)
        outcome = self.logout(connection) if request.operation == LOGOUT else self.on_metadata(connection, request)
        if outcome is not None:
            self.clients.remember(request.client, request, outcome)
        return outcome

    def repeated(self, request, client):
        """The newest once more gets the same reply; an older one was applied; the newest with another body hears nothing."""
        if request.id < client.newest:
            return failed(59)
        if request.payload != client.payload:
            raise Ignored()
        return client.outcome

    def on_metadata(self, connection, request):
        try:
            if request.fields is None:
                raise Refused(3)
            body = getattr(self.broker, request.name)(request.client, request.fields)
            outcome = Outcome(body=u32(0) + body, clustered=True)
        except Refused as refusal:
            outcome = failed(refusal.code)
        outcome.op = outcome.commit = self.clients.next_op()
        outcome.timestamp = self.broker.now()
        return outcome

    def logout(self, connection):
        self.broker.leave_all(connection.client)
        connection.logged_in = False
        return Outcome(op=connection.session, commit=self.clients.next_op())

    def on_partition(self, connection, request, client):
        """A send or a stored offset. One whose id was seen before was applied before: it gets a success that says nothing."""
        result = b"" if request.name == "send" else u32(0)
        if self.settings.consume_ids and request.id <= client.newest:
            return Outcome(body=result, origin="connection", clustered=True)
        if request.fields is None:
            raise Ignored()
        partition = None
        try:
            partition = self.partition_of(request)
            body = result + getattr(self.broker, request.name)(connection.client, request.fields)
        except Refused as refusal:
            return self.refused_on_partition(partition, refusal)
        client.newest = max(client.newest, request.id)
        partition = partition or self.broker.last_appended
        partition.operations += 1
        number = partition.operations
        return Outcome(body=body, op=number, commit=number, timestamp=self.broker.now(), origin="connection", clustered=True)

    def partition_of(self, request):
        """None for a send, whose partition the broker chooses."""
        if request.name == "send":
            return None
        return self.broker.topic_of(request.fields).partition(request.fields["partition"] or 0)

    def refused_on_partition(self, partition, refusal):
        if refusal.unresolved:
            return Outcome(20, origin="connection")
        return Outcome(refusal.code, commit=partition.operations if partition else 0, origin="connection", clustered=True)

    # --- replies

    def encode(self, connection, request, outcome):
        if outcome.eviction:
            return self.eviction(request.client, outcome.eviction)
        body = outcome.body if outcome.status == 0 else b""
        header = bytearray(HEADER)
        if outcome.clustered:
            header[32:48] = self.settings.cluster
        U32.pack_into(header, 48, HEADER + len(body))
        header[60] = REPLY
        client = connection.number | 1 << 112 if outcome.origin == "connection" else request.client
        operation = ANSWERED_AS.get(request.operation, request.operation)
        ANSWER.pack_into(header, 128, request.stamp, bytes(16), client.to_bytes(16, "little"), outcome.op, outcome.commit,
                         outcome.timestamp, request.id, operation, outcome.status)  # fmt: skip
        return bytes(header) + body

    def refused(self, request, code):
        """As the real server says it: in the result of an operation on metadata, else in the header."""
        if request.operation in REPLICATED:
            return failed(code)
        return Outcome(code, origin="connection" if request.operation in ON_PARTITION else "client")

    def eviction(self, client, reason):
        header = bytearray(HEADER)
        header[32:48] = self.settings.cluster
        U32.pack_into(header, 48, HEADER)
        header[60] = EVICTION
        header[128:144] = client.to_bytes(16, "little")
        if reason == INCOMPATIBLE:
            major, minor, patch = self.settings.protocol
            struct.pack_into("<II", header, 144, major << 20 | minor << 10 | patch, major << 20 | minor << 10)
        header[255] = reason
        return bytes(header)

    def gone(self, connection):
        """The connection is closed; its memberships go with it."""
        return connection.logged_in and self.broker.leave_all(connection.client)

    def stale(self, connection):
        """No request came in time: the session is dead and the client is told so, unasked. The connection stays open."""
        self.evict(connection, STALE)

    def evict(self, connection, reason):
        self.broker.leave_all(connection.client)
        connection.evicted = True
        connection.write(self.eviction(connection.client, reason))


def failed(code):
    """The result section of an operation on metadata that was refused."""
    outcome = Outcome(body=u32(1) + u32(0) + u32(code), clustered=True)
    outcome.result = code
    return outcome
