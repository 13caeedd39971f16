"""Invariants of receiving PDCs, messages, operations and the NICs' counters."""

from __future__ import annotations

from ..workload.types import LOCAL, LOCAL_IN, SEND
from . import tables as t
from .verify_rows import Snapshot, check_rings, fail, walk
from .verify_work import check_work

LAST_TX_ID = 32767


def check_messages(shot: Snapshot, senders: list[int], receivers: list[int]) -> None:
    """All of this file."""
    for row in receivers:
        check_receiver(shot, row)
    check_rings(shot, t.P_WORD, t.P_WORD_RINGS, t.WORD_RING, "receive words", [seen - 1 for seen in shot.words.seen],
                [(shot.rx.word_begin[row], shot.rx.word_room[row], f"receiving PDC {row}") for row in receivers])
    check_receive_rows(shot, receivers)
    check_operations(shot, senders)
    check_work(shot)
    check_acknowledged(shot, senders)
    if not shot.clock["ops_before"]:          # the operations of earlier phases are gone
        check_counters(shot)


# ---- receiving PDCs --------------------------------------------------------------------------------------------------
def check_receiver(shot: Snapshot, row: int) -> None:
    """Receive bits of one receiving PDC."""
    rx = shot.rx
    what = f"receiving PDC {row}"
    expected, highest, last, room = rx.expected[row], rx.highest[row], rx.last[row], rx.word_room[row]
    if expected < 0 or highest < expected - 1 or (last >= 0 and (highest > last or expected > last)):
        fail(f"{what}: expected {expected}, highest {highest} and last {last} do not fit")
    if (highest >> 5) - (expected >> 5) >= room:
        fail(f"{what}: PSNs {expected} to {highest} do not fit in {room} words")
    words = shot.words.seen[rx.word_begin[row]:rx.word_begin[row] + room]
    bits = sum(word.bit_count() for word in words)
    inside = sum((words[(psn >> 5) & (room - 1)] >> (psn & 31)) & 1 for psn in range(expected + 1, highest + 1))
    if rx.held[row] != bits:
        fail(f"{what}: held is {rx.held[row]}, but {bits} bits are set")
    if inside != bits:
        fail(f"{what}: {bits - inside} bits are set that are not of PSNs {expected + 1} to {highest}")
    if bits and not (words[(highest >> 5) & (room - 1)] >> (highest & 31)) & 1:
        fail(f"{what}: the bit of the highest PSN {highest} is not set")


def check_receive_rows(shot: Snapshot, receivers: list[int]) -> None:
    """Messages to receive, and the PDC of each that is open."""
    msg, rx, nics = shot.rxmsg, shot.rx, shot.nics
    owned: set[int] = set()
    for nic in range(len(nics)):
        opened = 0
        for row in range(nics.rx_begin[nic], nics.rx_begin[nic] + nics.rx_count[nic]):
            pdc = msg.pdc[row]
            if (msg.state[row] == t.RX_OPEN) != (pdc >= 0):
                fail(f"message row {row}: state {msg.state[row]} with PDC {pdc}")
            if msg.state[row] == t.RX_DONE and msg.last[row] < 0:
                fail(f"message row {row} is done without a last PSN")
            if pdc >= 0:
                opened += 1
                if pdc in owned or pdc not in receivers:
                    fail(f"message row {row}: receiving PDC {pdc} is not its own")
                owned.add(pdc)
                if rx.nic[pdc] != nic or rx.message[pdc] != nics.rx_first[nic] + row - nics.rx_begin[nic]:
                    fail(f"receiving PDC {pdc} is of message {rx.message[pdc]} at NIC {rx.nic[pdc]}, not of row {row}")
                if rx.id[pdc] != msg.id[row] or not 32769 <= rx.id[pdc] <= 65535:
                    fail(f"receiving PDC {pdc}: id {rx.id[pdc]}, message row {row} says {msg.id[row]}")
        if nics.open_rx[nic] != opened:
            fail(f"NIC {nic}: open_rx is {nics.open_rx[nic]}, but {opened} messages are open")
    if len(owned) != len(receivers):
        fail(f"receiving PDC {min(set(receivers) - owned)} is of no message")
    arrived = shot.clock["recvs_before"] + msg.state.count(t.RX_DONE)
    if shot.clock["recvs_done"] != arrived:
        fail(f"recvs_done is {shot.clock['recvs_done']}, but {arrived} messages have arrived")


