"""What a graph must be before it can be lowered, and how its nodes are named in messages."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from distsim.errors import InputError
from distsim.workload.base import MAX_MESSAGE_BYTES, MAX_START_PS
from distsim.workload.graph import RECV, SEND, Graph
from distsim.workload.order import find_cycle

MOST_NAMED = 3


def fail(graph: Graph, message: str) -> NoReturn:
    """InputError that names the graph's source."""
    raise InputError(message, file=graph.source or None)


def name(graph: Graph, row: int) -> str:
    """A node in a message: ``rank 3 node 17``."""
    return f"rank {graph.nodes['rank'][row]} node {graph.nodes['id'][row]}"


def source(graph: Graph) -> str:
    """The graph's source as the start of a warning."""
    return f"{graph.source}: " if graph.source else ""


def some(texts: list[str], total: int) -> str:
    """The first few of `total` things, and how many there are."""
    shown = ", ".join(texts[:MOST_NAMED])
    return shown if total <= len(texts[:MOST_NAMED]) else f"{shown}, ... ({total} in all)"


def check_graph(graph: Graph, placement: np.ndarray, hosts: int) -> None:
    """InputError for values that no operation can have: unknown peers, negative or too large sizes and durations, ranks
    that do not fit on the hosts or share one. ValueError for dependencies between ranks, which no reader may make."""
    nodes, deps = graph.nodes, graph.deps
    _check_placement(graph, placement, hosts)
    if len(deps) and (nodes["rank"][deps["node"]] != nodes["rank"][deps["on"]]).any():
        raise ValueError("a dependency joins nodes of two ranks")
    talks = (nodes["kind"] == SEND) | (nodes["kind"] == RECV)
    least = np.where(nodes["kind"] == RECV, -1, 0)
    _refuse(graph, talks & ((nodes["peer"] < least) | (nodes["peer"] >= graph.ranks)), "peer",
            f"the ranks are 0 to {graph.ranks - 1}")
    sizes = nodes["size_bytes"]
    _refuse(graph, (nodes["kind"] == SEND) & ((sizes < 0) | (sizes > MAX_MESSAGE_BYTES)), "size_bytes",
            f"a transfer has 0 to {MAX_MESSAGE_BYTES} bytes")
    _refuse(graph, (nodes["duration_ps"] < 0) | (nodes["duration_ps"] > MAX_START_PS), "duration_ps",
            f"a duration is 0 to {MAX_START_PS} ps")


def _check_placement(graph: Graph, placement: np.ndarray, hosts: int) -> None:
    if len(placement) != graph.ranks:
        fail(graph, f"{graph.ranks} ranks, but {len(placement)} of them are placed")
    if graph.ranks > hosts:
        fail(graph, f"{graph.ranks} ranks need a host each; the fabric has {hosts}")
    bad = np.flatnonzero((placement < 0) | (placement >= hosts))
    if len(bad):
        fail(graph, f"rank {bad[0]} is placed on server {placement[bad[0]]}; the fabric has servers 0 to {hosts - 1}")
    order = np.argsort(placement, kind="stable")
    twice = np.flatnonzero(np.diff(placement[order]) == 0)
    if len(twice):
        first, second = order[twice[0]:twice[0] + 2]
        fail(graph, f"ranks {first} and {second} are both placed on server {placement[first]}; a server has one rank")


def _refuse(graph: Graph, bad: np.ndarray, field: str, rule: str) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        fail(graph, f"{name(graph, rows[0])}: {field} {graph.nodes[field][rows[0]]}; {rule}"
                    + (f" ({len(rows)} such nodes)" if len(rows) > 1 else ""))


def check_acyclic(graph: Graph, deps: np.ndarray, ordered: bool) -> None:
    """InputError that names a cycle of `deps` (DEPS). ordered : whether serialization added to them."""
    rows = find_cycle(len(graph.nodes), deps["node"], deps["on"])
    if rows is None:
        return
    cycle = [str(graph.nodes["id"][row]) for row in [*rows, rows[0]]]
    shown = cycle if len(cycle) <= 8 else [*cycle[:4], "...", *cycle[-3:]]
    fail(graph, f"rank {graph.nodes['rank'][rows[0]]}: nodes wait for each other: {' -> '.join(shown)} "
                "(a -> b: a waits for b)"
                + ("; the order in which process groups were issued counts, see ProcessGroupSerialization"
                   if ordered else ""))
