"""What a log's rows look like, for hints: rows that the profile does not read, and rows that it would misread."""

from __future__ import annotations

import re

from .profile import LogProfile, builtin_names, builtin_profile
from .profile_names import OLD, STRICT, TAGGED

_TYPES = rb"(?:u?int\d*|u?char|half|float|double|bfloat16|bf16|f\w*8\w*)"
_ROWLIKE = re.compile(rb"\d+[ \t]+\d+[ \t]+" + _TYPES + rb"\b")
_NEW_COLUMNS = (13, 15)  # with a time stamp of its own at the end, two words more
_OLD_COLUMNS = (11, 12)  # without redop, with it
_OUT_OF_PLACE, _IN_PLACE = 8, 12  # the two #wrong columns


class Layout:
    """Looks at the lines of one log.

    wrong_rows : result rows in which a value was wrong (their #wrong is not 0).
    """

    def __init__(self, profile: LogProfile):
        self.wrong_rows = 0
        self._profile = profile
        self._columns_known = profile.builtin and profile.name in (STRICT, TAGGED)
        others = [builtin_profile(name) for name in builtin_names() if name != profile.name]
        self._others = [other for other in others if other is not None]
        self._old = builtin_profile(OLD)
        self._unread: tuple[int, str] | None = None
        self._broken: int | None = None
        self._misread: int | None = None

    @property
    def misread(self) -> bool:
        """Whether a row was seen whose columns the profile takes for others."""
        return self._misread is not None

    def matched(self, line: bytes, number: int) -> None:
        """Look at a line that the profile read as a result; number counts from 1."""
        found = _ROWLIKE.search(line) if self._columns_known else None
        if found is None:
            return
        fields = line[found.start():].split()
        if len(fields) in _NEW_COLUMNS:
            self.wrong_rows += _wrong(fields[_OUT_OF_PLACE]) or _wrong(fields[_IN_PLACE])
        elif self._misread is None and len(fields) in _OLD_COLUMNS and self._old and self._old.sample(line):
            self._misread = number

    def unmatched(self, line: bytes, number: int) -> None:
        """Look at a line that the profile did not read, as long as it has read none."""
        if self._unread is not None or _ROWLIKE.search(line) is None:
            return
        reader = next((other.name for other in self._others if other.sample(line) is not None), None)
        if reader is not None:
            self._unread = (number, reader)
        elif self._broken is None:
            self._broken = number

    def hints(self, rows: int) -> list[str]:
        """What to tell the user about a log in which the profile read so many rows."""
        name = self._profile.name
        if self._misread is not None:
            return [f"line {self._misread} has the old column layout, in which profile {name} takes busbw for algbw; "
                    f"--profile {OLD} reads it"]
        if rows == 0 and self._unread is not None:
            number, reader = self._unread
            return [f"profile {name} matches no line, but line {number} is a row that --profile {reader} reads"]
        if rows == 0 and self._broken is not None:
            return [f"profile {name} matches no line; line {self._broken} is the beginning of a row that other output "
                    "has cut, which no profile reads (keep NCCL_DEBUG output out of the log, e.g. by NCCL_DEBUG_FILE)"]
        return []


def _wrong(field: bytes) -> bool:
    try:
        return float(field) != 0
    except ValueError:
        return False
