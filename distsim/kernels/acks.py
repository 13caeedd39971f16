"""What a sender does with an ACK, a NACK, a probe's ACK or an expired timer.

scala-computing/docs models/scala-uet-nic/transport (Acknowledgements, Trimmed packets and NACKs, Retransmission timer)
and congestion-control. A selective-ACK gap is no loss signal and changes nothing.
"""

from __future__ import annotations

from ..state.tables import (
    E_PDC_TERMINATED,
    E_WQE_COMPLETE,
    F_ECHO,
    F_RESTORE,
    F_RTX,
    INF_PS,
    NIC_CONTROL,
    O_DONE,
    OP_ACTIVE,
    OP_DONE,
    SLOT_DONE,
    SLOT_SENT,
    SLOT_WAITING,
    STAT_EVENTS,
    STAT_MONITOR,
)
from . import cc, spray
from .groups import find_group, join_turn, leave_group, ready_at_head, unlink_turn
from .ingress import SERVICE_TICK_PS, admit, processed
from .jit import kernel, once, small
from .links import fault
from .monitor import log_event, log_received
from .operations import NO_TIMER, start_waiting, tell, write_perf
from .pools import give_slots, give_tx
from .segments import NOMINAL_HEADER_BYTES, payload_bytes, slot_row
from .status import FAULT_INFLIGHT
from .transmit import send_probe, transmit_pass
from .work import log_op

UET_TRIMMED_LASTHOP = 2       # NACK code, as in `receive`


@kernel
def drop_waiting(s, pdc, psn):
    """Take a PSN out of the list of waiting retransmissions: it was acknowledged after all."""
    after = s.slots[slot_row(pdc, psn)].rtx_next
    if pdc.rtx_head == psn:
        pdc.rtx_head = after
        if after < 0:
            pdc.rtx_tail = -1
        return
    before = pdc.rtx_head
    while s.slots[slot_row(pdc, before)].rtx_next != psn:
        before = s.slots[slot_row(pdc, before)].rtx_next
    s.slots[slot_row(pdc, before)].rtx_next = after
    if pdc.rtx_tail == psn:
        pdc.rtx_tail = before


@small
def retire(s, par, g, pdc, psn):
    """Acknowledge one PSN; returns its nominal bytes, 0 when it had been before."""
    slot = s.slots[slot_row(pdc, psn)]
    state = slot.state
    if state == SLOT_DONE:
        return 0
    nominal = payload_bytes(par, pdc, psn) + NOMINAL_HEADER_BYTES
    if state == SLOT_WAITING:
        drop_waiting(s, pdc, psn)
    else:
        g.inflight_bytes -= nominal
    g.fetched_bytes -= nominal
    slot.state = SLOT_DONE
    return nominal


@small
def retire_word(s, par, g, pdc, first, bits):
    """Acknowledge the PSNs from `first` on whose bit is set; returns their nominal bytes."""
    newly = 0
    psn = first
    while bits != 0:
        if bits & 1 and pdc.unacked <= psn < pdc.next_psn:
            newly += retire(s, par, g, pdc, psn)
        bits >>= 1
        psn += 1
    return newly


@kernel
def retire_all(s, par, g, pdc, p):
    """All that an ACK acknowledges: up to CACK, the bitmap, and the PSN that drew it. Returns nominal bytes."""
    newly = 0
    for psn in range(pdc.unacked, min(p.cack + 1, pdc.next_psn)):
        newly += retire(s, par, g, pdc, psn)
    if p.cack + 1 > pdc.unacked:
        pdc.unacked = min(p.cack + 1, pdc.next_psn)
    if p.sack_lo != 0 or p.sack_hi != 0:
        at = p.cack + p.sack_offset
        newly += retire_word(s, par, g, pdc, at, p.sack_lo)
        newly += retire_word(s, par, g, pdc, at + 32, p.sack_hi)
    if pdc.unacked <= p.psn < pdc.next_psn:
        newly += retire(s, par, g, pdc, p.psn)
    while pdc.unacked < pdc.next_psn and s.slots[slot_row(pdc, pdc.unacked)].state == SLOT_DONE:
        pdc.unacked += 1
    return newly


