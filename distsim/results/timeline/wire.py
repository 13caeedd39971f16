"""Protocol buffers' wire format, the writing half: what Perfetto's trace packets are made of.

Each returns the bytes of one field, its tag first (https://protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import struct

VARINT, FIXED64, BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """A number, 0 to 2**64 - 1, in base 128, the low digits first. ValueError for one below 0."""
    if value < 0:
        raise ValueError(f"{value} is negative")
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def tag(number: int, kind: int) -> bytes:
    """A field's number and wire type."""
    return varint(number << 3 | kind)


def uint(number: int, value: int) -> bytes:
    """A field of type uint32, uint64, bool or an enumeration."""
    return tag(number, VARINT) + varint(value)


def sint(number: int, value: int) -> bytes:
    """A field of type int64: two's complement when it is negative."""
    return tag(number, VARINT) + varint(value & 0xFFFFFFFFFFFFFFFF)


def double(number: int, value: float) -> bytes:
    """A field of type double."""
    return tag(number, FIXED64) + struct.pack("<d", value)


def text(number: int, value: str) -> bytes:
    """A field of type string; what UTF-8 cannot say becomes ``?``."""
    return message(number, value.encode("utf-8", "replace"))


def message(number: int, content: bytes) -> bytes:
    """A field that is a message, of its encoded fields."""
    return tag(number, BYTES) + varint(len(content)) + content
