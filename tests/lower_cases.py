"""Graphs of a few ranks, tiny collectives, and an executor, for the tests of `distsim.workload.lower`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import pytest

from distsim.workload import collectives
from distsim.workload.collectives.schedule import TRANSFERS, WAITS, Schedule
from distsim.workload.graph import (
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLL,
    COMP,
    DEPS,
    FIXED,
    META,
    NODES,
    RECV,
    SEND,
    Graph,
    Group,
)
from distsim.workload.lower import Settings, lower
from distsim.workload.types import (
    EDGES,
    LABELS,
    LOCAL,
    LOCAL_IN,
    ON_LOCAL,
    ON_RECV_DONE,
    OPS,
    Workload,
)

Node = tuple[int, dict[str, int]]
NAMES = ("ring", "tree", "star", "pairs")


def node(rank: int, kind: int, **fields: int) -> Node:
    return rank, {"kind": kind, **fields}


def comp(rank: int, ps: int) -> Node:
    return node(rank, COMP, duration_ps=ps)


def fixed(rank: int, ps: int) -> Node:
    return node(rank, FIXED, duration_ps=ps)


def meta(rank: int) -> Node:
    return node(rank, META)


def send(rank: int, peer: int, size: int = 100, tag: int = 0, **fields: int) -> Node:
    return node(rank, SEND, peer=peer, size_bytes=size, tag=tag, **fields)


def recv(rank: int, peer: int, size: int = 100, tag: int = 0, **fields: int) -> Node:
    return node(rank, RECV, peer=peer, size_bytes=size, tag=tag, **fields)


def coll(rank: int, collective: int = ALL_REDUCE, size: int = 300, group: int = 0, **fields: int) -> Node:
    return node(rank, COLL, collective=collective, size_bytes=size, group=group, **fields)


def graph(ranks: int, nodes: Sequence[Node], deps: Sequence[tuple[int, int]] = (),
          groups: Sequence[Sequence[int]] = (), **fields: object) -> Graph:
    """Nodes by rank; ids are 100 + row."""
    rows = np.zeros(len(nodes), NODES)
    for name in ("peer", "group", "root", "issue"):
        rows[name] = -1
    for row, (rank, given) in enumerate(nodes):
        rows[row]["rank"], rows[row]["id"] = rank, 100 + row
        for name, value in given.items():
            rows[row][name] = value
    assert (np.diff(rows["rank"]) >= 0).all()
    return Graph(ranks, rows, np.array(deps, DEPS) if deps else np.zeros(0, DEPS),
                 [Group(f"g{i}", np.array(ranks_of, "i4")) for i, ranks_of in enumerate(groups)],
                 source="case", **fields)


def lowered(case: Graph, placement: Sequence[int] | None = None, hosts: int | None = None,
            **settings: object) -> Workload:
    placed = list(range(case.ranks)) if placement is None else placement
    workload = lower(case, Settings(**settings), np.array(placed, "i4"), hosts or case.ranks)
    verify(workload)
    return workload


# ---- tiny collectives ------------------------------------------------------------------------------------------------
def expand(collective: int, algorithm: str, members: int, size: int, root: int = 0, options: object = None,
           counts: np.ndarray | None = None) -> Schedule:
    """ring: 2 (N - 1) steps of size / N, a step after the receipt of the one before and after the last was sent; tree:
    a chain up to member 0 and down again; star: the root sends to all, one after the other; pairs: everyone to everyone
    at once, counts or size / N."""
    if algorithm == "odd":
        raise ValueError("needs an odd group")
    rows, received, sent = [], [], []
    if algorithm == "ring":
        for step in range(2 * (members - 1)):
            for member in range(members):
                rows.append((member, (member + 1) % members, -(-size // members), step, 0))
                if step:
                    received.append((len(rows) - 1, (step - 1) * members + (member - 1) % members))
                    sent.append((len(rows) - 1, (step - 1) * members + member))
    elif algorithm == "tree":
        for step, member in enumerate(range(members - 1, 0, -1)):
            rows.append((member, member - 1, size, step, 0))
            received += [(step, step - 1)] if step else []
        for member in range(members - 1):
            rows.append((member, member + 1, size, members - 1 + member, 0))
            received.append((len(rows) - 1, len(rows) - 2))
    elif algorithm == "star":
        for member in range(members):
            if member != root:
                sent += [(len(rows), len(rows) - 1)] if rows else []
                rows.append((root, member, size, 0, 0))
    else:
        table = np.full((members, members), -(-size // members)) if counts is None else counts
        rows = [(a, b, table[a, b], 0, 0) for a in range(members) for b in range(members) if a != b]
    return Schedule(members, np.array(rows, TRANSFERS), np.array(received, WAITS), np.array(sent, WAITS))


def message_count(collective: int, algorithm: str, members: int, size: int, root: int = 0, options: object = None,
                  counts: np.ndarray | None = None) -> int:
    if size >= 1 << 60:
        return 1 << 27
    return len(expand(collective, algorithm, members, size, root, options, counts).transfers)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the collectives of this file in place of those of the package."""
    monkeypatch.setattr(collectives, "expand", expand, raising=False)
    monkeypatch.setattr(collectives, "message_count", message_count, raising=False)
    monkeypatch.setattr(collectives, "ALGORITHMS", (*NAMES, "odd"), raising=False)
    names = {number: ("ring", "tree") for number in range(10)}
    names |= {BROADCAST: ("star",), ALL_TO_ALL: ("pairs",), BARRIER: ("ring", "tree"), ALL_REDUCE: ("ring", "odd")}
    monkeypatch.setattr(collectives, "ALGORITHMS_OF", names, raising=False)


