"""A NIC's own event loop.

Before anything happens at an instant, all that happens by itself up to then has been done (`egress.catch_up`): payloads
from the host, held ACKs, ends and starts at the port. Then, one at a time: what is left of a transmit pass, arrivals, a
prefetched payload, the transmit process after a doorbell or at a drained pool, retransmission timers, early failures,
pauses to look at, operations.
"""

from __future__ import annotations

from ..state.tables import ACK_CC, INF_PS, NACK, PFC_FRAME, PROBE, Q_CONTROL, Q_RTX, RUD_REQUEST
from .acks import receive_ack, receive_nack, receive_probe_ack
from .egress import catch_up, next_start
from .ingress import police
from .jit import kernel, once, small
from .operations import run_operation
from .pfc import take_frame
from .pools import give_packet
from .receive import receive_data, receive_probe
from .room import short_of
from .segments import NEVER
from .switch import head_ps, take_arrival
from .timers import detect_failures, expire_timers
from .transmit import UNFINISHED, payload_arrived, transmit_pass, wake


@small
def first_pending(s, nic):
    """Time of the NIC's first pending operation."""
    if nic.heap_size == 0:
        return NEVER
    return s.heap[nic.heap_begin].time_ps


@small
def next_event(s, nic, node, par):
    """Earliest thing the NIC has to do that does not happen by itself."""
    if nic.pool_wait == UNFINISHED:
        return nic.now_ps
    at = min(head_ps(s, node.in_begin, NEVER), first_pending(s, nic))
    at = min(min(at, nic.rto_ps), min(nic.pass_ps, nic.wake_ps))
    at = min(at, min(nic.fail_ps, nic.police_ps))
    if par.prefetch != 0:
        at = min(at, nic.handoff_ps)
    return at


@kernel
def next_look(s, row):
    """When the NIC has to be looked at again: its next event or start, or the end of a frame that is to be logged."""
    node = s.nodes[row]
    nic = s.nics[node.nic]
    port = s.ports[nic.port]
    at = min(next_event(s, nic, node, s.nicpar[node.param]), next_start(s, nic, port))
    if nic.monitored != 0:
        at = min(at, port.free_ps)
    return at


@once
def receive_pause(s, nic_row, p, now_ps):
    """A PFC frame from the switch holds or frees a class; only the NIC's own two matter."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    waiting = False
    if p.code == 0:
        waiting = nic.fetch_head != nic.fetch_handed or s.queues[port.queue_begin + Q_RTX].packets > 0
    elif p.code == 1:
        waiting = s.queues[port.queue_begin + Q_CONTROL].packets > 0
    take_frame(s, port, p, waiting, now_ps)
    if p.psn > 0 and p.code <= 1:
        nic.paused |= 1 if p.code == 0 else 2


@once
def receive(s, nic_row, node, now_ps):
    """The packet at the head of the NIC's link."""
    i = take_arrival(s, node, 0)
    p = s.packets[i]
    kind = p.ptype
    if kind == RUD_REQUEST:
        receive_data(s, nic_row, i, now_ps)
    elif kind == PROBE:
        receive_probe(s, nic_row, i, now_ps)
    elif kind == PFC_FRAME:
        receive_pause(s, nic_row, p, now_ps)
        give_packet(s, i)
    else:
        lost = s.clock[0].rx_dropped
        if kind == ACK_CC:
            receive_ack(s, nic_row, p, now_ps)
        elif kind == NACK:
            receive_nack(s, nic_row, p, now_ps)
        else:
            receive_probe_ack(s, nic_row, p, now_ps)
        if s.clock[0].rx_dropped == lost:
            s.clock[0].delivered += 1
        give_packet(s, i)


@kernel
def run_nic(s, row, end_ps):
    """Do all that the NIC has to do before `end_ps`; False when a table or the budget ran short on the way."""
    node = s.nodes[row]
    nic_row = node.nic
    nic = s.nics[nic_row]
    par = s.nicpar[node.param]
    clock = s.clock[0]
    while True:
        now = next_event(s, nic, node, par)
        if nic.pool_wait != UNFINISHED:
            if catch_up(s, nic_row, min(now, end_ps - 1)) < 0:
                s.next_ps[row] = next_look(s, row)
                return False
            now = min(now, next_event(s, nic, node, par))
            if now >= end_ps:
                s.next_ps[row] = next_look(s, row)
                return True
        need = short_of(s)
        if need >= 0 or clock.budget <= 0:
            clock.need = need
            s.next_ps[row] = next_look(s, row)
            return False
        clock.budget -= 1
        nic.now_ps = now
        if nic.pool_wait == UNFINISHED:
            transmit_pass(s, nic_row, now)
        elif head_ps(s, node.in_begin, NEVER) == now:
            receive(s, nic_row, node, now)
        elif par.prefetch != 0 and nic.handoff_ps == now:
            payload_arrived(s, nic_row, now)
        elif nic.pass_ps == now:
            nic.pass_ps = INF_PS
            transmit_pass(s, nic_row, now)
        elif nic.wake_ps == now:
            wake(s, nic_row, now)
        elif nic.rto_ps == now:
            expire_timers(s, nic_row, now)
        elif nic.fail_ps == now:
            detect_failures(s, nic_row, now)
        elif nic.police_ps == now:
            police(s, nic_row, par, now)
        else:
            run_operation(s, nic_row, now)


@once
def settle(s, end_ps):
    """At an instant: do what has happened by itself at every NIC before it. False: a table ran short; call again."""
    s.clock[0].end_ps = end_ps
    for row in range(len(s.nodes)):
        nic_row = s.nodes[row].nic        # as the loop above has it: another integer type would be compiled again
        if nic_row >= 0 and catch_up(s, nic_row, end_ps - 1) < 0:
            return False
    return True
