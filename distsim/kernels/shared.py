"""A switch whose shared buffer can bind: pools, lossless classes with PFC, lossy limits, headroom.

scala-computing/docs models/scala-switch/shared-buffer (Run-time accounting) and packet-handling. Every packet is
charged twice, to the port it came in by and to the port it leaves by, until its last bit has gone.

While no pause is outstanding the switch is lazy: a port is brought up to date when a packet comes for it. Counts that
ports share then hold releases nobody has looked at, so they are never too low, and a decision that passes on them
would pass on the exact ones. One that fails brings every port up to date and is made again. While a pause is
outstanding, ends of service are events, because one may draw a resume frame.
"""

from __future__ import annotations

from ..state.tables import (
    CLASSES,
    F_CE,
    INF_PS,
    P_PACKET,
    PFC_FRAME,
    Q_PFC,
    TC_DATA,
    TC_TRIMMED,
    TRIMMABLE,
    TRIMMABLE_RTX,
)
from .buffers import charge_in, charge_out, class_of, drop_in, fits, lossless, release, send_frames, slot_of
from .ecmp import flow_slot, is_paused, keep_flow, member_of_flow, port_of_member, route
from .jit import kernel, once, small
from .links import charge_bytes, enqueue, pop_queue, start_service
from .pfc import SWITCH_QUANTA, note_waiting, pause_ps, take_frame
from .pools import give_packet
from .rng import ECN_DRAW, uniform
from .switch import (
    FAILED,
    LINK_BITS,
    LINK_MASK,
    fill_keys,
    head_ps,
    lose_out,
    next_arrival,
    sift_down,
    take_arrival,
    trim,
)


# ---- pauses that the switch sends ------------------------------------------------------------------------------------
@kernel
def pause(s, node, par, port, slot, now_ps):
    """Pause the sender behind the port; the pause is sent again every half pause time."""
    share = s.shares[port.queue_begin + slot]
    share.refresh_ps = now_ps + (pause_ps(port, SWITCH_QUANTA) >> 1)
    node.pauses += 1
    node.wake_ps = min(node.wake_ps, share.refresh_ps)
    send_frames(s, node, par, port, slot, SWITCH_QUANTA, now_ps)


@kernel
def refresh(s, node, par, now_ps):
    """Send again the first pause that is due, and find when the next one is. One that nothing holds ends."""
    sent = False
    nearest = INF_PS
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        for slot in range(CLASSES):
            share = s.shares[port.queue_begin + slot]
            if share.refresh_ps <= now_ps and not sent:
                sent = True
                settle_port(s, node, par, port, now_ps)
                if share.in_bytes + share.headroom_bytes == 0:      # the packet that drew it found the pool full
                    share.refresh_ps = INF_PS
                    node.pauses -= 1
                    send_frames(s, node, par, port, slot, 0, now_ps)
                else:
                    share.refresh_ps = now_ps + (pause_ps(port, SWITCH_QUANTA) >> 1)
                    send_frames(s, node, par, port, slot, SWITCH_QUANTA, now_ps)
                start_frame(s, node, par, port, now_ps)
            nearest = min(nearest, share.refresh_ps)
    node.wake_ps = nearest


# ---- a port ----------------------------------------------------------------------------------------------------------
@small
def start_time_ps(s, port):
    """When the port starts what waits at it: when it is free and a class that has packets is not held."""
    if port.queued == 0:
        return INF_PS
    if port.paused == 0:
        return port.free_ps
    at = INF_PS
    first = port.queue_begin
    if s.queues[first + Q_PFC].packets > 0:
        at = port.free_ps
    for tc in range(CLASSES):
        if s.queues[first + tc].packets > 0:
            at = min(at, max(port.free_ps, s.pfc[first + tc].pause_end_ps))
    return at


@small
def mark(s, node, par, port, p, slot):
    """ECN at the start of transmission: the average of the port's queue in the pool against the pool's thresholds."""
    if par.ecn == 0 or (par.uet_policy != 0 and p.tc != TC_DATA):
        return
    average = s.shares[port.queue_begin + slot].ecn_average
    pool = s.buffers[node.buffer_begin + slot]
    if average < pool.ecn_min_bytes:
        return
    hit = average >= pool.ecn_max_bytes
    if not hit:
        span = pool.ecn_max_bytes - pool.ecn_min_bytes
        chance = par.ecn_max_probability * (average - pool.ecn_min_bytes) / span
        hit = uniform(s.clock[0].seed, port.link, ECN_DRAW, port.draws) < chance
        port.draws += 1
    if hit:
        p.flag_bits |= F_CE
        port.ecn_marks += 1
        s.pfc[port.queue_begin + p.tc].ecn_marks += 1


@small
def begin(s, node, par, port, i, p, at_ps):
    """Start to serialize a packet of a class."""
    mark(s, node, par, port, p, slot_of(par, p.tc))
    port.service_in = p.in_port
    port.service_state = 1
    start_service(s, port, i, p, at_ps)


