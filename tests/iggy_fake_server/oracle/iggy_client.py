# SPDX-License-Identifier: Apache-2.0
"""An independent Iggy client: one blocking socket, one request in flight, no reconnects, every received checksum verified.

    c = connect("vsr", "127.0.0.1", 8090); c.login("iggy", "iggy")
    c.create_stream("s"); c.create_topic("s", "t", 3)
    c.send("s", "t", partition(0), [Message(b"hello", headers=[(b"k", 2, b"v")])])
    print(c.poll(consumer(1), "s", "t", 0, OFFSET, 0, 10).messages)
"""
import os
import socket
import struct
import time

from iggy_wire import *  # noqa: F403
from iggy_wire import (  # noqa: F401
    PROTOCOL_VERSION, Broken, Evicted, IggyError, Message, Polled, Reader, as_bytes, headers, ident, message_headers, name,
    opt_partition, parse_group, parse_headers, parse_partition, strategy, u8, u32, u64, u128, xxh3,
)  # fmt: skip


class Base:
    def __init__(self, sock): self.sock = sock

    def recv(self, n):
        out = bytearray()
        while len(out) < n:
            b = self.sock.recv(n - len(out))
            if not b:
                raise ConnectionError(f"closed after {len(out)} of {n} bytes")
            out += b
        return bytes(out)

    def close(self): self.sock.close()
    def ping(self): return self.read(1, b"")
    def get_stream(self, s): return self.parse_stream(self.read(200, ident(s)))
    def get_topic(self, s, t): return self.parse_topic(self.read(300, ident(s) + ident(t)))
    def get_group(self, s, t, g): return parse_group(self.read(600, ident(s) + ident(t) + ident(g)))
    def create_stream(self, n): return self.parse_stream(self.write(202, self.stream_body(n)))
    def delete_stream(self, s): self.write(203, ident(s))
    def create_group(self, s, t, n): return parse_group(self.write(602, ident(s) + ident(t) + name(n)))
    def delete_group(self, s, t, g): self.write(603, ident(s) + ident(t) + ident(g))
    def join(self, s, t, g): return self.write(604, ident(s) + ident(t) + ident(g))
    def leave(self, s, t, g): return self.write(605, ident(s) + ident(t) + ident(g))

    def create_topic(self, s, n, partitions):
        return self.parse_topic(self.write(302, self.topic_body(s, n, partitions)))

    def poll(self, who, s, t, part, kind, value=0, count=100, auto_commit=0):
        return self.parse_poll(self.read(100, who + ident(s) + ident(t) + opt_partition(part)
                                         + strategy(kind, value) + u32(count) + u8(auto_commit)))

    def get_offset(self, who, s, t, part):
        b = self.read(120, who + ident(s) + ident(t) + opt_partition(part))
        if not b:
            return None
        r = Reader(b)
        return dict(partition=r.u32(), end=r.u64(), stored=r.u64())

    def store_offset(self, who, s, t, part, offset):
        return self.write(121, who + ident(s) + ident(t) + opt_partition(part) + u64(offset) + self.ACK)

    def delete_offset(self, who, s, t, part):
        return self.write(122, who + ident(s) + ident(t) + opt_partition(part) + self.ACK)

    def send(self, s, t, part, messages):
        meta = ident(s) + ident(t) + part + u32(len(messages))
        return self.parse_sent(self.write(101, u32(len(meta)) + meta + self.pack(messages)))


# ---- classic ----------------------------------------------------
class Classic(Base):
    ACK = b""

    def exchange(self, code, payload):
        self.sock.sendall(u32(4 + len(payload)) + u32(code) + payload)
        status, length = struct.unpack("<II", self.recv(8))
        if status:
            if length:
                self.recv(length)
            raise IggyError(status, f"command {code}")
        return self.recv(length)

    read = write = exchange

    def login(self, user, password, version="0.0.1", context=""):
        v, c = as_bytes(version), as_bytes(context)
        r = Reader(self.exchange(38, name(user) + name(password) + u32(len(v)) + v + u32(len(c)) + c))
        return r.u32()

    def logout(self): self.exchange(39, b"")
    def stream_body(self, n): return name(n)

    def topic_body(self, s, n, partitions):
        return ident(s) + u32(partitions) + u8(1) + u64(0) + u64(0) + u8(1) + name(n)

    def topic_header(self, r):
        return dict(id=r.u32(), created=r.u64(), partitions=r.u32(), expiry=r.u64(), compression=r.u8(),
                    max_size=r.u64(), replication=r.u8(), size=r.u64(), messages=r.u64(), name=r.name())

    def parse_stream(self, b):
        if not b:
            return None
        r = Reader(b)
        s = dict(id=r.u32(), created=r.u64(), topics=r.u32(), size=r.u64(), messages=r.u64(), name=r.name(), topic=[])
        while r.more():
            s["topic"].append(self.topic_header(r))
        if len(s["topic"]) != s["topics"]:
            raise Broken("topic count")
        return s

    def parse_topic(self, b):
        if not b:
            return None
        r = Reader(b)
        t = self.topic_header(r)
        t["partition"] = []
        while r.more():
            t["partition"].append(parse_partition(r))
        if len(t["partition"]) != t["partitions"]:
            raise Broken("partition count")
        return t

    def pack(self, messages):
        index, body = b"", b""
        for m in messages:
            h = m.raw_headers or headers(m.headers)
            body += (u64(0) + u128(m.id) + u64(0) + u64(0) + u64(m.origin) + u32(len(h))
                     + u32(len(m.payload)) + u64(0) + m.payload + h)
            index += u32(0) + u32(len(body)) + u64(0)
        return index + body

    def parse_sent(self, b): return b

    def parse_poll(self, b):
        r = Reader(b)
        p = Polled(r.u32(), r.u64(), [])
        for _ in range(r.u32()):
            at = r.at
            check, mid = r.u64(), int.from_bytes(r.take(16), "little")
            off, ts, origin, hl, pl, reserved = r.u64(), r.u64(), r.u64(), r.u32(), r.u32(), r.u64()
            payload, raw = r.take(pl), r.take(hl)
            if reserved or xxh3(r.b[at + 8:r.at]) != check:
                raise Broken(f"message checksum at offset {off}")
            p.messages.append(Message(payload, message_headers(raw), mid, off, ts, origin, raw))
        if r.more():
            raise Broken("bytes after the last message")
        return p


