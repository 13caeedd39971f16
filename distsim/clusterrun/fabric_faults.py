"""What is broken in the fabric at a time, and the section `faults` of a simulation that begins then.

A simulation begins with a step. Faults that began before it are there from its time 0, and the switches know of them
(detection is done); a fault that begins or ends inside it stands in it at its own time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distsim.scheduler.faults.fabric import fabric_section
from distsim.scheduler.faults.fault import FABRIC_TARGETS, Fault

if TYPE_CHECKING:
    from distsim.cluster import Cluster


@dataclass(frozen=True)
class FabricFaults:
    """The faults of a script that the packets meet. settings : rates of loss and the detection time, for the whole of
    every simulation, as the section `faults` has them."""

    cluster: Cluster
    faults: tuple[Fault, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, cluster: Cluster, faults: Sequence[Fault], settings: Mapping[str, Any]) -> FabricFaults:
        """Those of a script: its link, switch and NIC faults."""
        return cls(cluster, tuple(fault for fault in faults if fault.target in FABRIC_TARGETS), dict(settings))

    @property
    def sound(self) -> bool:
        """Whether the fabric never has a fault and loses nothing."""
        return not self.faults and not self.settings

    def at(self, time_ps: int) -> tuple[int, ...]:
        """Numbers of the faults that are there at a time."""
        return tuple(fault.index for fault in self.faults
                     if fault.at_ps <= time_ps and (fault.duration_ps is None
                                                    or time_ps < fault.at_ps + fault.duration_ps))

    def next_change(self, time_ps: int) -> int | None:
        """When a fault begins or ends next after a time."""
        times = [time for fault in self.faults for time in _times(fault) if time > time_ps]
        return min(times, default=None)

    def steady(self, time_ps: int) -> dict[str, Any]:
        """The section of a simulation in which the fabric stays as it is at a time."""
        there = set(self.at(time_ps))
        events = [event for fault in self.faults if fault.index in there
                  for event in self._events(fault, time_ps, lasting=True)]
        return self._section(events)

    def across(self, begin_ps: int, end_ps: int) -> dict[str, Any]:
        """The section of a simulation from a time to another, with all that begins and ends in between."""
        events = [event for fault in self.faults if fault.at_ps < end_ps
                  and (fault.duration_ps is None or fault.at_ps + fault.duration_ps > begin_ps)
                  for event in self._events(fault, begin_ps, lasting=False)]
        return self._section(events)

    def _events(self, fault: Fault, begin_ps: int, lasting: bool) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = fabric_section([fault], self.cluster, start_ps=begin_ps).get("events", [])
        for event in found:
            if fault.at_ps <= begin_ps:
                event["detection_time"] = "0ps"
            if lasting:
                event.pop("duration", None)
        return found

    def _section(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        return {**self.settings, **({"events": events} if events else {})}


def _times(fault: Fault) -> tuple[int, ...]:
    return (fault.at_ps,) if fault.duration_ps is None else (fault.at_ps, fault.at_ps + fault.duration_ps)
