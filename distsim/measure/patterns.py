"""Regular expressions of log profiles, in RE2: linear time whatever the expression, and what RE2 refuses is refused."""

from __future__ import annotations

import re

import re2

# A leading run of plain characters, the last of which no quantifier follows, must stand in every line that matches.
_PLAIN_HEAD = re.compile(r"[A-Za-z0-9 _:/=,#%@-]*(?![*?{+])")
# An expression of lines that begin with white space and a digit; most lines of a log do not, and need no RE2.
_DIGIT_FIRST = re.compile(r"\^\\s\*(?:\(\?P<\w+>\\d\+\)|\\d)(?![*?{])")


class Pattern:
    """One compiled expression.

    text : the expression as written.
    groups : name of each named group -> its number.
    """

    def __init__(self, text: str):
        """Compile `text`; ValueError with RE2's own words if it is not an RE2 expression."""
        options = re2.Options()
        options.log_errors = False
        try:
            self._compiled = re2.compile(text, options)
        except re2.error as error:
            detail = error.args[0] if error.args else "it cannot be compiled"
            said = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
            raise ValueError(f"not an RE2 expression: {said}") from None
        self.text = text
        self.groups: dict[str, int] = dict(self._compiled.groupindex)
        self._needed = _needed(text)
        self._digit_first = _DIGIT_FIRST.match(text) is not None and "|" not in text

    def search(self, line: bytes, *numbers: int) -> tuple[bytes, ...] | None:
        """The numbered groups (0 is the whole match) of the leftmost match anywhere in a line; None without one.

        A group that took no part in the match is empty. Bytes that are not UTF-8 count as U+FFFD.
        """
        if self._needed not in line or (self._digit_first and not line.lstrip()[:1].isdigit()):
            return None
        found = self._compiled.search(valid_utf8(line))
        if found is None:
            return None
        return tuple(found.group(number) or b"" for number in numbers)


def valid_utf8(line: bytes) -> bytes:
    """The line with U+FFFD for whatever is not UTF-8."""
    return line if line.isascii() else line.decode("utf-8", "replace").encode()


def _needed(text: str) -> bytes:
    """Bytes that every matching line holds; empty if none are known. Only a speed-up."""
    found = _PLAIN_HEAD.match(text)
    if found is None or "|" in text or len(found[0]) < 2:
        return b""
    return found[0].encode()
