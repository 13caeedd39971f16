"""Invariants of groups and sending PDCs: lists, turns, windows, PSN slots, timers."""

from __future__ import annotations

from . import tables as t
from .verify_rows import Snapshot, check_rings, fail, live_rows, walk

NOMINAL_HEADER_BYTES = 88


def check_senders(shot: Snapshot, receivers: list[int]) -> list[int]:
    """All of this file. Returns the live sending PDCs."""
    groups = live_rows(shot, t.P_GROUP, "groups", shot.groups.hash_next)
    senders = live_rows(shot, t.P_TX, "sending PDCs", shot.tx.all_next)
    check_hash(shot, groups)
    check_ready(shot, groups)
    check_turns(shot, groups, senders)
    check_all_lists(shot, senders)
    inflight = dict.fromkeys(groups, 0)
    for row in senders:
        check_sender(shot, row, inflight)
    check_group_figures(shot, groups, senders, receivers, inflight)
    check_rings(shot, t.P_SLOT, t.P_SLOT_RINGS, t.SLOT_RING, "PSN slots", shot.slots.rtx_next,
                [(shot.tx.slot_begin[row], shot.tx.slot_room[row], f"sending PDC {row}") for row in senders])
    return senders


# ---- groups ----------------------------------------------------------------------------------------------------------
def check_hash(shot: Snapshot, groups: list[int]) -> None:
    """Every live group is in one chain, and no two are the same."""
    g = shot.groups
    reached: dict[int, int] = {}
    for bucket, head in enumerate(shot.group_hash):
        for row in walk(head, g.hash_next, f"hash chain {bucket}"):
            if row in reached:
                fail(f"group {row} is in hash chains {reached[row]} and {bucket}")
            reached[row] = bucket
    for row in groups:
        if row not in reached:
            fail(f"group {row} is in no hash chain")
    if len(reached) != len(groups):
        fail(f"group {min(set(reached) - set(groups))} is free and in a hash chain")
    if len({(g.nic[row], g.dst[row], g.key_pdc[row]) for row in groups}) != len(groups):
        fail("two groups have the same NIC, address and key")


def check_ready(shot: Snapshot, groups: list[int]) -> None:
    """Ready queues of NICs agree with the groups' flags."""
    g, nics = shot.groups, shot.nics
    ready: set[int] = set()
    for nic in range(len(nics)):
        queue = walk(nics.ready_head[nic], g.ready_next, f"ready queue of NIC {nic}")
        if nics.ready_tail[nic] != (queue[-1] if queue else -1):
            fail(f"ready queue of NIC {nic}: tail is {nics.ready_tail[nic]}, not its last group")
        for row in queue:
            if row in ready or g.nic[row] != nic:
                fail(f"group {row} of NIC {g.nic[row]} is once too often in the ready queue of NIC {nic}")
            ready.add(row)
    for row in groups:
        if g.in_ready[row] != (row in ready):
            fail(f"group {row}: in_ready is {g.in_ready[row]}, but it is in {int(row in ready)} ready queues")
    if not ready <= set(groups):
        fail(f"group {min(ready - set(groups))} is free and ready to send")


def check_turns(shot: Snapshot, groups: list[int], senders: list[int]) -> None:
    """The PDCs of a group that take turns, and their flags; whoever has something to send has a turn."""
    g, tx = shot.groups, shot.tx
    turns: set[int] = set()
    for row in groups:
        queue = walk(g.turn_head[row], tx.turn_next, f"turns of group {row}")
        if g.turn_tail[row] != (queue[-1] if queue else -1):
            fail(f"turns of group {row}: tail is {g.turn_tail[row]}, not its last PDC")
        for pdc in queue:
            if pdc in turns or tx.group[pdc] != row:
                fail(f"sending PDC {pdc} of group {tx.group[pdc]} is once too often in the turns of group {row}")
            turns.add(pdc)
    if not turns <= set(senders):
        fail(f"sending PDC {min(turns - set(senders))} is free and has a turn")
    for pdc in senders:
        if tx.in_turn[pdc] != (pdc in turns):
            fail(f"sending PDC {pdc}: in_turn is {tx.in_turn[pdc]}, but it has {int(pdc in turns)} turns")
        if (tx.rtx_head[pdc] >= 0 or tx.next_psn[pdc] < tx.packets[pdc]) and pdc not in turns:
            fail(f"sending PDC {pdc} has something to send, but no turn")


def check_group_figures(shot: Snapshot, groups: list[int], senders: list[int], receivers: list[int],
                        inflight: dict[int, int]) -> None:
    """Reference counts, bytes in flight, windows; a group with work that is not ready waits for an answer."""
    g = shot.groups
    held = dict.fromkeys(groups, 0)
    of_receivers = [shot.rx.group[row] for row in receivers]
    for group in [*(shot.tx.group[row] for row in senders), *(group for group in of_receivers if group >= 0)]:
        if group not in held:
            fail(f"a PDC is in group {group}, which is free")
        held[group] += 1
    for row in groups:
        if g.ref_count[row] != held[row]:
            fail(f"group {row}: ref_count is {g.ref_count[row]}, but {held[row]} PDCs hold it")
        if g.inflight_bytes[row] != inflight[row]:
            fail(f"group {row}: {g.inflight_bytes[row]} B in flight, its outstanding packets are {inflight[row]} B")
        least = shot.nicpar.mtu_bytes[g.param[row]]
        if not least <= g.cwnd_bytes[row] <= max(least, g.max_window_bytes[row]):
            fail(f"group {row}: a window of {g.cwnd_bytes[row]} B is not between {least} and {g.max_window_bytes[row]}")
        if g.turn_head[row] >= 0 and not g.in_ready[row] and not inflight[row]:
            fail(f"group {row} has something to send, nothing in flight and is not in the ready queue")


