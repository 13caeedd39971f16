"""From the end of a job to a complete measurement: the final read, its retries, and the reason with its message."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from distsim.errors import InputError

from .collect import Collector, Reading, read_log
from .profile import LogProfile
from .status import NO_DATA_MESSAGE, PENDING_MESSAGE, Reason, Result, Status, spell_time

LEAST_RETRY_S = 120.0  # a failed final read is retried for the measurementTimeout, never for less (seed 000)
POLL_S = 15.0


class JobStatus(StrEnum):
    """How the measured job ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass
class Measurement:
    """One log's measurement.

    log : its path.
    status : what it says.
    misread : whether the profile took columns of some row for others; such a measurement passes no threshold.
    """

    log: str
    status: Status
    misread: bool = False


def measure(log: str, profile: LogProfile, *, job: JobStatus = JobStatus.SUCCEEDED, timeout_s: float | None = None,
            rotate_bytes: int | None = None, say: Callable[[str], None] | None = None,
            watch: Callable[[Collector], None] | None = None, waited_s: float = 0.0,
            earlier: Sequence[Result] = ()) -> Measurement:
    """Measure a finished job by its log.

    timeout_s : the measurementTimeout; a log that cannot be read is tried again so long (at least two minutes) and the
        measurement is then LogsUnavailable. None: one try, and a log that cannot be opened is an InputError.
    rotate_bytes : the node's containerLogMaxSize; None if the log is to be taken as it is.
    say : told once, if the read has to wait.
    watch : given what collects the log's lines before the first of them, to look at while they are read.
    waited_s : how long ago an earlier attempt failed first.
    earlier : provisional results, kept if this read gives none that are final.
    """
    def read() -> Reading:
        try:
            return read_log(log, profile, rotate_bytes, watch)
        except OSError as error:
            if timeout_s is None:
                raise InputError(f"cannot be read: {error.strerror or error}", file=log) from None
            return Reading(cause=f"opening {log}: {error.strerror or error}", retryable=True)

    retry_s = 0.0 if timeout_s is None or job is JobStatus.FAILED else max(timeout_s, LEAST_RETRY_S) - waited_s
    reading = final_read(read, retry_s, say=say)
    return Measurement(log, complete(reading, job, earlier), reading.misread)


def final_read(read: Callable[[], Reading], retry_s: float, *, now: Callable[[], float] = time.monotonic,
               sleep: Callable[[float], None] = time.sleep, say: Callable[[str], None] | None = None) -> Reading:
    """Read until the log could be read in full, cannot ever be, or `retry_s` have gone by since the first failure."""
    reading = read()
    first_failure = now()
    while reading.cause is not None and reading.retryable:
        left = retry_s - (now() - first_failure)
        if left <= 0:
            break
        if say is not None:
            say(f"{Reason.FINAL_READ_PENDING.value}: {PENDING_MESSAGE} ({reading.cause})")
            say = None
        sleep(min(left, POLL_S))
        reading = read()
    return reading


def complete(reading: Reading, job: JobStatus, earlier: Sequence[Result] = ()) -> Status:
    """The status of a measurement whose job has ended and whose last read gave `reading`.

    earlier : provisional results, which stay if the read gave none and was not a full one of a job that succeeded.
    """
    final = reading.results or (reading.cause is None and job is JobStatus.SUCCEEDED)
    results = reading.results if final else list(earlier)
    start, end = (spell_time(time) if time is not None else None for time in (reading.start, reading.completion))
    status = Status(results, reading.transport, start, end, wrong_rows=reading.wrong_rows, hints=reading.hints)
    status.end(*outcome(reading, job, bool(results)), end)
    return status


def unresolved(log: str, message: str, job: JobStatus, earlier: Sequence[Result] = ()) -> Measurement:
    """The measurement of a log whose profile does not resolve; `earlier` results stay, as provisional ones."""
    return Measurement(log, complete(Reading(cause=message), job, earlier))


def outcome(reading: Reading, job: JobStatus, anything: bool) -> tuple[Reason, str]:
    """Reason and message of a measurement that ends with this last read; `anything` says whether it holds results."""
    if job is JobStatus.FAILED:
        return Reason.JOB_FAILED, "Job failed"
    if reading.cause is not None:
        return (Reason.LOGS_UNAVAILABLE,
                f"Job succeeded but its log could not be read in full ({reading.cause}); {left_with(anything)}")
    if not reading.results:
        return Reason.NO_DATA, NO_DATA_MESSAGE
    return Reason.JOB_SUCCEEDED, "Job succeeded"


def left_with(anything: bool) -> str:
    """What a measurement without a final read is left with: provisional results, or nothing."""
    return ("results are provisional and are not used for threshold evaluation" if anything
            else "no bandwidth data was parsed")