@small
def rtt_sample(s, pdc, p, now_ps):
    """RTT of the packet that drew an ACK or NACK, or -1.

    Valid for a packet sent once, or for the first retransmission of one, while it is outstanding.
    """
    if not (pdc.unacked <= p.psn < pdc.next_psn):
        return -1
    slot = s.slots[slot_row(pdc, p.psn)]
    if slot.state != SLOT_SENT:
        return -1
    again = (p.flag_bits & F_RTX) != 0
    if (slot.tries == 1 and not again) or (slot.tries == 2 and again):
        return now_ps - slot.end_ps - p.service * SERVICE_TICK_PS
    return -1


@small
def sample_ack(counters, g, rtt, penalty):
    """Penalty, average delay and RTT, sampled at each data ACK that gives an RTT (uet-transport-stats)."""
    counters.ack_samples += 1
    counters.penalty_sum += penalty
    counters.ivl_penalty_min = min(counters.ivl_penalty_min, penalty)
    counters.ivl_penalty_max = max(counters.ivl_penalty_max, penalty)
    delay = g.average_ps
    counters.delay_sum += delay
    counters.ivl_delay_min = min(counters.ivl_delay_min, delay)
    counters.ivl_delay_max = max(counters.ivl_delay_max, delay)
    counters.rtt_sum += rtt
    counters.ivl_rtt_min = min(counters.ivl_rtt_min, rtt)
    counters.ivl_rtt_max = max(counters.ivl_rtt_max, rtt)


@small
def open_pdc(s, nic, p):
    """TXPDC row that an answer belongs to, -1 when its message is done."""
    op = s.ops[nic.op_begin + p.message - nic.op_first]
    if op.state != OP_ACTIVE:
        return -1
    return op.pdc


@once
def receive_ack(s, nic_row, p, now_ps):
    """An ACK of data."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    if not admit(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps):
        return
    counters = s.counters[nic_row]
    counters.ack_pkts_rcvd += 1
    processed(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps)
    marked = (p.flag_bits & F_ECHO) != 0
    row = open_pdc(s, nic, p)
    if row < 0:
        if spray.listens(par):
            feed_group(s, nic_row, par, p, not marked, now_ps)
        if par.stats & STAT_MONITOR:
            log_received(s, nic_row, p, -1, now_ps)
        return
    pdc = s.tx[row]
    g = s.groups[pdc.group]
    pdc.remote_id = p.spdc
    pdc.penalty = p.code
    rtt = rtt_sample(s, pdc, p, now_ps)
    newly = retire_all(s, par, g, pdc, p)
    if g.inflight_bytes < 0:
        fault(s, FAULT_INFLIGHT, nic.node, now_ps)
    restore = (p.flag_bits & F_RESTORE) != 0
    if cc.on_ack(g, par, newly, marked, rtt, p.code, restore, now_ps):
        counters.num_quick_adapt += 1
    if spray.listens(par):
        spray.feedback(s, nic_row, g, par, p.entropy, not marked, now_ps)
    if rtt >= 0:
        sample_ack(counters, g, rtt, p.code)
        if marked:
            counters.m_marked_pkts_rcvd += 1
    if par.stats & STAT_MONITOR:
        log_received(s, nic_row, p, rtt, now_ps)
    if pdc.probed == 0:
        pdc.probed = 1
        pdc.probe_psn = p.psn
        send_probe(s, nic_row, pdc, now_ps)
    if pdc.unacked == pdc.packets:
        complete_tx(s, nic_row, par, row, now_ps)
    elif g.in_ready == 0:
        ready_at_head(s, nic, pdc.group)
    transmit_pass(s, nic_row, now_ps)


@kernel
def feed_group(s, nic_row, par, p, good, now_ps):
    """Path feedback of an answer to a message that is done, if its group lives on."""
    nic = s.nics[nic_row]
    row = find_group(s, nic_row, s.ops[nic.op_begin + p.message - nic.op_first].dst, -1)
    if row >= 0:
        spray.feedback(s, nic_row, s.groups[row], par, p.entropy, good, now_ps)


@kernel
def complete_tx(s, nic_row, par, row, now_ps):
    """WQE_COMPLETE: every byte is acknowledged; the host closes the PDC."""
    nic = s.nics[nic_row]
    pdc = s.tx[row]
    clock = s.clock[0]
    op = s.ops[pdc.op]
    op.state = OP_DONE
    op.done_ps = now_ps
    op.pdc = -1
    clock.ops_done += 1
    clock.sends_done += 1
    s.counters[nic_row].wqes_completed += 1
    write_perf(s, nic, op, now_ps)
    log_op(s, op, O_DONE, op.ready_ps, now_ps)
    if par.stats & STAT_EVENTS:
        log_event(s, nic_row, E_WQE_COMPLETE, pdc.dst, pdc.id, pdc.remote_id, op.global_op, now_ps)
        log_event(s, nic_row, E_PDC_TERMINATED, pdc.dst, pdc.id, pdc.remote_id, -1, now_ps)
    if pdc.all_prev >= 0:
        s.tx[pdc.all_prev].all_next = pdc.all_next
    else:
        nic.pdc_head = pdc.all_next
    if pdc.all_next >= 0:
        s.tx[pdc.all_next].all_prev = pdc.all_prev
    else:
        nic.pdc_tail = pdc.all_prev
    nic.open_tx -= 1
    if nic.open_tx == 0:
        nic.rto_ps = NO_TIMER
        nic.fail_ps = INF_PS
    group = pdc.group
    unlink_turn(s, s.groups[group], row)
    give_slots(s, pdc.slot_begin, pdc.slot_room)
    give_tx(s, row)
    if s.groups[group].in_ready == 0:
        ready_at_head(s, nic, group)
    leave_group(s, group)
    start_waiting(s, nic_row, now_ps)
    tell(s, nic_row, op.edge_begin, op.edge_count, now_ps)


@once
def receive_probe_ack(s, nic_row, p, now_ps):
    """The answer to a base-RTT probe feeds the base RTT only; its message may be done while the group lives on."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    if not admit(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps):
        return
    counters = s.counters[nic_row]
    counters.ack_pkts_rcvd += 1
    counters.probe_ack_rcvd += 1
    processed(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps)
    op = s.ops[nic.op_begin + p.message - nic.op_first]
    if op.mark_ps != 0:
        rtt = now_ps - op.mark_ps
        op.mark_ps = 0
        row = s.tx[op.pdc].group if op.pdc >= 0 else find_group(s, nic_row, op.dst, -1)
        if row >= 0:
            cc.offer_rtt(s.groups[row], par, rtt)
    if par.stats & STAT_MONITOR:
        log_received(s, nic_row, p, -1, now_ps)
    transmit_pass(s, nic_row, now_ps)


