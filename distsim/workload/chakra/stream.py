"""A Chakra file as a stream of messages: a varint length before each, the whole maybe in gzip."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from typing import Protocol

from distsim.errors import InputError

CHUNK_BYTES = 1 << 20
MAX_WIRE_BYTES = (1 << 31) - 1        # of one message: protobuf's own limit
_MAX_VARINT_BYTES = 10
_GZIP_MAGIC = b"\x1f\x8b"


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, none at the end."""


def messages(path: str) -> Iterator[tuple[int, bytes]]:
    """Where each message starts (byte of the file after decompression) and its bytes, in the order of the file.

    Holds one message and one chunk at a time. Raises InputError with the file and the byte when the file is missing,
    empty, ends inside a length or a message, or is broken gzip data.
    """
    try:
        with open(path, "rb") as file:
            packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
            file.seek(0)
            yield from _split(path, gzip.GzipFile(fileobj=file) if packed else file)
    except FileNotFoundError:
        raise InputError("no such file (Chakra trace)", file=path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"broken gzip data: {error}", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror} (Chakra trace)", file=path) from None


def _split(path: str, file: Readable) -> Iterator[tuple[int, bytes]]:
    held, start, base = b"", 0, 0          # bytes read, where the next message starts in them, byte of held[0]
    while True:
        if len(held) - start < _MAX_VARINT_BYTES:
            base, held, start = base + start, held[start:] + file.read(CHUNK_BYTES), 0
            if not held:
                if base == 0:
                    raise InputError("is empty (Chakra trace)", file=path)
                return
        size, body = _length(path, held, start, base)
        at = base + start
        if body + size > len(held):
            held, base, body = _refill(path, file, held[body:], size, at), base + body, 0
        yield at, held[body:body + size]
        start = body + size


def _length(path: str, held: bytes, start: int, base: int) -> tuple[int, int]:
    """A varint at `start` and where it ends."""
    value = shift = 0
    for place in range(start, min(start + _MAX_VARINT_BYTES, len(held))):
        byte = held[place]
        value |= (byte & 127) << shift
        if byte < 128:
            if value > MAX_WIRE_BYTES:
                raise InputError(f"the message at byte {base + start} claims {value} bytes; this is no Chakra trace",
                                 file=path)
            return value, place + 1
        shift += 7
    if len(held) - start >= _MAX_VARINT_BYTES:
        raise InputError(f"there is no message length at byte {base + start}; this is no Chakra trace", file=path)
    raise InputError(f"truncated: the file ends inside the message length at byte {base + start}", file=path)


def _refill(path: str, file: Readable, held: bytes, size: int, start: int) -> bytes:
    """`held` and what follows it in the file, `size` bytes at least."""
    parts = bytearray(held)
    while len(parts) < size:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            raise InputError(f"truncated: the message at byte {start} has {size} bytes, of which the file holds "
                             f"{len(parts)}", file=path)
        parts += chunk
    return bytes(parts)
