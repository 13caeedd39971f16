"""What a run has left undone: messages, and nodes of ranks that wait for something, told one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .state import tables as t
from .state.allocate import cell, to_array
from .workload.graph import COLL, COLLECTIVES, NODE_KINDS, RECV, Graph
from .workload.graph import SEND as SEND_NODE
from .workload.types import LOCAL, LOCAL_IN, ROLE_END, ROLE_NODE, SEND, Workload

if TYPE_CHECKING:
    from .session import Session

LISTED = 10


def undone_facts(session: Session) -> dict[str, Any]:
    """What is undone on this rank, as plain data.

    unfinished : messages that are not done, and unfinished_list : the first of them as [user id, from, to, bytes,
    acknowledged bytes]. waiting : nodes of ranks that are not done, and waiting_list : the first of them as [order,
    sentence], receives first. The first are those that sort first, so that the lists of all ranks, put together and
    sorted, begin alike for every number of ranks. undone : operations that are not done.
    """
    ops = to_array(session.simulation.state.ops, t.OP)
    left = np.flatnonzero(ops["state"] != t.OP_DONE)
    messages = left[np.isin(ops["kind"][left], (SEND, LOCAL))]
    messages = messages[np.lexsort([ops["global_op"][messages], ops["user_id"][messages]])]
    model = session.model
    rows = model.messages.order[ops["global_op"][left] - model.messages.first_op]
    waiting = waiting_nodes(model.workload, rows)
    return {"undone": len(left), "unfinished": len(messages),
            "unfinished_list": [message(session, ops[row]) for row in messages[:LISTED]],
            "waiting": len(waiting),
            "waiting_list": [[[place_of(model.workload, row), row], sentence(model.workload, row)]
                             for row in waiting[:LISTED]]}


def message(session: Session, op: np.void) -> list[int]:
    """[user id, from, to, bytes, acknowledged bytes] of a message that is not done."""
    state = session.simulation.state
    acked = 0
    if op["kind"] == SEND and op["pdc"] >= 0 and op["state"] == t.OP_ACTIVE:
        node = cell(state.nics, int(op["nic"]), "node")
        mss = cell(state.nicpar, cell(state.nodes, node, "param"), "mss_bytes")
        acked = min(cell(state.tx, int(op["pdc"]), "unacked") * mss, int(op["length_bytes"]))
    messages = session.model.messages
    source = messages.ops["host"][op["global_op"] - messages.first_op]
    return [int(op["user_id"]), int(source), int(op["dst"]), int(op["length_bytes"]), acked]


def unreceived_sends(workload: Workload | None) -> tuple[int, list[str]]:
    """How many sends of ranks no receive belongs to (they go out, and are held for good); the first as sentences."""
    if workload is None or workload.graph is None:
        return 0, []
    sends = np.flatnonzero(workload.graph.nodes["kind"] == SEND_NODE)
    if not len(sends):
        return 0, []
    from .workload.lower.matching import match

    held = np.setdiff1d(sends, match(workload.graph, strict_sizes=False).send, assume_unique=True)
    return len(held), [node_sentence(workload.graph, row) for row in held[:LISTED].tolist()]


def waiting_nodes(workload: Workload | None, rows: np.ndarray) -> list[int]:
    """Rows of the workload (of those given, not done) that stand for a node of a rank: receives, then the others."""
    if workload is None or workload.labels is None or workload.graph is None:
        return []
    rows = rows[workload.ops["kind"][rows] != LOCAL_IN]          # its RECV is told of
    role = workload.labels["role"][rows]
    nodes = np.sort(rows[((role == ROLE_NODE) | (role == ROLE_END)) & (workload.labels["node"][rows] >= 0)])
    kind = workload.graph.nodes["kind"][workload.labels["node"][nodes]]
    nodes = nodes[(kind != SEND_NODE)]
    kind = workload.graph.nodes["kind"][workload.labels["node"][nodes]]
    return [int(row) for row in nodes[np.argsort(kind != RECV, kind="stable")]]


def place_of(workload: Workload | None, row: int) -> int:
    """0 for a receive, which is listed first, 1 for other nodes."""
    assert workload is not None and workload.labels is not None
    return int(workload.graph.nodes["kind"][workload.labels["node"][row]] != RECV)


def sentence(workload: Workload | None, row: int) -> str:
    """A node that is not done, for the user: ``rank 3: RECV node 17 from rank 2, tag 5, 1,024 bytes``."""
    assert workload is not None and workload.labels is not None
    return node_sentence(workload.graph, int(workload.labels["node"][row]))


def node_sentence(graph: Graph, row: int) -> str:
    """A node of a graph (row of its nodes), likewise."""
    node = graph.nodes[row]
    text = f"rank {node['rank']}: {NODE_KINDS[node['kind']]} node {node['id']}"
    if node["kind"] == SEND_NODE:
        return f"{text} to rank {node['peer']}, tag {node['tag']}, {node['size_bytes']:,} bytes"
    if node["kind"] == RECV:
        sender = f"rank {node['peer']}" if node["peer"] >= 0 else "any rank"
        return f"{text} from {sender}, tag {node['tag']}, {node['size_bytes']:,} bytes"
    if node["kind"] == COLL:
        group = graph.groups[node["group"]]
        return f"{text}, {COLLECTIVES[node['collective']]} of {node['size_bytes']:,} bytes in group {group.name!r}"
    return text