@small
def wait_again(s, pdc, slot, psn):
    """Queue an outstanding packet for retransmission, behind those that wait already."""
    slot.state = SLOT_WAITING
    slot.rtx_next = -1
    if pdc.rtx_head < 0:
        pdc.rtx_head = psn
    else:
        s.slots[slot_row(pdc, pdc.rtx_tail)].rtx_next = psn
    pdc.rtx_tail = psn


@once
def receive_nack(s, nic_row, p, now_ps):
    """A NACK: nothing, unless its packet is still outstanding."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    if not admit(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps):
        return
    s.counters[nic_row].nack_pkts_rcvd += 1
    processed(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps)
    row = open_pdc(s, nic, p)
    if row >= 0:
        pdc = s.tx[row]
        if pdc.unacked <= p.psn < pdc.next_psn and s.slots[slot_row(pdc, p.psn)].state == SLOT_SENT:
            take_nack(s, nic_row, par, row, p, now_ps)
    if par.stats & STAT_MONITOR:
        log_received(s, nic_row, p, -1, now_ps)
    transmit_pass(s, nic_row, now_ps)


@once
def take_nack(s, nic_row, par, row, p, now_ps):
    """The packet was trimmed: no longer in flight, to be sent again; on the last hop no other path would have done."""
    pdc = s.tx[row]
    g = s.groups[pdc.group]
    slot = s.slots[slot_row(pdc, p.psn)]
    rtt = rtt_sample(s, pdc, p, now_ps)
    nominal = payload_bytes(par, pdc, p.psn) + NOMINAL_HEADER_BYTES
    g.inflight_bytes -= nominal
    if cc.on_nack(g, par, nominal, rtt, now_ps):
        s.counters[nic_row].num_quick_adapt += 1
    if spray.listens(par):
        spray.feedback(s, nic_row, g, par, p.entropy, p.code == UET_TRIMMED_LASTHOP, now_ps)
    wait_again(s, pdc, slot, p.psn)
    join_turn(s, g, row)
    ready_at_head(s, s.nics[nic_row], pdc.group)
