"""`verify` passes every state that a run goes through, and sees each invariant that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from engine_cases import NS, US, Run, model, nic, run, send, switch, two_tiers
from simkit import random_model, run_windows
from test_fuzz_windows import owners

from distsim.state import tables as t
from distsim.state.allocate import to_array, to_twin
from distsim.state.verify import verify
from distsim.state.verify_rows import Columns, walk
from distsim.state.view import DTYPES, State
from distsim.workload.types import ON_SEND_DONE

pytestmark = pytest.mark.core


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


NEEDED: list[Callable[[State], object]] = [sender_that_waits, receiver_with_gap, long_link, long_queue, group_with_turns,
                                           ready_nic, done_slot, sent_slot]


def switch_port(state: State) -> int:
    """A switch's port with packets waiting."""
    return int(np.flatnonzero((state.ports["queued"] > 0) & (state.nodes["kind"][state.ports["node"]] != 0))[0])


# ---- every invariant, broken -----------------------------------------------------------------------------------------
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


def lose_packet(state: State) -> None:
    row = long_link(state)
    state.ins["head"][row] = state.packets["next"][state.ins["head"][row]]


def packet_in_two_places(state: State) -> None:
    links = np.flatnonzero((state.ins["head"] >= 0) & (state.ins["node"] < len(state.nodes)))
    for name in ("head", "tail", "last_ps"):
        state.ins[name][links[0]] = state.ins[name][links[1]]
    state.next_ps[:] = 0


def free_a_packet_under_way(state: State) -> None:
    row = state.ins["head"][long_link(state)]
    pool = state.pools[t.P_PACKET]
    pool["free_head"], pool["used"] = row, pool["high"] - len(walk(int(row), state.packets["next"].tolist(), ""))


def shrink(state: State) -> None:
    state.packets["size_bytes"][state.ins["head"][long_link(state)]] = 100


def circle(state: State) -> None:
    row = long_link(state)
    state.packets["next"][state.ins["tail"][row]] = state.ins["head"][row]


def swap_arrivals(state: State) -> None:
    head = state.ins["head"][long_link(state)]
    after = state.packets["next"][head]
    times = state.packets["time_ps"]
    times[head], times[after] = times[after], times[head]


def oversleep(state: State) -> None:
    state.next_ps[state.ins["node"][long_link(state)]] = t.INF_PS


def oversleep_port(state: State) -> None:
    port = switch_port(state)
    node = state.ports["node"][port]
    state.ports["free_ps"][port] = state.next_ps[node] - 1


def oversleep_nic(state: State) -> None:
    nic_row = ready_nic(state)
    state.nics["now_ps"][nic_row] = state.ports["free_ps"][state.nics["port"][nic_row]] = 0


def wake_in_the_past(state: State) -> None:
    state.next_ps[state.nics["node"][3]] = state.nics["now_ps"][3] - 1


def oversleep_timer(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["open_tx"] > 0)[0])
    state.nics["rto_ps"][nic_row] = state.next_ps[state.nics["node"][nic_row]] - 1


def late_timer(state: State) -> None:
    row, _ = sent_slot(state) or (0, 0)
    state.nics["rto_ps"][state.tx["nic"][row]] = t.INF_PS


def swap_classes(state: State) -> None:
    state.packets["tc"][state.queues["head"][long_queue(state)]] ^= 2


def wrong_tail(state: State) -> None:
    row = long_queue(state)
    state.queues["tail"][row] = state.queues["head"][row]


def cut_queue(state: State) -> None:
    state.packets["next"][state.queues["head"][long_queue(state)]] = -1


def over_the_limit(state: State) -> None:
    state.swpar["data_limit_bytes"] = state.swpar["rtx_limit_bytes"] = 4000


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


