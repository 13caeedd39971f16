"""Measuring a simulated job while it runs: what `distsim run` needs, in one small class."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from distsim.errors import InputError

from .gauges import GaugeServer, Series, gauges_text
from .lifecycle import JobStatus
from .live import SECOND_PS, JobMeasurement
from .manifest import API_GROUP, API_VERSION, measurement_name
from .profile import LogProfile, builtin_profile, load_profile
from .section import BandwidthMeasurementSection
from .units import parse_duration_s, parse_size_bytes


class RunMeasurement:
    """The measurement of one job of a run, on the rank that writes the launcher's log.

    Make it before the run starts (a profile that cannot be used is an InputError then), and drive it in the order of
    simulated time, picoseconds::

        measurement = RunMeasurement(section, job_name="sweep", test_type="all_reduce", directory=config_folder)
        measurement.start(time_ps)                 # the job begins to run; by default the time of the first feed
        measurement.feed(lines, time_ps)           # whatever the launcher writes, when it writes it
        status = measurement.finish(time_ps, succeeded)
        json.dump(status, file)                    # {sim}-bandwidth.json
        path.write_text(measurement.prometheus())  # {sim}-metrics.prom

    Samples that were due in between are taken by themselves: they see the lines written before their own instant. Call
    `feed((), time_ps)` now and then in a run that is long in wall-clock time, so that `status()`, `prometheus()` and a
    scrape (`serve`) show the provisional results. `finish` may be called once; what comes later changes nothing.
    """

    def __init__(self, section: BandwidthMeasurementSection, job_name: str, *, test_type: str = "",
                 namespace: str = "", directory: Path | None = None):
        """`test_type` holds where the section gives none; `directory` is where a profile's file name starts from."""
        self.section, self.job_name = section, job_name
        self.test_type = section.testType or test_type
        self.namespace = namespace
        self.job = JobMeasurement(
            _profile(section.logProfileRef, directory), interval_ps=_duration_ps(section.sampleInterval),
            timeout_ps=_duration_ps(section.measurementTimeout),
            rotate_bytes=parse_size_bytes(section.containerLogMaxSize))
        self._started = False

    @property
    def name(self) -> str:
        """Name of the measurement, as the Job controller would name it."""
        return measurement_name(self.job_name)

    def start(self, time_ps: int) -> None:
        """The job begins to run."""
        self._started = True
        self.job.job_started(time_ps)

    def feed(self, lines: str | bytes | Iterable[str | bytes], time_ps: int) -> None:
        """The launcher wrote these lines (a text with newlines, or single lines with or without one) at this time."""
        if not self._started:
            self.start(time_ps)
        self.job.advance(time_ps)
        for line in _lines(lines):
            self.job.log_written(time_ps, line)

    def finish(self, time_ps: int, succeeded: bool) -> dict[str, Any]:
        """The job ended; read its log for good and give the status."""
        self.job.job_finished(time_ps, JobStatus.SUCCEEDED if succeeded else JobStatus.FAILED)
        while (deadline_ps := self.job.deadline_ps()) is not None:
            self.job.advance(deadline_ps)
        return self.status()

    def status(self) -> dict[str, Any]:
        """The status as plain data, field names as documented; provisional until `finish`."""
        return self.job.status.to_dict()

    def document(self) -> dict[str, Any]:
        """The whole BandwidthMeasurement, as plain data for YAML or JSON."""
        return {"apiVersion": API_VERSION, "kind": "BandwidthMeasurement",
                "metadata": {"name": self.name, **({"namespace": self.namespace} if self.namespace else {})},
                "spec": {"jobRef": {"apiGroup": API_GROUP, "kind": "Job", "name": self.job_name},
                         "logProfileRef": self.section.logProfileRef, "sampleInterval": self.section.sampleInterval,
                         **({"testType": self.test_type} if self.test_type else {})},
                "status": self.status()}

    def prometheus(self) -> str:
        """The gauges as text: provisional results while the job runs, then the last ones."""
        return gauges_text([self._series()])

    def serve(self, port: int, host: str = "127.0.0.1") -> GaugeServer:
        """Serve the gauges for a scrape from now on; port 0 takes a free one."""
        return GaugeServer(host, port, lambda: [self._series()])

    def _series(self) -> Series:
        return Series(self.name, self.job.status.results, self.test_type, self.namespace, self.job_name)


def _profile(name: str, directory: Path | None) -> LogProfile:
    found = builtin_profile(name)
    if found is not None:
        return found
    try:
        return load_profile(str((directory or Path()) / name))
    except InputError as error:
        where = None if error.file is not None else "bandwidthMeasurement.logProfileRef"
        raise InputError(error.message, file=error.file, line=error.line, where=where or error.where) from None


def _duration_ps(text: str) -> int:
    return round(parse_duration_s(text) * SECOND_PS)


def _lines(lines: str | bytes | Iterable[str | bytes]) -> list[str | bytes]:
    """Single lines without their newline. Only a newline ends a line; a carriage return stays."""
    parts: list[str | bytes] = []
    for text in [lines] if isinstance(lines, (str, bytes)) else lines:
        split: list[str] | list[bytes] = text.split("\n") if isinstance(text, str) else text.split(b"\n")
        parts.extend(split[:-1] if len(split) > 1 and not split[-1] else split)
    return parts
