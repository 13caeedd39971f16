"""How many transfers and bytes a workload comes to, told without making them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.errors import InputError
from distsim.workload import collectives
from distsim.workload.graph import COLL, COLLECTIVES, SEND, Graph
from distsim.workload.lower.settings import Settings


@dataclass(frozen=True)
class Estimate:
    """transfers : messages, over the fabric and over scale-up networks; size_bytes : what they carry, the protocol's
    overhead included; nodes : of the graph; collectives : instances."""

    transfers: int
    size_bytes: int
    nodes: int = 0
    collectives: int = 0

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(self.transfers + other.transfers, self.size_bytes + other.size_bytes, self.nodes + other.nodes,
                        self.collectives + other.collectives)


def estimate(graph: Graph, settings: Settings) -> Estimate:
    """What `lower(graph, settings, ...)` makes, but for synchronization barriers.

    Each collective is counted once, where the first rank of its group has it; those of one shape are worked out once.
    """
    nodes = graph.nodes
    sends = nodes["kind"] == SEND
    total = Estimate(int(np.count_nonzero(sends)), int(nodes["size_bytes"][sends].sum()), len(nodes))
    usable = (nodes["kind"] == COLL) & (nodes["group"] >= 0) & (nodes["size_bytes"] >= 0)
    rows = np.flatnonzero(usable & (nodes["collective"] < len(COLLECTIVES)))
    group = nodes["group"][rows]
    first = np.array([one.ranks[0] if len(one.ranks) else -1 for one in graph.groups], "i8")
    rows = rows[nodes["rank"][rows] == first[group]] if len(rows) else rows
    sizes = np.array([len(one.ranks) for one in graph.groups], "i8")
    shapes = np.stack([nodes["collective"][rows].astype("i8"), sizes[nodes["group"][rows]] if len(rows) else rows,
                       nodes["size_bytes"][rows]], axis=1)
    with_counts = np.isin(rows, list(graph.counts))
    found, times = np.unique(shapes[~with_counts], axis=0, return_counts=True)
    for (collective, members, size_bytes), count in zip(found.tolist(), times.tolist(), strict=True):
        total += of_collective(collective, members, size_bytes, settings, count)
    return total + _alltoallv(graph, int(np.count_nonzero(with_counts)))


def of_collective(collective: int, members: int, size_bytes: int, settings: Settings, times: int = 1) -> Estimate:
    """`times` collectives among `members`. Raises InputError when the algorithm does not fit."""
    if members < 2:
        return Estimate(0, 0, collectives=times)
    algorithm = settings.algorithms.get(collective) or collectives.ALGORITHMS_OF[collective][0]
    try:
        messages = collectives.message_count(collective, algorithm, members, size_bytes, 0, settings.options)
        carried = collectives.wire_bytes(collective, algorithm, members, size_bytes, 0, settings.options)
    except ValueError as error:
        raise InputError(f"{COLLECTIVES[collective]} by {algorithm} among {members} ranks: {error}") from error
    return Estimate(times * int(messages), times * int(carried), collectives=times)


def _alltoallv(graph: Graph, instances: int) -> Estimate:
    """What the ranks of all alltoallv send each other, themselves left out."""
    messages = carried = 0
    for row, counts in graph.counts.items():
        node = graph.nodes[row]
        others = counts[graph.groups[node["group"]].ranks != node["rank"]]
        messages += int(np.count_nonzero(others))
        carried += int(others.sum())
    return Estimate(messages, carried, collectives=instances)
