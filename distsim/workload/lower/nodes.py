"""Nodes of a graph as operations: computation, sends and receives, and where ranks enter and leave collectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.workload.graph import COMP, FIXED, Graph
from distsim.workload.graph import SEND as SEND_NODE
from distsim.workload.lower.matching import Matches
from distsim.workload.lower.settings import Settings
from distsim.workload.lower.tables import Tables
from distsim.workload.types import (
    COMPUTE,
    DELAY,
    JOIN,
    LOG_OP,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SENT,
    ROLE_BEGIN,
    ROLE_END,
    ROLE_NODE,
    ROLE_SYNC,
)


@dataclass(frozen=True)
class Nodes:
    """Rows of operations of a graph's nodes.

    expanded : node rows of collectives that are expanded; entry, exit : i8[nodes], the operations that wait for what a
    node waits for, and that those who wait for it wait for; over_fabric, over_scale_up : node rows of sends by way (a
    send to the rank itself is neither); arrival : i8[nodes], operation that reports a send's arrival; rows : in all.
    """

    expanded: np.ndarray
    entry: np.ndarray
    exit: np.ndarray
    over_fabric: np.ndarray
    over_scale_up: np.ndarray
    arrival: np.ndarray
    rows: int

    @property
    def locals(self) -> int:
        """Sends over the scale-up fabric."""
        return len(self.over_scale_up)

    @property
    def sends(self) -> int:
        """Sends to other ranks."""
        return len(self.over_fabric) + len(self.over_scale_up)

    @classmethod
    def of(cls, graph: Graph, expanded: np.ndarray, settings: Settings) -> Nodes:
        """Rows for the nodes of `graph`; expanded : bool[nodes]."""
        nodes = graph.nodes
        count = len(nodes)
        inside = np.flatnonzero(expanded)
        entry, leave, arrival = (np.arange(count) for _ in range(3))
        rows = count
        leave[inside] = rows + np.arange(len(inside))
        rows += len(inside)
        if settings.synchronization:
            entry[inside] = rows + np.arange(len(inside))
            rows += len(inside)
        sends = np.flatnonzero((nodes["kind"] == SEND_NODE) & (nodes["peer"] != nodes["rank"]))
        local = np.zeros(len(sends), bool)
        if settings.scale_up is not None:
            local = settings.scale_up.local(nodes["rank"][sends], nodes["peer"][sends])
        arrival[sends[local]] = rows + np.arange(local.sum())
        return cls(inside, entry, leave, sends[~local], sends[local], arrival, rows + int(local.sum()))


def fill_nodes(tables: Tables, graph: Graph, nodes: Nodes, deps: np.ndarray, matches: Matches) -> None:
    """Write the operations of all nodes and the edges of `deps` (DEPS) and `matches`."""
    ops, labels, given = tables.ops, tables.labels, graph.nodes
    count = len(given)
    tables.place(np.arange(count), given["rank"])
    kind = np.full(count, JOIN, "u1")
    kind[given["kind"] == FIXED] = DELAY
    kind[given["kind"] == COMP] = COMPUTE if tables.settings.shared_compute else DELAY
    ops["kind"][:count] = kind
    timed = kind != JOIN
    ops["work_ps"][:count][timed] = given["duration_ps"][timed]
    ops["user_id"][:count] = given["id"].astype("i8")
    labels["node"][:count] = np.arange(count)
    labels["role"][:count] = ROLE_NODE
    if tables.settings.log_ops == "all":
        ops["flags"][:count] = LOG_OP
    _fill_collectives(tables, graph, nodes)
    _fill_sends(tables, graph, nodes, matches)
    sent = np.zeros(count, bool)
    sent[nodes.over_fabric] = sent[nodes.over_scale_up] = True
    tables.connect(nodes.exit[deps["on"]], nodes.entry[deps["node"]], np.where(sent[deps["on"]], ON_SENT, ON_FIRE))
    over = np.zeros(count, bool)
    over[nodes.over_fabric] = True
    tables.connect(nodes.arrival[matches.send], matches.recv, np.where(over[matches.send], ON_RECV_DONE, ON_FIRE))


def _fill_collectives(tables: Tables, graph: Graph, nodes: Nodes) -> None:
    """The BEGIN, END and, with synchronization, entry joins; BEGIN starts launch_ps after it is ready."""
    ops, labels, inside = tables.ops, tables.labels, nodes.expanded
    logged = LOG_OP if tables.settings.log_ops != "none" else 0
    ranks = graph.nodes["rank"][inside]
    joins = [(inside, ROLE_BEGIN, logged), (nodes.exit[inside], ROLE_END, logged)]
    if tables.settings.synchronization:
        joins.append((nodes.entry[inside], ROLE_SYNC, 0))
    for rows, role, flags in joins:
        tables.place(rows, ranks)
        ops["kind"][rows], ops["flags"][rows], ops["user_id"][rows] = JOIN, flags, ops["user_id"][inside]
        labels["role"][rows] = role
        labels["node"][rows] = inside if role != ROLE_SYNC else -1
    ops["delay_ps"][inside] = tables.settings.launch_ps


def _fill_sends(tables: Tables, graph: Graph, nodes: Nodes, matches: Matches) -> None:
    """Sends, numbered from 1 in the order of the nodes."""
    given, ops, labels = graph.nodes, tables.ops, tables.labels
    rows = np.sort(np.concatenate([nodes.over_fabric, nodes.over_scale_up]))
    tables.transfers(rows, given["rank"][rows], given["peer"][rows], given["size_bytes"][rows], ROLE_NODE)
    ops["user_id"][rows] = np.arange(1, len(rows) + 1)
    labels["tag"][rows] = given["tag"][rows]
    local = nodes.over_scale_up
    if len(local):
        tables.halves(local, nodes.arrival[local])
        receive = np.full(len(given), -1, "i8")
        receive[matches.send] = matches.recv
        labels["node"][nodes.arrival[local]] = receive[local]
