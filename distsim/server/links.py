"""Links that download one file for a while: signed with a key that only the server has."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from distsim.server.errors import ApiError

FILES, COMPUTED = "files", "computed"  # what a link leads to: a run's own file, figures that the server computed
PREFIX = "/api/v1/downloads"
KEY_BYTES = 32
MOST_DIGITS = 12
_VERSION = "distsim-link-1"


class Links:
    """Makes and checks links. key : KEY_BYTES random bytes. lifetime_s : how long one is valid. clock : for tests."""

    def __init__(self, key: bytes, lifetime_s: float, clock: Callable[[], float] = time.time) -> None:
        self._key, self.lifetime_s, self._clock = key, lifetime_s, clock

    def make(self, kind: str, simulation: str, name: str) -> tuple[str, float]:
        """Path and query of a link to a file of a simulation, and when it expires (seconds since the epoch)."""
        expires = int(self._clock() + self.lifetime_s)
        path = f"{PREFIX}/{simulation}/{kind}/{quote(name)}"
        return f"{path}?expires={expires}&signature={self._signature(kind, simulation, name, expires)}", float(expires)

    def check(self, kind: str, simulation: str, name: str, expires: str, signature: str) -> None:
        """403 for a link that is not as it was made, or that has expired."""
        number = int(expires) if expires.isascii() and expires.isdecimal() and len(expires) <= MOST_DIGITS else -1
        wanted = self._signature(kind, simulation, name, number)
        if not hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace")) or str(number) != expires:
            raise ApiError(403, "this link is not valid: it was altered")
        if self._clock() >= number:
            raise ApiError(403, "this link has expired; ask for another")

    def _signature(self, kind: str, simulation: str, name: str, expires: int) -> str:
        parts = (_VERSION, kind, simulation, str(expires), name)
        text = b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()


def kept_key(path: Path) -> bytes:
    """The key in a file, which is made (mode 0600) when it is not there, damaged, or readable by others."""
    with contextlib.suppress(OSError), open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        kept = file.read(KEY_BYTES + 1)
        if len(kept) == KEY_BYTES and not stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            return kept
    from distsim.server.paths import write_whole

    key = os.urandom(KEY_BYTES)
    write_whole(path, key)
    return key
