"""The next phase of a workload: new operations in a state where nothing is left to do."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fabric.types import NIC
from . import tables as t
from .allocate import cell, set_cell, to_array, to_rows
from .build import (
    at_least_one,
    buckets,
    copy_fields,
    empty_works,
    logging_bits,
    most_notices,
    word_margin,
)
from .endpoints import edges_table, ops_table, pending_table, rxmsg_table, set_ranges
from .model import Model
from .network import Placement
from .view import DTYPES, State

RANGES = [f"{name}_{what}" for name in ("op", "rx") for what in ("begin", "first", "count")]
HEAP = ["heap_begin", "heap_size", "heap_room"]


def next_phase(state: State, model: Model, here: Placement) -> State:
    """The state with the operations and messages of `model` in the place of those that are done.

    Connections, groups and packets of the phase before are gone; congestion control starts anew, as after any pause in
    which no message is open. What else the fabric and the NICs keep (counters, averages, ids) stays.
    """
    nics = to_array(state.nics, t.NICROW).copy()
    set_ranges(model.messages, nics, here.nodes[model.fabric.nodes["kind"][here.nodes] == NIC])
    ops, op_at = ops_table(model, nics)
    rxmsg, rx_at = rxmsg_table(model, nics)
    edges = edges_table(model, here, ops, op_at, rxmsg, rx_at)
    heap = pending_table(model, nics, ops, op_at)
    copy_fields(state.nics, nics, [*RANGES, *HEAP])
    busy = np.flatnonzero(nics["heap_size"] > 0)
    for row in busy:
        node = int(nics["node"][row])
        state.next_ps[node] = min(int(state.next_ps[node]), int(heap["time_ps"][nics["heap_begin"][row]]))
    set_margins(state, model, most_notices(ops, rxmsg))
    clock = state.clock
    for name in ("ops", "sends", "recvs"):
        set_cell(clock, 0, f"{name}_before", cell(clock, 0, f"{name}_done"))
    set_cell(clock, 0, "logging", logging_bits(model))
    tables: dict[str, np.ndarray] = {"ops": ops, "rxmsg": rxmsg, "edges": at_least_one(edges), "heap": heap,
                                     "works": empty_works(len(nics))}
    if len(state.group_hash) < (wanted := buckets(model, nics)):
        tables["group_hash"] = np.full(wanted, -1, "i4")
    return state._replace(**{name: like(state.clock, name, table) for name, table in tables.items()})


def like(clock: Any, name: str, table: np.ndarray) -> Any:
    """A table in the form that the state has."""
    table = np.ascontiguousarray(table, DTYPES[name])
    return table if isinstance(clock, np.ndarray) else to_rows(table)


def set_margins(state: State, model: Model, notices: int) -> None:
    """Rows that one event of this phase may need; where a table has fewer, the kernels ask for more."""
    for pool, margin in ((t.P_PACKET, notices), (t.P_WORD, word_margin(model))):
        set_cell(state.pools, pool, "margin", max(margin, cell(state.pools, pool, "margin")))