OPS = {202: 128, 204: 129, 203: 130, 205: 131, 302: 132, 304: 133, 303: 134, 305: 135, 402: 136, 403: 137,
       503: 138, 602: 139, 603: 140, 604: 148, 605: 149, 101: 160, 121: 161, 122: 162}

REWRITTEN = {132: 64, 136: 65, 138: 68}     # the server answers these under its internal operation


class Vsr(Base):
    ACK = u8(1)

    def __init__(self, sock, stamp=True, fresh_ids=True):
        super().__init__(sock)
        self.stamp, self.client, self.session, self.counter = stamp, 0, 0, 0
        self.fresh_ids = fresh_ids                     # False: partition ops reuse the current id
        self.last = None                               # header of the last reply

    def frame(self, op, request, body, code=0, stamp=False):
        h = bytearray(256)
        h[48:52] = u32(256 + len(body))
        h[60] = 5
        h[128:144] = u128(self.client)
        if stamp and self.stamp:
            h[144:160] = u128(xxh3(body))
        h[168:176] = u64(request)
        h[176] = op
        h[184:192] = u64(self.session)
        h[196:200] = u32(code)
        return bytes(h) + body

    def exchange(self, op, request, body, code=0, stamp=False):
        self.sock.sendall(self.frame(op, request, body, code, stamp))
        h = self.recv(256)
        size, command = int.from_bytes(h[48:52], "little"), h[60]
        if not 256 <= size <= 1 << 30:                 # a poll reply is not bounded by 64 MiB
            raise Broken(f"frame size {size}")
        body = self.recv(size - 256)
        self.last = h
        if command == 13:
            raise Evicted(h[255], int.from_bytes(h[144:148], "little"), int.from_bytes(h[148:152], "little"))
        if command != 8:
            raise Broken(f"command {command}")
        status = int.from_bytes(h[216:220], "little")
        if status:
            raise IggyError(status, f"operation {op} code {code}")
        if h[208] not in (op, REWRITTEN.get(op)) or int.from_bytes(h[200:208], "little") != request:
            raise Broken(f"answer for operation {h[208]} request {h[200]}, wanted {op} {request}")
        if 128 <= op < 160 or op in (161, 162) or (op == 1 and body):
            r = Reader(body)
            results = [(r.u32(), r.u32()) for _ in range(r.u32())]
            for _, code_ in results[:1]:
                if code_:
                    raise IggyError(code_, f"operation {op} result")
            return r.rest()
        return body

    def read(self, code, body):
        if not self.client:
            self.client = int.from_bytes(os.urandom(16), "little") | 1
        return self.exchange(2, self.counter, body, code)

    def write(self, code, body):
        op = OPS[code]
        if op >= 160 and not self.fresh_ids:
            return self.exchange(op, max(self.counter, 1), body)
        self.counter += 1                              # a reused id counts as a duplicate in 0.11.0
        for _ in range(100):
            try:
                return self.exchange(op, self.counter, body, 0, op < 160)
            except IggyError as e:                     # outcome open: the same request again
                if e.code not in (57, 58):
                    raise
                time.sleep(0.05)
        raise IggyError(57, "for 5 s")

    def login_body(self, version, credentials, context=b""):
        a, b, c = version
        return (u32(a << 20 | b << 10 | c) + name("oracle") + name("0.0.1") + credentials
                + u32(len(context)) + context)

    def register(self, body, client=0):
        self.client, self.session, self.counter = client or int.from_bytes(os.urandom(16), "little") | 1, 0, 0
        r = Reader(self.exchange(1, 0, body, 0, True))
        uid, self.session, v = r.u32(), r.u64(), r.u32()
        self.server = (v >> 20, v >> 10 & 1023, v & 1023, r.name())
        return uid

    def login(self, user, password, version=PROTOCOL_VERSION, client=0):
        return self.register(self.login_body(version, name(user) + name(password)), client)

    def login_token(self, token, version=PROTOCOL_VERSION):
        return self.register(self.login_body(version, name(token)))

    def logout(self):
        self.counter += 1
        self.exchange(3, self.counter, b"", 0, True)

    def cluster(self):
        r = Reader(self.read(12, b""))
        out = dict(name=r.take(r.u32()).decode(), node=[])
        for _ in range(r.u32()):
            nm, ip = r.take(r.u32()).decode(), r.take(r.u32()).decode()
            ports = struct.unpack("<4H", r.take(8))
            out["node"].append((nm, ip, ports, r.u8(), r.u8()))
        return out

    def sync(self, s, t, g):
        b = self.read(606, ident(s) + ident(t) + ident(g))
        if not b:
            return None
        r = Reader(b)
        return r.u64(), [r.u32() for _ in range(r.u32())]

    def stream_body(self, n): return name(n)
    def topic_body(self, s, n, partitions): return ident(s) + u32(partitions) + name(n)

    def topic_header(self, r):
        t = dict(id=r.u32(), created=r.u64(), partitions=r.u32(), expiry=r.u64(), compression=r.u8(),
                 max_size=r.u64(), size=r.u64(), messages=r.u64(), name=r.name())
        t["explicit"] = parse_headers(r.take(r.u32()))
        t["derived"] = parse_headers(r.take(r.u32()))
        return t

    def parse_stream(self, b):
        if not b:
            return None
        r = Reader(b)
        s = dict(id=r.u32(), created=r.u64(), topics=r.u32(), size=r.u64(), messages=r.u64(), name=r.name())
        s["options"] = parse_headers(r.take(r.u32()))
        s["topic"] = []
        while r.more():
            s["topic"].append(self.topic_header(r))
        if len(s["topic"]) != s["topics"]:
            raise Broken("topic count")
        return s

    parse_topic = Classic.parse_topic

    def pack(self, messages):
        base = min(m.origin for m in messages)
        frames = []
        for i, m in enumerate(messages):
            h = m.raw_headers or headers(m.headers)
            tail = (u128(m.id or int.from_bytes(os.urandom(16), "little") | 1) + u32(i) + u32(m.origin - base)
                    + u32(len(h)) + u32(len(m.payload)) + u64(0) + m.payload + h)
            frames.append(u64(xxh3(tail)) + tail)
        return batch(0, 0, 0, base, frames)

    def parse_sent(self, b):
        if not b:
            return []
        r = Reader(b)
        return [(r.u32(), r.u32(), r.u32(), r.u64()) for _ in range(r.u32())]

    def parse_poll(self, b):
        r = Reader(b)
        p = Polled(r.u32(), r.u64(), [])
        count = r.u32()
        while r.more():
            start = r.at
            head = r.take(40)
            part, base, ts, origin, length = struct.unpack("<5Q", head)
            check, n = r.u64(), r.u32()
            if part != p.partition or any(r.take(204)):
                raise Broken("batch header")
            sums = b""
            for _ in range(n):
                at = r.at
                fsum, mid = r.u64(), int.from_bytes(r.take(16), "little")
                od, td, hl, pl, zero = r.u32(), r.u32(), r.u32(), r.u32(), r.u64()
                payload, raw = r.take(pl), r.take(hl)
                if zero or xxh3(r.b[at + 8:r.at]) != fsum:
                    raise Broken(f"frame checksum, base {base} delta {od}")
                sums += u64(fsum)
                p.messages.append(Message(payload, message_headers(raw), mid, base + od, ts, origin + td, raw))
            if r.at - start != length:
                raise Broken("batch length")
            if xxh3(head + u32(n) + sums) != check:
                raise Broken(f"batch checksum, base {base}")
        if len(p.messages) != count:
            raise Broken(f"count {count}, got {len(p.messages)}")
        return p


def batch(part, base, ts, origin, frames):
    blob = b"".join(frames)
    head = struct.pack("<5Q", part, base, ts, origin, 256 + len(blob))
    check = xxh3(head + u32(len(frames)) + b"".join(f[:8] for f in frames))
    return (head + u64(check) + u32(len(frames))).ljust(256, b"\0") + blob


def connect(protocol, host, port, timeout=10.0, tls=None, **kw):
    sock = socket.create_connection((host, port), timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls is not None:
        sock = tls.wrap_socket(sock, server_hostname=host)
    return {"classic": Classic, "vsr": Vsr}[protocol](sock, **kw)


def probe(host, port, timeout=5.0):
    """Which framing does the server speak? Opens and closes its own connection."""
    c = connect("vsr", host, port, timeout)
    try:
        c.client = 1
        c.sock.sendall(c.frame(2, 0, b"", 1))
        first = c.recv(8)
        return "classic" if first == u32(3) + u32(0) else "vsr"
    finally:
        c.close()


if __name__ == "__main__":
    host, port = (sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:8090").rsplit(":", 1)
    print(probe(host, int(port)))
