"""Workloads side by side of which some run in phases: their phases go in step.

Every phase of the joint workload holds the next phase of each part that is not over; when all of them are done each
part is told what its own came to, and what follows makes the next joint phase. So parts meet at the ends of their
phases; in between they share nothing but the fabric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distsim.workload.types import LOCAL, LOG_OP, SEND, Phase, Workload


@dataclass
class Lane:
    """A part. workload : its phase under way, None when it is over; end_ps : its last logged completion so far."""

    name: str
    workload: Workload | None
    sweep: Any
    end_ps: int = 0
    first: int = 0


class Lanes:
    """Parts that run side by side, by name. `join` gives the first joint phase."""

    def __init__(self, parts: list[tuple[str, Workload]]) -> None:
        self.lanes = [Lane(name, workload, workload.sweep) for name, workload in parts]
        found = [workload.notices for _, workload in parts if workload.notices is not None]
        self._notices = np.concatenate(found) if found else None

    def join(self) -> Workload | None:
        """The phases under way as one workload; None when every part is over."""
        going = [(lane, lane.workload) for lane in self.lanes if lane.workload is not None]
        if not going:
            return None
        first, last_id = 0, 0
        for lane, workload in going:
            lane.first = first
            workload.edges["src"] += first
            workload.edges["dst"] += first
            first += len(workload.ops)
            workload.ops["user_id"] += last_id
            messages = np.isin(workload.ops["kind"], (SEND, LOCAL))
            last_id = max(last_id, int(workload.ops["user_id"][messages].max(initial=0)))
        every = [workload for _, workload in going]
        return Workload(
            np.concatenate([one.ops for one in every]), np.concatenate([one.edges for one in every]),
            warnings=[line for one in every for line in one.warnings], notices=self._notices,
            following=self._following, pause_ps=max(one.pause_ps for one in every), lanes=self)

    def _following(self, phase: Phase) -> Workload | None:
        for lane in self.lanes:
            if lane.workload is not None:
                self._go_on(lane, lane.workload, phase)
        return self.join()

    @staticmethod
    def _go_on(lane: Lane, workload: Workload, phase: Phase) -> None:
        rows = slice(lane.first, lane.first + len(workload.ops))
        done = phase.done_ps[rows]
        logged = (workload.ops["flags"] & LOG_OP) != 0
        lane.end_ps = int(done[logged].max()) if logged.any() else phase.end_ps
        mine = Phase(phase.start_ps, lane.end_ps, phase.began_ps[rows], done)
        lane.workload = workload.following(mine) if workload.following is not None else None
