# SPDX-License-Identifier: Apache-2.0
"""What the independent client says and reads: numbers, identifiers, headers, checksums.

Written from a description of the protocol and run against real servers 0.8.0 and 0.9.0-edge.5; shares nothing with the fake server.
"""
import ctypes
import struct
from dataclasses import dataclass, field

_x = ctypes.CDLL("libxxhash.so.0")
_x.XXH3_64bits.restype = ctypes.c_uint64
_x.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_x.XXH32.restype = ctypes.c_uint32
_x.XXH32.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]


def xxh3(b):
    return _x.XXH3_64bits(bytes(b), len(b))


def xxh32(b):
    return _x.XXH32(bytes(b), len(b), 0)


OFFSET, TIMESTAMP, FIRST, LAST, NEXT = 1, 2, 3, 4, 5  # polling strategies
RESYNC = 0xFFFFFFFF  # "not yours"
PROTOCOL_VERSION = (0, 11, 0)


def u8(v): return struct.pack("<B", v)
def u32(v): return struct.pack("<I", v)
def u64(v): return struct.pack("<Q", v)
def u128(v): return v.to_bytes(16, "little")
def as_bytes(s): return s.encode() if isinstance(s, str) else bytes(s)
def name(s): return u8(len(as_bytes(s))) + as_bytes(s)


def ident(v):
    return u8(1) + u8(4) + u32(v) if isinstance(v, int) else u8(2) + name(v)


def consumer(v): return u8(1) + ident(v)
def group(v): return u8(2) + ident(v)
def opt_partition(p): return u8(0) + u32(0) if p is None else u8(1) + u32(p)
def strategy(kind, value=0): return u8(kind) + u64(value)
def balanced(): return u8(1) + u8(0)
def partition(p): return u8(2) + u8(4) + u32(p)
def key(k): return u8(3) + name(k)


def headers(items):
    """items: (key bytes, value kind, value bytes); keys are string kind."""
    return b"".join(u8(2) + u32(len(k)) + k + u8(kind) + u32(len(v)) + v
                    for k, kind, v in items)


class IggyError(Exception):
    def __init__(self, code, where=""):
        super().__init__(f"iggy error {code} {where}")
        self.code = code


def refusal(call, *arguments):
    """The code with which this is refused, or None."""
    try:
        call(*arguments)
    except IggyError as error:
        return error.code
    return None


class Evicted(IggyError):
    def __init__(self, reason, server=0, oldest=0):
        code = {2: 3, 3: 3, 4: 3, 5: 3, 6: 3, 9: 42, 10: 53, 13: 30, 14: 14003, 15: 4}.get(reason, 40)
        super().__init__(code, f"evicted, reason {reason}, protocol window {oldest:#x}..{server:#x}")
        self.reason, self.server, self.oldest = reason, server, oldest


class Broken(Exception):
    """The peer sent something the notes do not allow."""


@dataclass
class Message:
    payload: bytes
    headers: list = field(default_factory=list)
    id: int = 0
    offset: int = 0
    timestamp: int = 0
    origin: int = 0
    raw_headers: bytes = b""


@dataclass
class Polled:
    partition: int
    end: int
    messages: list


class Reader:
    def __init__(self, b): self.b, self.at = bytes(b), 0

    def take(self, n):
        if self.at + n > len(self.b):
            raise Broken(f"need {n} bytes at {self.at}, have {len(self.b)}")
        self.at += n
        return self.b[self.at - n:self.at]

    def u8(self): return self.take(1)[0]
    def u32(self): return int.from_bytes(self.take(4), "little")
    def u64(self): return int.from_bytes(self.take(8), "little")
    def name(self): return self.take(self.u8()).decode()
    def more(self): return self.at < len(self.b)
    def rest(self): return self.take(len(self.b) - self.at)


def parse_headers(raw):
    r, out = Reader(raw), []
    while r.more():
        kk = r.u8()
        k = r.take(r.u32())
        vk = r.u8()
        out.append((k, vk, r.take(r.u32())) if kk == 2 else ((kk, k), vk, r.take(r.u32())))
    return out


def message_headers(raw):
    """None where they are no headers: servers do not look at them."""
    try:
        return parse_headers(raw)
    except Broken:
        return None


def parse_group(b):
    if not b:
        return None
    r = Reader(b)
    g = dict(id=r.u32(), partitions=r.u32(), members=r.u32(), name=r.name(), member=[])
    while r.more():
        mid, n = r.u32(), r.u32()
        g["member"].append((mid, [r.u32() for _ in range(n)]))
    if len(g["member"]) != g["members"]:
        raise Broken("member count")
    return g


def parse_partition(r):
    return dict(zip(("id", "created", "segments", "end", "size", "messages"),
                    (r.u32(), r.u64(), r.u32(), r.u64(), r.u64(), r.u64())))
