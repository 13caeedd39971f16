"""Looking at a run that was made before: its state by name, and what there is to say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError

from .store import IN_PROGRESS, Store

if TYPE_CHECKING:
    from .spec import WorkloadRun


def find_store(directory: Path, run: WorkloadRun | None) -> Store:
    """The state in a directory; InputError if there is none, or that of another run than `run`."""
    store = Store(directory)
    state = store.state()
    if state is None:
        raise InputError("holds no WorkloadRun; name its directory with -o", file=str(directory))
    if run is not None and state["name"] != run.name:
        raise InputError(f"holds WorkloadRun {state['name']}, not {run.name}", file=str(directory))
    return store


def status_of(store: Store, form: str) -> tuple[dict[str, Any] | None, str]:
    """The report of a run, None while it runs; and its status as text: a line for each condition, or json or yaml."""
    state = store.state() or {}
    if state.get("phase") == IN_PROGRESS:
        shown: dict[str, Any] = {"name": state["name"], "phase": IN_PROGRESS}
        report = None
    else:
        report = store.report()
        shown = {"name": report["name"], "phase": report["phase"], "reason": report["reason"],
                 "message": report["message"], "workflowRef": {"name": report["name"]},
                 "detectedPlatform": report["platform"], "detectedGPUArchitecture": report["gpuArchitecture"],
                 "resolvedGpusPerNode": report["gpusPerNode"], "conditions": report["conditions"],
                 "failedNodes": report["failedNodes"],
                 "jobs": [{"name": job["name"], "phase": job["phase"], "verdict": job["verdict"]}
                          for job in report["jobs"]]}
    if form == "json":
        return report, json.dumps(shown, indent=2, ensure_ascii=False)
    if form == "yaml":
        from .render import to_yaml

        return report, to_yaml(shown).rstrip("\n")
    lines = [f"{shown['name']}: {shown['phase']}"]
    lines += [f"  {one['type']}={one['status']} {one['reason']}{': ' if one['message'] else ''}{one['message']}"
              for one in shown.get("conditions", ()) if one["status"] == "True" or one["type"] == "ValidationFailed"]
    lines += [f"  job {job['name']}: {job['phase']}, {job['verdict']}" for job in shown.get("jobs", ())]
    return report, "\n".join(lines)
