"""What a resolved Workflow asks of the cluster: GPUs of a node and nodes of a job, as its overrides have left them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from distsim.errors import InputError

from .names import GPU_RESOURCE


def gpus_per_node(workflow: Mapping[str, Any]) -> int:
    """The greatest amount of GPUs in any requests or limits of the job template and the dependencies; 0 if in none."""
    spec = workflow["spec"]
    return max(_asked(spec["jobTemplate"]), _asked(spec.get("dependencies") or []))


def nodes_per_job(workflow: Mapping[str, Any]) -> int:
    """The trainer's numNodes; InputError if an override has left none."""
    train_job = ((workflow["spec"]["jobTemplate"].get("spec") or {}).get("workload") or {}).get("trainJob") or {}
    count = (train_job.get("trainer") or {}).get("numNodes")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"{count!r} is not a whole number; valid: 1 or more",
                         where="spec.jobTemplate.spec.workload.trainJob.trainer.numNodes")
    return count


def _asked(data: Any) -> int:
    if isinstance(data, list):
        return max(map(_asked, data), default=0)
    if not isinstance(data, dict):
        return 0
    own = [_whole(data[key].get(GPU_RESOURCE)) for key in ("requests", "limits") if isinstance(data.get(key), dict)]
    return max([*own, *map(_asked, data.values())], default=0)


def _whole(amount: Any) -> int:
    """A quantity as a whole number; what is none counts as 0."""
    try:
        return max(0, int(Decimal(str(amount))))
    except (InvalidOperation, ValueError, OverflowError):
        return 0