# ---- sending PDCs ----------------------------------------------------------------------------------------------------
def check_all_lists(shot: Snapshot, senders: list[int]) -> None:
    """The list of each NIC's open sending PDCs, both ways."""
    tx, nics = shot.tx, shot.nics
    listed: set[int] = set()
    for nic in range(len(nics)):
        rows = walk(nics.pdc_head[nic], tx.all_next, f"PDC list of NIC {nic}")
        for before, row in zip([-1, *rows], rows, strict=False):
            if tx.all_prev[row] != before:
                fail(f"PDC list of NIC {nic}: all_prev of {row} is {tx.all_prev[row]}, not {before}")
            if tx.nic[row] != nic or row in listed:
                fail(f"sending PDC {row} of NIC {tx.nic[row]} is once too often in the list of NIC {nic}")
            listed.add(row)
        if nics.pdc_tail[nic] != (rows[-1] if rows else -1):
            fail(f"PDC list of NIC {nic}: tail is {nics.pdc_tail[nic]}, its last PDC is {rows[-1] if rows else -1}")
        if nics.open_tx[nic] != len(rows):
            fail(f"NIC {nic}: open_tx is {nics.open_tx[nic]}, its list holds {len(rows)}")
    if listed != set(senders):
        fail(f"sending PDC {min(listed ^ set(senders))} is open and in no list, or in a list and free")


def check_sender(shot: Snapshot, row: int, inflight: dict[int, int]) -> None:
    """PSNs, slots, waiting retransmissions and timers of one sending PDC; adds to its group's bytes in flight."""
    tx, slots, nic = shot.tx, shot.slots, shot.tx.nic[row]
    what = f"sending PDC {row}"
    par = shot.parameters(nic)
    first, last, packets = tx.unacked[row], tx.next_psn[row], tx.packets[row]
    if not 0 <= first <= last <= packets or first >= packets:
        fail(f"{what}: unacked {first}, next_psn {last} and packets {packets} do not fit")
    if last - first > tx.slot_room[row]:
        fail(f"{what}: {last - first} outstanding PSNs in {tx.slot_room[row]} slots")
    mss = shot.nicpar.mss_bytes[par]
    waiting = []
    for psn in range(first, last):
        slot = tx.slot_begin[row] + (psn & (tx.slot_room[row] - 1))
        state = slots.state[slot]
        if state == t.SLOT_FREE or (psn == first and state == t.SLOT_DONE):
            fail(f"{what}: state {state} of PSN {psn}")
        if state == t.SLOT_WAITING:
            waiting.append(psn)
        if state == t.SLOT_SENT:
            payload = tx.last_bytes[row] if psn == packets - 1 else mss
            inflight[tx.group[row]] = inflight.get(tx.group[row], 0) + payload + NOMINAL_HEADER_BYTES
            deadline = slots.end_ps[slot] + timeout_ps(shot, par, slots.tries[slot])
            if slots.tries[slot] < 1 or tx.rto_ps[row] > deadline:
                fail(f"{what}: PSN {psn}, sent {slots.tries[slot]} times, expires at {deadline}, but rto_ps is "
                     f"{tx.rto_ps[row]}")
    if shot.nics.rto_ps[nic] > tx.rto_ps[row]:
        fail(f"{what}: rto_ps is {tx.rto_ps[row]}, that of NIC {nic} is {shot.nics.rto_ps[nic]}")
    check_retransmissions(shot, row, waiting)


def check_retransmissions(shot: Snapshot, row: int, waiting: list[int]) -> None:
    """The list of PSNs that wait for retransmission holds those whose slot says so."""
    tx, what = shot.tx, f"sending PDC {row}"
    listed: list[int] = []
    psn = tx.rtx_head[row]
    while psn >= 0:
        if psn not in waiting or psn in listed:
            fail(f"{what}: PSN {psn} is in the list of retransmissions, but not waiting")
        listed.append(psn)
        psn = shot.slots.rtx_next[tx.slot_begin[row] + (psn & (tx.slot_room[row] - 1))]
    if len(listed) != len(waiting):
        fail(f"{what}: PSN {min(set(waiting) - set(listed))} waits, but is not in the list of retransmissions")
    if tx.rtx_tail[row] != (listed[-1] if listed else -1):
        fail(f"{what}: rtx_tail is {tx.rtx_tail[row]}, not the last retransmission")


def timeout_ps(shot: Snapshot, par: int, tries: int) -> int:
    """Timeout after the `tries`-th transmission: doubling up to the cap, or fixed (uet-model 2.1)."""
    scale: int = shot.nicpar.rto_ps[par]
    if shot.nicpar.rto_fixed[par]:
        return scale
    return scale << min(max(tries, 1) - 1, shot.nicpar.rto_max_backoff[par])


