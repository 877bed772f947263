# SPDX-License-Identifier: Apache-2.0
"""Accepts connections, hands each request to the framing or to a fault, and keeps what the disk must know."""
import asyncio
import itertools

import disk
import framing_classic
import framing_vsr
from broker import Broker
from clients import Clients
from exchange import Connection
from faults import Deed, Faults, answer_of
from request_log import RequestLog

TICK = 0.05  # s between two looks at what time alone brings: heartbeats, late flushes
CHANGES_NOTHING = {"ping", "poll", "get_offset", "get_stream", "get_streams", "get_topic", "get_topics", "get_group", "get_groups", "sync"}


class Server:
    """`settings` as serve.py describes them."""

    def __init__(self, settings):
        self.settings = settings
        self.vsr = settings.framing == "vsr"
        self.users = {settings.user: settings.password}
        self.faults, self.log = Faults(self.vsr), RequestLog()
        self.connections = {}  # number: Connection
        self.numbers = itertools.count(1)
        self.refusing = False
        self.disk = disk.Disk(disk.Folder(settings.data) if settings.data else disk.Memory(), settings)
        self.broker = Broker(self.vsr, settings.rebalance_timeout)
        self.clients = Clients()
        if self.vsr:
            self.framing = framing_vsr.Framing(self.broker, self.users, self.clients, settings)
        else:
            self.framing = framing_classic.Framing(self.broker, self.users)
        self.changed = False
        self.broker.on_change = self.on_change
        self.broker.on_append = lambda partition, now=False: self.disk.appended(partition, self.broker.now(), now)
        self.disk.load(self.broker, self.clients)

    def on_change(self):
        self.changed = True

    # --- connections

    async def serve(self, reader, writer):
        """One connection, to its end."""
        connection = Connection(next(self.numbers), writer)
        if self.refusing:
            connection.close()
            return
        self.connections[connection.number] = connection
        connection.last_request = self.broker.now()
        try:
            while True:
                request = await self.framing.read(connection, reader)
                connection.last_request = self.broker.now()
                if request is not None:
                    await self.answer(connection, request)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.connections.pop(connection.number, None)
            self.gone(connection)
            connection.close()

    def gone(self, connection):
        """What a group knows by a client's id stays as long as another connection has it."""
        others = self.connections.values()
        if not any(other.client == connection.client and other.logged_in for other in others) and self.framing.gone(connection):
            self.save()

    async def answer(self, connection, request):
        entry = self.log.add(connection, request)
        fault = self.faults.match(request, entry)
        if fault is None:
            outcome = self.framing.apply(connection, request)
            answer = "none"
            if outcome is not None:
                connection.write(self.framing.encode(connection, request, outcome))
                answer = answer_of(outcome)
        else:
            entry["fault"] = fault.number
            answer = await Deed(fault, self.framing, connection, request).perform()
        if self.changed or request.name not in CHANGES_NOTHING and request.name != "send":
            self.save()
        self.log.answered(entry, answer)

    def save(self):
        self.changed = False
        self.disk.save(self.broker, self.clients)

    # --- time

    async def tick(self):
        while True:
            await asyncio.sleep(TICK)
            self.disk.flush_late(self.broker.now())
            if self.settings.heartbeat:
                self.evict_silent()

    def evict_silent(self):
        """Members of groups whose connection was silent for 1.2 intervals."""
        limit = self.broker.now() - int(self.settings.heartbeat * 1.2e6)
        for connection in list(self.connections.values()):
            if connection.last_request < limit and connection.logged_in and not connection.evicted:
                if self.broker.is_member(connection.client):
                    self.framing.stale(connection)
                    self.save()

    # --- the end, and another beginning

    def restart(self, kill):
        """As if the process had ended and come up again on the same port. `kill`: what was not flushed is lost."""
        for connection in list(self.connections.values()):
            connection.logged_in = False  # memberships of the newer framing outlive this
            connection.client = None
            connection.writer.transport.abort()
        self.connections.clear()
        if not kill:
            self.disk.flush_all()
        self.save()
        self.disk.load(self.broker, self.clients)

    def stop(self):
        """The orderly end of the process."""
        for connection in self.connections.values():
            connection.logged_in = False
            connection.client = None
        self.disk.flush_all()
        self.save()
