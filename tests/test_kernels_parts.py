"""Parts of the kernels on their own: heaps, rings, queues, receive bits, packets between ranks."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from engine_cases import FRAME, MS, READY, US, Run, model, one_rack, send, two_tiers

from distsim.kernels import entry, links, operations, pools, receive
from distsim.state import tables as t
from distsim.state.allocate import cell, set_cell, to_array
from distsim.state.verify_rows import Snapshot, check_rings

pytestmark = pytest.mark.core

assert entry                    # numba has to know the state's type before a kernel is called from here


# ---- pending operations ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(3))
def test_pending_operations_come_out_by_time_then_operation(seed):
    rng = random.Random(seed)
    ops = [send(0, 1, 1, rng.choice([5, 5, 7, 9]) * US) for _ in range(40)]
    going = Run(model(one_rack(2), ops))
    nic, ref, state = going.state.nics[0], going.rank.ref, going.state
    assert cell(state.nics, 0, "heap_size") == 40
    pending = sorted((op[6], number) for number, op in enumerate(ops))
    for _ in range(200):
        if pending and rng.random() < 0.55:
            assert cell(state.heap, 0, "time_ps") == pending[0][0]
            assert operations.pop_pending(ref, nic) == pending.pop(0)[1]
        elif len(pending) < 40:
            entry_ = (rng.choice([1, 5, 8]) * US, rng.randrange(40))
            if entry_ not in pending:
                operations.push_pending(ref, nic, *entry_)
                pending = sorted([*pending, entry_])
        assert cell(state.nics, 0, "heap_size") == len(pending)


# ---- rings -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("take, give, pool, classes, least", [
    (pools.take_slots, pools.give_slots, t.P_SLOT, t.P_SLOT_RINGS, t.SLOT_RING),
    (pools.take_words, pools.give_words, t.P_WORD, t.P_WORD_RINGS, t.WORD_RING),
])
def test_rings_never_overlap_and_are_used_again(take, give, pool, classes, least):
    rng = random.Random(1)
    going = Run(model(one_rack(2), [send(0, 1, 1)]))
    going.rank.holder.ensure_room(pool, 20_000)
    ref = going.rank.ref
    table, field = ("slots", "state") if pool == t.P_SLOT else ("words", "seen")
    live: list[tuple[int, int, str]] = []
    taken = 0
    for step in range(300):
        if live and rng.random() < 0.48:
            first, room, _ = live.pop(rng.randrange(len(live)))
            give(ref, first, room)
        else:
            room = least << rng.choice([0, 0, 1, 2, 4])
            first = take(ref, room)
            taken += room
            rows = range(first, first + room)
            assert all(cell(getattr(going.state, table), row, field) == 0 for row in rows), "not cleared"
            for row in rows:
                set_cell(getattr(going.state, table), row, field, 1)
            live.append((int(first), room, f"step {step}"))
        if step % 20 == 0:
            shot = Snapshot(going.state)
            following = shot.slots.rtx_next if pool == t.P_SLOT else [seen - 1 for seen in shot.words.seen]
            check_rings(shot, pool, classes, least, table, following, live)
    assert cell(going.state.pools, pool, "high") < taken / 2        # what was given back was taken again


# ---- a port's queues -------------------------------------------------------------------------------------------------
def fill_packet(state: Any, row: int, tc: int, size_bytes: int) -> None:
    set_cell(state.packets, row, "tc", tc)
    set_cell(state.packets, row, "size_bytes", size_bytes)


def test_strict_priority_control_then_trimmed_then_data():
    going = Run(model(one_rack(2), [send(0, 1, 1)]))
    going.rank.holder.ensure_room(t.P_PACKET, 64)
    state, ref = going.state, going.rank.ref
    port = state.ports[1]
    arrived = [(t.TC_DATA, 4202), (t.TC_CONTROL, 78), (t.TC_TRIMMED, 62), (t.TC_DATA, 106), (t.TC_CONTROL, 62),
               (t.TC_TRIMMED, 62), (t.TC_CONTROL, 78)]
    for row, (tc, size) in enumerate(arrived):
        fill_packet(state, row, tc, size)
        links.enqueue(ref, port, tc, row, state.packets[row], links.charge_bytes(size))
    begin = cell(state.ports, 1, "queue_begin")
    # Charges are IP sizes, 46 at least: 4184 + 88; 46 + 46; 60 + 46 + 60.
    assert [cell(state.queues, begin + tc, "waiting_bytes") for tc in range(3)] == [4272, 92, 166]
    assert [int(links.pop_strict(ref, port)) for _ in range(3)] == [1, 4, 6]
    fill_packet(state, 7, t.TC_CONTROL, 78)
    links.enqueue(ref, port, t.TC_CONTROL, 7, state.packets[7], 60)
    assert [int(links.pop_strict(ref, port)) for _ in range(5)] == [7, 2, 5, 0, 3]
    assert cell(state.ports, 1, "queued") == 0
    assert [cell(state.queues, begin + tc, "waiting_bytes") for tc in range(3)] == [0, 0, 0]


def test_occupancy_counts_the_packet_in_service_until_it_has_gone():
    going = Run(model(one_rack(2), [send(0, 1, 3 * 4096)])).to(READY + 268_081)
    # READY + 184,040: the first packet starts on the switch's port (until 268,080), then the second comes in.
    port = going.state.ports[int(going.rank.here.port_of[going.link("RackSwitch-0", "NIC-1")])]
    for at, data in ((268_080, 4184), (352_119, 4184), (352_120, 0)):
        assert links.occupancy_bytes(going.rank.ref, port, t.TC_DATA, READY + at) == data
    assert links.occupancy_bytes(going.rank.ref, port, t.TC_CONTROL, READY + 268_080) == 0


@pytest.mark.parametrize("size, charged", [(4202, 4184), (106, 88), (78, 60), (64, 46), (62, 46), (46, 46)])
def test_charges(size, charged):
    assert links.charge_bytes(size) == charged


# ---- receive bits ----------------------------------------------------------------------------------------------------
def open_receiver() -> tuple[Run, Any]:
    """A receiving PDC in use, its message of 2000 packets."""
    going = Run(model(one_rack(2), [send(0, 1, 2000 * 4096)]))
    going.rank.holder.ensure_room(t.P_WORD, 4096)
    going.to(READY + 2 * FRAME + 200_001)                 # the first packet is in
    assert going.receiver("expected") == 1
    return going, going.state.rx[0]


@pytest.mark.parametrize("seed, spread", [(0, 3), (1, 70), (2, 400), (3, 1500)])
def test_receive_bits_in_any_order(seed, spread):
    # PSNs 1 to 1499 in an order that strays by up to `spread`, every fifth twice; a set says what is right.
    rng = random.Random(seed)
    order = sorted(range(1, 1500), key=lambda psn: psn + rng.uniform(0, spread))
    order = [psn for number, psn in enumerate(order) for psn in ([psn, order[rng.randint(0, number)]] if number % 5 == 0
                                                                 else [psn])]
    going, rx = open_receiver()
    counters = going.state.counters[0]
    packet, ref = going.state.packets[0], going.rank.ref
    arrived, expected, reported = {0}, 1, set()
    for psn in order:
        assert receive.record_psn(ref, counters, rx, psn) == (psn not in arrived)
        arrived.add(psn)
        while expected in arrived:
            expected += 1
        assert cell(going.state.rx, 0, "expected") == expected
        assert cell(going.state.rx, 0, "held") == len(arrived) - expected
        if len(arrived) == expected:
            continue
        receive.write_sack(ref, rx, packet)
        low, high, offset = (cell(going.state.packets, 0, name) for name in ("sack_lo", "sack_hi", "sack_offset"))
        base = expected - 1 + offset
        block = {base + bit for bit in range(64) if ((low | high << 32) >> bit) & 1}
        assert block == {psn for psn in arrived if base <= psn < base + 64 and psn > expected}
        reported |= block
    assert expected == 1500
    if spread >= 400:
        assert len(reported) > 1000                       # the blocks came round to nearly everything


# ---- packets between ranks -------------------------------------------------------------------------------------------
def test_every_field_of_a_packet_crosses_to_another_rank():
    made = model(two_tiers(), [send(0, 1, 4096)])
    owner = np.array([0, 1, 0, 1, 1], "i4")
    here, there = Run(made, owner, 0), Run(made, owner, 1)
    here.to(READY + 184_041)                              # the packet is on its way from the rack switch to the spine
    link = here.link("RackSwitch-0", "SpineSwitch-0")
    row = next(k for k in range(len(here.state.ins)) if cell(here.state.ins, k, "head") >= 0)
    packet = cell(here.state.ins, row, "head")
    # Values that are all different, within the field's range; the arrival stays as it is.
    values = {name: 40 + number for number, name in enumerate(t.PACKET.names or ()) if name not in ("time_ps", "next")}
    values["ptype"], values["sack_lo"], values["sack_hi"], values["sack_offset"] = 0, 2**32 - 1, 2**31 + 5, -77
    for name, value in values.items():
        set_cell(here.state.packets, packet, name, value)
    rows, counts = here.rank.exchange.departures()
    assert counts == [0, 1] and rows["next"].tolist() == [link]
    assert here.clock("handed_over") == 1
    there.rank.exchange.accept(rows.copy(), READY + 200_000)
    assert there.clock("taken_over") == 1 and there.clock("fault") == 0
    [found] = there.under_way("RackSwitch-0", "SpineSwitch-0", *values)
    assert dict(zip(values, found, strict=True)) == values
    [(arrival,)] = there.under_way("RackSwitch-0", "SpineSwitch-0", "time_ps")
    assert arrival == READY + 184_040 + 84_040 + 500_000
    assert int(to_array(there.state.nodes, t.NODE)["id"][there.node("SpineSwitch-0")]) == 4
    assert int(there.state.next_ps[there.node("SpineSwitch-0")]) == arrival


def test_a_packet_that_comes_too_early_stops_the_run():
    made = model(two_tiers(), [send(0, 1, 4096)])
    owner = np.array([0, 1, 0, 1, 1], "i4")
    here, there = Run(made, owner, 0), Run(made, owner, 1)
    here.to(READY + 184_041)
    rows, _ = here.rank.exchange.departures()
    there.rank.exchange.accept(rows.copy(), 1 * MS)
    assert there.clock("fault") == 1 and there.clock("fault_at") == READY + 768_080