@small
def start_frame(s, node, par, port, now_ps):
    """An idle port starts a PFC frame that waits."""
    queue = s.queues[port.queue_begin + Q_PFC]
    if queue.packets > 0 and port.free_ps <= now_ps:
        i = pop_queue(s, queue)
        port.queued -= 1
        start_service(s, port, i, s.packets[i], now_ps)


@kernel
def serve(s, node, par, port, at_ps):
    """Start the next frame: PFC frames, then the highest class that is not held."""
    first = port.queue_begin
    if s.queues[first + Q_PFC].packets > 0:
        i = pop_queue(s, s.queues[first + Q_PFC])
        port.queued -= 1
        start_service(s, port, i, s.packets[i], at_ps)
        return
    tc = CLASSES - 1
    while s.queues[first + tc].packets == 0 or is_paused(s, port, tc, at_ps):
        tc -= 1
    queue = s.queues[first + tc]
    i = pop_queue(s, queue)
    port.queued -= 1
    p = s.packets[i]
    queue.waiting_bytes -= charge_bytes(p.size_bytes)
    begin(s, node, par, port, i, p, at_ps)


@kernel
def settle_port(s, node, par, port, until_ps):
    """End and start every service of the port that is due at or before `until_ps`."""
    while True:
        if port.service_state != 0 and port.free_ps <= until_ps:
            release(s, node, par, port)
        at = start_time_ps(s, port)
        if at > until_ps:
            return
        serve(s, node, par, port, at)


@kernel
def settle_all(s, node, par, until_ps):
    """Bring every port up to date, so that shared counts are exact."""
    for r in range(node.port_begin, node.port_begin + node.port_count):
        settle_port(s, node, par, s.ports[r], until_ps)


# ---- admission -------------------------------------------------------------------------------------------------------
@kernel
def admit_in(s, node, par, source, p, slot, charge, now_ps):
    """Ingress admission (packet-handling, steps 3 to 6); False: the packet is dropped."""
    share = s.shares[source.queue_begin + slot]
    pool = s.buffers[node.buffer_begin + slot]
    safe = lossless(par, p.tc)
    if safe and share.refresh_ps < INF_PS:
        if share.headroom_bytes + charge > par.headroom_bytes:
            return False
        share.headroom_bytes += charge
        return True
    over = safe and share.in_bytes + charge > par.xoff_bytes
    if over or pool.in_bytes + charge > pool.size_bytes:
        settle_all(s, node, par, now_ps)
        if safe and share.in_bytes + charge > par.xoff_bytes:
            pause(s, node, par, source, slot, now_ps)
            start_frame(s, node, par, source, now_ps)
        if pool.in_bytes + charge > pool.size_bytes:
            return False
    charge_in(s, node, par, source, slot, charge)
    return True


@kernel
def fits_exactly(s, node, par, port, p, slot, charge, now_ps):
    """`fits`, made again on exact counts when it fails."""
    if fits(s, node, par, port, p, slot, charge):
        return True
    settle_all(s, node, par, now_ps)
    return fits(s, node, par, port, p, slot, charge)


@kernel
def admit_out(s, node, par, port, source, i, p, now_ps):
    """Egress admission; False: the packet was dropped and its ingress charge released."""
    slot = slot_of(par, p.tc)
    charge = charge_bytes(p.size_bytes)
    if port.last_hop & FAILED:
        drop_in(s, node, par, source, p, slot, charge)
        lose_out(s, port, i)
        return False
    if not lossless(par, p.tc) and not fits_exactly(s, node, par, port, p, slot, charge, now_ps):
        charge_in(s, node, par, source, slot, -charge)
        if par.trimming == 0 or (p.role != TRIMMABLE and p.role != TRIMMABLE_RTX):
            lose_out(s, port, i)
            return False
        trim(s, port, p)
        slot = slot_of(par, TC_TRIMMED)
        charge = charge_bytes(p.size_bytes)
        if not fits_exactly(s, node, par, port, p, slot, charge, now_ps):
            lose_out(s, port, i)
            return False
        charge_in(s, node, par, source, slot, charge)
    charge_out(s, node, par, port, slot, charge)
    share = s.shares[port.queue_begin + slot]
    share.ecn_average += par.ecn_weight * (share.out_bytes - share.ecn_average)
    if port.free_ps <= now_ps and not is_paused(s, port, p.tc, now_ps):
        begin(s, node, par, port, i, p, now_ps)
    else:
        if port.paused != 0:
            note_waiting(s.pfc[port.queue_begin + p.tc], now_ps)
        enqueue(s, port, p.tc, i, p, charge)
    return True


@kernel
def take_pause(s, node, par, port, i, p, now_ps):
    """A PFC frame arrived: it acts on the port it came by."""
    settle_port(s, node, par, port, now_ps)
    take_frame(s, port, p, s.queues[port.queue_begin + p.code].packets > 0, now_ps)
    if p.psn > 0:
        port.paused = 1
    give_packet(s, i)
    settle_port(s, node, par, port, now_ps)


