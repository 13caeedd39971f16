"""Operations of a workload at a NIC: a heap of pending ones, notices between them, and the start of a message.

Pending operations are taken in order of (time, operation), so the order in which notices come in decides nothing.
"""

from __future__ import annotations

from ..state.tables import (
    E_PDC_CREATED,
    E_WQE_CREATED,
    INF_PS,
    NOTICE,
    OP_ACTIVE,
    OP_DONE,
    OP_QUEUED,
    OP_WAITING,
    SLOT_RING,
    STAT_EVENTS,
)
from .groups import join_group, join_turn, ready_at_tail
from .jit import kernel, once, small
from .monitor import log_event
from .pools import take_packet, take_slots, take_tx

SEND = 0
FIRST_TX_ID, LAST_TX_ID = 1, 32767
TX_IDS = LAST_TX_ID - FIRST_TX_ID + 1
DOORBELL_PS = 15_000          # from the doorbell to the transmit process (transport, Messages and PDCs)
MOST_SLOTS_AT_FIRST = 128
NO_TIMER = 1 << 62


@small
def before(s, a, b):
    """Order of two PENDING rows: by time, then by operation."""
    x = s.heap[a]
    y = s.heap[b]
    return x.time_ps < y.time_ps or (x.time_ps == y.time_ps and x.op < y.op)


@small
def swap(s, a, b):
    x = s.heap[a]
    y = s.heap[b]
    time_ps = x.time_ps
    op = x.op
    x.time_ps = y.time_ps
    x.op = y.op
    y.time_ps = time_ps
    y.op = op


@kernel
def push_pending(s, nic, time_ps, op):
    """Add an operation (OP row) to the NIC's heap; its slice has room for all it can ever hold."""
    first = nic.heap_begin
    at = nic.heap_size
    nic.heap_size = at + 1
    entry = s.heap[first + at]
    entry.time_ps = time_ps
    entry.op = op
    while at > 0 and before(s, first + at, first + ((at - 1) >> 1)):
        swap(s, first + at, first + ((at - 1) >> 1))
        at = (at - 1) >> 1


@kernel
def pop_pending(s, nic):
    """Remove the first pending operation; returns its OP row."""
    first = nic.heap_begin
    op = s.heap[first].op
    size = nic.heap_size - 1
    nic.heap_size = size
    swap(s, first, first + size)
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return op
        if child + 1 < size and before(s, first + child + 1, first + child):
            child += 1
        if before(s, first + at, first + child):
            return op
        swap(s, first + at, first + child)
        at = child


@kernel
def notice(s, nic_row, op_row, time_ps):
    """An operation that `op_row` waits for has reported, with effect at `time_ps`."""
    op = s.ops[op_row]
    if op.state != OP_WAITING and op.any_of == 0:
        return
    nic = s.nics[nic_row]
    at = max(time_ps, op.ready_ps)
    if op.any_of == 0:
        op.ready_ps = at
        op.deps_left -= 1
        if op.deps_left > 0:
            return
        op.state = OP_QUEUED
    push_pending(s, nic, at, op_row)
    if at < s.next_ps[nic.node]:
        s.next_ps[nic.node] = at


@kernel
def tell(s, nic_row, first, count, now_ps):
    """Tell every operation on the list: at once on this NIC, TriggerDelay later elsewhere."""
    clock = s.clock[0]
    for e in range(first, first + count):
        edge = s.edges[e]
        if edge.nic >= 0:
            nic = s.nics[edge.nic]
            at = now_ps if edge.nic == nic_row else now_ps + clock.trigger_delay_ps
            notice(s, edge.nic, nic.op_begin + edge.op - nic.op_first, at)
        else:
            leave(s, edge, now_ps + clock.trigger_delay_ps)


@small
def leave(s, edge, time_ps):
    """A notice for another rank waits in that rank's list of departures."""
    i = take_packet(s)
    p = s.packets[i]
    p.time_ps = time_ps
    p.ptype = NOTICE
    p.message = edge.op
    p.dst = edge.node
    p.next = -1
    fifo = s.ins[edge.departures]
    if fifo.head < 0:
        fifo.head = i
    else:
        s.packets[fifo.tail].next = i
    fifo.tail = i
    dummy = fifo.node
    if time_ps < s.next_ps[dummy]:
        s.next_ps[dummy] = time_ps


