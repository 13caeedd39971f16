"""A simulated job of nccl-tests: its launcher's log, its files, and its measurement while it runs. Rank 0 writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .errors import RunError

if TYPE_CHECKING:
    from .config import Config
    from .workload.types import Workload

BANDWIDTH, METRICS = "bandwidth.json", "metrics.prom"


def jobs_of(config: Config, workload: Workload | None, directory: Path, writes: bool) -> list[LaunchedJob]:
    """The jobs of a workload that have a launcher: itself, or those of its parts."""
    if workload is None:
        return []
    if workload.lanes is not None:
        return [LaunchedJob(config, lane.sweep, directory, writes, lane.name)
                for lane in workload.lanes.lanes if lane.sweep is not None]
    return [LaunchedJob(config, workload.sweep, directory, writes)] if workload.sweep is not None else []


def lane_of(job: LaunchedJob, workload: Workload | None) -> Any:
    """The part of a workload in several parts that a job is, None for a workload of one."""
    lanes = workload.lanes.lanes if workload is not None and workload.lanes is not None else []
    return next((lane for lane in lanes if lane.name == job.name), None)


def is_over(job: LaunchedJob, workload: Workload | None) -> bool:
    """Whether a job among several had ended when the workload was stopped."""
    lane = lane_of(job, workload)
    return lane is not None and lane.workload is None


def end_of(job: LaunchedJob, workload: Workload | None, end_ps: int) -> int:
    """When a job ended, if all of the workload did so at `end_ps`."""
    lane = lane_of(job, workload)
    return end_ps if lane is None or not lane.end_ps else int(lane.end_ps)


class LaunchedJob:
    """The job that a workload of nccl-tests is. `begin`, `step` after each phase, `end`; picoseconds of the simulation.

    On the ranks that do not write, the same calls only keep the report short.
    """

    def __init__(self, config: Config, sweep: Any, directory: Path, writes: bool, name: str = "") -> None:
        """sweep : what runs, with its report. name : of the job among several, in the names of its files."""
        self.name = name
        self._report = sweep.report
        self._directory, self._writes = directory, writes
        self._simulation = f"{config.simulation}-{name}" if name else config.simulation
        self._log: IO[str] | None = None
        self._measurement: Any = None
        self.status: dict[str, Any] = {}
        section = config.bandwidth_measurement
        if writes and section is not None:
            from .measure.running import RunMeasurement

            folder = config.source.parent if config.source is not None else Path()
            self._measurement = RunMeasurement(section, name or config.simulation, directory=folder,
                                               test_type=sweep.command.program)

    @property
    def lines(self) -> list[str]:
        """What a terminal shows of the job: the log without command and devices."""
        table: list[str] = self._report.table
        return table

    def begin(self, time_ps: int) -> None:
        """The job starts."""
        if self._writes:
            try:
                self._log = open(self._path(self._report.LOG), "w")  # noqa: SIM115 - open until the job ends
            except OSError as error:
                raise RunError(f"{self._path(self._report.LOG)} cannot be written: {error.strerror}") from None
        if self._measurement is not None:
            self._measurement.start(time_ps)
        self.step(time_ps)

    def step(self, time_ps: int) -> None:
        """Write what the job has said up to this time."""
        lines = self._report.take_lines()
        if self._log is None:
            return
        try:
            self._log.writelines(f"{line}\n" for line in lines)
            self._log.flush()
        except OSError as error:
            self._log = None
            raise RunError(f"{self._path(self._report.LOG)} cannot be written: {error.strerror}") from None
        if self._measurement is not None:
            self._measurement.feed(lines, time_ps)

    def end(self, time_ps: int, succeeded: bool) -> None:
        """The job ended: the rest of the log, its files, the measurement's status and gauges."""
        self.step(time_ps)
        if self._log is None:
            return
        self._log.close()
        for name, text in self._report.files().items():
            self._write(name, text)
        if self._measurement is not None:
            self.status = self._measurement.finish(time_ps, succeeded)
            self._write(BANDWIDTH, json.dumps(self._measurement.document(), indent=2) + "\n")
            self._write(METRICS, self._measurement.prometheus())

    def _path(self, name: str) -> Path:
        return self._directory / f"{self._simulation}-{name}"

    def _write(self, name: str, text: str) -> None:
        try:
            self._path(name).write_text(text)
        except OSError as error:
            raise RunError(f"{self._path(name)} cannot be written: {error.strerror}") from None
