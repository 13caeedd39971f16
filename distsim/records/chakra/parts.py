"""What the ranks do, as the records count it: sends, receives and computations, those of collectives included.

Barriers that were put before collectives are left out (scala-computing/docs, models/chakra-workload/records).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.records.chakra.run import ChakraRun, Graphed
from distsim.records.chakra.times import NEVER, Times, entries, is_receive, of_nodes, taken
from distsim.workload.graph import COMP, FIXED
from distsim.workload.graph import SEND as SEND_NODE
from distsim.workload.types import LOCAL, ROLE_NODE, ROLE_TRANSFER, SEND

PART = np.dtype([
    ("rank", "i4"), ("peer", "i4"),
    ("node", "i4"),              # row of graph.nodes; -1: not known
    ("size_bytes", "i8"),
    ("began_ps", "i8"),          # NEVER: not
    ("sent_ps", "i8"),           # sends: last byte sent
    ("done_ps", "i8"),           # send: acknowledged; else finished
    ("duration_ps", "i8"),       # computations: in the trace
])


@dataclass(frozen=True)
class Parts:
    """PART rows: sends, receives, computations (the COMP_NODEs), and waits: all that takes time without transfers."""

    sends: np.ndarray
    receives: np.ndarray
    computations: np.ndarray
    waits: np.ndarray


def parts_of(run: ChakraRun, what: Graphed, times: Times) -> Parts:
    """What the ranks of a run did. A receive of a collective begins with its transfer, once its rank has entered."""
    kind = what.ops["kind"]
    transfer = (kind == SEND) | (kind == LOCAL)
    works = of_nodes(what, (COMP, FIXED))
    counted = works if run.computation is None else works & run.computation[what.labels["node"]]
    in_collectives = transfer & (what.labels["role"] == ROLE_TRANSFER)
    sends = _rows(what, times, in_collectives | of_nodes(what, (SEND_NODE,)))
    received = _rows(what, times, in_collectives)
    received["rank"], received["peer"] = received["peer"], received["rank"].copy()
    received["done_ps"] = taken(what, times)[in_collectives]
    _enter(received, what, times, what.labels["instance"][in_collectives])
    receives = np.concatenate([_rows(what, times, is_receive(what)), received])
    return Parts(sends, receives, _rows(what, times, counted), _rows(what, times, works))


def _rows(what: Graphed, times: Times, chosen: np.ndarray) -> np.ndarray:
    """PART rows of operations."""
    op = np.flatnonzero(chosen)
    rows = np.zeros(len(op), PART)
    for field in ("rank", "peer", "node"):
        rows[field] = what.labels[field][op]
    for field, at in (("began_ps", times.began), ("sent_ps", times.sent), ("done_ps", times.done)):
        rows[field] = at[op]
    rows["size_bytes"] = what.ops["size_bytes"][op]
    of_trace = np.flatnonzero(what.labels["role"][op] == ROLE_NODE)
    nodes = what.nodes[rows["node"][of_trace]]
    for field in ("peer", "size_bytes", "duration_ps"):
        rows[field][of_trace] = nodes[field]
    return rows


def _enter(receives: np.ndarray, what: Graphed, times: Times, instance: np.ndarray) -> None:
    """Gives the receives of collectives the node of their own rank, -1: unknown, and puts off their begin to its entry.
    instance : i4[receives]."""
    inside = np.flatnonzero((what.labels["instance"] >= 0) & (what.labels["node"] >= 0))
    labels = what.labels[inside]
    places, first = np.unique(labels["instance"].astype(np.int64) * what.ranks + labels["rank"], return_index=True)
    own = instance.astype(np.int64) * what.ranks + receives["rank"]
    at = np.searchsorted(places, own)
    known = np.append(places, -1)[at] == own
    receives["node"] = np.where(known, np.append(labels["node"][first], -1)[at], -1)
    entered = entries(what, times, instance, receives["rank"])
    began = np.maximum(receives["began_ps"], entered)
    receives["began_ps"] = np.where((receives["began_ps"] == NEVER) | (entered == NEVER), NEVER, began)
