"""Step times of placements: from a packet simulation when they are not known, else from the one that told them.

What is known holds for the same jobs on the same NICs that share links with one another, under the same faults of the
fabric. A step in which the fabric changes is simulated by itself, with the change at its time inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .fabric_faults import FabricFaults
from .progress import StepTime
from .work import Work

PS_PER_S = 10**12
OPEN_PS = 10**17              # longest simulation without faults: everything ends by itself
# With faults a step may never end: it is given up after so many times what it takes without, and a second.
PATIENCE = 10


@dataclass(frozen=True)
class Member:
    """A job on its NICs. hosts : by rank. servers : number of nodes that they belong to; per_server : ranks of each if
    all have as many, else 1. factor : how many times slower its chips compute since others share them."""

    job: str
    hosts: tuple[int, ...]
    servers: int = 1
    per_server: int = 1
    factor: float = 1.0


@dataclass(frozen=True)
class Request:
    """A simulation of one step of jobs that begin together. faults : section of the configuration. limit_ps : when it
    is given up. at_ps : the cluster's time at which it begins."""

    name: str
    members: tuple[Member, ...]
    faults: dict[str, Any]
    limit_ps: int
    at_ps: int


# Simulates, and tells how long each job's step took; None: it did not end.
Simulate = Callable[[Request], Mapping[str, int | None]]


@dataclass
class Known:
    """A simulation that was made. times : by job. alone : it was made to learn how fast a job is by itself."""

    name: str
    times: dict[str, int | None]
    alone: bool


@dataclass
class StepTimes:
    """Simulates what is not known. made : how many simulations there have been."""

    works: Mapping[str, Work]
    faults: FabricFaults
    simulate: Simulate
    made: int = 0
    _known: dict[Any, Known] = field(default_factory=dict)
    _first: dict[str, Member] = field(default_factory=dict)

    def begins(self, member: Member) -> None:
        """A job runs for the first time: by this placement its slow-down is told."""
        self._first.setdefault(member.job, member)

    def at(self, job: str, group: Sequence[Member], time_ps: int) -> tuple[StepTime, int | None]:
        """Time of a step of a job that runs beside the others of its group (itself among them) while the fabric stays
        as it is at a time; and when it changes next."""
        there = self.faults.at(time_ps)
        found = self._group(tuple(group), ("steady", there), self._limit(group, bool(there)), time_ps,
                            lambda: self.faults.steady(time_ps))
        return self._told(job, group, found), self.faults.next_change(time_ps)

    def across(self, job: str, group: Sequence[Member], begin_ps: int) -> StepTime:
        """Time of one step of a job that begins at a time and is under way when the fabric changes."""
        change_ps = self.faults.next_change(begin_ps)
        assert change_ps is not None
        limit_ps = self._limit(group, True) + change_ps - begin_ps
        found = self._group(tuple(group), ("across", begin_ps), limit_ps, begin_ps,
                            lambda: self.faults.across(begin_ps, begin_ps + limit_ps))
        return self._told(job, group, found)

    def base_ps(self, job: str) -> int:
        """Time of a step of a job alone, on its first placement and a sound fabric, with its chips to itself."""
        found = self._simulated((self._first[job],), ("sound",), OPEN_PS, 0, dict, alone=True)
        base = found.times[job]
        assert base is not None, f"{job} does not end on a sound fabric"
        return base

    def _told(self, job: str, group: Sequence[Member], found: Known) -> StepTime:
        ps, base_ps = found.times[job], self.base_ps(job)
        if ps is None:
            return StepTime(None, base_ps, 0, found.name, found.alone)
        mine = next(member for member in group if member.job == job)
        sharing = self.works[job].stretch_ps(ps, mine.factor)
        return StepTime(ps + sharing, base_ps, sharing, found.name, found.alone)

    def _limit(self, group: Sequence[Member], faulty: bool) -> int:
        if not faulty and not self.faults.settings:
            return OPEN_PS
        return PATIENCE * sum(self.base_ps(member.job) for member in group) + PS_PER_S

    def _group(self, group: tuple[Member, ...], state: tuple[Any, ...], limit_ps: int, at_ps: int,
               section: Callable[[], dict[str, Any]]) -> Known:
        """Times of a group. A joint simulation ends with its last job; if one does not end, those that would not end by
        themselves either are left out for the others."""
        if state == ("steady", ()) and not self.faults.settings:
            state = ("sound",)
        found = self._simulated(group, state, limit_ps, at_ps, section)
        if len(group) == 1 or None not in found.times.values():
            return found
        single = {one.job: self._simulated((one,), state, limit_ps, at_ps, section).times[one.job] for one in group}
        rest = tuple(one for one in group if single[one.job] is not None)
        if not rest or len(rest) == len(group):
            return found
        others = self._group(rest, state, limit_ps, at_ps, section)
        return Known(others.name, {**dict.fromkeys(found.times), **others.times}, others.alone)

    def _simulated(self, group: tuple[Member, ...], state: tuple[Any, ...], limit_ps: int, at_ps: int,
                   section: Callable[[], dict[str, Any]], alone: bool = False) -> Known:
        """What a simulation of exactly this group tells, made if it was not before."""
        key = (tuple((one.job, one.hosts) for one in group), state)
        if key not in self._known:
            self.made += 1
            name = f"sim-{self.made:04d}"
            times = self.simulate(Request(name, group, section(), limit_ps, at_ps))
            self._known[key] = Known(name, dict(times), alone)
        return self._known[key]
