"""The report that newer nccl-tests write with -J: one JSON object, its `results` one object a row.

Read as a stream, row by row, so a report of any length needs little memory and one that ends early gives what it has.
As in a log, the out-of-place half counts; a row without one (a trace's replay) counts with its in-place half.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from .reader import CHUNK_BYTES, LINE_LIMIT_BYTES, LogUnreadable

# Top-level keys (nccl-tests src/util.cu). The head of a file is a report's if it opens with one of them.
_KEYS = (b"version|start_time|args|env|nccl_version|config|devices|results|out_of_bounds|average_bus_bandwidth|errors|"
         b"end_time")
_HEAD = re.compile(rb'\s*\{\s*"(?:' + _KEYS + rb')"\s*:')
_RESULTS = re.compile(r'(?<!\\)"results"\s*:\s*\[')
_INFINITE = re.compile(r"(:\s*-?)inf(?=\s*[,}])")  # printf's spelling, which JSON does not know
_BETWEEN = re.compile(r"[\s,]*")
_INT64_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row: size_bytes, algbw_gbs and busbw_gbs in GB/s, whether a value was wrong."""

    size_bytes: int
    algbw_gbs: float
    busbw_gbs: float
    wrong: bool


def is_report(head: bytes) -> bool:
    """Whether a file that begins so is a -J report."""
    return _HEAD.match(head) is not None


def read_report(stream: BinaryIO) -> Iterator[ReportRow]:
    """The rows of a report in order; LogUnreadable if it is broken, or ends before its results do."""
    source = _Buffer(stream)
    if not source.skip_past(_RESULTS):
        raise LogUnreadable("the JSON report has no results", retryable=True)
    while (value := source.entry()) is not None:
        row = _row(value)
        if row is not None:
            yield row


class _Buffer:
    """Text of a stream that is not yet used up."""

    def __init__(self, stream: BinaryIO):
        self._stream, self._text = stream, ""
        self._decoder = json.JSONDecoder()

    def _more(self) -> bool:
        chunk = self._stream.read(CHUNK_BYTES)
        self._text = _INFINITE.sub(r"\1Infinity", self._text + chunk.decode("latin-1"))
        return bool(chunk)

    def skip_past(self, pattern: re.Pattern[str]) -> bool:
        """Drop all up to the end of the first match; False if there is none."""
        while (found := pattern.search(self._text)) is None:
            self._text = self._text[-64:]
            if not self._more():
                return False
        self._text = self._text[found.end():]
        return True

    def entry(self) -> Any:
        """The next entry of the list, None at its end."""
        while True:
            between = _BETWEEN.match(self._text)
            self._text = self._text[between.end():] if between else self._text
            if self._text.startswith("]"):
                return None
            try:
                value, end = self._decoder.raw_decode(self._text)
            except (ValueError, RecursionError):
                if len(self._text) > LINE_LIMIT_BYTES:
                    raise LogUnreadable("the JSON report holds a row that is not JSON", retryable=False) from None
                if not self._more():
                    raise LogUnreadable("the JSON report ends before its results do", retryable=True) from None
                continue
            self._text = self._text[end:]
            return value if value is not None else {}


def _row(value: Any) -> ReportRow | None:
    """The row that an entry of `results` describes; None if it has no size or no finite bandwidth."""
    if not isinstance(value, dict):
        return None
    half = value.get("out_of_place") or value.get("in_place")
    size = value.get("size")
    if not isinstance(half, dict) or isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= _INT64_MAX:
        return None
    algbw, busbw = _number(half.get("alg_bw")), _number(half.get("bus_bw"))
    if algbw is None or busbw is None:
        return None
    halves = [part for part in (value.get("out_of_place"), value.get("in_place")) if isinstance(part, dict)]
    return ReportRow(size, algbw, busbw, any(_number(part.get("nwrong")) for part in halves))


def _number(value: Any) -> float | None:
    real = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if real else None
