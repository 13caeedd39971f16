"""Flows of hosts (generators, .cm files) as a `Graph` of ranks: rank i is host i."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from distsim.workload.graph import COMP, DEPS, FIXED, META, NODES, RECV, Graph
from distsim.workload.graph import SEND as SEND_NODE
from distsim.workload.types import COMPUTE, DELAY, JOIN, ON_RECV_DONE, ON_SEND_DONE, SEND, Workload

_NODE_OF = {SEND: SEND_NODE, JOIN: META, COMPUTE: COMP, DELAY: FIXED}


@dataclass
class _Rows:
    """Nodes and dependencies (node, on) in the making."""

    nodes: list[tuple[int, ...]] = field(default_factory=list)
    deps: list[tuple[int, int]] = field(default_factory=list)
    early: int = 0
    notices: int = 0

    def add(self, rank: int, kind: int, duration_ps: int = 0, size_bytes: int = 0, peer: int = -1, tag: int = 0) -> int:
        """Append a node, return its row."""
        self.nodes.append((rank, kind, 0, duration_ps, size_bytes, peer, tag, -1, 0, -1, -1))
        return len(self.nodes) - 1


def graph_of_flows(workload: Workload, source: str) -> Graph:
    """The operations of a workload without a graph, as nodes.

    A SEND is a SEND on its host and a RECV on the destination, tag: its flow id; other operations are one node each.
    What starts later than at once waits for a FIXED node of that length. A dependency between operations of two hosts
    is on the receive where the second host receives the first operation's message, else on a message of 0 bytes. What
    Chakra cannot say is said in the graph's warnings: a dependency on a message's acknowledgment is one on its last
    byte being sent (or being received); an operation that waits for any k of several waits for the k-th listed.
    """
    ops = workload.ops
    rows = _Rows()
    own, first, received = np.array([_operation(rows, op) for op in ops], "i8").reshape(-1, 3).T
    tag = int(ops["user_id"].max(initial=0))
    for edge in _kept(workload):
        src, dst = ops[edge["src"]], ops[edge["dst"]]
        target = int(first[edge["dst"]])
        by_receive = src["kind"] == SEND and dst["host"] == src["dst"]
        if by_receive and (edge["when"] == ON_RECV_DONE or dst["host"] != src["host"]):
            rows.early += int(edge["when"] != ON_RECV_DONE)
            rows.deps.append((target, int(received[edge["src"]])))
            continue
        base = int(received[edge["src"]] if edge["when"] == ON_RECV_DONE else own[edge["src"]])
        rows.early += int(edge["when"] == ON_SEND_DONE)
        here = int(rows.nodes[base][0])
        if here != dst["host"]:
            tag, rows.notices = tag + 1, rows.notices + 1
            told = rows.add(here, SEND_NODE, 0, 0, int(dst["host"]), tag)
            rows.deps.append((told, base))
            base = rows.add(int(dst["host"]), RECV, 0, 0, here, tag)
        rows.deps.append((target, base))
    return _graph(workload, rows, source)


def _kept(workload: Workload) -> np.ndarray:
    """The edges without those of operations that wait for any k, of which the k-th listed stays."""
    edges, any_of = workload.edges, workload.ops["any_of"]
    keep = np.ones(len(edges), bool)
    for row in np.flatnonzero(any_of):
        mine = np.flatnonzero(edges["dst"] == row)
        keep[mine] = np.arange(len(mine)) == any_of[row] - 1
    return edges[keep]


def _operation(rows: _Rows, op: np.void) -> tuple[int, int, int]:
    """Rows of an operation's node, of the node that its dependencies are of (itself, or its delay before it), and of
    its receive (-1: none)."""
    host, is_send = int(op["host"]), op["kind"] == SEND
    size_bytes, user_id = (int(op["size_bytes"]), int(op["user_id"])) if is_send else (0, 0)
    own = rows.add(host, _NODE_OF[int(op["kind"])], int(op["work_ps"]), size_bytes, int(op["dst"]) if is_send else -1,
                   user_id)
    first = own
    if op["delay_ps"]:
        first = rows.add(host, FIXED, int(op["delay_ps"]))
        rows.deps.append((own, first))
    if op["start_ps"]:
        rows.deps.append((first, rows.add(host, FIXED, int(op["start_ps"]))))
    return own, first, rows.add(int(op["dst"]), RECV, 0, size_bytes, host, user_id) if is_send else -1


def _graph(workload: Workload, rows: _Rows, source: str) -> Graph:
    nodes = np.array(rows.nodes, NODES)
    order = np.argsort(nodes["rank"], kind="stable")
    row_of = np.empty(len(order), "i4")
    row_of[order] = np.arange(len(order))
    nodes = nodes[order]
    begin = np.searchsorted(nodes["rank"], nodes["rank"])
    nodes["id"] = np.arange(len(nodes)) - begin + 1
    pairs = np.unique(row_of[np.array(rows.deps, "i4").reshape(-1, 2)], axis=0)
    deps = np.zeros(len(pairs), DEPS)
    deps["node"], deps["on"] = pairs[:, 0], pairs[:, 1]
    warnings = [*workload.warnings]
    if rows.early:
        warnings.append(f"{rows.early:,} dependencies are on a message's acknowledgment, which Chakra cannot say: they "
                        "are on its last byte being sent, or received where the receiver goes on")
    if rows.notices:
        warnings.append(f"{rows.notices:,} dependencies between two hosts became messages of 0 bytes")
    any_of = int((workload.ops["any_of"] > 0).sum())
    if any_of:
        warnings.append(f"{any_of:,} operations wait for the first (or k-th) of several, which Chakra cannot say: they "
                        "wait for the first (k-th) in the list")
    return Graph(int(nodes["rank"].max(initial=-1)) + 1, nodes, deps, warnings=warnings, source=source)
