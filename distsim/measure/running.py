"""Measuring a simulated job while it runs: what `distsim run` needs, in one small class."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .gauges import GaugeServer, Series, gauges_text
from .lifecycle import JobStatus
from .live import JobMeasurement
from .manifest import measurement_name
from .profile import builtin_profile, load_profile
from .run_parts import duration_ps, find_profile, lines_of, resource
from .section import BandwidthMeasurementSection
from .units import parse_size_bytes


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
            find_profile("bandwidthMeasurement", section.logProfileRef, directory, builtin_profile, load_profile),
            interval_ps=duration_ps(section.sampleInterval), timeout_ps=duration_ps(section.measurementTimeout),
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
        for line in lines_of(lines):
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
        spec = {"logProfileRef": self.section.logProfileRef, "sampleInterval": self.section.sampleInterval,
                **({"testType": self.test_type} if self.test_type else {})}
        return resource("BandwidthMeasurement", self.name, self.namespace, self.job_name, spec, self.status())

    def prometheus(self) -> str:
        """The gauges as text: provisional results while the job runs, then the last ones."""
        return gauges_text([self._series()])

    def serve(self, port: int, host: str = "127.0.0.1") -> GaugeServer:
        """Serve the gauges for a scrape from now on; port 0 takes a free one."""
        return GaugeServer(host, port, lambda: [self._series()])

    def _series(self) -> Series:
        return Series(self.name, self.job.status.results, self.test_type, self.namespace, self.job_name)
