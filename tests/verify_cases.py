"""States in mid-run for the tests of `verify`, and ways to find and change things in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from engine_cases import NS, US, Run, model, nic, send, switch, two_tiers

from distsim.state import tables as t
from distsim.state.allocate import to_array
from distsim.state.verify_rows import walk
from distsim.state.view import DTYPES, State
from distsim.workload.types import ON_SEND_DONE


# ---- states ----------------------------------------------------------------------------------------------------------
def as_arrays(state: State) -> State:
    """A copy in the compiled form."""
    tables = []
    for name, table in zip(State._fields, state, strict=True):
        dtype = DTYPES[name]
        tables.append(np.array(table, dtype) if dtype.names is None else to_array(table, dtype).copy())
    return State(*tables)


@cache
def busy() -> State:
    """Two racks under load: trims, gaps, waiting retransmissions, two messages of one group, pending operations."""
    ops = [send(0, 3, 200_000), send(0, 3, 200_000), send(1, 3, 400_000), send(2, 3, 400_000), send(0, 2, 100_000),
           send(0, 1, 100), send(1, 0, 5000, 400 * US), send(1, 0, 6000, 300 * US), send(1, 2, 7000, 500 * US),
           send(2, 0, 100, deps=1)]
    going = Run(model(two_tiers(2, 2, 2), ops, [(3, 9, ON_SEND_DONE)],
                      nic=nic({"TrimmingEnabled": True}, {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 20}),
                      switch=switch(20_000, trimming=True, ecn={"EwmaWeight": 1.0})))
    for step in range(1, 300):
        going.to(step * 100 * NS)
        state = as_arrays(going.state)
        if all(find(state) is not None for find in NEEDED):
            return state
    raise AssertionError("no moment with everything going on")


@cache
def split() -> tuple[State, ...]:
    """Two ranks in mid-run, before an exchange: packets and a notice wait to leave."""
    ops = [send(0, 1, 50_000), send(1, 0, 200), send(0, 1, 100, deps=1)]
    made = model(two_tiers(), ops, [(1, 2, ON_SEND_DONE)])
    owner = np.array([0, 1, 0, 1, 1], "i4")
    runs = [Run(made, owner, rank) for rank in range(2)]
    for going in runs:
        going.to(400 * NS)
    return tuple(as_arrays(going.state) for going in runs)


def live(state: State, pool: int, link: str) -> list[int]:
    """Rows of a pool in use."""
    table = {t.P_PACKET: state.packets, t.P_TX: state.tx, t.P_RX: state.rx, t.P_GROUP: state.groups}[pool]
    free = walk(int(state.pools["free_head"][pool]), table[link].tolist(), "free list")
    return [row for row in range(state.pools["high"][pool]) if row not in free]


def first(rows: list[int] | np.ndarray) -> int | None:
    return int(rows[0]) if len(rows) else None


def sender_that_waits(state: State) -> int | None:
    return first([row for row in live(state, t.P_TX, "all_next") if state.tx["rtx_head"][row] >= 0])


def receiver_with_gap(state: State) -> int | None:
    return first([row for row in live(state, t.P_RX, "next_free") if state.rx["held"][row] > 0])


def long_link(state: State) -> int | None:
    return first([row for row in range(len(state.ins)) if state.ins["head"][row] >= 0
                  and state.packets["next"][state.ins["head"][row]] >= 0])


def long_queue(state: State) -> int | None:
    return first(np.flatnonzero(state.queues["packets"] >= 2))


def group_with_turns(state: State) -> int | None:
    return first([row for row in live(state, t.P_GROUP, "hash_next")
                  if state.groups["turn_head"][row] != state.groups["turn_tail"][row]])


def ready_nic(state: State) -> int | None:
    return first(np.flatnonzero(state.nics["ready_head"] >= 0))


def done_slot(state: State) -> tuple[int, int] | None:
    """(sending PDC, slot) of an outstanding PSN that a bitmap acknowledged."""
    return slot_of(state, t.SLOT_DONE)


def slot_of(state: State, wanted: int) -> tuple[int, int] | None:
    for row in live(state, t.P_TX, "all_next"):
        pdc = state.tx[row]
        for psn in range(pdc["unacked"], pdc["next_psn"]):
            slot = int(pdc["slot_begin"]) + (psn & (int(pdc["slot_room"]) - 1))
            if state.slots["state"][slot] == wanted:
                return row, slot
    return None


def sent_slot(state: State) -> tuple[int, int] | None:
    return slot_of(state, t.SLOT_SENT)


NEEDED: list[Callable[[State], object]] = [
    sender_that_waits, receiver_with_gap, long_link, long_queue, group_with_turns, ready_nic, done_slot, sent_slot]


def switch_port(state: State) -> int:
    """A switch's port with packets waiting."""
    return int(np.flatnonzero((state.ports["queued"] > 0) & (state.nodes["kind"][state.ports["node"]] != 0))[0])


# ---- changes ---------------------------------------------------------------------------------------------------------
def change(table: str, field: str, row: int | Callable[[State], int | None], by: int) -> Callable[[State], None]:
    """Add to one field of one row."""
    def break_it(state: State) -> None:
        at = row(state) if callable(row) else row
        getattr(state, table)[field][at] += by
    return break_it


def change_slot(field: str, find: Callable[[State], tuple[int, int] | None], value: int) -> Callable[[State], None]:
    def break_it(state: State) -> None:
        found = find(state)
        assert found is not None
        state.slots[field][found[1]] = value
    return break_it
