"""Workloads: from a checked specification to tables of operations and what starts them."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from distsim.workload import several
from distsim.workload.base import Context
from distsim.workload.estimate import Estimate
from distsim.workload.order import late_starts
from distsim.workload.registry import PARTS, build_part
from distsim.workload.types import Workload

__all__ = ["WORKLOADS", "build", "late_starts", "projected"]

WORKLOADS: dict[str, ModuleType] = {**PARTS, "several": several}


def build(spec: Any, hosts: int, seed: int, servers: Any = None) -> Workload:
    """The workload of a specification (a `Spec` of WORKLOADS) on a fabric of `hosts` NICs; InputError when it does not
    fit. Rows are in the order of the file or of the generator. servers : `Fabric.servers`."""
    return build_part(spec, Context(hosts, seed, servers=servers), WORKLOADS)


def projected(spec: Any, hosts: int, seed: int, servers: Any = None) -> Estimate | None:
    """What a workload comes to, told without making its tables; None for kinds that do not tell (small ones, or told
    by what `build` gives). InputError as `build`."""
    tell = getattr(WORKLOADS[spec.kind], "projected", None)
    if tell is None:
        return None
    found: Estimate = tell(spec, Context(hosts, seed, servers=servers))
    return found