# ---- reading a workload ----------------------------------------------------------------------------------------------
def verify(workload: Workload) -> None:
    """What holds for every lowered graph: sizes, counts of edges, and that notices without a delay stay on a host."""
    ops, edges, labels = workload.ops, workload.edges, workload.labels
    assert ops.dtype == OPS and edges.dtype == EDGES and labels.dtype == LABELS and len(labels) == len(ops)
    inner = edges[edges["when"] != ON_LOCAL]
    assert np.bincount(inner["dst"], minlength=len(ops)).tolist() == (ops["deps"] - lost(workload)).tolist()
    at_receiver = edges["when"] == ON_RECV_DONE
    host = np.where(at_receiver | (edges["when"] == ON_LOCAL), ops["dst"][edges["src"]], ops["host"][edges["src"]])
    assert (host == ops["host"][edges["dst"]]).all()
    assert ((edges["delay_ps"] > 0) == (edges["when"] == ON_LOCAL)).all()
    assert (ops["kind"][edges["src"][edges["when"] == ON_LOCAL]] == LOCAL).all()
    assert (ops["kind"][edges["dst"][edges["when"] == ON_LOCAL]] == LOCAL_IN).all()
    assert (ops["host"] == workload.placement[labels["rank"]]).all()


def lost(workload: Workload) -> np.ndarray:
    """1 for receives that nothing is sent to, i4[ops]."""
    inner = workload.edges[workload.edges["when"] != ON_LOCAL]
    missing = workload.ops["deps"] - np.bincount(inner["dst"], minlength=len(workload.ops))
    nodes = workload.graph.nodes
    kind = nodes["kind"][np.maximum(workload.labels["node"], 0)]
    assert set(np.unique(missing[kind != RECV])) <= {0} and set(np.unique(missing)) <= {0, 1}
    return missing


def into(workload: Workload, row: int) -> list[tuple[int, int]]:
    """(op row, report) of the edges to an operation, ascending."""
    return sorted((int(e["src"]), int(e["when"])) for e in workload.edges if e["dst"] == row)


def execute(workload: Workload) -> list[int]:
    """Rows in the order in which a trivial executor ends them: an operation reports everything as soon as it starts."""
    ops, edges = workload.ops, workload.edges
    told: list[list[int]] = [[] for _ in range(len(ops))]
    for edge in edges.tolist():
        told[edge[0]].append(edge[1])
    left = ops["deps"] + (ops["kind"] == LOCAL_IN)
    ready = deque(np.flatnonzero(left == 0).tolist())
    order = []
    while ready:
        row = ready.popleft()
        order.append(row)
        for other in told[row]:
            left[other] -= 1
            if left[other] == 0:
                ready.append(other)
    return order


