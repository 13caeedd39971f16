"""`verify` sees each invariant of groups, PDCs, slots, operations and counters that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from engine_cases import Run, model, send, two_tiers
from simkit import KERNELS
from verify_cases import (
    as_arrays,
    busy,
    change,
    change_slot,
    group_with_turns,
    live,
    ready_nic,
    receiver_with_gap,
    sender_that_waits,
    sent_slot,
    slot_of,
)

from distsim.kernels import status
from distsim.state import tables as t
from distsim.state.verify import verify
from distsim.state.view import State

pytestmark = pytest.mark.core


def late_timer(state: State) -> None:
    row, _ = sent_slot(state) or (0, 0)
    state.nics["rto_ps"][state.tx["nic"][row]] = t.INF_PS


def unlink_ready(state: State) -> None:
    nic_row = ready_nic(state)
    state.nics["ready_head"][nic_row] = state.nics["ready_tail"][nic_row] = -1


def unlink_turns(state: State) -> None:
    group = group_with_turns(state)
    state.groups["turn_head"][group] = state.groups["turn_tail"][group]


def unlink_group(state: State) -> None:
    bucket = int(np.flatnonzero(state.group_hash >= 0)[0])
    state.group_hash[bucket] = state.groups["hash_next"][state.group_hash[bucket]]


def twin_groups(state: State) -> None:
    rows = live(state, t.P_GROUP, "hash_next")
    for name in ("nic", "dst", "key_pdc"):
        state.groups[name][rows[1]] = state.groups[name][rows[0]]


def unlink_pdc(state: State) -> None:
    state.tx["all_prev"][state.nics["pdc_tail"][0]] = -1


def forget_pdc(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["open_tx"] == 1)[0])
    state.nics["pdc_head"][nic_row] = state.nics["pdc_tail"][nic_row] = -1
    state.nics["open_tx"][nic_row] = 0


def acknowledge_the_lowest(state: State) -> None:
    for row in live(state, t.P_TX, "all_next"):
        pdc = state.tx[row]
        if pdc["next_psn"] > pdc["unacked"]:
            state.slots["state"][pdc["slot_begin"] + (pdc["unacked"] & (pdc["slot_room"] - 1))] = t.SLOT_DONE
            return


def acknowledge_what_is_under_way(state: State) -> None:
    row, _ = sent_slot(state) or (0, 0)
    sender = state.tx[row]
    psns = {int(sender["slot_begin"]) + (psn & (int(sender["slot_room"]) - 1)): psn
            for psn in range(sender["unacked"], sender["next_psn"])}
    last = max(psns, key=lambda at: psns[at])
    assert state.slots["state"][last] == t.SLOT_SENT
    state.slots["state"][last] = t.SLOT_DONE
    for name in ("inflight_bytes", "fetched_bytes"):
        state.groups[name][sender["group"]] -= 4184


def forget_retransmissions(state: State) -> None:
    row = sender_that_waits(state)
    state.tx["rtx_head"][row] = state.tx["rtx_tail"][row] = -1


def overlap_slots(state: State) -> None:
    rows = live(state, t.P_TX, "all_next")
    rooms = state.tx["slot_room"][rows]
    same = [row for row, room in zip(rows, rooms, strict=True) if list(rooms).count(room) > 1]
    state.tx["slot_begin"][same[0]] = state.tx["slot_begin"][same[1]]


def set_bit(state: State, psn: int) -> None:
    rx = state.rx[receiver_with_gap(state)]
    state.words["seen"][rx["word_begin"] + ((psn >> 5) & (rx["word_room"] - 1))] |= np.uint32(1 << (psn & 31))
    rx["held"] += 1


def set_expected_bit(state: State) -> None:
    set_bit(state, int(state.rx["expected"][receiver_with_gap(state)]))


def receiver_ahead_of_its_sender(state: State) -> int:
    """A receiver with a gap whose highest PSN its sender does not yet know to have arrived."""
    used = int(state.pools["high"][t.P_TX])
    for row in np.flatnonzero(state.rx["held"] > 0):
        rx = state.rx[row]
        for tx in state.tx[:used][state.tx["rx_message"][:used] == rx["message"]]:
            slot = tx["slot_begin"] + (rx["highest"] & (tx["slot_room"] - 1))
            if tx["unacked"] <= rx["highest"] < tx["next_psn"] and state.slots["state"][slot] != t.SLOT_DONE:
                return int(row)
    raise LookupError("no such receiver at this stop")


def clear_highest_bit(state: State) -> None:
    rx = state.rx[receiver_ahead_of_its_sender(state)]
    psn = int(rx["highest"])
    word = rx["word_begin"] + ((psn >> 5) & (rx["word_room"] - 1))
    state.words["seen"][word] ^= np.uint32(1 << (psn & 31))
    rx["held"] -= 1


def swap_heap(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["heap_size"] >= 3)[0])
    begin = state.nics["heap_begin"][nic_row]
    state.heap[[begin, begin + 2]] = state.heap[[begin + 2, begin]]
    state.next_ps[state.nics["node"][nic_row]] = state.nics["now_ps"][nic_row]


def op_in_state(wanted: int) -> Callable[[State], int]:
    return lambda state: int(np.flatnonzero(state.ops["state"] == wanted)[0])


BROKEN: dict[str, tuple[Callable[[State], None], str]] = {
    # groups
    "hash": (unlink_group, "is in no hash chain"),
    "equal groups": (twin_groups, "same NIC, address and key"),
    "ready queue": (unlink_ready, "in_ready is 1, but it is in 0"),
    "ready tail": (change("nics", "ready_tail", ready_nic, 1), "ready queue of NIC .*: tail"),
    "in_ready": (change("groups", "in_ready", lambda s: s.nics["ready_head"][ready_nic(s)], -1), "in_ready is 0"),
    "turns": (unlink_turns, "in_turn is 1, but it has 0 turns"),
    "in_turn": (change("tx", "in_turn", lambda s: s.groups["turn_head"][group_with_turns(s)], -1), "in_turn is 0"),
    "turn tail": (change("groups", "turn_tail", group_with_turns, 1), "turns of group .*: tail"),
    "references": (change("groups", "ref_count", 0, 1), "ref_count is"),
    "in flight": (change("groups", "inflight_bytes", 0, 1), "B in flight, its outstanding packets"),
    "fetched": (change("groups", "fetched_bytes", 0, 1), "B fetched, its unacknowledged packets"),
    "window": (change("groups", "cwnd_bytes", 0, 1_000_000), "a window of"),
    # sending PDCs
    "list of PDCs": (unlink_pdc, "all_prev of"),
    "PDC forgotten": (forget_pdc, "is open and in no list"),
    "open PDCs": (change("nics", "open_tx", 0, 1), "open_tx is"),
    "unacked": (change("tx", "unacked", sender_that_waits, 1000), "unacked .* do not fit"),
    "ring too small": (change("tx", "slot_room", lambda s: (sent_slot(s) or (0, 0))[0], -10_000),
                       "slots|overlap|belong to"),
    "slot state": (change_slot("state", sent_slot, t.SLOT_FREE), "state 0 of PSN"),
    "lowest slot": (acknowledge_the_lowest, "state 3 of PSN"),
    "acknowledged early": (acknowledge_what_is_under_way, "is acknowledged, but has not arrived"),
    "tries": (change_slot("tries", sent_slot, 0), "sent 0 times"),
    "timer of the NIC": (late_timer, "rto_ps is .*, that of NIC"),
    "timer of the PDC": (change("tx", "rto_ps", lambda s: (sent_slot(s) or (0, 0))[0], t.INF_PS // 2), "expires at"),
    "retransmissions": (forget_retransmissions, "waits, but is not in the list|has something to send"),
    "last retransmission": (change("tx", "rtx_tail", sender_that_waits, 1), "rtx_tail is"),
    "not waiting": (change_slot("state", lambda s: slot_of(s, t.SLOT_WAITING), t.SLOT_DONE), "not waiting|state 3"),
    "slots overlap": (overlap_slots, "overlap|belong to nothing|state 0 of"),
    "slots used": (change("pools", "used", t.P_SLOT, 8), "PSN slots: used is"),
    "slots lost": (change("pools", "high", t.P_SLOT, 8), "PSN slots: rings end at"),
    "largest ring": (change("pools", "free_head", t.P_SLOT, -120), "larger than the largest noted"),
    "length": (change("tx", "last_bytes", sender_that_waits, 1), "are not .* B"),
    "transmissions": (change("tx", "transmissions", sender_that_waits, 1), "transmissions are not"),
    # receiving PDCs
    "held": (change("rx", "held", receiver_with_gap, 1), "bits are set"),
    "expected bit": (set_expected_bit, "are set that are not of PSNs"),
    "highest bit": (clear_highest_bit, "the bit of the highest PSN"),
    "expected": (change("rx", "expected", receiver_with_gap, 500), "expected .* do not fit"),
    "words used": (change("pools", "used", t.P_WORD, -4), "receive words: used is"),
    "receiver's id": (change("rx", "id", receiver_with_gap, -30_000), "id "),
    "receiver's message": (change("rx", "message", receiver_with_gap, 1), "is of message"),
    "open messages": (change("nics", "open_rx", 3, 1), "open_rx is"),
    "message done": (change("rxmsg", "state", lambda s: int(np.flatnonzero(s.rxmsg["state"] == t.RX_OPEN)[0]), 1),
                     "state 2 with PDC"),
    "received": (change("clock", "recvs_done", 0, 1), "recvs_done is"),
    # operations and counters
    "heap": (swap_heap, "is before its parent"),
    "queued operation": (change("ops", "state", op_in_state(t.OP_QUEUED), -1), "times in its heap|waits for 0 others"),
    "waiting operation": (change("ops", "deps_left", op_in_state(t.OP_WAITING), -1), "waits for 0 others"),
    "active operation": (change("ops", "state", op_in_state(t.OP_ACTIVE), 1), "state 3 with PDC"),
    "PDC id": (change("tx", "id", sender_that_waits, 40_000), "is out of range"),
    "operation's PDC": (change("tx", "op", sender_that_waits, 1), "PDC .* is not its own"),
    "time of completion": (change("ops", "done_ps", op_in_state(t.OP_DONE), -(10**9)), "before it started"),
    "finished": (change("clock", "sends_done", 0, 1), "sends_done is"),
    "started": (change("clock", "ops_started", 0, 1), "ops_started is"),
    "posted": (change("counters", "wqes_created", 0, 1), "wqes_created is"),
    "samples": (change("counters", "tx_samples", 0, 1), "tx_samples is"),
    "probes": (change("counters", "probe_ack_rcvd", 1, 100), "answers to .* probes"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_invariant_is_seen(name):
    break_it, sentence = BROKEN[name]
    state = as_arrays(busy())
    break_it(state)
    with pytest.raises(AssertionError, match=sentence):
        verify(state)


def test_a_group_that_would_wait_for_ever_is_seen():
    # One event: the message has been posted and its group is ready, but nothing has been sent. Out of the queue it
    # would never be woken.
    going = Run(model(two_tiers(), [send(0, 1, 4096)]))
    while KERNELS.run_window(going.rank.ref, 1, 1) == status.NEED:
        going.rank.grow()
    state = as_arrays(going.state)
    verify(state)
    assert state.groups["in_ready"][0] == 1 and state.groups["inflight_bytes"][0] == 0
    state.groups["in_ready"][0] = 0
    state.nics["ready_head"] = state.nics["ready_tail"] = -1
    with pytest.raises(AssertionError, match="something to send, nothing in flight and is not in the ready queue"):
        verify(state)
