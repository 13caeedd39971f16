"""States in mid-run for the tests of `verify`, and ways to find and change things in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from engine_cases import NS, US, Run, model, nic, send, switch, two_tiers

from distsim.state import tables as t
from distsim.state.allocate import to_array
from distsim.state.model import Model
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
    made = model(two_tiers(2, 2, 2), ops, [(3, 9, ON_SEND_DONE)],
                 nic=nic({"TrimmingEnabled": True}, {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 20}),
                 switch=switch(20_000, trimming=True, ecn={"EwmaWeight": 1.0}))
    made.nicpar["egress_bytes"] = 9000           # two packets: groups wait for room in it
    return moment(made, NEEDED)


def moment(made: Model, needed: list[Callable[[State], object]], step_ps: int = 100 * NS) -> State:
    """The first state at a multiple of `step_ps` in which all that is needed can be found."""
    going = Run(made)
    missing: set[str] = set()
    for step in range(1, 600):
        going.to(step * step_ps)
        state = as_arrays(going.state)
        missing = {find.__name__ for find in needed if find(state) is None}
        if not missing:
            return state
    raise AssertionError(f"no moment with everything going on; at the last one no {missing}")


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


def slow_pcie(made: Model, up: int, down: int) -> None:
    """PCIe of so many picoseconds a byte to the host and from it, with room for two segments at either end."""
    for name, rate in (("up", up), ("down", down)):
        made.nicpar[f"{name}_num"], made.nicpar[f"{name}_den"] = rate, 1
        made.nicpar[f"{name}_data_bytes"], made.nicpar[f"{name}_header_bytes"] = 9000, 700
    made.nicpar["read_ps"], made.nicpar["full_hold_ps"] = 98 * up, (4096 + 88) * up
    made.nicpar["full_write_ps"], made.nicpar["full_fetch_ps"] = (4096 + 8 * 34) * up, (4096 + 8 * 34) * down


@cache
def loaded() -> State:
    """Slow PCIe and recycled entropy: a fetch ring, held ACKs, a receive pool, retransmissions at the port, records."""
    ops = [send(0, 3, 200_000), send(1, 3, 200_000), send(2, 3, 200_000), send(3, 0, 200_000), send(2, 0, 100_000)]
    made = model(two_tiers(2, 2, 2), ops, nic=nic({"TrimmingEnabled": True}), switch=switch(20_000, trimming=True))
    slow_pcie(made, 25, 15)
    par = made.nicpar
    par["egress_bytes"], par["ingress_bytes"] = 30_000, 60_000
    par["spraying"], par["reps_room"], par["entropy_values"], par["fail_multiplier"] = 2, 8, 65536, 3000
    par["freeze_ps"] = 100 * US
    par["stats"] = t.STAT_BUFFERS
    return moment(made, [fetching_nic, host_buffer, held_ack, charged_nic, write_on_its_way, cache_of_values,
                         queued_rtx, failure_watched])


@cache
def prefetching() -> State:
    """A prefetch buffer with payloads on their way and payloads that wait for the window."""
    ops = [send(0, 3, 200_000), send(0, 2, 200_000), send(1, 3, 200_000), send(2, 3, 200_000)]
    made = model(two_tiers(2, 2, 2), ops,
                 nic=nic({"TrimmingEnabled": True}, {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 6}))
    made.nicpar["prefetch"], made.nicpar["prefetch_bytes"] = 1, 30_000
    made.nicpar["egress_bytes"] = 5000           # one packet
    return moment(made, [uncommitted, fetching_nic], 10 * NS)


@cache
def lossless() -> State:
    """Shared buffers with pauses of switches and of a NIC outstanding, headroom in use, PFC frames under way."""
    ops = [send(0, 3, 400_000), send(1, 3, 400_000), send(2, 3, 400_000), send(3, 0, 100_000)]
    made = model(two_tiers(2, 2, 2), ops)
    slow_pcie(made, 100, 20)
    par, swpar = made.nicpar, made.swpar
    par["ingress_bytes"], par["xoff_0"], par["xon_0"], par["pfc_0"], par["quanta_0"] = 60_000, 20_000, 10_000, 1, 1000
    swpar["uet_policy"], swpar["control_tc"], swpar["pfc_0"], swpar["buffer_stats"] = 0, 1, 1, 1
    swpar["slot_0"], swpar["slot_1"], swpar["slot_2"] = 0, 1, 2
    swpar["xoff_bytes"], swpar["xon_bytes"], swpar["headroom_bytes"] = 20_000, 10_000, 100_000
    buffers = np.zeros((len(swpar), t.CLASSES), t.BUFFER)
    buffers["size_bytes"], buffers["limit_bytes"] = 300_000, 100_000
    buffers["ecn_min_bytes"] = buffers["ecn_max_bytes"] = 300_000
    made = replace(made, shared=np.ones(len(swpar), bool), buffers=buffers)
    return moment(made, [paused_share, headroom_share, paused_class, frame_alive, nic_that_pauses, served_port,
                         long_queue])


# ---- what is looked for ----------------------------------------------------------------------------------------------
def fetching_nic(state: State) -> int | None:
    """A NIC with payloads under way from the host."""
    return first(np.flatnonzero(state.nics["fetch_handed"] != state.nics["fetch_tail"]))


def host_buffer(state: State) -> int | None:
    return first(np.flatnonzero(state.nics["down_data_bytes"] > 0))


def held_ack(state: State) -> int | None:
    return first(np.flatnonzero(state.nics["held_ps"] < t.INF_PS))


def charged_nic(state: State) -> int | None:
    """A NIC whose receive pool holds two packets or more."""
    return first(np.flatnonzero(state.nics["in_tail"] - state.nics["in_head"] >= 2))


def write_on_its_way(state: State) -> int | None:
    return first(np.flatnonzero(state.nics["up_head"] != state.nics["up_tail"]))


def cache_of_values(state: State) -> int | None:
    """A group with recycled entropy values."""
    return first([row for row in live(state, t.P_GROUP, "hash_next") if state.groups["reps_stored"][row] > 0])


def queued_rtx(state: State) -> int | None:
    """A packet of a NIC's queue of retransmissions whose message is still under way."""
    for nic_row in state.nics:
        queue = state.queues[state.ports["queue_begin"][nic_row["port"]] + t.Q_RTX]
        if queue["packets"]:
            op = nic_row["op_begin"] + state.packets["cack"][queue["head"]] - nic_row["op_first"]
            if state.ops["pdc"][op] >= 0:
                return int(queue["head"])
    return None


