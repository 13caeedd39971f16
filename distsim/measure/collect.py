"""Reading one log to its end: results, networks, times and hints."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, cast

from distsim.errors import InputError

from .averages import Averages
from .json_report import is_report, read_report
from .layout import Layout
from .profile import LogProfile, Sample
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
    their rows are lost to the final read. None: nothing is rotated. Their networks stay, as the samples of a running
    job saw them; with `keep_networks` false they are lost too, for a caller that takes such samples itself.
    """

    def __init__(self, profile: LogProfile, rotate_bytes: int | None = None, keep_networks: bool = True):
        self._profile, self._rotate_bytes, self._keep_networks = profile, rotate_bytes, keep_networks
        self._averages, self._layout = Averages(), Layout(profile)
        self._transport: set[str] = set()
        self._start: datetime | None = None
        self._last_stamp = b""
        self._count = self._file_bytes = self._lost_rows = 0
        self.rotations = 0

    def line(self, raw: bytes) -> Sample | str | None:
        """Take one line without its newline; the row or the network's name that it holds."""
        self._count += 1
        stamp, text = cut_timestamp(raw)
        if stamp:
            self._last_stamp = stamp
            if self._start is None:
                self._start = parse_timestamp(stamp)
        found = self._text(text)
        if self._rotate_bytes is not None:
            self._file_bytes += len(raw) + 1
            if self._file_bytes > self._rotate_bytes:
                self._rotate()
        return found

    def _text(self, text: bytes) -> Sample | str | None:
        sample = self._profile.sample(text)
        if sample is not None:
            self._averages.add(sample.size_bytes, sample.algbw_gbs, sample.busbw_gbs)
            self._layout.matched(text, self._count)
            return sample
        if self._averages.rows == 0:
            self._layout.unmatched(text, self._count)
        name = self._profile.transport(text)
        if name is not None:
            self._transport.add(name)
        return name

    def _rotate(self) -> None:
        self.rotations += 1
        self._lost_rows += self._averages.rows
        self._file_bytes = 0
        if not self._keep_networks:
            self._transport.clear()
        self._averages, self._layout = Averages(), Layout(self._profile)

    def results(self) -> list[Result]:
        """Averages of the lines so far."""
        return self._averages.results()

    def reading(self) -> Reading:
        """What the lines so far say."""
        hints = self._layout.hints(self._averages.rows)
        if self.rotations:
            times = "once" if self.rotations == 1 else f"{self.rotations} times"
            hints.append(f"the log was rotated {times} at containerLogMaxSize ({self._rotate_bytes} bytes); "
                         f"{self._lost_rows} rows in rotated files are not counted")
        completion = parse_timestamp(self._last_stamp) if self._last_stamp else None
        return Reading(self._averages.results(), sorted(self._transport), self._start, completion,
                       self._layout.wrong_rows, hints, self._layout.misread)


def read_log(path: str, profile: LogProfile, rotate_bytes: int | None = None,
             watch: Callable[[Collector], None] | None = None) -> Reading:
    """Read a log, or a -J report, to its end; ``-`` is the standard input, which is read only once.

    watch : given the log's collector before its first line, to look at while it is read (not for a -J report).
    Whatever goes wrong while reading is the reading's `cause`. OSError if the file cannot be opened, InputError if it
    is no log at all.
    """
    with _opened(path) as stream:
        try:
            head = _peek(stream)
            if head.startswith(_GZIP):
                raise InputError("is compressed by gzip; unpack it first (gunzip -c LOG | distsim bandwidth -)",
                                 file=path)
            if is_report(head):
                reading = _from_report(stream)
            else:
                collector = Collector(profile, rotate_bytes)
                if watch is not None:
                    watch(collector)
                reading = _from_lines(stream, collector)
        except OSError as error:
            reading = Reading(cause=error.strerror or str(error), retryable=True)
    reading.retryable &= path != "-"
    return reading


def _from_lines(stream: BinaryIO, collector: Collector) -> Reading:
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
