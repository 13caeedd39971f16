"""Ids and times as the API spells them."""

from __future__ import annotations

import base64
import re
import uuid
from datetime import UTC, datetime

from distsim.server.errors import ApiError

WORKSPACE = "workspace_default"  # there is one
_WORKSPACE = re.compile(r"workspace_\w{1,64}", re.ASCII)


def new_id(prefix: str) -> str:
    """A random id: the prefix and 26 letters and digits (base32 of a UUID, as the documents have it)."""
    return prefix + base64.b32encode(uuid.uuid4().bytes).decode().rstrip("=").lower()


def iso(seconds: float) -> str:
    """Seconds since the epoch as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def maybe_iso(seconds: float | None) -> str | None:
    """`iso`; None for an unknown time (None or 0)."""
    return iso(seconds) if seconds else None


def seconds_of(text: str, name: str) -> float:
    """Seconds since the epoch of an ISO 8601 time; UTC where it does not say. 400 for another text."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ApiError(400, f"{name}: not an ISO 8601 time, e.g. 2026-01-31T12:00:00Z") from None


def is_workspace(text: str | None) -> bool:
    """Whether an optional workspace id is that of the one workspace; 400 when it is none at all."""
    if text is not None and not _WORKSPACE.fullmatch(text):
        raise ApiError(400, "Invalid workspaceId format: expected 'workspace_' prefix")
    return text in (None, WORKSPACE)
