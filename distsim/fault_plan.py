"""From the section `faults` of a configuration to a `FaultPlan`: which links, from when to when, with what losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import InputError
from .fabric.links import matching
from .fabric.types import NIC, SWITCH, Fabric
from .state.faults import INTERVALS, SIZE_BITS, FaultPlan, merged, survival_of
from .state.tables import INF_PS

if TYPE_CHECKING:
    from .config import Config
    from .config.faults import FaultEvent, FaultsSection

KINDS = {"switch": SWITCH, "nic": NIC}


def fault_plan(config: Config, fabric: Fabric) -> FaultPlan | None:
    """The plan of a run, None if nothing can fail. InputError for a name or a pair of names that there is not."""
    section = config.faults
    if section is None:
        return None
    keep, bits, survival = _losses(section, fabric)
    down, routed = [], []
    for number, event in enumerate(section.events):
        links = _links_of(event, fabric, f"faults.events.{number}")
        begin = config.workload_start_ps + event.at
        end = INF_PS if event.duration is None else begin + event.duration
        found = section.detection_time if event.detection_time is None else event.detection_time
        down += [(int(link), begin, end) for link in links]
        routed += [(int(link), begin + found, min(INF_PS, end + found)) for link in links]
    return FaultPlan(keep, bits, survival, merged(np.array(down, INTERVALS)), merged(np.array(routed, INTERVALS)))


def _links_of(event: FaultEvent, fabric: Fabric, where: str) -> np.ndarray:
    """Links that an event takes down, both directions."""
    src, dst = fabric.links["src"], fabric.links["dst"]
    if event.between is not None:
        return _between(fabric, event.between, where)
    assert event.name is not None
    hit = matching(fabric.names, event.name, f"{where}.name")
    hit &= fabric.nodes["kind"] == KINDS[event.target]
    if not hit.any():
        example = fabric.names[0] if event.target == "nic" else fabric.names[-1]
        raise InputError(f"{event.name!r} is no {event.target}; valid: e.g. {example}", where=f"{where}.name")
    return np.flatnonzero(hit[src] | hit[dst])


def _between(fabric: Fabric, ends: tuple[str, str], where: str) -> np.ndarray:
    """Links between two devices, both directions."""
    one, two = (matching(fabric.names, name, f"{where}.between") for name in ends)
    src, dst = fabric.links["src"], fabric.links["dst"]
    found = np.flatnonzero((one[src] & two[dst]) | (two[src] & one[dst]))
    if not len(found):
        raise InputError(f"no cable runs between {ends[0]!r} and {ends[1]!r}", where=f"{where}.between")
    return found


def _losses(section: FaultsSection, fabric: Fabric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(keep, bit_class, survival) as in `FaultPlan`."""
    count = len(fabric.links)
    loss, errors = np.full(count, section.packet_loss_rate), np.full(count, section.bit_error_rate)
    for number, entry in enumerate(section.links):
        links = _between(fabric, entry.between, f"faults.links.{number}")
        if entry.packet_loss_rate is not None:
            loss[links] = entry.packet_loss_rate
        if entry.bit_error_rate is not None:
            errors[links] = entry.bit_error_rate
    rates = np.unique(errors[errors > 0])
    bits = np.where(errors > 0, np.searchsorted(rates, errors), -1).astype("i4")
    survival = np.array([survival_of(float(rate)) for rate in rates]).reshape(len(rates), SIZE_BITS)
    return 1.0 - loss, bits, survival
