"""What a sender does when time runs out for a packet: retransmission timers, early failure detection.

scala-computing/docs models/scala-uet-nic/transport (Retransmission timer) and multipath (Early failure detection). A
NIC and a PDC know a time before which none of theirs is due, so nobody looks at every packet.
"""

from __future__ import annotations

from ..state.tables import INF_PS, SLOT_SENT
from . import cc, spray
from .acks import wait_again
from .groups import join_turn, ready_at_head
from .jit import once
from .operations import NO_TIMER
from .segments import NOMINAL_HEADER_BYTES, payload_bytes, rto_ps, slot_row
from .transmit import transmit_pass


@once
def expire_pdc(s, nic_row, par, row, now_ps):
    """Expire the timers of a PDC that are due, by PSN; returns when its next one may be."""
    pdc = s.tx[row]
    g = s.groups[pdc.group]
    nearest = NO_TIMER
    expired = False
    for psn in range(pdc.unacked, pdc.next_psn):
        slot = s.slots[slot_row(pdc, psn)]
        if slot.state == SLOT_SENT:
            deadline = slot.end_ps + rto_ps(par, slot.tries)
            if deadline <= now_ps:
                nominal = payload_bytes(par, pdc, psn) + NOMINAL_HEADER_BYTES
                g.inflight_bytes -= nominal
                s.counters[nic_row].num_rto += 1
                cc.on_timeout(g, par, nominal)
                spray.failure(g, par, now_ps)
                wait_again(s, pdc, slot, psn)
                expired = True
            elif deadline < nearest:
                nearest = deadline
    if expired:
        join_turn(s, g, row)
        ready_at_head(s, s.nics[nic_row], pdc.group)
    return nearest


@once
def expire_timers(s, nic_row, now_ps):
    """Expire every timer that is due, PDC by PDC in order of creation, and find when the next one may be.

    `rto_ps` of a NIC and of a PDC are lower bounds, so a call may find nothing due; that leaves no trace.
    """
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    nearest = NO_TIMER
    row = nic.pdc_head
    expired = s.counters[nic_row].num_rto
    while row >= 0:
        pdc = s.tx[row]
        if pdc.rto_ps <= now_ps:
            pdc.rto_ps = expire_pdc(s, nic_row, par, row, now_ps)
        nearest = min(nearest, pdc.rto_ps)
        row = pdc.all_next
    nic.rto_ps = nearest
    if s.counters[nic_row].num_rto != expired:
        transmit_pass(s, nic_row, now_ps)


@once
def fail_pdc(s, par, pdc, now_ps):
    """Early failure detection of a PDC's packets whose deadline has come; returns the next deadline."""
    g = s.groups[pdc.group]
    nearest = INF_PS
    for psn in range(pdc.unacked, pdc.next_psn):
        slot = s.slots[slot_row(pdc, psn)]
        if slot.state == SLOT_SENT and slot.rtx_next >= 0:
            deadline = slot.end_ps + 1000 * slot.rtx_next
            if deadline <= now_ps:
                slot.rtx_next = -1
                spray.failure(g, par, now_ps)
            elif deadline < nearest:
                nearest = deadline
    return nearest


@once
def detect_failures(s, nic_row, now_ps):
    """Report every packet that is still unacknowledged at its early-failure deadline; nothing is sent again."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    nearest = INF_PS
    row = nic.pdc_head
    while row >= 0:
        pdc = s.tx[row]
        if pdc.fail_ps <= now_ps:
            pdc.fail_ps = fail_pdc(s, par, pdc, now_ps)
        nearest = min(nearest, pdc.fail_ps)
        row = pdc.all_next
    nic.fail_ps = nearest
