"""The section `faults` of a configuration for a packet simulation that covers a part of the cluster's time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from distsim.cluster import Cluster
from distsim.config.names import nearest
from distsim.errors import InputError
from distsim.quantities import spell_time
from distsim.scheduler.faults.fault import FABRIC_TARGETS, LINK, NIC, Fault


def fabric_section(faults: Iterable[Fault], cluster: Cluster, *, start_ps: int = 0, end_ps: int | None = None,
                   settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The section for a simulation whose time 0 is `start_ps` and that ends by `end_ps` (None: open).

    Only nic, link and switch faults count, those that last for some of [start_ps, end_ps); one that has begun before is
    there from time 0 and lasts for the rest. settings : `Script.fabric`. {} when there is nothing to say.
    Raises InputError when a NIC that is named is none of the cluster's.
    """
    nics = {f"NIC-{host}" for node in cluster.nodes for host in node.nics}
    chosen = [fault for fault in faults if fault.target in FABRIC_TARGETS and _overlaps(fault, start_ps, end_ps)]
    for fault in chosen:
        _check_nics(fault, nics)
    events = [event for fault in chosen for event in _events(fault, start_ps)]
    section: dict[str, Any] = dict(settings or {})
    if events:
        section["events"] = events
    return section


def _overlaps(fault: Fault, start_ps: int, end_ps: int | None) -> bool:
    over_ps = None if fault.duration_ps is None else fault.at_ps + fault.duration_ps
    return (end_ps is None or fault.at_ps < end_ps) and (over_ps is None or over_ps > start_ps)


def _events(fault: Fault, start_ps: int) -> list[dict[str, Any]]:
    begin_ps = max(fault.at_ps, start_ps)
    event: dict[str, Any] = {"target": fault.target, "at": spell_time(begin_ps - start_ps)}
    if fault.duration_ps is not None:
        event["duration"] = spell_time(fault.at_ps + fault.duration_ps - begin_ps)
    if fault.detection_ps is not None:
        event["detection_time"] = spell_time(fault.detection_ps)
    if fault.target == LINK:
        assert fault.between is not None
        return [event | {"between": list(fault.between)}]
    return [event | {"name": name} for name in fault.names]


def _check_nics(fault: Fault, nics: set[str]) -> None:
    for name in fault.names if fault.target == NIC else ():
        if name not in nics:
            near = nearest(name, sorted(nics))
            raise InputError(f"no NIC is called {name!r}; nearest: {near}", file=fault.file or None, line=fault.line)
