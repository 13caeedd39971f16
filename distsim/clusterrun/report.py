"""What a run came to, as plain data: each job's end, steps and goodput, and the whole cluster's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.errors import EXIT_OK, EXIT_UNFINISHED
from distsim.scheduler.explain.outcome import reason_of
from distsim.scheduler.types import JobPhase

from .clock import Clock
from .ledger import PARTS, PS_PER_MS, document, goodput, split
from .packets import PS_PER_US, Packets
from .progress import Span
from .track import Track

if TYPE_CHECKING:
    from distsim.scheduler.types import Job

COMPLETED, FAILED, RUNNING, PENDING = "Completed", "Failed", "Running", "Pending"


@dataclass(frozen=True)
class Row:
    """Steps of a job in a row. known : their time was known from a simulation for other steps."""

    job: str
    span: Span
    known: bool
    bus_gbs: float | None


def rows_of(clock: Clock, packets: Packets) -> list[Row]:
    """All steps of all jobs, by the time at which they begin."""
    found = [row for track in clock.tracks.values() for row in _rows(track, packets)]
    return sorted(found, key=lambda row: row.span.from_ps)


def _rows(track: Track, packets: Packets) -> list[Row]:
    seen: set[str] = set()
    found = []
    for span in track.progress.spans:
        name = span.time.simulation
        known = name in seen or span.time.alone
        seen.add(name)
        found.append(Row(track.job.uid, span, known, _bus(track, span, packets)))
    return found


def _bus(track: Track, span: Span, packets: Packets) -> float | None:
    figures = packets.figures.get(span.time.simulation)
    return figures.bus_gbs.get(track.job.uid) if figures is not None else None


def report_of(clock: Clock, packets: Packets, jobs: Sequence[Job], warnings: Sequence[str]) -> dict[str, Any]:
    """The report. The jobs stand in the order of the files."""
    entries = [_job(job, clock, packets) for job in jobs]
    settings = clock.state.settings
    return {"cluster": clock.state.cluster.name, "policy": settings.policy or None, "endMs": clock.now_ms,
            "untilMs": clock.until_ms, "sessions": clock.sessions, "simulations": clock.times.made,
            "goodput": goodput(_sum(clock)), "jobs": entries, "warnings": [*warnings, *packets.warnings]}


def goodput_of(clock: Clock) -> dict[str, Any]:
    """Where the time of each job went, picoseconds, and the chip time of all of them."""
    jobs = {uid: {"submittedMs": track.progress.submitted_ps // PS_PER_MS, "chips": track.progress.chips,
                  "stepBasePs": _base(track), **document(track.progress.ledger)}
            for uid, track in clock.tracks.items()}
    parts = _sum(clock)
    return {"jobs": jobs, "all": {"goodput": goodput(parts), "chip_wall_ps": sum(parts.values()),
                                  "chip_parts_ps": split(parts)}}


def _sum(clock: Clock) -> dict[str, int]:
    """Chip time of all jobs, by part."""
    return {part: sum(track.progress.ledger.chip_ps[part] for track in clock.tracks.values()) for part in PARTS}


def _base(track: Track) -> int | None:
    """Step time by which slow-down is told, None for a job that has done no step."""
    return track.progress.spans[0].time.base_ps if track.progress.spans else None


def _job(job: Job, clock: Clock, packets: Packets) -> dict[str, Any]:
    track = clock.tracks.get(job.uid)
    state = state_of(job, track)
    found: dict[str, Any] = {"name": job.name, "namespace": job.namespace, "state": state,
                             "reason": why(job, state, track, clock), "queue": job.queue, "pods": len(job.tasks)}
    if track is None:
        return found
    progress = track.progress
    spans = progress.spans
    steps = sum(span.steps for span in spans)
    typical = max(spans, key=lambda span: span.steps, default=None)
    figures = packets.figures.get(typical.time.simulation) if typical is not None else None
    wall_ps = sum(progress.ledger.time_ps.values())
    return found | {
        "workload": track.work.section["kind"], "chips": progress.chips,
        "nodes": [] if state == PENDING else list(dict.fromkeys(node for _, node, _ in track.places)),
        "steps": progress.done, "stepsToDo": progress.plan.steps, "interruptions": progress.interruptions,
        "submittedMs": _ms(progress.submitted_ps), "runningMs": track.first_ms,
        "endMs": _ms(progress.submitted_ps + wall_ps), "wallMs": _ms(wall_ps),
        "queueingMs": _ms(progress.ledger.time_ps["queueing"]),
        "stepUs": sum(span.to_ps - span.from_ps for span in spans) / steps / PS_PER_US if steps else None,
        "stepBaseUs": spans[0].time.base_ps / PS_PER_US if spans else None,
        "busBW": _mean_bus(track, packets), "spine": figures.spine.document() if figures and figures.spine else None,
        "goodput": goodput(progress.ledger.chip_ps),
        "partsMs": {part: _ms(ps) for part, ps in split(progress.ledger.time_ps).items()}}


def state_of(job: Job, track: Track | None) -> str:
    """Completed, Failed, Running or Pending: how a job stands at the end of the run."""
    if job.phase in (JobPhase.COMPLETED, JobPhase.FAILED):
        return str(job.phase.value)
    return RUNNING if track is not None and track.places and job.phase is JobPhase.RUNNING else PENDING


def why(job: Job, state: str, track: Track | None, clock: Clock) -> str:
    """Why a job is in its state, in one sentence."""
    if state in (COMPLETED, FAILED):
        return job.reason
    said = reason_of(job, clock.state)
    if state == PENDING or track is None:
        return said or f"not handed in before {clock.now_ms} ms"
    stuck = clock.recovery.stuck(job)
    if stuck:
        return f"stands still: {stuck}"
    if track.stands or track.progress.stalled:
        return "stands still: no step can end in this state of the fabric"
    if not clock.recovery.trains(job):
        return said or "interrupted by a fault, and not all its pods run again"
    return f"cut off at {clock.now_ms} ms, {track.progress.done} of {track.progress.plan.steps} steps done"


def _mean_bus(track: Track, packets: Packets) -> float | None:
    """Bus bandwidth over all steps: what they moved over the time that they took; GB/s."""
    total = time = 0.0
    for span in track.progress.spans:
        bus = _bus(track, span, packets)
        if bus:
            total += span.steps * bus * (span.time.ps or 0)
            time += span.steps * (span.time.ps or 0)
    return total / time if time else None


def _ms(ps: int) -> float:
    """Milliseconds, exactly as far as a double has digits; whole ones as integers."""
    return ps // PS_PER_MS if ps % PS_PER_MS == 0 else ps / PS_PER_MS


def exit_code(report: dict[str, Any]) -> int:
    """0 when every job has completed (under every policy of a comparison), else 3."""
    runs = report.get("policies", [report])
    return EXIT_OK if all(job["state"] == COMPLETED for run in runs for job in run["jobs"]) else EXIT_UNFINISHED
