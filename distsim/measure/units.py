"""Durations as Go writes them (``1h30m``), sizes as Kubernetes writes them (``10Mi``)."""

from __future__ import annotations

import re
from decimal import Decimal

_NS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
       "h": 3600 * 10**9}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII)
_SIZE = re.compile(r"(\d{1,15})(Ki|Mi|Gi|Ti|k|M|G|T|)", re.ASCII)
_BYTES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def parse_duration_s(text: str) -> float:
    """Seconds of a Go duration; ValueError if it is none, is negative or is over 2**63 - 1 ns."""
    if text in ("0", "+0", "-0"):
        return 0.0
    body, at, total_ns = text.removeprefix("+"), 0, Decimal(0)
    while part := _PART.match(body, at):
        total_ns += Decimal(part[1]) * _NS[part[2]]
        at = part.end()
    if not body or at != len(body):
        negative = "; it may not be negative" if text.startswith("-") else ""
        raise ValueError(f"{text!r} is not a Go duration such as 90s, 10m or 1h30m{negative}")
    if total_ns > 2**63 - 1:
        raise ValueError(f"{text!r} is longer than a Go duration can be (2562047h)")
    return float(total_ns / 10**9)


def parse_size_bytes(text: str) -> int:
    """Bytes of a Kubernetes quantity such as ``10Mi``; ValueError if it is none or is zero."""
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * _BYTES[found[2]] if found else 0
    if size == 0:
        raise ValueError(f"{text!r} is not a size such as 10Mi, 64Ki or 1000000 (at least 1 byte)")
    return size
