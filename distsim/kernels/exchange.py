"""Packets that cross ranks: departures are copied into a buffer a rank, arrivals appended to their link's FIFO.

A departing packet waits in an ordinary link FIFO (one per cut link, and one list of notices per rank). On the wire its
`next` field carries the global link, or -1 for a notice; nothing else is added or converted.
"""

from __future__ import annotations

from .jit import once, small
from .links import append_in
from .operations import notice
from .pools import give_packet, take_packet
from .prefetch import prefetch
from .status import FAULT_EARLY

NEVER = 1 << 62


@small
def copy_packet(a, b):
    """Copy all of a packet but its list; everything is read before anything is written, so it is done in few moves."""
    time_ps = b.time_ps
    src = b.src
    dst = b.dst
    path_hash = b.path_hash
    size_bytes = b.size_bytes
    entropy = b.entropy
    in_port = b.in_port
    tc = b.tc
    role = b.role
    psn = b.psn
    spdc = b.spdc
    dpdc = b.dpdc
    flag_bits = b.flag_bits
    ptype = b.ptype
    code = b.code
    message = b.message
    cack = b.cack
    sack_lo = b.sack_lo
    sack_hi = b.sack_hi
    sack_offset = b.sack_offset
    service = b.service
    a.time_ps = time_ps
    a.src = src
    a.dst = dst
    a.path_hash = path_hash
    a.size_bytes = size_bytes
    a.entropy = entropy
    a.in_port = in_port
    a.tc = tc
    a.role = role
    a.psn = psn
    a.spdc = spdc
    a.dpdc = dpdc
    a.flag_bits = flag_bits
    a.ptype = ptype
    a.code = code
    a.message = message
    a.cack = cack
    a.sack_lo = sack_lo
    a.sack_hi = sack_hi
    a.sack_offset = sack_offset
    a.service = service


@once
def pack(s, first, count, at):
    """Move what waits in the FIFOs `first`.. into the outbox from row `at` on; returns the row after the last.

    One packet of every FIFO a round, and its successor asked for: following one list would wait for memory at each
    step. Only the order within a FIFO matters to the receiver.
    """
    clock = s.clock[0]
    before = -1
    while before != at:
        before = at
        for row in range(first, first + count):
            fifo = s.ins[row]
            i = fifo.head
            if i >= 0:
                p = s.packets[i]
                fifo.head = p.next
                prefetch(s.packets, p.next)
                copy_packet(s.outbox[at], p)
                link = s.link_of_in[row]
                s.outbox[at].next = link
                if link >= 0:
                    clock.handed_over += 1
                give_packet(s, i)
                at += 1
    for row in range(first, first + count):
        s.ins[row].tail = -1
        s.next_ps[s.ins[row].node] = NEVER
    return at


@once
def accept(s, count, end_ps):
    """Take over `count` packets of the inbox (the pool has room for them).

    None may arrive before `end_ps`, the end of the finished window.
    """
    clock = s.clock[0]
    for at in range(count):
        q = s.inbox[at]
        if q.time_ps < end_ps and clock.fault == 0:
            clock.fault = FAULT_EARLY
            clock.fault_at = q.time_ps
            clock.fault_node = q.dst
        if q.next < 0:
            row = s.node_of_host[q.dst]
            nic = s.nics[s.nodes[row].nic]
            notice(s, s.nodes[row].nic, nic.op_begin + q.message - nic.op_first, q.time_ps)
            continue
        i = take_packet(s)
        p = s.packets[i]
        copy_packet(p, q)
        row = s.in_of_link[q.next]
        append_in(s, row, i, p)
        clock.taken_over += 1
        node = s.ins[row].node
        if p.time_ps < s.next_ps[node]:
            s.next_ps[node] = p.time_ps
    return 0
