"""A NIC's own event loop: at an instant first what its port can start, then arrivals, then timers, then operations."""

from __future__ import annotations

from ..state.tables import (
    ACK_CC,
    NACK,
    P_GROUP,
    P_PACKET,
    P_PERF,
    P_RX,
    P_SLOT,
    P_TX,
    P_WORD,
    PROBE,
    RUD_REQUEST,
)
from .acks import expire_timers, receive_ack, receive_nack, receive_probe_ack
from .jit import kernel, small
from .operations import run_operation
from .pools import give_packet
from .receive import receive_data, receive_probe
from .send import transmit
from .switch import head_ps, take_arrival

NEVER = 1 << 62
# Rows that one event may need beside a packet for every notice.
PACKET_MARGIN = 4
LEAST_RING = 256


@small
def short_of(s):
    """The pool that has not the rows one event can need, or -1."""
    packets = s.pools[P_PACKET]
    if packets.room - packets.used < PACKET_MARGIN + packets.margin:
        return P_PACKET
    pool = s.pools[P_GROUP]
    if pool.used + 2 > pool.room:
        return P_GROUP
    pool = s.pools[P_TX]
    if pool.used + 1 > pool.room:
        return P_TX
    pool = s.pools[P_RX]
    if pool.used + 1 > pool.room:
        return P_RX
    pool = s.pools[P_SLOT]
    if pool.high + 2 * max(pool.free_head, LEAST_RING) > pool.room:
        return P_SLOT
    pool = s.pools[P_WORD]
    if pool.high + pool.margin > pool.room:
        return P_WORD
    pool = s.pools[P_PERF]
    if pool.used + 1 > pool.room:
        return P_PERF
    return -1


@small
def port_due(s, nic, port):
    """When the port can start the next packet: at its end of service, if there may be one to send."""
    if port.queued > 0 or nic.ready_head >= 0:
        return port.free_ps
    return NEVER


@small
def first_pending(s, nic):
    """Time of the NIC's first pending operation."""
    if nic.heap_size == 0:
        return NEVER
    return s.heap[nic.heap_begin].time_ps


@small
def next_event(s, nic, node, port):
    """Earliest thing the NIC has to do."""
    due = max(port_due(s, nic, port), nic.now_ps)
    return min(min(due, head_ps(s, node.in_begin, NEVER)), min(nic.rto_ps, first_pending(s, nic)))


@kernel
def run_nic(s, row, end_ps):
    """Do all that the NIC has to do before `end_ps`; False when a table or the budget ran short on the way.

    One thing at a time, the first by (time, port, arrival, timer, operation); after each the port starts what it can.
    """
    node = s.nodes[row]
    nic_row = node.nic
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    clock = s.clock[0]
    while True:
        now = next_event(s, nic, node, port)
        s.next_ps[row] = now
        if now >= end_ps:
            return True
        if clock.budget <= 0:
            return False
        need = short_of(s)
        if need >= 0:
            clock.need = need
            return False
        clock.budget -= 1
        nic.now_ps = now
        if port_due(s, nic, port) <= now:
            transmit(s, nic_row, now)
        elif head_ps(s, node.in_begin, NEVER) == now:
            i = take_arrival(s, node, 0)
            p = s.packets[i]
            kind = p.ptype
            if kind == RUD_REQUEST:
                receive_data(s, nic_row, i, now)
            elif kind == PROBE:
                receive_probe(s, nic_row, i, now)
            else:
                clock.delivered += 1
                if kind == ACK_CC:
                    receive_ack(s, nic_row, p, now)
                elif kind == NACK:
                    receive_nack(s, nic_row, p, now)
                else:
                    receive_probe_ack(s, nic_row, p, now)
                give_packet(s, i)
        elif nic.rto_ps == now:
            expire_timers(s, nic_row, now)
        else:
            run_operation(s, nic_row, now)