@kernel
def arrive(s, node, par, k, now_ps):
    """The packet at the head of in-link `k`."""
    i = take_arrival(s, node, k)
    p = s.packets[i]
    source = s.ports[node.port_begin + k]
    if p.ptype == PFC_FRAME:
        take_pause(s, node, par, source, i, p, now_ps)
        return
    p.tc = class_of(par, p)
    slot = slot_of(par, p.tc)
    charge = charge_bytes(p.size_bytes)
    if not admit_in(s, node, par, source, p, slot, charge, now_ps):
        s.ins[node.in_begin + k].rx_drops += 1
        s.clock[0].dropped += 1
        give_packet(s, i)
        return
    flow = flow_slot(s, node, par, p)
    member = -1
    if flow >= 0:
        settle_all(s, node, par, now_ps)
        member = member_of_flow(s, node, par, p, flow, now_ps)
        port = s.ports[port_of_member(s, node, p, member)]
    else:
        port = s.ports[route(s, node, par, p)]
        settle_port(s, node, par, port, now_ps)
    if admit_out(s, node, par, port, source, i, p, now_ps) and flow >= 0:
        keep_flow(s, flow, member, now_ps)


# ---- the switch's own event loop -------------------------------------------------------------------------------------
@small
def short(s, node):
    """Whether one event might need more PACKET rows, for PFC frames, than there are."""
    packets = s.pools[P_PACKET]
    return packets.room - packets.used < packets.margin + CLASSES * (node.port_count + 1)


@once
def run_lazily(s, row, end_ps):
    """Arrivals in order until `end_ps` (1), until a pause goes out (2), or until a table or the budget is short (0)."""
    node = s.nodes[row]
    par = s.swpar[node.param]
    clock = s.clock[0]
    keys = s.keys
    origin = s.next_ps[row]
    count, later = fill_keys(s, node, origin, end_ps)
    outcome = 1
    while count > 0 and outcome == 1:
        if clock.budget <= 0 or short(s, node):
            outcome = 0
            break
        key = keys[0]
        k = key & LINK_MASK
        arrive(s, node, par, k, origin + (key >> LINK_BITS))
        if node.pauses > 0:
            outcome = 2
        at = head_ps(s, node.in_begin + k, INF_PS)
        if at < end_ps:
            keys[0] = ((at - origin) << LINK_BITS) | k
        else:
            count -= 1
            keys[0] = keys[count]
            later = min(later, at)
        sift_down(keys, count)
    if outcome == 0 and clock.budget > 0:
        clock.need = P_PACKET
    if outcome == 1:
        settle_all(s, node, par, end_ps - 1)
    elif count > 0:
        later = min(later, origin + (keys[0] >> LINK_BITS))
    for r in range(node.port_begin, node.port_begin + node.port_count):
        later = min(later, start_time_ps(s, s.ports[r]))
    s.next_ps[row] = later
    return outcome


@kernel
def next_due_ps(s, row):
    """Earliest end or start of service of a port."""
    node = s.nodes[row]
    at = INF_PS
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        if port.service_state != 0:
            at = min(at, port.free_ps)
        at = min(at, start_time_ps(s, port))
    return at


@kernel
def instant(s, node, par, now_ps):
    """Ends of service of all ports, then the starts that are due, by port."""
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        if port.service_state != 0 and port.free_ps <= now_ps:
            release(s, node, par, port)
    for r in range(node.port_begin, node.port_begin + node.port_count):
        port = s.ports[r]
        if start_time_ps(s, port) <= now_ps:
            serve(s, node, par, port, now_ps)


@once
def run_eagerly(s, row, end_ps):
    """One event at a time until `end_ps` (1), until no pause is outstanding (2), or until something is short (0)."""
    node = s.nodes[row]
    par = s.swpar[node.param]
    clock = s.clock[0]
    while True:
        due = next_due_ps(s, row)
        arrival, k = next_arrival(s, node)
        now = min(due, min(arrival, node.wake_ps))
        s.next_ps[row] = now
        if now >= end_ps:
            return 1
        if clock.budget <= 0:
            return 0
        if short(s, node):
            clock.need = P_PACKET
            return 0
        clock.budget -= 1
        if due == now:
            instant(s, node, par, now)
        elif arrival == now:
            arrive(s, node, par, k, now)
        else:
            refresh(s, node, par, now)
        if node.pauses == 0:
            node.wake_ps = INF_PS
            if node.eager == 0:
                return 2


@kernel
def run_shared(s, row, end_ps):
    """Do all that the switch has to do before `end_ps`; False when the budget or a table ran short on the way."""
    node = s.nodes[row]
    while True:
        if node.eager != 0 or node.pauses > 0:
            outcome = run_eagerly(s, row, end_ps)
        else:
            outcome = run_lazily(s, row, end_ps)
        if outcome < 2:
            return outcome == 1
