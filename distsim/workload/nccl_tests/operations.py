"""The operations of one phase as a graph: one collective a rank and operation, each after the one before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsim.workload import graph as g

from .sizes import Amount, Test

COLLECTIVE = {"all_reduce": g.ALL_REDUCE, "all_gather": g.ALL_GATHER, "reduce_scatter": g.REDUCE_SCATTER,
              "alltoall": g.ALL_TO_ALL, "broadcast": g.BROADCAST, "reduce": g.REDUCE, "gather": g.GATHER,
              "scatter": g.SCATTER, "sendrecv": g.ALL_TO_ALL, "hypercube": g.ALL_GATHER}
OWN_ALGORITHM = ("sendrecv", "hypercube")                # programs that are an algorithm of their collective
PER_RANK = ("all_gather", "gather", "hypercube")         # comm_size counts from each rank (collectives/README.md)


def launches(program: str, ranks: int) -> int:
    """Launches of an operation: one for each dimension of a hypercube, else one."""
    return ranks.bit_length() - 1 if program == "hypercube" else 1


def size_bytes(program: str, moved: Amount) -> int:
    """comm_size of a program's collective."""
    return moved.part_bytes if program in PER_RANK else moved.row_bytes


def phase_graph(program: str, test: Test, moved: Amount, ranks: int, launches_ps: Sequence[int]) -> g.Graph:
    """The graph of operations that follow each other on each rank.

    launches_ps : of each operation, the time that every rank takes before it; 0: none. A hypercube's launches, one for
    each dimension, are taken together before the first.
    """
    kinds: list[int] = []
    durations: list[int] = []
    for launch_ps in launches_ps:
        kinds += [g.FIXED, g.COLL] if launch_ps else [g.COLL]
        durations += [launch_ps, 0] if launch_ps else [0]
    length = len(kinds)
    one = np.zeros(length, g.NODES)
    one["kind"], one["id"], one["duration_ps"] = kinds, np.arange(1, length + 1), durations
    one["peer"], one["group"], one["root"], one["issue"] = -1, -1, -1, -1
    operation = one["kind"] == g.COLL
    one["group"][operation] = 0
    one["collective"][operation] = COLLECTIVE[program]
    one["size_bytes"][operation] = size_bytes(program, moved)
    one["root"][operation] = test.root
    nodes = np.tile(one, ranks)
    nodes["rank"] = np.repeat(np.arange(ranks), length)
    deps = np.zeros((ranks, length - 1), g.DEPS)
    deps["on"] = np.arange(ranks)[:, None] * length + np.arange(length - 1)
    deps["node"] = deps["on"] + 1
    return g.Graph(ranks, nodes, deps.ravel(), [g.Group("world", np.arange(ranks))], source="nccl-tests")
