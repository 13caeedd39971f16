"""From the end of a job to a complete measurement: the final read, its retries, and the reason with its message."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from distsim.errors import InputError

from .collect import Reading, read_log
from .profile import LogProfile
from .status import NO_DATA_MESSAGE, PENDING_MESSAGE, Reason, Status

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
            rotate_bytes: int | None = None, say: Callable[[str], None] | None = None) -> Measurement:
    """Measure a finished job by its log.

    timeout_s : the measurementTimeout; a log that cannot be read is tried again so long (at least two minutes) and the
        measurement is then LogsUnavailable. None: one try, and a log that cannot be opened is an InputError.
    rotate_bytes : the node's containerLogMaxSize; None if the log is to be taken as it is.
    say : told once, if the read has to wait.
    """
    def read() -> Reading:
        try:
            return read_log(log, profile, rotate_bytes)
        except OSError as error:
            if timeout_s is None:
                raise InputError(f"cannot be read: {error.strerror or error}", file=log) from None
            return Reading(cause=f"opening {log}: {error.strerror or error}", retryable=True)

    retry_s = 0.0 if timeout_s is None or job is JobStatus.FAILED else max(timeout_s, LEAST_RETRY_S)
    reading = final_read(read, retry_s, say=say)
    return Measurement(log, complete(reading, job), reading.misread)


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


def complete(reading: Reading, job: JobStatus) -> Status:
    """The status of a measurement whose job has ended and whose last read gave `reading`."""
    reason, message = _reason(reading, job)
    return Status(reason, message, reading.results, reading.transport, reading.start, reading.completion,
                  reading.wrong_rows, reading.hints)


def unresolved(log: str, message: str, job: JobStatus) -> Measurement:
    """The measurement of a log whose profile does not resolve."""
    return Measurement(log, complete(Reading(cause=message), job))


def _reason(reading: Reading, job: JobStatus) -> tuple[Reason, str]:
    if job is JobStatus.FAILED:
        return Reason.JOB_FAILED, "Job failed"
    if reading.cause is not None:
        tail = ("results are provisional and are not used for threshold evaluation" if reading.results
                else "no bandwidth data was parsed")
        return (Reason.LOGS_UNAVAILABLE,
                f"Job succeeded but its log could not be read in full ({reading.cause}); {tail}")
    if not reading.results:
        return Reason.NO_DATA, NO_DATA_MESSAGE
    return Reason.JOB_SUCCEEDED, "Job succeeded"
