"""A stand-in for the engine: runs the phases of an nccl-tests workload with times that a test makes up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from distsim.workload.base import Context
from distsim.workload.nccl_tests import Spec, build
from distsim.workload.types import ROLE_END, Phase, Workload

Times = Callable[["Ran"], Any]
START_PS = 2_000_000_000


@dataclass
class Ran:
    """A phase: its step, its operations, and how many phases came before it."""

    step: Any
    operations: int
    number: int
    workload: Workload


def spec(command: str, **others: Any) -> Spec:
    """A section whose launches and barriers take no time, unless said otherwise."""
    return Spec(**{"kind": "nccl-tests", "command": command, "launch": "0s", "barrier": "0s", **others})


def run(section: Spec, hosts: int, times: Times) -> tuple[list[Ran], Any]:
    """(phases, report). times : picoseconds from a phase's start to each rank's last exit, a number or one a rank."""
    workload: Workload | None = build(section, Context(hosts, 1))
    assert workload is not None
    report, ranks = workload.sweep.report, workload.sweep.shape.ranks
    phases: list[Ran] = []
    now_ps = START_PS
    while workload is not None:
        assert workload.labels is not None and workload.following is not None
        ends = np.flatnonzero(workload.labels["role"] == ROLE_END)
        ran = Ran(workload.sweep._running.step, len(ends) // ranks, len(phases), workload)
        phases.append(ran)
        took = np.broadcast_to(np.asarray(times(ran), "i8"), ranks)
        done = np.full(len(workload.ops), -1, "i8")
        order = np.zeros(ranks, "i8")
        for row in ends.tolist():
            rank = workload.labels["rank"][row]
            order[rank] += 1
            done[row] = now_ps + took[rank] * order[rank] // ran.operations
        end_ps = int(done.max())
        pause_ps = workload.pause_ps
        workload = workload.following(Phase(now_ps, end_ps, np.where(done < 0, -1, now_ps), done))
        now_ps = end_ps + pause_ps
    return phases, report


def rows(lines: list[str]) -> list[str]:
    """The result rows of a log."""
    return [line for line in lines if line and not line.startswith("#") and "NCCL" not in line]
