"""Reading one log to its end: results, networks, times and hints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, cast

from distsim.errors import InputError

from .averages import Averages
from .json_report import is_report, read_report
from .layout import Layout
from .profile import LogProfile
from .reader import LogUnreadable, cut_timestamp, log_lines, parse_timestamp
from .status import Result

_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 512


@dataclass
class Reading:
    """What one read of a log gave.

    cause : why the log could not be read in full, None if it was; what was read before is in the other fields.
    retryable : whether another try may succeed.
    misread : whether the profile took columns of some row for others.
    """

    results: list[Result] = field(default_factory=list)
    transport: list[str] = field(default_factory=list)
    start: datetime | None = None
    completion: datetime | None = None
    wrong_rows: int = 0
    hints: list[str] = field(default_factory=list)
    misread: bool = False
    cause: str | None = None
    retryable: bool = False


class Collector:
    """Takes the lines of one log in turn.

    `rotate_bytes` is the node's containerLogMaxSize: when the lines so far exceed it they go to a rotated file, and
    their rows are lost to the final read. None: nothing was rotated.
    """

    def __init__(self, profile: LogProfile, rotate_bytes: int | None = None):
        self._profile, self._rotate_bytes = profile, rotate_bytes
        self._averages, self._layout = Averages(), Layout(profile)
        self._transport: set[str] = set()
        self._start: datetime | None = None
        self._last_stamp = b""
        self._count = self._file_bytes = self._rotations = self._lost_rows = 0

    def line(self, raw: bytes) -> None:
        """Take one line without its newline."""
        self._count += 1
        stamp, text = cut_timestamp(raw)
        if stamp:
            self._last_stamp = stamp
            if self._start is None:
                self._start = parse_timestamp(stamp)
        self._text(text)
        if self._rotate_bytes is not None:
            self._file_bytes += len(raw) + 1
            if self._file_bytes > self._rotate_bytes:
                self._rotate()

    def _text(self, text: bytes) -> None:
        sample = self._profile.sample(text)
        if sample is not None:
            self._averages.add(sample.size_bytes, sample.algbw_gbs, sample.busbw_gbs)
            self._layout.matched(text, self._count)
            return
        if self._averages.rows == 0:
            self._layout.unmatched(text, self._count)
        name = self._profile.transport(text)
        if name is not None:
            self._transport.add(name)

    def _rotate(self) -> None:
        self._rotations += 1
        self._lost_rows += self._averages.rows
        self._file_bytes = 0
        self._averages, self._layout = Averages(), Layout(self._profile)

    def reading(self) -> Reading:
        """What the lines so far say."""
        hints = self._layout.hints(self._averages.rows)
        if self._rotations:
            hints.append(f"the log was rotated {self._rotations} times at containerLogMaxSize ({self._rotate_bytes} "
                         f"bytes); {self._lost_rows} rows in rotated files are not counted")
        completion = parse_timestamp(self._last_stamp) if self._last_stamp else None
        return Reading(self._averages.results(), sorted(self._transport), self._start, completion,
                       self._layout.wrong_rows, hints, self._layout.misread)


def read_log(path: str, profile: LogProfile, rotate_bytes: int | None = None) -> Reading:
    """Read a log, or a -J report, to its end; ``-`` is the standard input, which is read only once.

    Whatever goes wrong while reading is the reading's `cause`. OSError if the file cannot be opened, InputError if it
    is no log at all.
    """
    with _opened(path) as stream:
        try:
            head = _peek(stream)
            if head.startswith(_GZIP):
                raise InputError("is compressed by gzip; unpack it first (gunzip -c LOG | distsim bandwidth -)",
                                 file=path)
            reading = _from_report(stream) if is_report(head) else _from_lines(stream, profile, rotate_bytes)
        except OSError as error:
            reading = Reading(cause=error.strerror or str(error), retryable=True)
    reading.retryable &= path != "-"
    return reading


def _from_lines(stream: BinaryIO, profile: LogProfile, rotate_bytes: int | None) -> Reading:
    collector = Collector(profile, rotate_bytes)
    cause, retryable = None, False
    try:
        for line in log_lines(stream):
            collector.line(line)
    except LogUnreadable as error:
        cause, retryable = error.cause, error.retryable
    except OSError as error:
        cause, retryable = error.strerror or str(error), True
    reading = collector.reading()
    reading.cause, reading.retryable = cause, retryable
    return reading


def _from_report(stream: BinaryIO) -> Reading:
    averages, wrong, cause, retryable = Averages(), 0, None, False
    try:
        for row in read_report(stream):
            averages.add(row.size_bytes, row.algbw_gbs, row.busbw_gbs)
            wrong += row.wrong
    except LogUnreadable as error:
        cause, retryable = error.cause, error.retryable
    return Reading(averages.results(), wrong_rows=wrong, cause=cause, retryable=retryable)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield stream


def _peek(stream: BinaryIO) -> bytes:
    """The first bytes of a stream, left in it."""
    peek = getattr(stream, "peek", None)
    if peek is not None:
        return cast(bytes, peek(_HEAD_BYTES))[:_HEAD_BYTES]
    head = stream.read(_HEAD_BYTES)
    stream.seek(-len(head), os.SEEK_CUR)
    return head
