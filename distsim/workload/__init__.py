"""Workloads: from a checked specification to tables of operations and what starts them.

The kinds are imported when they are asked for: `workload.types` alone needs no pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from distsim.workload.order import late_starts

if TYPE_CHECKING:
    from distsim.workload.estimate import Estimate
    from distsim.workload.types import Workload

    WORKLOADS: Mapping[str, ModuleType]

__all__ = ["WORKLOADS", "build", "late_starts", "projected"]


def __getattr__(name: str) -> Any:
    """WORKLOADS: the module of every kind, by its name."""
    if name != "WORKLOADS":
        raise AttributeError(name)
    from distsim.workload import registry

    return registry.WORKLOADS


def build(spec: Any, hosts: int, seed: int, servers: Any = None, rate_bps: int = 0) -> Workload:
    """The workload of a specification (a `Spec` of WORKLOADS) on a fabric of `hosts` NICs; InputError when it does not
    fit. Rows are in the order of the file or of the generator. servers : `Fabric.servers`. rate_bps : of the slowest
    NIC's link, 0 when it is not known."""
    from distsim.workload.base import Context
    from distsim.workload.registry import WORKLOADS, build_part

    return build_part(spec, Context(hosts, seed, servers=servers, rate_bps=rate_bps), WORKLOADS)


def projected(spec: Any, hosts: int, seed: int, servers: Any = None) -> Estimate | None:
    """What a workload comes to, told without making its tables; None for kinds that do not tell (small ones, or told
    by what `build` gives). InputError as `build`."""
    from distsim.workload.base import Context
    from distsim.workload.registry import WORKLOADS

    tell = getattr(WORKLOADS[spec.kind], "projected", None)
    if tell is None:
        return None
    found: Estimate = tell(spec, Context(hosts, seed, servers=servers))
    return found