# ---- operations and counters -----------------------------------------------------------------------------------------
def check_operations(shot: Snapshot, senders: list[int]) -> None:
    """States of operations, their PDCs, and the heaps of pending ones."""
    ops, tx = shot.ops, shot.tx
    pending, waiting = check_heaps(shot), check_waiting(shot)
    for row in range(len(ops)):
        state, pdc = ops.state[row], ops.pdc[row]
        active = state == t.OP_ACTIVE
        if ops.kind[row] == SEND and active != (pdc >= 0 or row in waiting):
            fail(f"operation {row}: kind {ops.kind[row]} and state {state} with PDC {pdc}")
        if pdc >= 0 and (pdc not in senders or tx.op[pdc] != row or tx.nic[pdc] != ops.nic[row]):
            fail(f"operation {row}: PDC {pdc} is not its own")
        started = state in (t.OP_ACTIVE, t.OP_DONE, t.OP_SENT) and ops.kind[row] != SEND
        if ops.any_of[row] == 0 and not started and pending.get(row, 0) != (state == t.OP_QUEUED):
            fail(f"operation {row} of state {state} is {pending.get(row, 0)} times in its heap")
        if ops.any_of[row] == 0 and state == t.OP_WAITING and ops.deps_left[row] <= 0:
            fail(f"operation {row} waits for {ops.deps_left[row]} others")
        if state == t.OP_SENT and ops.kind[row] != LOCAL:
            fail(f"operation {row} of kind {ops.kind[row]} is in the state of a transfer that has been sent")
        if state == t.OP_DONE and ops.kind[row] != LOCAL_IN and ops.done_ps[row] < ops.ready_ps[row]:
            fail(f"operation {row} was done at {ops.done_ps[row]}, before it started at {ops.ready_ps[row]}")
    for row in senders:
        op = tx.op[row]
        if not 0 <= op < len(ops) or ops.pdc[op] != row:
            fail(f"sending PDC {row} is of operation {op}, which does not know it")
        mss, length = shot.nicpar.mss_bytes[shot.parameters(tx.nic[row])], ops.length_bytes[op]
        if (tx.packets[row] - 1) * mss + tx.last_bytes[row] != length or not 0 <= tx.last_bytes[row] <= mss:
            fail(f"sending PDC {row}: {tx.packets[row]} packets, the last of {tx.last_bytes[row]} B, "
                 f"are not {length} B")
        first_ones = sent_first(shot, row)
        if tx.transmissions[row] != first_ones + ops.rtx_packets[op]:
            fail(f"sending PDC {row}: {tx.transmissions[row]} transmissions are not {first_ones} first ones and "
                 f"{ops.rtx_packets[op]} retransmissions")
    check_ids(shot, senders)
    done = ops.state.count(t.OP_DONE)
    sends = sum(1 for kind, state in zip(ops.kind, ops.state, strict=True)
                if kind in (SEND, LOCAL) and state == t.OP_DONE)
    begun = done + ops.state.count(t.OP_ACTIVE) + ops.state.count(t.OP_SENT)
    before, sends_before = shot.clock["ops_before"], shot.clock["sends_before"]
    for name, counted in (("ops_done", before + done), ("sends_done", sends_before + sends),
                          ("ops_started", before + begun)):
        if shot.clock[name] != counted:
            fail(f"{name} is {shot.clock[name]}, the operations count {counted}")


def committed(shot: Snapshot, row: int) -> int:
    """First transmissions of a sending PDC that are committed to the wire: at the fetch without a prefetch buffer."""
    prefetch = shot.nicpar.prefetch[shot.parameters(shot.tx.nic[row])]
    return int(shot.tx.commit_psn[row] if prefetch else shot.tx.next_psn[row])


def sent_first(shot: Snapshot, row: int) -> int:
    """First transmissions of a sending PDC that have been handed down."""
    prefetch = shot.nicpar.prefetch[shot.parameters(shot.tx.nic[row])]
    return committed(shot, row) - (0 if prefetch else shot.fetching[row])


def check_ids(shot: Snapshot, senders: list[int]) -> None:
    """PDC ids of open sending PDCs: of their range, and once a NIC."""
    seen: set[tuple[int, int]] = set()
    for row in senders:
        key = (shot.tx.nic[row], shot.tx.id[row])
        if not 1 <= key[1] <= LAST_TX_ID or key in seen:
            fail(f"sending PDC {row}: id {key[1]} is out of range or of two PDCs of NIC {key[0]}")
        seen.add(key)


def check_waiting(shot: Snapshot) -> set[int]:
    """Operations that wait for a PDC id, which they only do while all are taken. Returns their rows."""
    nics, ops = shot.nics, shot.ops
    waiting: set[int] = set()
    for nic in range(len(nics)):
        rows = walk(nics.wait_head[nic], ops.wait_next, f"operations of NIC {nic} that wait for a PDC id")
        if rows and (nics.wait_tail[nic] != rows[-1] or nics.open_tx[nic] != LAST_TX_ID):
            fail(f"NIC {nic}: operations {rows} wait for a PDC id, the last is {nics.wait_tail[nic]}, "
                 f"{nics.open_tx[nic]} PDCs are open")
        for row in rows:
            if ops.nic[row] != nic or ops.state[row] != t.OP_ACTIVE or ops.pdc[row] >= 0 or row in waiting:
                fail(f"NIC {nic}: operation {row} waits for a PDC id in state {ops.state[row]}")
            waiting.add(row)
    return waiting


