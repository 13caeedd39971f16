"""Invariants of groups and sending PDCs: lists, turns, windows, PSN slots, timers."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import tables as t
from .verify_rows import Snapshot, check_rings, fail, live_rows, walk

NOMINAL_HEADER_BYTES = 88
SPRAY_RECYCLED = 2
QUEUED = (t.SLOT_QUEUED, t.SLOT_QUEUED_AR)


@dataclass
class Sums:
    """Nominal bytes of a group's packets."""

    inflight_bytes: int = 0
    fetched_bytes: int = 0


@dataclass
class UnderWay:
    """PSNs of a sending PDC that the NIC has not put on the wire yet."""

    fetching: list[int] = field(default_factory=list)     # in the fetch ring, on their way from the host
    handed: list[int] = field(default_factory=list)       # in the fetch ring, waiting for the port
    queued: dict[int, int] = field(default_factory=dict)  # in the port's queue, and which transmission it is


def check_senders(shot: Snapshot, receivers: list[int]) -> tuple[list[int], list[int]]:
    """All of this file. Returns the live groups and sending PDCs."""
    groups = live_rows(shot, t.P_GROUP, "groups", shot.groups.hash_next)
    senders = live_rows(shot, t.P_TX, "sending PDCs", shot.tx.all_next)
    check_hash(shot, groups)
    check_ready(shot, groups)
    check_turns(shot, groups, senders)
    check_all_lists(shot, senders)
    sums = {row: Sums() for row in groups}
    under_way = packets_under_way(shot)
    for row in senders:
        if shot.tx.group[row] not in sums:
            fail(f"a PDC is in group {shot.tx.group[row]}, which is free")
        check_sender(shot, row, under_way.get(row, UnderWay()), sums[shot.tx.group[row]])
    check_group_figures(shot, groups, senders, receivers, sums)
    for row in groups:
        check_cache(shot, row)
    check_rings(shot, t.P_SLOT, t.P_SLOT_RINGS, t.SLOT_RING, "PSN slots", shot.slots.rtx_next,
                [(shot.tx.slot_begin[row], shot.tx.slot_room[row], f"sending PDC {row}") for row in senders])
    return groups, senders


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
        new = tx.next_psn[pdc] < tx.packets[pdc] or tx.commit_psn[pdc] < tx.arrived_psn[pdc]
        if (new or tx.rtx_head[pdc] >= 0) and pdc not in turns:
            fail(f"sending PDC {pdc} has something to send, but no turn")


def check_group_figures(shot: Snapshot, groups: list[int], senders: list[int], receivers: list[int],
                        sums: dict[int, Sums]) -> None:
    """Reference counts, bytes in flight and fetched, windows; a group with work that is not ready waits for answers."""
    g, par = shot.groups, shot.nicpar
    held = dict.fromkeys(groups, 0)
    of_receivers = [shot.rx.group[row] for row in receivers]
    for group in [*(shot.tx.group[row] for row in senders), *(group for group in of_receivers if group >= 0)]:
        if group not in held:
            fail(f"a PDC is in group {group}, which is free")
        held[group] += 1
    for row in groups:
        inflight, fetched = sums[row].inflight_bytes, sums[row].fetched_bytes
        if g.ref_count[row] != held[row]:
            fail(f"group {row}: ref_count is {g.ref_count[row]}, but {held[row]} PDCs hold it")
        if g.inflight_bytes[row] != inflight:
            fail(f"group {row}: {g.inflight_bytes[row]} B in flight, its outstanding packets are {inflight} B")
        if g.fetched_bytes[row] != fetched:
            fail(f"group {row}: {g.fetched_bytes[row]} B fetched, its unacknowledged packets are {fetched} B")
        least = par.mtu_bytes[g.param[row]]
        if not least <= g.cwnd_bytes[row] <= max(least, g.max_window_bytes[row]):
            fail(f"group {row}: a window of {g.cwnd_bytes[row]} B is not between {least} and {g.max_window_bytes[row]}")
        prefetched = fetched if par.prefetch[g.param[row]] else 0
        if g.turn_head[row] >= 0 and not g.in_ready[row] and not inflight and not prefetched:
            fail(f"group {row} has something to send, nothing in flight and is not in the ready queue")


