"""Which operations can start, and which start too late."""

from __future__ import annotations

from collections import deque

import numpy as np

from distsim.workload.types import SEND, Workload


def never_started(ops: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Rows of OPS that no chain of notices ever starts, ascending: they wait for each other."""
    order = np.argsort(edges["src"], kind="stable")
    told = edges["dst"][order].tolist()
    begin = np.searchsorted(edges["src"][order], np.arange(len(ops) + 1)).tolist()
    left = np.where(ops["any_of"] > 0, ops["any_of"], ops["deps"]).tolist()
    ready = deque(np.flatnonzero(ops["deps"] == 0).tolist())
    started = np.zeros(len(ops), bool)
    started[ops["deps"] == 0] = True
    while ready:
        row = ready.popleft()
        for other in told[begin[row]:begin[row + 1]]:
            left[other] -= 1
            if left[other] == 0:
                started[other] = True
                ready.append(other)
    return np.flatnonzero(~started)


def late_starts(workload: Workload, limit_ps: int) -> list[int]:
    """Rows of the messages whose own start time is `limit_ps` or later, so that a run of that length never sends them.

    limit_ps : picoseconds after the workload's start.
    """
    ops = workload.ops
    return [int(row) for row in np.flatnonzero((ops["kind"] == SEND) & (ops["start_ps"] >= limit_ps))]