def starved_group(state: State) -> None:
    """Nothing in flight, work to do, not in the ready queue: it would wait for ever."""
    row = sender_that_waits(state)
    pdc, group = state.tx[row], state.tx["group"][row]
    for nic_row in range(len(state.nics)):
        if state.nics["ready_head"][nic_row] == group == state.nics["ready_tail"][nic_row]:
            state.nics["ready_head"][nic_row] = state.nics["ready_tail"][nic_row] = -1
    state.groups["in_ready"][group] = state.groups["inflight_bytes"][group] = 0
    for other in live(state, t.P_TX, "all_next"):
        if state.tx["group"][other] == group:
            pdc = state.tx[other]
            slots = state.slots[pdc["slot_begin"]:pdc["slot_begin"] + pdc["slot_room"]]
            slots["state"][slots["state"] == t.SLOT_SENT] = t.SLOT_DONE
            pdc["rtx_head"] = pdc["rtx_tail"] = -1
            slots["state"][slots["state"] == t.SLOT_WAITING] = t.SLOT_DONE
            pdc["unacked"] = pdc["next_psn"]


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
    row, slot = sent_slot(state) or (0, 0)
    sender = state.tx[row]
    psns = {int(sender["slot_begin"]) + (psn & (int(sender["slot_room"]) - 1)): psn
            for psn in range(sender["unacked"], sender["next_psn"])}
    last = max(psns, key=lambda at: psns[at])
    assert state.slots["state"][last] == t.SLOT_SENT
    state.slots["state"][last] = t.SLOT_DONE
    state.groups["inflight_bytes"][sender["group"]] -= 4184


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


def clear_highest_bit(state: State) -> None:
    rx = state.rx[receiver_with_gap(state)]
    psn = int(rx["highest"])
    state.words["seen"][rx["word_begin"] + ((psn >> 5) & (rx["word_room"] - 1))] &= np.uint32(~(1 << (psn & 31)) & 0xFFFFFFFF)
    rx["held"] -= 1


def swap_heap(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["heap_size"] >= 3)[0])
    begin = state.nics["heap_begin"][nic_row]
    state.heap[[begin, begin + 2]] = state.heap[[begin + 2, begin]]
    state.next_ps[state.nics["node"][nic_row]] = state.nics["now_ps"][nic_row]


def oversleep_operation(state: State) -> None:
    nic_row = int(np.flatnonzero(state.nics["heap_size"] >= 3)[0])
    state.heap["time_ps"][state.nics["heap_begin"][nic_row]] = state.next_ps[state.nics["node"][nic_row]] - 1


def strange_order(state: State) -> None:
    state.order[0] = state.order[1]


def op_in_state(wanted: int) -> Callable[[State], int]:
    return lambda state: int(np.flatnonzero(state.ops["state"] == wanted)[0])


