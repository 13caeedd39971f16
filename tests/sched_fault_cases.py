"""A small world for the tests of faults: faults by hand, and a clock that runs sessions and the recovery."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sched_cases as cases

from distsim.scheduler.faults import Fault, Recovery, Times
from distsim.scheduler.session import Scheduler
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State
from distsim.scheduler.types import Happening, Job

PS_PER_S = 10**12


def card(node: str, chips: Sequence[int] = (0,), level: str = "SeparateNPU", kind: str = "CardUnhealthy", at_s: int = 0,
         for_s: int | None = None, index: int = 0, **more: Any) -> Fault:
    """A chip fault."""
    return Fault(index, "chip", at_s * PS_PER_S, None if for_s is None else for_s * PS_PER_S, node=node,
                 chips=tuple(chips), prefix="Ascend910", fault_type=kind, level=level, **more)


def node_down(node: str, at_s: int = 0, for_s: int | None = None, index: int = 0, state: str = "UnHealthy",
              kind: str = "NodeUnhealthy", **more: Any) -> Fault:
    """A node fault."""
    return Fault(index, "node", at_s * PS_PER_S, None if for_s is None else for_s * PS_PER_S, node=node,
                 prefix="Ascend910", fault_type=kind, state=state, **more)


def fails(what: str, rank: int = 0, at_s: int = 0, index: int = 0, exit_code: int = 1, job: str = "job") -> Fault:
    """A pod or process that fails."""
    return Fault(index, what, at_s * PS_PER_S, job=job, rank=rank, exit_code=exit_code)


class World:
    """A state with faults and a clock: every second the recovery, a session and the recovery again."""

    def __init__(self, state: State, faults: Sequence[Fault] = (), times: Times | None = None, start_s: int = 0):
        self.state, self.faults = state, list(faults)
        self.scheduler, self.recovery = Scheduler(state), Recovery(state, times, start_s)
        self.log: list[Happening] = []
        self.now_ms = -1

    def run(self, until_s: float) -> World:
        """Go on to a time, included."""
        until_ms = round(until_s * 1000)
        while (at_ms := self._next(until_ms)) is not None:
            self.now_ms = at_ms
            for fault in self.faults:
                if fault.end_ms == at_ms:
                    self.recovery.end(fault, at_ms)
            for fault in self.faults:
                if fault.begin_ms == at_ms:
                    self.recovery.begin(fault, at_ms)
            self.log += self.recovery.tick(at_ms)
            if at_ms % 1000 == 0:
                self.log += self.scheduler.session(at_ms)
                self.log += self.recovery.tick(at_ms)
        return self

    def said(self, *kinds: str) -> list[tuple[int, str, str]]:
        """(time, kind, pod or node) of what happened, of some kinds."""
        return [(one.time_ms, one.kind, one.pod or one.node) for one in self.log if one.kind in kinds]

    def message(self, kind: str) -> str:
        """The first message of a kind."""
        return next(one.message for one in self.log if one.kind == kind)

    def _next(self, until_ms: int) -> int | None:
        times = [self.now_ms // 1000 * 1000 + 1000]
        times += [time for fault in self.faults for time in (fault.begin_ms, fault.end_ms) if time is not None]
        due = self.recovery.next_ms()
        if due is not None:
            times.append(due)
        return min((time for time in times if self.now_ms < time <= until_ms), default=None)


def state_with(nodes: int = 4, chips: int = 8, **settings: Any) -> State:
    """Nodes n0, n1, ... at one switch."""
    return cases.tor_state(1, nodes, chips, SchedulerSettings(**settings) if settings else None)


def running(state: State, nodes: Sequence[str], chips: int = 8, name: str = "job", **settings: Any) -> Job:
    """A job that runs, pod i on nodes[i]."""
    return cases.run_on(state, cases.job(len(nodes), chips, name, **settings), nodes)
