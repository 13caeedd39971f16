"""The files of a run: objects as YAML, the timeline, the steps, goodput, the report."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.scheduler.faults.documents import REASON_CM
from distsim.scheduler.store import JOBS, NODES, PODS, to_yaml, write_documents, write_text
from distsim.scheduler.types import Happening

from .ledger import PS_PER_MS
from .packets import PS_PER_US, Packets
from .report import Row

if TYPE_CHECKING:
    from distsim.scheduler.types import Job

    from .clock import Clock

RECORDS, RESET, MEASUREMENTS, CONFIGMAPS = "records", "reset", "measurements", "configmaps.yaml"
REASONS, TIMELINE, STEPS, GOODPUT, REPORT = (
    "job-reschedule-reason.yaml", "timeline.csv", "steps.csv", "goodput.json", "report.json")
FOLDERS = (RECORDS, RESET, MEASUREMENTS, JOBS, PODS)
FILES = (NODES, REASONS, CONFIGMAPS, TIMELINE, STEPS, GOODPUT, REPORT)
TIMELINE_COLUMNS = ("time_ms", "kind", "job", "pod", "node", "message")
STEP_COLUMNS = ("job", "from_ms", "to_ms", "steps", "step_us", "source", "simulation", "busbw_gbs")


def claim(directory: Path, mark: str = REPORT) -> None:
    """Make room for a run; what an earlier one left is removed. The report says that it is under way until it is over.
    InputError for a directory that holds anything and no report of a run, and for one that cannot be written."""
    try:
        _make_room(directory, mark)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=str(directory), where="-o") from None


def _make_room(directory: Path, mark: str) -> None:
    if directory.exists() and not directory.is_dir():
        raise InputError("is not a directory", file=str(directory), where="-o")
    if directory.exists() and any(directory.iterdir()) and not (directory / mark).exists():
        raise InputError(f"is not empty and holds no {mark} of an earlier run; choose another directory",
                         file=str(directory), where="-o")
    directory.mkdir(parents=True, exist_ok=True)
    for folder in FOLDERS:
        if (directory / folder).exists():
            shutil.rmtree(directory / folder)
    for name in FILES:
        (directory / name).unlink(missing_ok=True)
    (directory / mark).write_text(_json({"state": "under way"}))


def write_so_far(directory: Path, clock: Clock, rows: Iterable[Row], why: str) -> None:
    """What is known of a run that has not come to its end: timeline, steps, and a report that says why and when."""
    write_text(directory / TIMELINE, timeline_text(clock.timeline))
    write_text(directory / STEPS, steps_text(rows))
    write_text(directory / REPORT, _json({"state": "interrupted", "reason": why, "atMs": clock.now_ms}))


def write(directory: Path, clock: Clock, packets: Packets, jobs: Sequence[Job], rows: Iterable[Row],
          report: dict[str, Any], goodput: dict[str, Any]) -> None:
    """Write all files but the records of the packets; the report comes last. RunError if one cannot be written."""
    write_documents(directory, clock.state, jobs)
    for job, name in zip(jobs, _file_names(jobs)):
        write_text(directory / RESET / f"{name}-reset.json", _json(clock.recovery.reset_json(job)))
    manifests = clock.recovery.configmaps()
    reasons = [one for one in manifests if one["metadata"]["name"] == REASON_CM]
    write_text(directory / REASONS, to_yaml(reasons))
    write_text(directory / CONFIGMAPS, to_yaml(manifests))
    _write_measurements(directory / MEASUREMENTS, packets, jobs, clock)
    write_text(directory / TIMELINE, timeline_text(clock.timeline))
    write_text(directory / STEPS, steps_text(rows))
    write_text(directory / GOODPUT, _json(goodput))
    write_text(directory / REPORT, _json(report))


def timeline_text(happenings: Iterable[Happening]) -> str:
    """timeline.csv."""
    return _csv(TIMELINE_COLUMNS, ([one.time_ms, one.kind, one.job, one.pod, one.node, one.message]
                                   for one in happenings))


def steps_text(rows: Iterable[Row]) -> str:
    """steps.csv. Times to the picosecond; source says whether the time of the steps was simulated for them or known."""
    return _csv(STEP_COLUMNS, ([row.job, _decimal(row.span.from_ps, PS_PER_MS), _decimal(row.span.to_ps, PS_PER_MS),
                                row.span.steps, _decimal(row.span.time.ps or 0, PS_PER_US),
                                "known" if row.known else "simulated", row.span.time.simulation,
                                "" if row.bus_gbs is None else repr(row.bus_gbs)] for row in rows))


def _write_measurements(directory: Path, packets: Packets, jobs: Sequence[Job], clock: Clock) -> None:
    """The BandwidthMeasurement of each job of nccl-tests and its gauges, of the first step that it did."""
    for job, name in zip(jobs, _file_names(jobs)):
        track = clock.tracks.get(job.uid)
        simulations = [span.time.simulation for span in track.progress.spans] if track is not None else []
        first = next((one for one in simulations if one in packets.figures
                      and job.uid in packets.figures[one].bandwidth), None)
        if first is None:
            continue
        document = dict(packets.figures[first].bandwidth[job.uid])
        document["metadata"] = {"name": f"{job.name}-bandwidth", "namespace": job.namespace}
        document["spec"] = {**document["spec"], "jobRef": {"kind": job.kind, "name": job.name}}
        write_text(directory / f"{name}-bandwidth.yaml", to_yaml([document]))
        gauges = packets.directory / first / f"{first}-{packets.names[job.uid]}-metrics.prom"
        if gauges.exists():
            write_text(directory / f"{name}-metrics.prom", gauges.read_text())


def _file_names(jobs: Sequence[Job]) -> list[str]:
    """Name of each job, with its namespace where two jobs share one."""
    names = [job.name for job in jobs]
    return [job.name if names.count(job.name) == 1 else f"{job.namespace}-{job.name}" for job in jobs]


def _decimal(ps: int, unit: int) -> str:
    """A time in units of so many picoseconds, every digit and no more: 1500000000 ps are 1.5 ms."""
    whole, rest = divmod(ps, unit)
    return f"{whole}.{rest:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".")


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()