def check_cache(shot: Snapshot, row: int) -> None:
    """Recycled entropy values of a group: a ring filled from its first row on."""
    g, what = shot.groups, f"group {row}"
    par, begin = g.param[row], g.reps_begin[row]
    head, count, stored, reuse = g.reps_head[row], g.reps_count[row], g.reps_stored[row], g.reps_reuse[row]
    if begin < 0:
        return
    room, values = shot.nicpar.reps_room[par], shot.nicpar.entropy_values[par]
    if shot.nicpar.spraying[par] != SPRAY_RECYCLED:
        fail(f"{what} has a cache of entropy values, but does not recycle them")
    good = 0 <= count <= stored <= room and 0 <= head < room and (stored == room or head + count == stored)
    if not good or not 0 <= reuse <= max(stored - 1, 0) or begin + room > len(shot.rings):
        fail(f"{what}: a cache of {room} entropy values, head {head}, count {count}, stored {stored}, reuse {reuse}")
    for value in shot.rings.a[begin:begin + stored]:
        if not 0 <= value < values:
            fail(f"{what}: {value} is no entropy value below {values}")


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


def packets_under_way(shot: Snapshot) -> dict[int, UnderWay]:
    """What NICs hold of their sending PDCs, by PDC: fetch rings and the ports' queues of data."""
    found: dict[int, UnderWay] = {}
    packets, ops, nics = shot.packets, shot.ops, shot.nics
    for nic, fetches in enumerate(shot.fetches):
        for entry in fetches:
            if not 0 <= entry.pdc < len(shot.tx) or shot.tx.nic[entry.pdc] != nic:
                fail(f"NIC {nic}: an entry of its fetch ring is of sending PDC {entry.pdc}, which is not its own")
            here = found.setdefault(entry.pdc, UnderWay())
            (here.handed if entry.handed else here.fetching).append(entry.psn)
        for i in shot.queue(nics.port[nic], t.Q_RTX):
            pdc = ops.pdc[nics.op_begin[nic] + packets.cack[i] - nics.op_first[nic]]
            if pdc < 0:
                continue
            queued = found.setdefault(pdc, UnderWay()).queued
            if packets.psn[i] in queued:
                fail(f"NIC {nic}: PSN {packets.psn[i]} of sending PDC {pdc} waits twice for the port")
            queued[packets.psn[i]] = packets.flag_bits[i] >> t.TRIES_SHIFT
    return found


def check_sender(shot: Snapshot, row: int, here: UnderWay, sums: Sums) -> None:
    """PSNs, slots, waiting retransmissions and timers of one sending PDC; adds to its group's sums."""
    tx, slots, nic = shot.tx, shot.slots, shot.tx.nic[row]
    what = f"sending PDC {row}"
    par = shot.parameters(nic)
    first, last, packets = tx.unacked[row], tx.next_psn[row], tx.packets[row]
    if not 0 <= first <= last <= packets or first >= packets:
        fail(f"{what}: unacked {first}, next_psn {last} and packets {packets} do not fit")
    if last - first > tx.slot_room[row]:
        fail(f"{what}: {last - first} outstanding PSNs in {tx.slot_room[row]} slots")
    prefetch = shot.nicpar.prefetch[par]
    fetching = check_fetched(shot, row, here, prefetch)
    mss = shot.nicpar.mss_bytes[par]
    waiting = []
    for psn in range(first, last):
        slot = tx.slot_begin[row] + (psn & (tx.slot_room[row] - 1))
        state = slots.state[slot]
        if (state == t.SLOT_FREE) != (psn in fetching) or (psn == first and state == t.SLOT_DONE):
            fail(f"{what}: state {state} of PSN {psn}")
        nominal = (tx.last_bytes[row] if psn == packets - 1 else mss) + NOMINAL_HEADER_BYTES
        if state != t.SLOT_DONE:
            sums.fetched_bytes += nominal
        if state == t.SLOT_SENT or state in QUEUED or (state == t.SLOT_FREE and not prefetch):
            sums.inflight_bytes += nominal
        if state == t.SLOT_WAITING:
            waiting.append(psn)
        check_queued(shot, what, slot, psn, here)
        if state == t.SLOT_SENT:
            check_timers(shot, row, par, slot, psn)
    if shot.nics.rto_ps[nic] > tx.rto_ps[row]:
        fail(f"{what}: rto_ps is {tx.rto_ps[row]}, that of NIC {nic} is {shot.nics.rto_ps[nic]}")
    if shot.nics.fail_ps[nic] > tx.fail_ps[row]:
        fail(f"{what}: fail_ps is {tx.fail_ps[row]}, that of NIC {nic} is {shot.nics.fail_ps[nic]}")
    check_retransmissions(shot, row, waiting)


