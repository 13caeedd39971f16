"""What may not change once a run, its Workflow and its Jobs exist.

Source: NVIDIA/cluster-readiness-engine, the transition rules of WorkloadRun, Workflow and Job, with their texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distsim.errors import InputError

from .spec import WorkloadRun

SPEC_CHANGED = "spec is immutable after creation"
_JOB_FIELDS = ("workloadMetadata", "nodeHealthMonitor", "goodputMeasurement", "bandwidthMeasurement")


def canonical_spec(run: WorkloadRun) -> dict[str, Any]:
    """A run's spec as plain data of JSON, defaults filled in: two that mean the same are equal."""
    return run.spec.model_dump(mode="json", by_alias=True)


def check_unchanged(run: WorkloadRun, stored: Mapping[str, Any]) -> None:
    """InputError if the `stored` canonical spec of the run of this name is another."""
    if canonical_spec(run) != dict(stored):
        file, line = run.locate(("spec",))
        raise InputError(SPEC_CHANGED, file=file, line=line, where="spec")


def check_workflow_unchanged(workflow: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
    """InputError if a Workflow differs from the stored one in presence or value of what is immutable."""
    new, old = workflow["spec"], stored["spec"]
    _check(new, old, "gangScheduler", "spec")
    new, old = new["jobTemplate"]["spec"], old["jobTemplate"]["spec"]
    for key in _JOB_FIELDS:
        _check(new, old, key, "spec.jobTemplate.spec")
    if new.get("workload") != old.get("workload"):
        raise InputError("workload is immutable", where="spec.jobTemplate.spec.workload")


def _check(new: Mapping[str, Any], old: Mapping[str, Any], key: str, where: str) -> None:
    if (new.get(key) is None) != (old.get(key) is None):
        raise InputError(f"{key} cannot be added or removed after creation", where=where)
    if new.get(key) != old.get(key):
        raise InputError(f"{key} is immutable", where=f"{where}.{key}")