def check_acknowledged(shot: Snapshot, senders: list[int]) -> None:
    """What a sender holds for acknowledged has arrived, where the receiver is on this rank too."""
    tx, rx, msg, nics = shot.tx, shot.rx, shot.rxmsg, shot.nics
    for row in senders:
        node = shot.node_of_host[tx.dst[row]]
        if node < 0:
            continue
        nic = shot.nodes.nic[node]
        message = nics.rx_begin[nic] + tx.rx_message[row] - nics.rx_first[nic]
        if msg.state[message] == t.RX_DONE:
            continue
        acked = [psn for psn in range(tx.unacked[row], tx.next_psn[row])
                 if shot.slots.state[tx.slot_begin[row] + (psn & (tx.slot_room[row] - 1))] == t.SLOT_DONE]
        acked += [tx.unacked[row] - 1] if tx.unacked[row] else []
        pdc = msg.pdc[message]
        expected = rx.expected[pdc] if pdc >= 0 else 0
        for psn in acked:
            if psn >= expected and not (pdc >= 0 and received(shot, pdc, psn)):
                fail(f"sending PDC {row}: PSN {psn} is acknowledged, but has not arrived")


def received(shot: Snapshot, pdc: int, psn: int) -> int:
    """The receive bit of a PSN beyond the next expected one."""
    rx = shot.rx
    if psn > rx.highest[pdc]:
        return 0
    word: int = shot.words.seen[rx.word_begin[pdc] + ((psn >> 5) & (rx.word_room[pdc] - 1))]
    return (word >> (psn & 31)) & 1


def check_heaps(shot: Snapshot) -> dict[int, int]:
    """Heap order by (time, operation). Returns how often each operation is pending."""
    heap, nics = shot.heap, shot.nics
    pending: dict[int, int] = {}
    for nic in range(len(nics)):
        first, size = nics.heap_begin[nic], nics.heap_size[nic]
        if not 0 <= size <= nics.heap_room[nic]:
            fail(f"NIC {nic}: {size} pending operations in a heap of {nics.heap_room[nic]}")
        for k in range(size):
            op, up = heap.op[first + k], first + (k - 1) // 2
            if k and (heap.time_ps[first + k], op) < (heap.time_ps[up], heap.op[up]):
                fail(f"NIC {nic}: entry {k} of its heap is before its parent")
            if not 0 <= op < len(shot.ops) or shot.ops.nic[op] != nic:
                fail(f"NIC {nic}: operation {op} in its heap is not its own")
            pending[op] = pending.get(op, 0) + 1
    return pending


def check_counters(shot: Snapshot) -> None:
    """Counters of every NIC against its operations."""
    ops, tx, counters = shot.ops, shot.tx, shot.counters
    for nic in range(len(shot.nics)):
        mss = shot.nicpar.mss_bytes[shot.parameters(nic)]
        names = ("wqes_created", "wqes_completed", "num_rtx", "write_pkts_sent", "probe_sent", "tx_samples")
        expected = dict.fromkeys(names, 0)
        for row in range(shot.nics.op_begin[nic], shot.nics.op_begin[nic] + shot.nics.op_count[nic]):
            state, pdc = ops.state[row], ops.pdc[row]
            done = state == t.OP_DONE
            if ops.kind[row] != SEND or not (done or pdc >= 0):
                continue
            packets = max(1, -(-ops.length_bytes[row] // mss))
            expected["wqes_created"] += 1
            expected["wqes_completed"] += done
            expected["num_rtx"] += ops.rtx_packets[row]
            expected["write_pkts_sent"] += (packets if done else sent_first(shot, pdc)) + ops.rtx_packets[row]
            expected["tx_samples"] += packets if done else committed(shot, pdc)
            expected["probe_sent"] += done or tx.probed[pdc]
        for name, value in expected.items():
            if getattr(counters, name)[nic] != value:
                fail(f"NIC {nic}: {name} is {getattr(counters, name)[nic]}, its operations count {value}")
        if counters.num_rtx[nic] > counters.num_rto[nic] + counters.nack_pkts_rcvd[nic]:
            fail(f"NIC {nic}: {counters.num_rtx[nic]} retransmissions after {counters.num_rto[nic]} timeouts and "
                 f"{counters.nack_pkts_rcvd[nic]} NACKs")
        if counters.probe_ack_rcvd[nic] > counters.probe_sent[nic]:
            fail(f"NIC {nic}: {counters.probe_ack_rcvd[nic]} answers to {counters.probe_sent[nic]} probes")
