"""Measuring a job while it runs: the life cycle of a BandwidthMeasurement in the job's own, simulated time.

Times are picoseconds of the simulation. A time stamp is that time counted from 1970-01-01T00:00:00Z, so simulated time
0.25 s is written 1970-01-01T00:00:00.25Z (to the nanosecond) and the same run always gives the same time stamps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from .averages import Averages
from .collect import Collector, Reading
from .lifecycle import LEAST_RETRY_S, POLL_S, JobStatus, left_with, outcome
from .profile import LogProfile, Sample
from .reader import LINE_LIMIT_BYTES
from .status import PENDING_MESSAGE, RUNNING_MESSAGE, Condition, Reason, Status

SECOND_PS = 10**12
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A sample reads the log again from one second before the sample before it, so a provisional result may count a row
# twice (measurement.md, section 4).
OVERLAP_PS = SECOND_PS
SAMPLE_PS = 60 * SECOND_PS      # sampleInterval, seed 000
TIMEOUT_PS = 300 * SECOND_PS    # measurementTimeout, seed 000
ROTATE_BYTES = 10 * 2**20       # containerLogMaxSize, seed 000


class JobMeasurement:
    """One measurement of one job; tell it what happens, in the order of time, and ask for its `status` at any time.

    `job_started` -> Measuring; `log_written` for each line of the launcher's log; `job_finished` -> the final read, and
    Complete. Samples are taken at start + n * interval_ps from the lines written before that instant. Call `advance`
    to take those that are due when nothing else happens; a final read that failed is also retried there.

    profile : the LogProfile; None if `profile_name` did not resolve, which is told in the condition Measuring as long
        as the job runs, and which fails the final read.
    interval_ps : sampleInterval. timeout_ps : measurementTimeout; a failed final read is retried so long, at least two
        minutes, after its first failure.
    rotate_bytes : containerLogMaxSize; None if logs are not rotated.
    final_read : reads the job's log again, in full; by default it gives what `log_written` was told, and never fails
        but for a line over 1 MiB.
    Raises ValueError for a time before the one told last, and for a job that starts or ends twice.
    """

    def __init__(self, profile: LogProfile | None, *, profile_name: str = "", interval_ps: int = SAMPLE_PS,
                 timeout_ps: int = TIMEOUT_PS, rotate_bytes: int | None = ROTATE_BYTES,
                 final_read: Callable[[], Reading] | None = None):
        if interval_ps <= 0:
            raise ValueError("interval_ps is out of range; valid: more than 0")
        self.status = Status()
        self.misread = False
        self._name = profile.name if profile is not None else profile_name
        self._collector = Collector(profile, rotate_bytes, keep_networks=False) if profile is not None else None
        self._interval_ps, self._timeout_ps = interval_ps, max(timeout_ps, int(LEAST_RETRY_S * SECOND_PS))
        self._final_read = final_read or self._read
        self._now_ps = 0
        self._identity: str | None = None
        self._lines = 0
        self._recent: deque[tuple[int, Sample | str]] = deque()  # what the file holds that the next sample reads
        self._too_long: int | None = None                        # number of a line over 1 MiB in the current file
        self._next_ps: int | None = None                         # next sample or retry
        self._ended: JobStatus | None = None
        self._end_ps = self._pending_ps = 0

    @property
    def complete(self) -> bool:
        """Whether the condition Complete is set; nothing changes after that."""
        return self.status.complete is not None

    def job_started(self, time_ps: int, identity: str = "") -> None:
        """The job runs. A second job of another `identity` in its place completes the measurement: its job is gone."""
        self.advance(time_ps)
        if self._identity is not None and identity != self._identity:
            self.job_gone(time_ps)
            return
        if self._identity is not None or self._ended is not None:
            raise ValueError("the job has started before")
        self._identity = identity
        self.status.start = spell_ps(time_ps)
        if self._collector is None:
            self._measuring(False, Reason.LOG_PROFILE_NOT_FOUND,
                            f'LogProfile "{self._name}" could not be resolved: {self._unresolved()}')
            return
        self._measuring(True, Reason.JOB_RUNNING, RUNNING_MESSAGE)
        self._next_ps = time_ps + self._interval_ps

    def log_written(self, time_ps: int, line: str | bytes) -> None:
        """The launcher wrote a line, given without its newline."""
        self.advance(time_ps)
        self._lines += 1
        if self._collector is None or self.complete:
            return
        raw = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
        rotations = self._collector.rotations
        found = self._collector.line(raw)
        if self._collector.rotations != rotations:
            self._recent.clear()
            self._too_long = None
        elif len(raw) > LINE_LIMIT_BYTES:
            self._too_long = self._too_long or self._lines
        elif found is not None and self._too_long is None:
            self._recent.append((time_ps, found))

    def job_finished(self, time_ps: int, ended: JobStatus) -> None:
        """The job came to its end: one sample more if it is due, then the final read."""
        self.advance(time_ps)
        if self.complete:
            return
        if self._ended is not None:
            raise ValueError("the job has ended before")
        self._ended, self._end_ps, self._next_ps = ended, time_ps, None
        self._finish()

    def job_gone(self, time_ps: int) -> None:
        """The job was deleted or replaced. A measurement that never saw its job waits for it."""
        self.advance(time_ps)
        if not self.complete and (self._identity is not None or self._ended is not None):
            anything = bool(self.status.results)
            self._complete(Reason.LOGS_UNAVAILABLE, f"Referenced Job no longer exists; {left_with(anything)}", time_ps)

    def advance(self, time_ps: int) -> None:
        """Take the samples, or make the retries of the final read, that are due up to this time."""
        if time_ps < self._now_ps:
            raise ValueError(f"time {time_ps} ps lies before {self._now_ps} ps")
        while self._next_ps is not None and self._next_ps <= time_ps:
            self._now_ps = self._next_ps
            if self._ended is not None:
                self._finish()
            else:
                self._sample()
                ahead = 1 if self._recent else (time_ps - self._now_ps) // self._interval_ps or 1
                self._next_ps = self._now_ps + ahead * self._interval_ps
        self._now_ps = time_ps

    def deadline_ps(self) -> int | None:
        """When a pending final read is given up; None if none is pending."""
        return self._pending_ps + self._timeout_ps if self._ended is not None and not self.complete else None

    def _sample(self) -> None:
        """Merge what was written since one second before the last sample; a line over 1 MiB fails the sample."""
        if self._too_long is not None:
            return
        averages, names = Averages(), set(self.status.transport)
        for _, found in self._recent:
            if isinstance(found, Sample):
                averages.add(found.size_bytes, found.algbw_gbs, found.busbw_gbs)
            else:
                names.add(found)
        self.status.results, self.status.transport = averages.onto(self.status.results), sorted(names)
        while self._recent and self._recent[0][0] < self._now_ps - OVERLAP_PS:
            self._recent.popleft()

    def _finish(self) -> None:
        """Read the whole log; complete, or wait to read again."""
        assert self._ended is not None
        reading, succeeded = self._final_read(), self._ended is JobStatus.SUCCEEDED
        if reading.cause is not None and reading.retryable and succeeded:
            if self._next_ps is None:
                self._pending_ps = self._now_ps
                self._measuring(False, Reason.FINAL_READ_PENDING, PENDING_MESSAGE)
            left = self._pending_ps + self._timeout_ps - self._now_ps
            if left > 0:
                self._next_ps = self._now_ps + min(left, int(POLL_S * SECOND_PS))
                return
        if reading.cause is None:
            self._take(reading, replace=succeeded or bool(reading.results))
        reason, message = outcome(reading, self._ended, bool(self.status.results))
        self._complete(reason, message, self._end_ps)

    def _take(self, reading: Reading, replace: bool) -> None:
        """Final results instead of the provisional ones; networks are added, never taken away."""
        if replace:
            self.status.results = reading.results
        self.status.transport = sorted({*self.status.transport, *reading.transport})
        self.status.wrong_rows, self.status.hints, self.misread = reading.wrong_rows, reading.hints, reading.misread

    def _complete(self, reason: Reason, message: str, end_ps: int) -> None:
        self._next_ps = None
        self._recent.clear()
        self.status.completion = spell_ps(end_ps)
        self.status.end(reason, message, spell_ps(self._now_ps))

    def _measuring(self, holds: bool, reason: Reason, message: str) -> None:
        self.status.measuring = Condition("Measuring", holds, reason, message, spell_ps(self._now_ps))

    def _read(self) -> Reading:
        if self._collector is None:
            return Reading(cause=self._unresolved(), retryable=True)
        if self._too_long is not None:
            return Reading(cause=f"line {self._too_long} is longer than 1 MiB")
        return self._collector.reading()

    def _unresolved(self) -> str:
        return f"getting LogProfile {self._name}: not found"


def spell_ps(time_ps: int) -> str:
    """A simulated time as a time stamp, RFC 3339 in UTC with as many digits of a second as it has, at most nine."""
    seconds, rest_ps = divmod(time_ps, SECOND_PS)
    fraction = f".{rest_ps // 1000:09d}".rstrip("0").rstrip(".")
    return (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S") + f"{fraction}Z"

