"""Estimates: as many transfers and bytes as lowering makes, counted by hand too."""

from __future__ import annotations

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.workload.collectives.schedule import Options
from distsim.workload.estimate import Estimate, estimate, of_collective
from distsim.workload.graph import ALL_REDUCE, ALL_TO_ALL, COLL, DEPS, NODES, RECV, SEND, Graph, Group
from distsim.workload.lower import Settings, lower
from distsim.workload.types import SEND as OP_SEND


def graph_of(rows: list[dict[str, int]], groups: list[list[int]]) -> Graph:
    nodes = np.zeros(len(rows), NODES)
    for name in ("peer", "group", "root", "issue"):
        nodes[name] = -1
    for place, row in enumerate(rows):
        nodes["id"][place] = place
        for name, value in row.items():
            nodes[name][place] = value
    return Graph(1 + max(row["rank"] for row in rows), nodes, np.zeros(0, DEPS),
                 [Group(f"g{index}", np.array(ranks, "i4")) for index, ranks in enumerate(groups)])


def lowered(graph: Graph, settings: Settings) -> tuple[int, int]:
    ops = lower(graph, settings, np.arange(graph.ranks, dtype="i4"), graph.ranks).ops
    sends = ops[ops["kind"] == OP_SEND]
    return len(sends), int(sends["size_bytes"].sum())


def collective(rank: int, group: int, kind: int, size: int) -> dict[str, int]:
    return {"rank": rank, "kind": COLL, "group": group, "collective": kind, "size_bytes": size}


def test_sends_and_collectives_of_overlapping_groups() -> None:
    rows = [collective(0, 0, ALL_REDUCE, 300), {"rank": 0, "kind": SEND, "peer": 2, "size_bytes": 77},
            collective(1, 0, ALL_REDUCE, 300), collective(1, 1, ALL_TO_ALL, 20),
            collective(2, 0, ALL_REDUCE, 300), collective(2, 1, ALL_TO_ALL, 20),
            {"rank": 2, "kind": RECV, "peer": 0, "size_bytes": 77}]
    graph = graph_of(rows, [[0, 1, 2], [2, 1]])
    found = estimate(graph, Settings())
    # A ring of 3: 3 ranks send 4 times 100 bytes; all-to-all of 2: each sends 10; one message of 77.
    assert found == Estimate(transfers=12 + 2 + 1, size_bytes=1200 + 20 + 77, nodes=7, collectives=2)
    assert (found.transfers, found.size_bytes) == lowered(graph, Settings())
    chunked = Settings(options=Options(channels=2, chunk_bytes=20, slices=2, protocol="ll"))
    found = estimate(graph, chunked)
    assert (found.transfers, found.size_bytes) == lowered(graph, chunked) and found.transfers > 15


def test_alltoallv() -> None:
    graph = graph_of([collective(rank, 0, ALL_TO_ALL, 0) for rank in range(3)], [[0, 1, 2]])
    graph.counts = {0: np.array([9, 5, 0]), 1: np.array([1, 0, 2]), 2: np.array([0, 0, 4])}
    assert estimate(graph, Settings()) == Estimate(transfers=3, size_bytes=8, nodes=3, collectives=1)
    assert lowered(graph, Settings()) == (3, 8)


def test_nothing() -> None:
    assert estimate(Graph(1, np.zeros(0, NODES), np.zeros(0, DEPS)), Settings()) == Estimate(0, 0)
    assert of_collective(ALL_REDUCE, 1, 100, Settings(), 5) == Estimate(0, 0, collectives=5)


def test_an_algorithm_that_does_not_fit() -> None:
    settings = Settings(algorithms={ALL_REDUCE: "halving-doubling"})
    with pytest.raises(InputError, match=r"all_reduce by halving-doubling among 3 ranks: .*power of two"):
        of_collective(ALL_REDUCE, 3, 100, settings)
