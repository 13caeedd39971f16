"""Errors that are the user's to mend: one clear line, an exit code, no traceback.

Exit codes (README, "Exit codes"): 0 all flows finished, 1 internal error, 2 configuration or input error,
3 the run ended with unfinished flows, 4 a threshold of `distsim bandwidth` is violated or cannot be evaluated,
5 `distsim results compare` or `verify` found a difference.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_INTERNAL = 1
EXIT_INPUT = 2
EXIT_UNFINISHED = 3
EXIT_INTERRUPTED = 130


class DistsimError(Exception):
    """An error that is reported as one line; `exit_code` is what the process ends with."""

    exit_code = EXIT_INTERNAL


class InputError(DistsimError):
    """A configuration or input file that cannot be used.

    Parameters
    ----------
    message : what is wrong, with the bad value and the values that are valid.
    file : path of the file at fault, if there is one.
    line : 1-based line in that file, if known.
    where : path inside the document, e.g. ``nic.NetworkInterface.TransmissionMedium.Delay``.
    """

    exit_code = EXIT_INPUT

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None, where: str | None = None):
        self.message, self.file, self.line, self.where = message, file, line, where
        place = (file or "") + (f":{line}" if line is not None else "")
        super().__init__(": ".join(part for part in (place, where, message) if part))


class RunError(DistsimError):
    """A run that cannot go on for a reason outside the program (a lost rank, a full disk)."""
