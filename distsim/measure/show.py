"""A measurement as a table."""

from __future__ import annotations

from .status import Status


def table_lines(status: Status) -> list[str]:
    """Lines for a terminal: results, then networks, times and the condition Complete."""
    rows = [("SIZE (B)", "ALGBW (GB/s)", "BUSBW (GB/s)", "SAMPLES")]
    rows += [(str(row.size_bytes), row.algbw, row.busbw, str(row.samples)) for row in status.results]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths)) for row in rows]
    if not status.results:
        lines = []
    lines.append(f"transport: {', '.join(printable(name) for name in status.transport) or 'not in the log'}")
    if status.start is not None and status.completion is not None:
        lines.append(f"time: {status.start} to {status.completion}")
    if status.wrong_rows:
        lines.append(f"rows with wrong values: {status.wrong_rows}")
    kind = "Complete" if status.complete is not None else "Measuring"
    reason = f"{status.reason.value}: " if status.reason is not None else ""
    lines.append(f"{kind}: {reason}{printable(status.message)}")
    return lines


def printable(text: str) -> str:
    """The text with control characters spelled out, so that a log cannot drive the terminal."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
