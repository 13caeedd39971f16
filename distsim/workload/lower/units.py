"""Collectives and their barriers as operations: all instances of one shape at once.

A unit is one schedule between the members of a group: it begins for a member at an entry operation and ends at an exit
operation. The barrier of a collective has the SYNC joins as entries and the BEGIN joins as exits, the collective itself
the BEGIN joins and the END joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from distsim.workload.lower.plan import Plan
from distsim.workload.lower.tables import Tables
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import ON_FIRE, ON_RECV_DONE, ON_SENT, ROLE_SYNC

CHUNK = 1 << 18


@dataclass
class Batch:
    """Units of one plan, K of them between N members each.

    place : i8[K], of each in the order of all units; instance : i8[K]; nodes : i4[K, N] node row of each member;
    ranks : i4[K, N]; entries, exits : i8[K, N] rows of operations. Filled in later: local, i8[K], transfers over the
    scale-up fabric; first : i8[K], row of the first transfer; number : i8[K], running number of the first transfer.
    """

    plan: Plan
    role: int
    place: np.ndarray
    instance: np.ndarray
    nodes: np.ndarray
    ranks: np.ndarray
    entries: np.ndarray
    exits: np.ndarray
    local: np.ndarray
    first: np.ndarray
    number: np.ndarray

    @property
    def edges(self) -> int:
        """Edges of all units."""
        return self.plan.edges * len(self.place) + int(self.local.sum())

    def chunks(self) -> Iterator[slice]:
        """Ranges of units that are small enough to be filled at once."""
        step = max(1, CHUNK // max(1, self.plan.transfers))
        return (slice(begin, begin + step) for begin in range(0, len(self.place), step))


def count_local(batch: Batch, scale_up: ScaleUp) -> None:
    """Fill in how many transfers of each unit go over the scale-up fabric."""
    for part in batch.chunks():
        ranks = batch.ranks[part]
        batch.local[part] = scale_up.local(ranks[:, batch.plan.src], ranks[:, batch.plan.dst]).sum(axis=1)


def lay_out(batches: list[Batch], first_row: int, first_number: int) -> int:
    """Give every unit its rows and running numbers, in the order of all units; returns the number of rows in all."""
    total = sum(len(batch.place) for batch in batches)
    transfers, local = np.zeros(total, "i8"), np.zeros(total, "i8")
    for batch in batches:
        transfers[batch.place], local[batch.place] = batch.plan.transfers, batch.local
    rows = transfers + local
    first, number = first_row + np.cumsum(rows) - rows, first_number + np.cumsum(transfers) - transfers
    for batch in batches:
        batch.first, batch.number = first[batch.place], number[batch.place]
    return first_row + int(rows.sum())


def fill(tables: Tables, batch: Batch) -> None:
    """Write the operations and edges of all units of a batch."""
    for part in batch.chunks():
        _fill_part(tables, batch, part)


def _fill_part(tables: Tables, batch: Batch, part: slice) -> None:
    plan, first = batch.plan, batch.first[part, None]
    arrived, when = _operations(tables, batch, part)
    entries, exits = batch.entries[part], batch.exits[part]

    def arrival(transfers: np.ndarray) -> tuple[np.ndarray, np.ndarray | int]:
        """The operations and reports by which the receivers learn of these transfers."""
        if arrived is None:
            return first + transfers, ON_RECV_DONE
        return arrived[:, transfers], when[:, transfers]

    connect = tables.connect
    connect(entries[:, plan.src[plan.first]], first + plan.first, ON_FIRE)
    rows, report = arrival(plan.received)
    connect(rows, first + plan.after, report)
    connect(first + plan.sent, first + plan.then, ON_SENT)
    connect(first + plan.last_sent, exits[:, plan.src[plan.last_sent]], ON_SENT)
    rows, report = arrival(plan.last_received)
    connect(rows, exits[:, plan.dst[plan.last_received]], report)
    connect(entries[:, plan.idle], exits[:, plan.idle], ON_FIRE)


def _operations(tables: Tables, batch: Batch, part: slice) -> tuple[np.ndarray | None, np.ndarray]:
    """Write the transfers; returns the operation that reports each one's arrival and its report, or (None, ...) when
    all go over the fabric."""
    plan, ranks = batch.plan, batch.ranks[part]
    rows = batch.first[part, None] + np.arange(plan.transfers)
    rank, peer = ranks[:, plan.src], ranks[:, plan.dst]
    tables.transfers(rows, rank, peer, plan.size_bytes, batch.role)
    tables.ops["user_id"][rows] = batch.number[part, None] + np.arange(plan.transfers)
    labels = tables.labels
    labels["tag"][rows] = tables.ops["user_id"][rows]
    labels["instance"][rows] = batch.instance[part, None]
    if batch.role != ROLE_SYNC:
        labels["node"][rows] = batch.nodes[part][:, plan.src]
    scale_up = tables.settings.scale_up
    if scale_up is None or not batch.local[part].any():
        return None, rows
    local = scale_up.local(rank, peer)
    arrivals = batch.first[part, None] + plan.transfers + np.cumsum(local, axis=1) - 1
    tables.halves(rows[local], arrivals[local])
    if batch.role != ROLE_SYNC:
        labels["node"][arrivals[local]] = batch.nodes[part][:, plan.dst][local]
    return np.where(local, arrivals, rows), np.where(local, ON_FIRE, ON_RECV_DONE)
