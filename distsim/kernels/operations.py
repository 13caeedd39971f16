"""Operations of a workload at a NIC: notices between them, their start and end, and the start of a message.

An operation starts once all that it waits for has reported. A message over the fabric ends when its last byte has been
acknowledged (`acks.complete_tx`); what shares a rank's NPU or scale-up port is served by `work`.
"""

from __future__ import annotations

from ..state.tables import (
    COMPUTE,
    DELAY,
    E_PDC_CREATED,
    E_WQE_CREATED,
    INF_PS,
    JOIN,
    LOCAL,
    LOCAL_IN,
    LOG_MESSAGE,
    NOTICE,
    O_DONE,
    O_SENT,
    OP_ACTIVE,
    OP_DONE,
    OP_QUEUED,
    OP_SENT,
    OP_WAITING,
    P_PERF,
    SEND,
    SLOT_RING,
    STAT_EVENTS,
)
from .groups import join_group, join_turn, ready_at_tail
from .jit import kernel, once, small
from .links import fault
from .monitor import log_event
from .pending import pop_pending, push_pending
from .pools import take_packet, take_slots, take_tx
from .status import FAULT_EARLY
from .work import begin_work, end_work, log_op

FIRST_TX_ID, LAST_TX_ID = 1, 32767
TX_IDS = LAST_TX_ID - FIRST_TX_ID + 1
DOORBELL_PS = 15_000          # from the doorbell to the transmit process (transport, Messages and PDCs)
MOST_SLOTS_AT_FIRST = 128
NO_TIMER = 1 << 62


@kernel
def notice(s, nic_row, op_row, time_ps):
    """An operation that `op_row` waits for has reported, with effect at `time_ps`."""
    op = s.ops[op_row]
    if op.state != OP_WAITING and op.any_of == 0 and op.kind != LOCAL_IN:
        return
    nic = s.nics[nic_row]
    at = max(time_ps, op.ready_ps)
    if op.any_of == 0:
        op.ready_ps = at
        op.deps_left -= 1
        if op.deps_left > 0 and (op.kind != LOCAL_IN or op.state != OP_WAITING):
            return
        if op.state == OP_WAITING:
            op.state = OP_QUEUED
    at += op.delay_ps
    push_pending(s, nic, at, op_row)
    if at < s.next_ps[nic.node]:
        s.next_ps[nic.node] = at


@kernel
def tell(s, nic_row, first, count, now_ps):
    """Tell every operation on the list: at once on this NIC, the edge's delay later elsewhere."""
    for e in range(first, first + count):
        edge = s.edges[e]
        if edge.nic != nic_row and now_ps + edge.delay_ps < s.clock[0].end_ps:
            fault(s, FAULT_EARLY, s.nics[nic_row].node, now_ps + edge.delay_ps)
        if edge.nic >= 0:
            nic = s.nics[edge.nic]
            at = now_ps if edge.nic == nic_row else now_ps + edge.delay_ps
            notice(s, edge.nic, nic.op_begin + edge.op - nic.op_first, at)
        else:
            leave(s, edge, now_ps + edge.delay_ps)


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


@kernel
def finish(s, nic_row, op, now_ps):
    """An operation other than a message over the fabric is done."""
    op.state = OP_DONE
    op.done_ps = now_ps
    s.clock[0].ops_done += 1
    log_op(s, op, O_DONE, op.ready_ps, now_ps)
    tell(s, nic_row, op.edge_begin, op.edge_count, now_ps)


@kernel
def sent(s, nic_row, op, now_ps):
    """The last byte of a transfer has been sent for the first time."""
    log_op(s, op, O_SENT, op.ready_ps, now_ps)
    tell(s, nic_row, op.edge_begin + op.edge_count, op.sent_count, now_ps)


@small
def write_perf(s, nic, op, now_ps):
    """One row of the perf record, if the message is to be logged."""
    if op.log_bits & LOG_MESSAGE:
        pool = s.pools[P_PERF]
        entry = s.perf[pool.used]
        pool.used += 1
        entry.time_ps = now_ps
        entry.start_ps = op.ready_ps
        entry.length_bytes = op.length_bytes
        entry.user_id = op.user_id
        entry.node = s.nodes[nic.node].id
        entry.dst = op.dst
        entry.op = op.global_op
        entry.rtx_packets = op.rtx_packets


@small
def tell_half(s, nic_row, op, now_ps):
    """Tell the other half of a LOCAL; returns how much later it hears."""
    e = op.edge_begin + op.edge_count + op.sent_count
    tell(s, nic_row, e, 1, now_ps)
    return s.edges[e].delay_ps


@once
def go_on(s, nic_row, row, now_ps):
    """An operation that has started comes up again."""
    op = s.ops[row]
    if op.kind == DELAY:
        if now_ps >= op.mark_ps:
            finish(s, nic_row, op, now_ps)
    elif op.kind == LOCAL_IN and op.deps_left == 0:
        if now_ps >= op.ready_ps:
            finish(s, nic_row, op, now_ps)
    elif op.kind != SEND and op.kind != JOIN and end_work(s, nic_row, row, now_ps):
        if op.kind == COMPUTE:
            finish(s, nic_row, op, now_ps)
        elif op.kind == LOCAL_IN:
            op.deps_left -= 1
            if op.deps_left == 0:
                push_pending(s, s.nics[nic_row], max(now_ps, op.ready_ps), row)
        else:
            op.state = OP_SENT
            op.mark_ps = now_ps + 2 * tell_half(s, nic_row, op, now_ps)
            if op.queue_next >= 0:
                tell_half(s, nic_row, s.ops[op.queue_next], now_ps)
            sent(s, nic_row, op, now_ps)
            push_pending(s, s.nics[nic_row], op.mark_ps, row)


@once
def run_operation(s, nic_row, now_ps):
    """Start the NIC's first pending operation, or go on with it."""
    nic = s.nics[nic_row]
    row = pop_pending(s, nic)
    op = s.ops[row]
    if op.state == OP_DONE:
        return                       # one of several notices had started it already
    if op.state == OP_SENT:          # a LOCAL is acknowledged
        if now_ps >= op.mark_ps:
            s.clock[0].sends_done += 1
            write_perf(s, nic, op, now_ps)
            finish(s, nic_row, op, now_ps)
        return
    if op.state == OP_ACTIVE:
        go_on(s, nic_row, row, now_ps)
        return
    if op.any_of > 1:                # it starts at the any_of-th notice
        op.any_of -= 1
        return
    s.clock[0].ops_started += 1
    if op.kind != LOCAL_IN:
        op.ready_ps = now_ps
    if op.kind == JOIN:
        finish(s, nic_row, op, now_ps)
        return
    op.state = OP_ACTIVE
    if op.kind == SEND:
        if nic.open_tx >= TX_IDS:
            wait_for_id(s, nic_row, row)
        else:
            start_message(s, nic_row, row, now_ps)
    elif op.kind == DELAY:
        op.mark_ps = now_ps + op.work_ps
        push_pending(s, nic, op.mark_ps, row)
    elif begin_work(s, nic_row, row, now_ps) and op.kind == LOCAL:
        tell_half(s, nic_row, op, now_ps)
