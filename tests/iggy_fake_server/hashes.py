# SPDX-License-Identifier: Apache-2.0
"""The two hashes that Iggy uses, from the system's libxxhash: XXH3-64 for checksums, XXH32 for keys and names of consumers."""
import ctypes

_LIBRARY = ctypes.CDLL("libxxhash.so.0")
xxh3 = _LIBRARY.XXH3_64bits
xxh3.restype = ctypes.c_uint64
xxh3.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
_xxh32 = _LIBRARY.XXH32
_xxh32.restype = ctypes.c_uint32
_xxh32.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32]


def checksum(data):
    """XXH3-64 of bytes, default secret, seed 0."""
    return xxh3(data, len(data))


def name_hash(data):
    """XXH32 of bytes, seed 0."""
    return _xxh32(data, len(data), 0)