def failure_watched(state: State) -> int | None:
    """A sending PDC with a packet out that may still fail early."""
    for row in live(state, t.P_TX, "all_next"):
        pdc = state.tx[row]
        for psn in range(pdc["unacked"], pdc["next_psn"]):
            slot = state.slots[int(pdc["slot_begin"]) + (psn & (int(pdc["slot_room"]) - 1))]
            if slot["state"] == t.SLOT_SENT and slot["rtx_next"] >= 0:
                return row
    return None


def uncommitted(state: State) -> int | None:
    """A sending PDC with payloads in the prefetch buffer and others coming."""
    return first([row for row in live(state, t.P_TX, "all_next")
                  if state.tx["commit_psn"][row] < state.tx["arrived_psn"][row] < state.tx["next_psn"][row]])


def paused_share(state: State) -> int | None:
    return first(np.flatnonzero(state.shares["refresh_ps"] < t.INF_PS))


def headroom_share(state: State) -> int | None:
    return first(np.flatnonzero(state.shares["headroom_bytes"] > 0))


def paused_class(state: State) -> int | None:
    """PFC row of a NIC's data class that is held."""
    rows = state.ports["queue_begin"][state.nics["port"]]
    return first(rows[state.pfc["xoff_since_ps"][rows] >= 0])


def frame_alive(state: State) -> int | None:
    return first([row for row in live(state, t.P_PACKET, "next") if state.packets["ptype"][row] == t.PFC_FRAME])


def nic_that_pauses(state: State) -> int | None:
    return first(np.flatnonzero(state.nics["police_ps"] < t.INF_PS))


def served_port(state: State) -> int | None:
    """A port of a shared switch with a packet in service."""
    return first(np.flatnonzero(state.ports["service_state"] == 1))


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
