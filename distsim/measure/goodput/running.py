"""Measuring the goodput of a simulated job while it runs: what a run needs, in one small class."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..run_parts import duration_ps, find_profile, lines_of, resource
from ..status import Reason
from .gauges import gauges_text
from .profile import builtin_profile, load_profile
from .progress import Progress
from .section import GoodputMeasurementSection
from .status import (
    FAILED_MESSAGE,
    NO_DATA_MESSAGE,
    SUCCEEDED_MESSAGE,
    GoodputStatus,
    hints_of,
    values_of,
)


class GoodputRun:
    """The goodput measurement of one job of a run, on the rank that writes the launcher's log.

    Make it before the run starts (a profile that cannot be used is an InputError then), and drive it in the order of
    simulated time, picoseconds::

        measurement = GoodputRun(section, job_name="train", directory=config_folder)
        measurement.start(time_ps)                  # the job begins to run; by default the time of the first feed
        measurement.feed(lines, time_ps)            # whatever the launcher writes, when it writes it
        measurement.interrupted(time_ps)            # the job was interrupted and will run again
        status = measurement.finish(time_ps, succeeded)

    Between the samples (one at the start, then one each sampleInterval) `status()` stays as it was; what it says is
    provisional until `finish`. `finish` may be called once; what comes later changes nothing.
    """

    def __init__(self, section: GoodputMeasurementSection, job_name: str, *, namespace: str = "",
                 directory: Path | None = None):
        """`directory` is where a profile's file name starts from."""
        self.section, self.job_name, self.namespace = section, job_name, namespace
        self._progress = Progress(find_profile("goodputMeasurement", section.logProfileRef, directory, builtin_profile,
                                                load_profile))
        self._status = GoodputStatus()
        self._interval_ps = duration_ps(section.sampleInterval)
        self._now_ps = self._next_ps = 0

    @property
    def name(self) -> str:
        """Name of the measurement, as the Job controller would name it."""
        return f"{self.job_name}-goodput"

    def start(self, time_ps: int) -> None:
        """The job begins to run: the first sample."""
        if self._status.start_ps is not None:
            raise ValueError("the job has started before")
        self._now_ps, self._next_ps = time_ps, time_ps
        self._status.run(time_ps)
        self._advance(time_ps)

    def feed(self, lines: str | bytes | Iterable[str | bytes], time_ps: int) -> None:
        """The launcher wrote these lines (a text with newlines, or single lines with or without one) at this time."""
        if self._status.start_ps is None:
            self.start(time_ps)
        self._advance(time_ps)
        if self._status.complete is None:
            for line in lines_of(lines):
                self._progress.line(line, time_ps)

    def interrupted(self, time_ps: int) -> None:
        """The job was interrupted, and is going to run again: what it did since its last checkpoint is lost."""
        self._advance(time_ps)
        if self._status.complete is None:
            self._progress.interrupted(time_ps)
            self._sample(time_ps)

    def finish(self, time_ps: int, succeeded: bool) -> dict[str, Any]:
        """The job ended; read its log for good and give the status."""
        if self._status.start_ps is None:
            self.start(time_ps)
        self._advance(time_ps)
        if self._status.complete is None:
            conclude(self._status, self._progress, time_ps, succeeded)
        return self.status()

    def status(self) -> dict[str, Any]:
        """The status as plain data, field names as documented; provisional until `finish`."""
        return self._status.to_dict()

    def document(self) -> dict[str, Any]:
        """The whole GoodputMeasurement, as plain data for YAML or JSON."""
        spec = {"logProfileRef": self.section.logProfileRef, "sampleInterval": self.section.sampleInterval}
        return resource("GoodputMeasurement", self.name, self.namespace, self.job_name, spec, self.status())

    def prometheus(self) -> str:
        """The gauges as text: all while the job runs, then the ratio only."""
        return gauges_text(self.name, self.job_name, self._status, self.namespace)

    def _advance(self, time_ps: int) -> None:
        """Take the last of the samples that are due up to this time, from the lines so far."""
        if time_ps < self._now_ps:
            raise ValueError(f"time {time_ps} ps lies before {self._now_ps} ps")
        self._now_ps = time_ps
        if self._status.complete is None and self._status.start_ps is not None and self._next_ps <= time_ps:
            last_ps = self._next_ps + (time_ps - self._next_ps) // self._interval_ps * self._interval_ps
            self._sample(last_ps)
            self._next_ps = last_ps + self._interval_ps

    def _sample(self, time_ps: int) -> None:
        self._status.values = values_of(self._progress, self._status.start_ps, time_ps)


def conclude(status: GoodputStatus, progress: Progress, end_ps: int | None, succeeded: bool) -> None:
    """Complete a measurement whose job has ended."""
    if not succeeded and end_ps is not None:
        progress.fail(end_ps, Reason.JOB_FAILED.value)
        progress.start_ps = None
    status.values = values_of(progress, status.start_ps, end_ps)
    status.hints = hints_of(progress)
    if not succeeded:
        status.finish(Reason.JOB_FAILED, FAILED_MESSAGE, end_ps)
    elif float(status.values.get("result", "0")) == 0:
        status.finish(Reason.NO_DATA, NO_DATA_MESSAGE, end_ps)
    else:
        status.finish(Reason.JOB_SUCCEEDED, SUCCEEDED_MESSAGE, end_ps)
