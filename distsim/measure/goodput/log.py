"""The goodput of a finished job by its log file, in constant memory."""

from __future__ import annotations

from distsim.errors import InputError

from ..reader import LogUnreadable, log_lines
from .profile import TrainingProfile
from .progress import Progress
from .running import conclude
from .status import GoodputStatus


def measure_log(path: str, profile: TrainingProfile, *, succeeded: bool = True, start_ps: int | None = None,
                end_ps: int | None = None) -> GoodputStatus:
    """Measure a finished job by its log.

    start_ps, end_ps : when the job began to run and ended, ps since 1970; by default the log's first and last time
        stamp. What was written after `end_ps` does not count. A line without a time stamp is taken for written when the
        one before it was, at first at `start_ps`; so the log of a simulated job gives here what GoodputRun gave.
    InputError if the file cannot be opened. A log that cannot be read to its end counts as far as it was read, and a
    hint says so, as the original's last read is a best effort.
    """
    progress, trouble = Progress(profile, end_ps), ""
    try:
        with open(path, "rb") as stream:
            for line in log_lines(stream):
                progress.line(line, start_ps if progress.last_ps is None else progress.last_ps)
    except LogUnreadable as error:
        trouble = error.cause
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    status = GoodputStatus(start_ps=progress.first_ps if start_ps is None else start_ps)
    conclude(status, progress, progress.last_ps if end_ps is None else end_ps, succeeded)
    if trouble:
        status.hints.append(f"the log could not be read in full: {trouble}")
    return status
