# SPDX-License-Identifier: Apache-2.0
"""Primitives that both framings share: little-endian numbers, names, identifiers; and how a request is refused."""
import struct

U32 = struct.Struct("<I")
U64 = struct.Struct("<Q")
NEVER = 2**64 - 1  # an expiry that never comes, a size without limit
NOT_YOURS = 0xFFFFFFFF  # partition id of a poll reply that says: synchronise again


class Refused(Exception):
    """The request is answered with this error code. `unresolved`: not even its partition is known."""

    def __init__(self, code, unresolved=False):
        super().__init__(f"error {code}")
        self.code, self.unresolved = code, unresolved


class Ignored(Exception):
    """The request gets no answer at all; the connection lives on."""


class Malformed(Exception):
    """The payload is not what its command asks for."""


def u8(value):
    return bytes((value,))


def u32(value):
    return U32.pack(value)


def u64(value):
    return U64.pack(value)


def name(text):
    """A name: one byte of length, then UTF-8."""
    data = text.encode()
    return u8(len(data)) + data


def long_text(text):
    """A text with four bytes of length."""
    data = text.encode()
    return u32(len(data)) + data


class Reader:
    """Takes fields from the front of a payload."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        end = self.at + size
        if end > len(self.data):
            raise Malformed(f"{size} bytes wanted at {self.at} of {len(self.data)}")
        part = self.data[self.at : end]
        self.at = end
        return part

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return U32.unpack(self.take(4))[0]

    def u64(self):
        return U64.unpack(self.take(8))[0]

    def name(self):
        size = self.u8()
        if size == 0:
            raise Malformed("an empty name")
        return self.text(size)

    def text(self, size):
        try:
            return bytes(self.take(size)).decode()
        except UnicodeDecodeError as error:
            raise Malformed(str(error)) from None

    def long_text(self):
        return self.text(self.u32())

    def identifier(self):
        """An int or a str."""
        kind, size = self.u8(), self.u8()
        if kind == 1 and size == 4:
            return self.u32()
        if kind == 2 and size > 0:
            return self.text(size)
        raise Malformed(f"an identifier of kind {kind} and {size} bytes")

    def rest(self):
        return self.take(len(self.data) - self.at)

    def at_end(self):
        return self.at == len(self.data)
