"""A switch: route, admit (or trim, or drop), queue, serve in strict priority, mark.

Rules: scala-computing/docs models/scala-switch/packet-handling and shared-buffer (Buffer under the UET policy). A port
is looked at lazily: `advance` starts every service that is due up to a time, and is called before each arrival at
that port and at the window's end. In eager mode the ends of ports are events instead; both give the same bytes.
"""

from __future__ import annotations

from ..state.tables import F_CE, TC_DATA, TC_TRIMMED, TRIMMABLE, TRIMMABLE_RTX, TRIMMED, TRIMMED_LAST_HOP
from .ecmp import route
from .jit import kernel, small
from .links import charge_bytes, enqueue, occupancy_bytes, pop_strict, start_service
from .pools import give_packet
from .prefetch import prefetch
from .rng import ECN_DRAW, uniform

TRIMMED_WIRE_BYTES = 62
FAILED = 4                    # bit of PORT.last_hop: routes do not know of it


@small
def mark(s, par, port, p):
    """ECN at the start of transmission: compare the data queue's average with the thresholds (Packet handling, ECN)."""
    average = port.ecn_average
    if par.ecn != 0 and average >= par.ecn_min_bytes:
        hit = average >= par.ecn_max_bytes
        if not hit:
            chance = par.ecn_max_probability * (average - par.ecn_min_bytes) / (par.ecn_max_bytes - par.ecn_min_bytes)
            hit = uniform(s.clock[0].seed, port.link, ECN_DRAW, port.draws) < chance
            port.draws += 1
        if hit:
            p.flag_bits |= F_CE
            port.ecn_marks += 1


@small
def serve(s, par, port, start_ps):
    """Start the next packet of a port with packets waiting."""
    i = pop_strict(s, port)
    p = s.packets[i]
    if p.tc == TC_DATA:
        mark(s, par, port, p)
    start_service(s, port, i, p, start_ps)


@small
def advance(s, par, port, until_ps):
    """Start every service of the port that is due at or before `until_ps`."""
    while port.queued > 0 and port.free_ps <= until_ps:
        serve(s, par, port, port.free_ps)


@small
def limit_bytes(par, p):
    """Egress limit of the packet's class; a trimmable retransmission may use 1.5 times the data limit."""
    if p.tc == TC_DATA:
        if p.role == TRIMMABLE_RTX:
            return par.rtx_limit_bytes
        return par.data_limit_bytes
    if p.tc == TC_TRIMMED:
        return par.trimmed_limit_bytes
    return par.control_limit_bytes


@small
def trim(s, port, p):
    """Cut a packet to its headers and re-mark it (Egress admission, step 3)."""
    p.role = TRIMMED_LAST_HOP if port.last_hop & 1 else TRIMMED
    p.size_bytes = TRIMMED_WIRE_BYTES
    p.tc = TC_TRIMMED
    port.trims += 1
    s.clock[0].trimmed += 1


@small
def lose_out(s, port, i):
    """Drop a packet at egress."""
    port.tx_drops += 1
    s.clock[0].dropped += 1
    give_packet(s, i)


@small
def admit(s, par, port, i, p, now_ps):
    """Offer the packet to the port's queue: start it, queue it, trim it or drop it. A failed link loses it."""
    if port.last_hop & FAILED:
        lose_out(s, port, i)
        return
    charge = charge_bytes(p.size_bytes)
    occupied = occupancy_bytes(s, port, p.tc, now_ps)
    if occupied + charge > limit_bytes(par, p):
        cut = par.trimming != 0 and (p.role == TRIMMABLE or p.role == TRIMMABLE_RTX)
        if cut:
            trim(s, port, p)
            charge = charge_bytes(p.size_bytes)
            occupied = occupancy_bytes(s, port, TC_TRIMMED, now_ps)
            cut = occupied + charge <= par.trimmed_limit_bytes
        if not cut:
            lose_out(s, port, i)
            return
    if p.tc == TC_DATA:
        port.ecn_average += par.ecn_weight * (occupied + charge - port.ecn_average)
    if port.queued == 0 and port.free_ps <= now_ps:
        if p.tc == TC_DATA:
            mark(s, par, port, p)
        start_service(s, port, i, p, now_ps)
    else:
        enqueue(s, port, p.tc, i, p, charge)


@small
def take_arrival(s, node, k):
    """Remove the first packet of the node's in-link `k` and count it."""
    fifo = s.ins[node.in_begin + k]
    i = fifo.head
    p = s.packets[i]
    fifo.head = p.next
    fifo.rx_packets += 1
    fifo.rx_bytes += p.size_bytes
    p.in_port = k
    clock = s.clock[0]
    clock.hops += 1
    clock.budget -= 1
    if p.time_ps == node.last_ps:
        clock.ties += 1
    node.last_ps = p.time_ps
    return i


