"""From the exits of collectives to the time that a measurement reports.

Facts: NVIDIA/nccl-tests 2.19.1, src/common.cu (BenchTime, Allreduce, getElapsedTimes).
"""

from __future__ import annotations

import numpy as np

from distsim.workload.types import ROLE_END, Phase, Workload

from .command import AVERAGE, MINIMUM, RANK_0, Command
from .iterations import Iterations, figures


def elapsed_ps(workload: Workload, phase: Phase, ranks: int, together: bool = False) -> np.ndarray:
    """i8[operations, ranks], from the exit of the operation before, or the phase's start, to each rank's exit.

    together : each rank's exit is the last one of all.
    """
    labels, instances = workload.labels, workload.instances
    assert labels is not None and instances is not None
    ends = np.flatnonzero(labels["role"] == ROLE_END)
    exits = np.full((len(instances) + 1, ranks), phase.start_ps, "i8")
    exits[instances["order"][labels["instance"][ends]] + 1, labels["rank"][ends]] = phase.done_ps[ends]
    if together:
        exits[:] = exits.max(axis=1, keepdims=True)
    return np.diff(exits, axis=0)


def combined_s(elapsed: np.ndarray, command: Command) -> float:
    """Seconds an operation: a thread waits for its GPUs; threads are combined as -a says. elapsed : as above."""
    threads = elapsed.sum(axis=0).reshape(-1, command.gpus).max(axis=1) / 1e12 / len(elapsed)
    if command.average == RANK_0:
        return float(threads[0])
    if command.average == AVERAGE:
        return float(threads.sum() / len(threads))
    return float(threads.min() if command.average == MINIMUM else threads.max())


def alike(elapsed: np.ndarray, command: Command, within: float) -> bool:
    """Whether all that is printed of them stays the same, to this share, from the operation before the last to the
    last: the mean over ranks, or each rank that -a may take; with -I the slowest rank too. elapsed : as above."""
    if len(elapsed) < 2:
        return False
    last = elapsed[-2:].astype("f8")
    shown = last
    if command.average == RANK_0:
        shown = last[:, :command.gpus]
    elif command.average == AVERAGE and command.gpus == 1:
        shown = last.mean(axis=1, keepdims=True)
    if command.per_iteration:
        shown = np.column_stack([shown, last.max(axis=1)])
    return bool((np.abs(np.diff(shown, axis=0)) <= within * shown[0]).all())


def iteration_figures(elapsed: np.ndarray, command: Command) -> Iterations:
    """Figures on the iterations: of each the slowest rank's time, over the operations that it aggregates."""
    by_iteration = elapsed.reshape(command.iterations, command.aggregated, -1).sum(axis=1).max(axis=1)
    return figures((by_iteration / 1e6 / command.aggregated).tolist())