BROKEN: dict[str, tuple[Callable[[State], None], str]] = {
    # pools and packets
    "pool room": (change("pools", "room", t.P_PACKET, -1), "pool of packets: room is"),
    "pool used": (change("pools", "used", t.P_PACKET, 1), "pool of packets: .* used and .* free rows"),
    "pool high": (change("pools", "high", t.P_TX, -1), "high-water mark|pool of tx"),
    "packet lost": (lose_packet, "is in no link, in no queue and not free"),
    "packet twice": (packet_in_two_places, "packet .* is in link FIFO .* and in link FIFO"),
    "packet free": (free_a_packet_under_way, "in no link|is free and in link FIFO"),
    "packet size": (shrink, "type . with 100 B"),
    "created": (change("clock", "created", 0, 1), "packets created and 0 taken over are not"),
    "created and delivered": (lambda s: [change("clock", name, 0, 1)(s) for name in ("created", "delivered")] and None,
                              "created is .* but the NICs count"),
    "delivered": (lambda s: [change("counters", name, 0, 1)(s) for name in ("ack_pkts_rcvd",)] and None,
                  "delivered is .* but the NICs count"),
    # links
    "circle": (circle, "link FIFO .* runs in a circle"),
    "link tail": (change("ins", "tail", long_link, 1), "link FIFO .*: tail is"),
    "link order": (swap_arrivals, "are not in order"),
    "link last": (change("ins", "last_ps", long_link, 1), "last_ps is"),
    "hops": (change("clock", "hops", 0, 1), "hops is"),
    "link packets": (change("ins", "rx_packets", 0, 1), "packets, but .* arrived"),
    "link bytes": (change("ins", "rx_bytes", 0, 1), "B arrived or are under way"),
    "peer": (change("ports", "peer", 0, 1), "peer is"),
    # ports
    "queued": (change("ports", "queued", switch_port, 1), "queued is"),
    "waiting bytes": (change("queues", "waiting_bytes", long_queue, 1), "waiting_bytes is"),
    "class": (swap_classes, "is of class"),
    "queue tail": (wrong_tail, "tail is"),
    "queue list": (cut_queue, "the list ends before"),
    "service charge": (change("ports", "service_charge", switch_port, 1), "in service are charged"),
    "limit": (over_the_limit, "more than the limit of 4000"),
    "trims": (change("clock", "trimmed", 0, 1), "trimmed is"),
    "drops": (change("clock", "dropped", 0, 1), "dropped is|packets created"),
    # wake-ups
    "arrival missed": (oversleep, "a packet arrives at .*, but next_ps"),
    "service missed": (oversleep_port, "but port .* can serve at"),
    "sending missed": (oversleep_nic, "but its port can send at"),
    "timer missed": (oversleep_timer, "but a timer expires at"),
    "operation missed": (oversleep_operation, "but an operation is due at"),
    "woken in the past": (wake_in_the_past, "before its latest event|wakes at"),
    "visiting order": (strange_order, "visiting order"),
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
    "window": (change("groups", "cwnd_bytes", 0, 1_000_000), "a window of"),
    "starved": (starved_group, "nothing in flight and is not in the ready queue|does not fit|do not fit|in_turn"),
    # sending PDCs
    "list of PDCs": (unlink_pdc, "all_prev of"),
    "PDC forgotten": (forget_pdc, "is open and in no list"),
    "open PDCs": (change("nics", "open_tx", 0, 1), "open_tx is"),
    "unacked": (change("tx", "unacked", sender_that_waits, 1000), "unacked .* do not fit"),
    "ring too small": (change("tx", "slot_room", lambda s: (sent_slot(s) or (0, 0))[0], -10_000), "slots|overlap|belong to"),
    "slot state": (change_slot("state", sent_slot, t.SLOT_FREE), "state 0 of PSN"),
    "lowest slot": (acknowledge_the_lowest, "state 3 of PSN"),
    "acknowledged early": (acknowledge_what_is_under_way, "is acknowledged, but has not arrived"),
    "tries": (change_slot("tries", sent_slot, 0), "sent 0 times"),
    "timer": (late_timer, "expires at"),
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


def test_the_state_before_it_is_broken_is_sound():
    verify(busy())
    verify(to_twin(busy()))


def test_the_twin_is_checked_too():
    state = to_twin(as_arrays(busy()))
    state.ports[0].queued += 1
    with pytest.raises(AssertionError, match="queued is"):
        verify(state)


def test_what_waits_for_other_ranks_is_checked():
    for state in split():
        verify(state)
    state = as_arrays(split()[0])
    leaving = np.flatnonzero((state.ins["node"] >= len(state.nodes)) & (state.ins["head"] >= 0))
    assert len(leaving) == 1
    state.packets["ptype"][state.ins["head"][leaving[0]]] = t.NOTICE
    with pytest.raises(AssertionError, match="belongs elsewhere"):
        verify(state)
    state = as_arrays(split()[0])
    state.next_ps[state.ins["node"][leaving[0]]] = t.INF_PS
    with pytest.raises(AssertionError, match="next_ps of node row"):
        verify(state)
    state = as_arrays(split()[0])
    state.clock["handed_over"] += 1
    with pytest.raises(AssertionError, match="1 handed over"):
        verify(state)


@pytest.mark.parametrize("seed", (1, 2, 7))
def test_every_window_of_a_random_simulation_leaves_a_sound_state(seed):
    made = random_model(seed)
    calls = []
    run_windows(made, seed=seed, least=True, check=lambda rank: calls.append(verify(rank.holder.state)))
    run_windows(made, owners(made, seed, 3), check=lambda rank: calls.append(verify(rank.holder.state)))
    assert len(calls) > 10


def test_columns_read_both_forms():
    state = busy()
    twin = to_twin(state)
    assert Columns(state.nics).pdc_head == Columns(twin.nics).pdc_head
    assert Columns(state.packets, 5).time_ps == Columns(twin.packets, 5).time_ps
    assert len(Columns(twin.packets, 5)) == 5


def test_an_empty_simulation_is_sound():
    verify(run(two_tiers(), [send(0, 1, 1)]).state)