@small
def head_ps(s, row, none):
    """Arrival of the first packet of link FIFO `row`, or `none`."""
    head = s.ins[row].head
    if head < 0:
        return none
    return s.packets[head].time_ps


@small
def sift_down(keys, count):
    """Restore the heap after its first key changed."""
    at = 0
    key = keys[0]
    child = 1
    while child < count:
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at] = keys[child]
        at = child
        child = 2 * at + 1
    keys[at] = key


@small
def push_key(keys, count, key):
    """Add a key to the heap of `count` keys."""
    at = count
    while at > 0:
        parent = (at - 1) >> 1
        if keys[parent] <= key:
            break
        keys[at] = keys[parent]
        at = parent
    keys[at] = key


# A merge key is (arrival - origin) << LINK_BITS | in-link. Windows are at most 2**45 ps wide (state.units), in-links
# fewer than 2**16 (state.network), so it fits 63 bits.
LINK_BITS = 16
LINK_MASK = (1 << LINK_BITS) - 1


@kernel
def fill_keys(s, node, origin_ps, end_ps):
    """Heap of the in-links with an arrival before `end_ps`; returns (count, earliest later arrival)."""
    keys = s.keys
    count = 0
    later = 1 << 62
    for k in range(node.in_count):
        at = head_ps(s, node.in_begin + k, 1 << 62)
        if at < end_ps:
            push_key(keys, count, ((at - origin_ps) << LINK_BITS) | k)
            count += 1
        elif at < later:
            later = at
    return count, later


@kernel
def next_port_end(s, node):
    """Earliest end of service of a port with packets waiting."""
    earliest = 1 << 62
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        if port.queued > 0 and port.free_ps < earliest:
            earliest = port.free_ps
    return earliest


@kernel
def run_lazy(s, row, end_ps):
    """Do all that the switch has to do before `end_ps`. Returns False when the budget ran out on the way."""
    node = s.nodes[row]
    par = s.swpar[node.param]
    keys = s.keys
    origin = s.next_ps[row]
    count, later = fill_keys(s, node, origin, end_ps)
    while count > 0 and s.clock[0].budget > 0:
        key = keys[0]
        k = key & LINK_MASK
        now = origin + (key >> LINK_BITS)
        i = take_arrival(s, node, k)
        p = s.packets[i]
        port = s.ports[route(s, node, par, p)]
        advance(s, par, port, now)
        admit(s, par, port, i, p, now)
        at = head_ps(s, node.in_begin + k, 1 << 62)
        if at < end_ps:
            prefetch(s.packets, s.packets[s.ins[node.in_begin + k].head].next)
            keys[0] = ((at - origin) << LINK_BITS) | k
        else:
            if at < later:
                later = at
            count -= 1
            keys[0] = keys[count]
        sift_down(keys, count)
    if count > 0:      # stopped on the way: services that are due before the next arrival have not started yet
        s.next_ps[row] = min(origin + (keys[0] >> LINK_BITS), next_port_end(s, node))
        return False
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        if port.queued > 0:
            advance(s, par, port, end_ps - 1)
            if port.queued > 0 and port.free_ps < later:
                later = port.free_ps
    s.next_ps[row] = later
    return True


@kernel
def next_arrival(s, node):
    """Earliest arrival at the node; of several at one instant the lowest in-link. Returns (time, in-link)."""
    earliest = 1 << 62
    link = -1
    for k in range(node.in_count):
        at = head_ps(s, node.in_begin + k, 1 << 62)
        if at < earliest:
            earliest = at
            link = k
    return earliest, link


@kernel
def port_end_of(s, row):
    """`next_port_end` of a node row."""
    return next_port_end(s, s.nodes[row])


@kernel
def arrival_of(s, row):
    """`next_arrival` of a node row."""
    return next_arrival(s, s.nodes[row])


@kernel
def serve_due(s, row, now_ps):
    """Start the service of every port that is due exactly at `now_ps`, by port."""
    node = s.nodes[row]
    par = s.swpar[node.param]
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        if port.queued > 0 and port.free_ps == now_ps:
            serve(s, par, port, now_ps)


@kernel
def take_one(s, row, k, now_ps):
    """Process the arrival at the head of in-link `k`; every port has been served up to now."""
    node = s.nodes[row]
    par = s.swpar[node.param]
    i = take_arrival(s, node, k)
    p = s.packets[i]
    admit(s, par, s.ports[route(s, node, par, p)], i, p, now_ps)


@kernel
def run_eager(s, row, end_ps):
    """As `run_lazy`, with the ends of ports as events."""
    node = s.nodes[row]
    while s.clock[0].budget > 0:
        due = next_port_end(s, node)
        arrival, k = next_arrival(s, node)
        now = min(due, arrival)
        s.next_ps[row] = now
        if now >= end_ps:
            return True
        if due == now:
            serve_due(s, row, now)
        else:
            take_one(s, row, k, now)
    return False

