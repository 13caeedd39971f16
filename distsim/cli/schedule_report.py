"""The report of `distsim schedule`: plain data, text, and the files of -o."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.scheduler.explain import Wires, capacity, explained, job_entry
from distsim.scheduler.store import JOBS, NODES, PODS, to_yaml, write_documents, write_text

from .schedule_table import table_lines

if TYPE_CHECKING:
    from distsim.scheduler.dry_run import DryRun
    from distsim.workloadrun.touched import Paths

PLACEMENT = "placement.json"


def report_of(run: DryRun, explain: bool) -> dict[str, Any]:
    """jobs : in the order of the files. cluster : what is left, with --explain by rack too. sessions : how many ran."""
    jobs = [job_entry(job, run.state) for job in run.jobs]
    cluster = capacity(run.state)
    if explain:
        wires = Wires(run.state.cluster)
        paths = _paths(wires)
        for entry, job in zip(jobs, run.jobs):
            entry |= explained(job, run.state, wires, run.refused.get(job.uid, {}), paths)
    else:
        del cluster["racks"]
    return {"jobs": jobs, "cluster": cluster, "sessions": run.sessions, "warnings": list(run.warnings)}


def shown(report: Mapping[str, Any], form: str) -> str:
    """The report as text: table, json or yaml."""
    if form == "json":
        return json.dumps(report, indent=2, ensure_ascii=False)
    if form == "yaml":
        return to_yaml([dict(report)]).rstrip("\n")
    return "\n".join(table_lines(report))


def check_directory(directory: Path) -> None:
    """InputError for a directory that holds anything and no placement.json of an earlier dry run."""
    if not directory.exists():
        return
    if not directory.is_dir():
        raise InputError("is not a directory", file=str(directory), where="-o")
    if any(directory.iterdir()) and not (directory / PLACEMENT).exists():
        raise InputError(f"is not empty and holds no {PLACEMENT} of an earlier dry run; choose another directory",
                         file=str(directory), where="-o")


def write(directory: Path, run: DryRun, report: Mapping[str, Any]) -> None:
    """The state of all objects, and the report as placement.json, in place of those of an earlier dry run."""
    for folder in (JOBS, PODS):
        shutil.rmtree(directory / folder, ignore_errors=True)
    for name in (NODES, PLACEMENT):
        (directory / name).unlink(missing_ok=True)
    write_documents(directory, run.state, run.jobs)
    write_text(directory / PLACEMENT, shown(report, "json") + "\n")


def _paths(wires: Wires) -> Paths | None:
    """The routes of the cluster's fabric, None for a cluster without one."""
    if wires.fabric is None:
        return None
    from distsim.fabric.routing import build_routes
    from distsim.workloadrun.touched import Paths

    return Paths(wires.fabric, build_routes(wires.fabric))