@kernel
def next_id(s, nic):
    """A PDC id that no open PDC of the NIC has: the next in turn; ids come back once all have been given."""
    while True:
        number = nic.next_tx_id
        nic.next_tx_id = number + 1 if number < LAST_TX_ID else FIRST_TX_ID
        if nic.ids_made < TX_IDS:
            nic.ids_made += 1
            return number
        row = nic.pdc_head
        while row >= 0 and s.tx[row].id != number:
            row = s.tx[row].all_next
        if row < 0:
            return number


@kernel
def wait_for_id(s, nic_row, op_row):
    """Every PDC id is in use: the message waits for one, and is counted."""
    nic = s.nics[nic_row]
    s.counters[nic_row].pdc_waits += 1
    s.ops[op_row].wait_next = -1
    if nic.wait_head < 0:
        nic.wait_head = op_row
    else:
        s.ops[nic.wait_tail].wait_next = op_row
    nic.wait_tail = op_row


@kernel
def start_waiting(s, nic_row, now_ps):
    """A PDC id is free again: start the message that has waited longest."""
    nic = s.nics[nic_row]
    row = nic.wait_head
    if row >= 0:
        nic.wait_head = s.ops[row].wait_next
        start_message(s, nic_row, row, now_ps)


@kernel
def start_message(s, nic_row, op_row, now_ps):
    """The host posts a message: the sending half of a new PDC joins its group, which joins the ready queue's tail.

    The transmit process starts 15 ns later.
    """
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    op = s.ops[op_row]
    counters = s.counters[nic_row]
    counters.wqes_created += 1
    row = take_tx(s)
    pdc = s.tx[row]
    packets = max(1, (op.length_bytes + par.mss_bytes - 1) // par.mss_bytes)
    pdc.op = op_row
    pdc.packets = packets
    pdc.next_psn = 0
    pdc.unacked = 0
    room = SLOT_RING
    while room < packets and room < MOST_SLOTS_AT_FIRST:
        room *= 2
    pdc.slot_room = room
    pdc.slot_begin = take_slots(s, room)
    pdc.transmissions = 0
    pdc.rtx_head = -1
    pdc.rtx_tail = -1
    pdc.last_bytes = op.length_bytes - (packets - 1) * par.mss_bytes
    pdc.in_turn = 0
    pdc.turn_next = -1
    pdc.probe_psn = 0
    pdc.probed = 0
    pdc.rto_ps = NO_TIMER
    pdc.fail_ps = INF_PS
    pdc.arrived_psn = 0
    pdc.commit_psn = 0
    pdc.penalty = 0
    pdc.id = next_id(s, nic)
    pdc.remote_id = 0
    pdc.nic = nic_row
    pdc.dst = op.dst
    pdc.rx_message = op.rx_message
    pdc.tx_message = op.global_op
    pdc.all_prev = nic.pdc_tail
    pdc.all_next = -1
    if nic.pdc_tail >= 0:
        s.tx[nic.pdc_tail].all_next = row
    else:
        nic.pdc_head = row
    nic.pdc_tail = row
    nic.open_tx += 1
    op.pdc = row
    group = join_group(s, nic_row, op.dst, -1 if par.groups != 0 else row, pdc.id, now_ps)
    pdc.group = group
    join_turn(s, s.groups[group], row)
    ready_at_tail(s, nic, group)
    nic.pass_ps = min(nic.pass_ps, now_ps + DOORBELL_PS)
    if par.stats & STAT_EVENTS:
        log_event(s, nic_row, E_PDC_CREATED, pdc.dst, pdc.id, 0, -1, now_ps)
        log_event(s, nic_row, E_WQE_CREATED, pdc.dst, pdc.id, 0, op.global_op, now_ps)


@once
def run_operation(s, nic_row, now_ps):
    """Start the NIC's first pending operation."""
    nic = s.nics[nic_row]
    row = pop_pending(s, nic)
    op = s.ops[row]
    if op.state == OP_ACTIVE or op.state == OP_DONE:
        return                       # one of several notices had started it already
    if op.any_of > 1:                # it starts at the any_of-th notice
        op.any_of -= 1
        return
    clock = s.clock[0]
    clock.ops_started += 1
    op.ready_ps = now_ps
    if op.kind == SEND:
        op.state = OP_ACTIVE
        if nic.open_tx >= TX_IDS:
            wait_for_id(s, nic_row, row)
        else:
            start_message(s, nic_row, row, now_ps)
    else:
        op.state = OP_DONE
        op.done_ps = now_ps
        clock.ops_done += 1
        tell(s, nic_row, op.edge_begin, op.edge_count, now_ps)
