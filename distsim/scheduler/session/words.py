"""Words for messages."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """1 node, 2 nodes."""
    return f"{number} {what}" + ("" if number == 1 else "s")
