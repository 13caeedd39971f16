"""What mpirun says about exit codes, taken out of its stderr: the codes are ours, and our own line explains them."""

from __future__ import annotations

import re
from typing import IO

_RULE = b"-" * 40
_ABOUT_EXITS = re.compile(
    rb"\w+run (?:detected that one or more processes exited with non-zero|has exited due to process)"
    rb"|Primary job +terminated normally|MPI_ABORT was invoked")
_STRAY = re.compile(rb"\[[^]]*\] (?:PMIX ERROR: |Epoll )|\x00*$")


def forward(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy lines from `source` to `target` as they come, without mpirun's notices about exit codes and aborts.

    Such a notice stands between two rules of dashes. Of the ranks' own lines only blank ones are left out.
    """
    held: list[bytes] = []
    for line in iter(source.readline, b""):
        rule = line.startswith(_RULE)
        if held or rule:
            held.append(line)
        elif not _STRAY.match(line.rstrip(b"\r\n")):
            _write(target, [line])
        if rule and len(held) > 1:
            _write(target, [] if any(map(_ABOUT_EXITS.match, held)) else held)
            held = []
    _write(target, held)


def _write(target: IO[bytes], lines: list[bytes]) -> None:
    target.writelines(lines)
    target.flush()
