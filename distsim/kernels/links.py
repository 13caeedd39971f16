"""A port and the link behind it: serialization, queues of a port, and the FIFO of packets under way.

Rounding rule of the whole model: the serialization of one frame is ceil(bytes * ps_num / ps_den) picoseconds, rounded
once per frame; nothing else rounds.
"""

from __future__ import annotations

from ..state.tables import CLASSES, LOSES, QUEUES
from .jit import kernel, once, small
from .pools import give_packet
from .rng import LOSS_DRAW, uniform
from .status import FAULT_EARLY, FAULT_ORDER


@small
def serialization_ps(port, size_bytes):
    """Time that `size_bytes` on the wire take, rounded up to a picosecond."""
    if port.ps_num > 0:
        return size_bytes * port.ps_num
    return (port.ps_den - 1 - size_bytes * port.ps_num) // port.ps_den


@small
def charge_bytes(size_bytes):
    """What a frame is charged in a switch buffer: its IP size, at least 46 (models/scala-switch, Ingress admission)."""
    charge = size_bytes - 18
    if charge < 46:
        charge = 46
    return charge


@small
def fault(s, code, node, at):
    """Note the first broken rule; the drivers stop on it."""
    clock = s.clock[0]
    if clock.fault == 0:
        clock.fault = code
        clock.fault_node = node
        clock.fault_at = at


@small
def append_in(s, row, i, p):
    """Put packet `i` (arriving at p.time_ps) at the end of link FIFO `row`."""
    fifo = s.ins[row]
    p.next = -1
    if fifo.head < 0:
        fifo.head = i
    else:
        last = s.packets[fifo.tail]
        if p.time_ps < last.time_ps:
            fault(s, FAULT_ORDER, fifo.node, p.time_ps)
        last.next = i
    fifo.tail = i


@kernel
def lost_on_wire(s, port, i, size_bytes):
    """Whether the link loses the packet that the port has begun to send (tx_packets counts it); it is gone then.

    A link that is down loses all; one with loss or bit errors draws, by link and count of packets.
    """
    row = s.losses[port.queue_begin // QUEUES]
    if row.down == 0:
        keep = row.keep
        k = row.bits
        left = size_bytes
        while k >= 0 and left > 0:
            if left & 1:
                keep *= s.survival[k].keep
            left >>= 1
            k += 1
        if uniform(s.clock[0].seed, port.link, LOSS_DRAW, port.tx_packets) < keep:
            return False
    lose(s, row, i, size_bytes)
    return True


@kernel
def lose(s, row, i, size_bytes):
    """A packet is lost on a wire; `row`: the LOSS row that counts it."""
    row.lost += 1
    row.lost_bytes += size_bytes
    s.clock[0].dropped += 1
    give_packet(s, i)


@once
def cut_link(s, in_row, at):
    """A link goes down: what is on its wire is lost. in_row : of `ins`; at : LOSS row that counts it."""
    fifo = s.ins[in_row]
    while fifo.head >= 0:
        i = fifo.head
        p = s.packets[i]
        fifo.head = p.next
        lose(s, s.losses[at], i, p.size_bytes)
    fifo.tail = -1
    return 0


@small
def start_service(s, port, i, p, start_ps):
    """Begin to serialize packet `i` at `start_ps`: it is on its way to the far end, where it arrives whole if no link
    fault keeps it (then its row is free again).

    Returns the end of the serialization.
    """
    size_bytes = p.size_bytes
    end = start_ps + serialization_ps(port, size_bytes)
    port.free_ps = end
    port.service_tc = p.tc
    port.service_bytes = size_bytes
    port.tx_packets += 1
    port.tx_bytes += size_bytes
    if port.last_hop & LOSES and lost_on_wire(s, port, i, size_bytes):
        return end
    arrival = end + port.delay_ps
    p.time_ps = arrival
    if arrival < s.clock[0].end_ps:
        fault(s, FAULT_EARLY, port.node, arrival)
    append_in(s, port.in_row, i, p)
    if arrival < s.next_ps[port.peer]:
        s.next_ps[port.peer] = arrival
    return end


@small
def enqueue(s, port, tc, i, p, charge):
    """Put packet `i` at the end of the port's queue of class `tc`."""
    queue = s.queues[port.queue_begin + tc]
    p.next = -1
    if queue.packets == 0:
        queue.head = i
    else:
        s.packets[queue.tail].next = i
    queue.tail = i
    queue.packets += 1
    queue.waiting_bytes += charge
    port.queued += 1


@small
def append(s, queue, i, p):
    """Put packet `i` at the end of a queue of a NIC's port, which counts no bytes."""
    p.next = -1
    if queue.packets == 0:
        queue.head = i
    else:
        s.packets[queue.tail].next = i
    queue.tail = i
    queue.packets += 1


@small
def pop_queue(s, queue):
    """Remove the first packet of such a queue; it has one."""
    i = queue.head
    queue.head = s.packets[i].next
    queue.packets -= 1
    return i


@small
def pop_strict(s, port):
    """Remove the packet that strict priority serves next (TC2, then TC1, then TC0); the port has one waiting."""
    tc = CLASSES - 1
    queue = s.queues[port.queue_begin + tc]
    while queue.packets == 0:
        tc -= 1
        queue = s.queues[port.queue_begin + tc]
    i = queue.head
    p = s.packets[i]
    queue.head = p.next
    queue.packets -= 1
    queue.waiting_bytes -= charge_bytes(p.size_bytes)
    port.queued -= 1
    return i


@small
def occupancy_bytes(s, port, tc, now_ps):
    """Bytes charged to the port's queue of class `tc`: those waiting and the packet in service until it has gone."""
    total = s.queues[port.queue_begin + tc].waiting_bytes
    if port.free_ps > now_ps and port.service_tc == tc:
        total += charge_bytes(port.service_bytes)
    return total

