"""Lines of a log of any size in constant memory, and the time stamp that Kubernetes puts before each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

LINE_LIMIT_BYTES = 1 << 20  # seed 000: a line longer than 1 MiB cannot be read
CHUNK_BYTES = 1 << 18
_DASH, _T = ord("-"), ord("T")


class LogUnreadable(Exception):
    """The log cannot be read in full.

    retryable : whether another try may succeed.
    """

    def __init__(self, cause: str, retryable: bool):
        super().__init__(cause)
        self.cause, self.retryable = cause, retryable


def log_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Lines without their newline (a carriage return stays); the last one needs none.

    LogUnreadable if a line holds more than `LINE_LIMIT_BYTES`, after all lines before it. OSError of a failed read.
    """
    rest, count = b"", 0
    read = getattr(stream, "read1", stream.read)  # what a pipe holds now, so that its rows are seen while it is written
    while chunk := read(CHUNK_BYTES):
        parts = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        rest = parts.pop()
        for line in parts:
            count += 1
            if len(line) > LINE_LIMIT_BYTES:
                raise _too_long(count)
            yield line
        if len(rest) > LINE_LIMIT_BYTES:
            raise _too_long(count + 1)
    if rest:
        yield rest


def _too_long(line: int) -> LogUnreadable:
    return LogUnreadable(f"line {line} is longer than 1 MiB", retryable=False)


def cut_timestamp(line: bytes) -> tuple[bytes, bytes]:
    """A line's Kubernetes time stamp, empty if it has none, and the rest (measurement.md, section 2)."""
    if len(line) > 20 and line[4] == _DASH and line[10] == _T:
        stamp, space, rest = line.partition(b" ")
        if space:
            return stamp, rest
    return b"", line


def parse_timestamp(stamp: bytes) -> datetime | None:
    """The instant of an RFC 3339 time stamp, to the microsecond; None if it is none."""
    try:
        time = datetime.fromisoformat(stamp.decode("ascii"))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