def check_fetched(shot: Snapshot, row: int, here: UnderWay, prefetch: int) -> range:
    """PSNs in the fetch ring are the newest, in order. Returns those fetched and not yet committed or handed down."""
    tx, last = shot.tx, shot.tx.next_psn[row]
    arrived, committed = tx.arrived_psn[row], tx.commit_psn[row]
    ring = here.handed + here.fetching
    if ring != list(range(last - len(ring), last)):
        fail(f"sending PDC {row}: PSNs {ring} are in the fetch ring, the next to fetch is {last}")
    if not prefetch:
        if arrived or committed:
            fail(f"sending PDC {row}: arrived_psn {arrived} and commit_psn {committed} without a prefetch buffer")
        return range(last - len(here.fetching), last)
    if here.handed or not 0 <= committed <= arrived or arrived != last - len(here.fetching):
        fail(f"sending PDC {row}: arrived_psn {arrived} and commit_psn {committed}, but PSNs {ring} are being fetched")
    return range(committed, last)


def check_queued(shot: Snapshot, what: str, slot: int, psn: int, here: UnderWay) -> None:
    """A PSN is in state QUEUED exactly while its latest transmission waits for the port."""
    state, tries = shot.slots.state[slot], shot.slots.tries[slot]
    waits = psn in here.handed or psn in here.queued
    if state in QUEUED and not waits:
        fail(f"{what}: PSN {psn} is in state {state}, but waits in no queue")
    if waits and state not in (*QUEUED, t.SLOT_DONE):
        fail(f"{what}: PSN {psn} waits for the port in state {state}")
    if (psn in here.handed and tries != 1) or here.queued.get(psn, tries) != tries:
        fail(f"{what}: PSN {psn} was sent {tries} times, but waits as transmission {here.queued.get(psn, 1)}")


def check_timers(shot: Snapshot, row: int, par: int, slot: int, psn: int) -> None:
    """Retransmission timer and early failure of a packet that is out."""
    tx, slots, what = shot.tx, shot.slots, f"sending PDC {row}"
    tries = slots.tries[slot]
    deadline = slots.end_ps[slot] + timeout_ps(shot, par, tries)
    if tries < 1 or tx.rto_ps[row] > deadline:
        fail(f"{what}: PSN {psn}, sent {tries} times, expires at {deadline}, but rto_ps is {tx.rto_ps[row]}")
    if shot.nicpar.fail_multiplier[par] and slots.rtx_next[slot] >= 0:
        deadline = slots.end_ps[slot] + 1000 * slots.rtx_next[slot]
        if tx.fail_ps[row] > deadline:
            fail(f"{what}: the early failure of PSN {psn} is due at {deadline}, but fail_ps is {tx.fail_ps[row]}")


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
    return scale if shot.nicpar.rto_fixed[par] else scale << min(max(tries, 1) - 1, shot.nicpar.rto_max_backoff[par])
