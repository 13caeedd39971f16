"""Packets that cross ranks: departures are copied into a buffer a rank, arrivals appended to their link's FIFO.

A departing packet waits in an ordinary link FIFO (one per cut link, and one list of notices per rank). On the wire its
`next` field carries the global link, or -1 for a notice; nothing else is added or converted.
"""

from __future__ import annotations

from .jit import kernel
from .links import append_in
from .operations import notice
from .pools import give_packet, take_packet
from .status import FAULT_EARLY

NEVER = 1 << 62


@kernel
def count_departures(s, first, count):
    """Packets waiting in the FIFOs `first`..`first + count - 1`."""
    total = 0
    for row in range(first, first + count):
        i = s.ins[row].head
        while i >= 0:
            total += 1
            i = s.packets[i].next
    return total


@kernel
def copy_packet(a, b):
    """Copy all of a packet but its list."""
    a.time_ps = b.time_ps
    a.src = b.src
    a.dst = b.dst
    a.path_hash = b.path_hash
    a.size_bytes = b.size_bytes
    a.entropy = b.entropy
    a.in_port = b.in_port
    a.tc = b.tc
    a.role = b.role
    a.psn = b.psn
    a.spdc = b.spdc
    a.dpdc = b.dpdc
    a.flag_bits = b.flag_bits
    a.ptype = b.ptype
    a.code = b.code
    a.message = b.message
    a.cack = b.cack
    a.sack_lo = b.sack_lo
    a.sack_hi = b.sack_hi
    a.sack_offset = b.sack_offset
    a.service = b.service


@kernel
def pack(s, first, count, at):
    """Move what waits in the FIFOs `first`.. into the outbox from row `at` on; returns the row after the last."""
    clock = s.clock[0]
    for row in range(first, first + count):
        fifo = s.ins[row]
        i = fifo.head
        while i >= 0:
            p = s.packets[i]
            after = p.next
            copy_packet(s.outbox[at], p)
            s.outbox[at].next = fifo.link
            if fifo.link >= 0:
                clock.handed_over += 1
            give_packet(s, i)
            at += 1
            i = after
        fifo.head = -1
        fifo.tail = -1
        s.next_ps[fifo.node] = NEVER
    return at


@kernel
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
