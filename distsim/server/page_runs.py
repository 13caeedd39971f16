"""Runs for the page: how they stand, how far they have come, what they came to."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.server.errors import ApiError
from distsim.server.simulations import COMPLETED, LIVE, TERMINATED, Simulation, last_time_s

if TYPE_CHECKING:
    from distsim.results.run import Run
    from distsim.server.context import Context

# Of run.json what the page shows; the rest (configuration, files, partition) may be large.
SHOWN = ("status", "seed", "ranks", "configuration_sha256", "versions", "warnings", "counts", "flows", "fct_us",
         "simulated_s", "wall", "hops_per_s", "peak_memory_mb", "jobs")
LISTED = 50  # collectives
MOST_PERF, MOST_PERF_LIVE = 64 << 20, 4 << 20  # bytes of the perf record up to which flows are summed up on the way


def status_of(simulation: Simulation) -> str:
    """One word: finished and unfinished for completed runs, interrupted for those that nobody terminated, else the
    documented status."""
    if simulation.status == COMPLETED and simulation.run_status:
        return simulation.run_status
    if simulation.status == TERMINATED and not (simulation.job and simulation.job.terminated):
        return "interrupted"
    return simulation.status


def listed(here: Context, simulation: Simulation) -> dict[str, Any]:
    """A row of the list of runs."""
    entry, job = simulation.entry, simulation.job
    live = simulation.status in LIVE
    return {
        "id": simulation.id, "name": simulation.name, "path": simulation.path, "status": status_of(simulation),
        "error": simulation.reason, "started": simulation.created or None, "ended": simulation.ended or None,
        "ranks": entry.ranks if entry and entry.ranks else job.ranks if job else None,
        "simulated_s": entry.simulated_s if entry else None, "flows": entry.flows if entry else {},
        "can_terminate": live and job is not None, "can_delete": not live,
        "has_files": entry is not None, "progress": progress_of(here, simulation) if live else None,
    }


def progress_of(here: Context, simulation: Simulation) -> dict[str, Any]:
    """How far a run in progress has come: fraction (None: not known), flows_done, flows_total, simulated_s. By its last
    line of progress where the server started it, else by the last row of its records."""
    reached = here.jobs.log(simulation.id).reached() if simulation.job is not None else None
    if reached is not None:
        total = reached.flows_total
        done = reached.flows_done  # none yet says nothing on how long it takes
        return {"fraction": done / total if done and total else None, "flows_done": done,
                "flows_total": total, "simulated_s": reached.simulated_s}
    simulated_s = None
    if simulation.entry is not None:
        with contextlib.suppress(InputError, ApiError, OSError):
            simulated_s = last_time_s(here.simulations.run(simulation.id))
    return {"fraction": None, "flows_done": None, "flows_total": None, "simulated_s": simulated_s}


def detail(here: Context, simulation: Simulation) -> dict[str, Any]:
    """A row of the list, and: info (the shown part of run.json, None while there is none), flows_summary of the perf
    record, configuration_text (YAML, "" when it is not known)."""
    found = listed(here, simulation) | {"info": None, "flows_summary": None, "configuration_text": ""}
    if simulation.job is not None:
        with contextlib.suppress(OSError):
            found["configuration_text"] = here.jobs.configuration_text(simulation.id)
    if simulation.entry is None:
        return found
    with contextlib.suppress(ApiError):
        run = here.simulations.run(simulation.id)
        found["flows_summary"] = _flows(run)
        if run.info:
            found["info"] = _info(run)
            found["configuration_text"] = found["configuration_text"] or _configuration(run)
    return found


def _info(run: Run) -> dict[str, Any]:
    info = {name: run.info[name] for name in SHOWN if name in run.info}
    collectives = run.info.get("collectives") or []
    info["collectives"], info["collectives_count"] = collectives[:LISTED], len(collectives)
    faults = run.info.get("faults")
    if faults is not None:
        info["faults"] = {name: faults.get(name) for name in ("lost_packets", "lost_bytes")}
    return info


def _flows(run: Run) -> dict[str, Any] | None:
    """Figures of the flows that have finished; None without a perf record, and when reading it would take long."""
    size = sum(os.path.getsize(file.path) for file in run.files("perf"))
    if not 0 < size <= (MOST_PERF if run.info else MOST_PERF_LIVE):
        return None
    summary: dict[str, Any] = run.summary()
    return summary


def _configuration(run: Run) -> str:
    from distsim.server.store import text_of

    try:
        return text_of(run.info.get("configuration") or {})
    except ApiError:
        return ""
