"""Simulated time as it is written: RFC 3339, Unix seconds, the time of a log line.

The clock of the cluster begins at 1970-01-01T00:00:00Z unless another start is given (seconds since then).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def unix_s(now_ms: int, start_s: int = 0) -> int:
    """Whole seconds since 1970."""
    return start_s + now_ms // 1000


def rfc3339(now_ms: int, start_s: int = 0) -> str:
    """``1970-01-01T00:00:10Z``, to the second."""
    return (_EPOCH + timedelta(seconds=unix_s(now_ms, start_s))).strftime("%Y-%m-%dT%H:%M:%SZ")


def log_time(now_ms: int, start_s: int = 0) -> str:
    """``I0101 00:00:10``, as Volcano's log has it (klog: severity, month, day, time)."""
    return (_EPOCH + timedelta(seconds=unix_s(now_ms, start_s))).strftime("I%m%d %H:%M:%S")
