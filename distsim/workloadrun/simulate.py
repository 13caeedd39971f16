"""Jobs that run at the same time, simulated together on the cluster's fabric, and what their measurements say.

All ranks of a parallel run make the same calls; rank 0 reads and writes files and tells the others.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.config.parameters import LONGEST_S
from distsim.errors import EXIT_INTERRUPTED, EXIT_OK, DistsimError, InputError
from distsim.measure.live import SECOND_PS, spell_ps

from .jobs import Job
from .names import API_VERSION
from .traffic import part_name

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.engine import Result
    from distsim.limits import Limits
    from distsim.parallel.comm import Communicator

    from .profiles import Profiles

Outcomes = dict[str, dict[str, Any]]
SECTIONS = ("nic", "nic_overrides", "switch", "switch_overrides")
_STAMP = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?")
GROUP, JOB = API_VERSION.partition("/")[0], "Job"


@dataclass(frozen=True)
class Running:
    """A job, the nodes that it runs on, and its section of the workload."""

    job: Job
    nodes: tuple[str, ...]
    part: dict[str, Any]


class Ranks:
    """The processes of this run. `once` does a step on one of them and tells the others."""

    def __init__(self) -> None:
        from distsim.parallel.comm import world

        self.comm: Communicator = world()

    @property
    def first(self) -> bool:
        """Whether this is the one that reads and writes."""
        return self.comm.rank == 0

    def once(self, step: Callable[[], Any]) -> Any:
        """What a step gives (plain data), on every rank; its error is raised on every rank."""
        found, error = None, None
        if self.first:
            try:
                found = step()
            except DistsimError as wrong:
                error = wrong
        self.comm.agree(error)
        return self.comm.share(found)


def configuration(name: str, cluster: Cluster, parts: Sequence[Mapping[str, Any]], bandwidth: Mapping[str, Any],
                  start_s: float, timeout_s: float) -> dict[str, Any]:
    """The configuration of jobs that run together. The simulation starts at start_s and stops when a job has run for
    timeout_s at the latest, counted as RunTime is."""
    parameters = {**(cluster.settings.get("SimulationParameters") or {})}
    offset = parameters.get("ClientStartOffset", 0.001)
    parameters |= {"StartTime": start_s, "WarmUp": 0.0, "CoolDown": 0.0, "RunTime": min(timeout_s + offset, LONGEST_S)}
    return {"simulation": name, "SimulationParameters": parameters, "fabric": cluster.fabric,
            "workload": {"kind": "several", "parts": [dict(part) for part in parts]},
            **{key: cluster.settings[key] for key in SECTIONS if cluster.settings.get(key)},
            "bandwidthMeasurement": dict(bandwidth)}


@dataclass(frozen=True)
class Wave:
    """Jobs that start together. name : of the simulation. directory : for its records. start_s, timeout_s : simulated
    seconds."""

    name: str
    directory: Path
    running: Sequence[Running]
    start_s: float
    timeout_s: float


def check_job(job: Job, part: Mapping[str, Any], cluster: Cluster, profiles: Profiles) -> None:
    """InputError, naming it, for a job that cannot be simulated, or whose measurements name no log profile."""
    from distsim.config import from_dict

    profiles.check(job.document["spec"])
    try:
        from_dict(configuration("check", cluster, [part], {}, 0.001, 1.0))
    except InputError as error:
        raise InputError(f"job {job.name} cannot be simulated: {error.where}: {error.message}") from None


def simulate(wave: Wave, cluster: Cluster, ranks: Ranks, profiles: Profiles, *, limits: Limits,
             quiet: bool) -> tuple[Outcomes, float]:
    """Run the jobs; what became of each, by name, and when the last of them ended, simulated seconds.

    A result is plain data: finished, start and end (RFC 3339), bandwidth and goodput (whole documents, None where the
    job does not ask for them). InputError when the jobs cannot be simulated, KeyboardInterrupt when it was interrupted.
    """
    from distsim.config import from_dict
    from distsim.engine import run_config

    bandwidth = bandwidth_section(wave.running[0].job.document["spec"], profiles)
    config = from_dict(configuration(wave.name, cluster, [one.part for one in wave.running], bandwidth, wave.start_s,
                                     wave.timeout_s))
    result: Result = run_config(config, wave.directory, quiet=quiet, overwrite=True, limits=limits)
    code, end_s = ranks.once(lambda: (result.exit_code, float(result.info["simulated_s"])))
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    span = config.workload_start_ps, round(end_s * SECOND_PS)
    found = ranks.once(lambda: {
        one.job.name: _Ended(one, wave, profiles, *_own(one, result.info, span, code == EXIT_OK)).outcome()
        for one in wave.running})
    return found, end_s


def _own(running: Running, info: Mapping[str, Any], span: tuple[int, int], finished: bool) -> tuple[tuple[int, int],
                                                                                                   bool]:
    """Begin and end of a job, ps, and whether it ended; as the whole wave did where run.json has no line for it."""
    for part in info.get("jobs", []):
        if part["name"] == part_name(running.job.name):
            return (span[0], span[0] + round(part["end_us"] * 10**6) if part["over"] else span[1]), bool(part["over"])
    return span, finished


def bandwidth_section(spec: Mapping[str, Any], profiles: Profiles) -> dict[str, Any]:
    """The section bandwidthMeasurement of a configuration; without one in the job its defaults, which then only tell
    when the job ended."""
    timeout = {"measurementTimeout": spec["measurementTimeout"]} if spec.get("measurementTimeout") else {}
    return profiles.section(spec, "bandwidthMeasurement") | timeout


def next_start_s(end_s: float) -> float:
    """When the next wave starts: the next whole millisecond but one."""
    return (math.floor(end_s * 1000) + 2) / 1000


class _Ended:
    """A job that has run. span : begin of the wave and end of the simulation, ps. finished : all of the wave has."""

    def __init__(self, running: Running, wave: Wave, profiles: Profiles, span: tuple[int, int], finished: bool):
        self.job, self._profiles, self._finished = running.job, profiles, finished
        self._spec = running.job.document["spec"]
        self._start, self._end = spell_ps(span[0]), spell_ps(span[1])
        stem = f"{wave.name}-{part_name(running.job.name)}"
        self._bandwidth, self._log = wave.directory / f"{stem}-bandwidth.json", wave.directory / f"{stem}-launcher.log"

    def outcome(self) -> dict[str, Any]:
        """What `simulate` gives for the job."""
        document = None
        if self._bandwidth.exists():
            document = json.loads(self._bandwidth.read_text())
            status = document["status"]
            self._finished = any(one["type"] == "Complete" and one["reason"] != "JobFailed"
                                 for one in status["conditions"])
            self._start = status.get("startTime", self._start)
            self._end = status.get("completionTime", self._end)
        bandwidth = goodput = None
        if self._spec.get("bandwidthMeasurement"):
            bandwidth = self._named(document or self._unread(), "bandwidth")
        if self._spec.get("goodputMeasurement"):
            goodput = self._named(self._goodput(), "goodput")
        return {"finished": self._finished, "start": self._start, "end": self._end, "bandwidth": bandwidth,
                "goodput": goodput}

    def _unread(self) -> dict[str, Any]:
        """The measurement of a job whose traffic prints no log."""
        from distsim.measure.running import RunMeasurement
        from distsim.measure.section import BandwidthMeasurementSection

        section = BandwidthMeasurementSection.model_validate(bandwidth_section(self._spec, self._profiles))
        measurement = RunMeasurement(section, self.job.name)
        measurement.start(time_ps(self._start))
        measurement.finish(time_ps(self._end), self._finished)
        return measurement.document()

    def _goodput(self) -> dict[str, Any]:
        """The goodput measurement of the job, by its log if it has one."""
        from distsim.measure.goodput.running import GoodputRun
        from distsim.measure.goodput.section import GoodputMeasurementSection

        section = self._profiles.section(self._spec, "goodputMeasurement")
        measurement = GoodputRun(GoodputMeasurementSection.model_validate(section), self.job.name)
        start_ps, end_ps = time_ps(self._start), time_ps(self._end)
        measurement.start(start_ps)
        for at_ps, line in _stamped(self._log, start_ps, end_ps):
            measurement.feed(line, at_ps)
        measurement.finish(end_ps, self._finished)
        return measurement.document()

    def _named(self, document: dict[str, Any], kind: str) -> dict[str, Any]:
        """The document under the job's own name and with its owner."""
        above = self.job.document["metadata"]
        at = {"namespace": above["namespace"]} if above.get("namespace") else {}
        owner = {"apiVersion": API_VERSION, "kind": JOB, "name": self.job.name, "controller": True}
        metadata = {"name": f"{self.job.name}-{kind}", **at, "labels": dict(above["labels"]),
                    "ownerReferences": [owner]}
        spec = {**document["spec"], "jobRef": {"apiGroup": GROUP, "kind": JOB, "name": self.job.name},
                "logProfileRef": self._spec[f"{kind}Measurement"]["logProfileRef"]}
        return {"apiVersion": document["apiVersion"], "kind": document["kind"], "metadata": metadata, "spec": spec,
                "status": document["status"]}


def _stamped(log: Path, start_ps: int, end_ps: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a log and when they were written: by their own time stamps, else by that of the line before."""
    now_ps = start_ps
    if not log.exists():
        return
    with log.open("rb") as lines:
        for line in lines:
            found = _STAMP.search(line[:200])
            if found is not None:
                now_ps = min(max(now_ps, time_ps(found[0].decode().replace(" ", "T"))), end_ps)
            yield now_ps, line


def time_ps(stamp: str) -> int:
    """Picoseconds since 1970 of a simulated time stamp (RFC 3339 in UTC, to the nanosecond)."""
    whole, _, fraction = stamp.removesuffix("Z").partition(".")
    try:
        seconds = int(datetime.fromisoformat(whole + "+00:00").timestamp())
    except ValueError:
        raise InputError(f"{stamp!r} is not a time stamp") from None
    return seconds * SECOND_PS + int(fraction.ljust(9, "0") or 0) * 1000
