"""The transmit process of a NIC: groups in turn, one packet from one PDC a turn, committed to the wire or fetched.

scala-computing/docs models/scala-uet-nic/transport (Segmentation, PDC groups and the transmit scheduler, Prefetch
buffer). A pass goes on until no group can send or the egress pool is full; ACKs, NACKs, timeouts, new messages, and the
pool at half its size start it again.
"""

from __future__ import annotations

from ..state.tables import (
    CONTROL,
    E_SEND_COMPLETE,
    INF_PS,
    PROBE,
    Q_RTX,
    STAT_BUFFERS,
    STAT_EVENTS,
    TC_CONTROL,
    TC_DATA,
    TX_TC0,
)
from .egress import fill_data, give_header, hand_down
from .groups import drop_turn, has_work, join_turn, pop_ready, ready_at_tail
from .ingress import enqueue_stat
from .jit import kernel, once, small
from .links import append, serialization_ps
from .monitor import log_event
from .operations import sent
from .pcie import fetch, leave_host
from .pfc import note_waiting
from .pools import take_packet
from .rings import WRAP, grow_ring, write_entry
from .rng import path_hash
from .room import short_of
from .segments import (
    DATA_HEADER_BYTES,
    NOMINAL_HEADER_BYTES,
    PROBE_WIRE_BYTES,
    open_slot,
    payload_bytes,
    slot_row,
)

SENT, LEFT, POOL_FULL, PREFETCH_FULL = 0, 1, 2, 3
RETRANSMIT, COMMIT, FETCH = 0, 1, 2
UNFINISHED = 2                # of NICROW.pool_wait


@small
def sample_window(counters, g):
    """Congestion window and bytes in flight, sampled at each first transmission (uet-transport-stats)."""
    counters.tx_samples += 1
    cwnd = g.cwnd_bytes
    counters.cwnd_sum += cwnd
    counters.ivl_cwnd_min = min(counters.ivl_cwnd_min, cwnd)
    counters.ivl_cwnd_max = max(counters.ivl_cwnd_max, cwnd)
    inflight = g.inflight_bytes
    counters.inflight_sum += inflight
    counters.ivl_inflight_min = min(counters.ivl_inflight_min, inflight)
    counters.ivl_inflight_max = max(counters.ivl_inflight_max, inflight)


@kernel
def push_fetch(s, nic, pdc_row, psn, ready_ps, prefetching):
    """Note a fetch: its payload is here at `ready_ps`."""
    if nic.fetch_tail - nic.fetch_head >= nic.fetch_room:
        nic.fetch_begin = grow_ring(s, nic.fetch_begin, nic.fetch_room, nic.fetch_head, nic.fetch_tail)
        nic.fetch_room = max(2 * nic.fetch_room, 8)
    if nic.fetch_head >= WRAP:
        nic.fetch_head -= WRAP
        nic.fetch_handed -= WRAP
        nic.fetch_credit -= WRAP
        nic.fetch_tail -= WRAP
    write_entry(s, nic.fetch_begin + (nic.fetch_tail & (nic.fetch_room - 1)), ready_ps, pdc_row, psn)
    if nic.fetch_head == nic.fetch_tail and not prefetching:
        nic.data_ps = ready_ps
    if nic.fetch_handed == nic.fetch_tail:
        nic.handoff_ps = ready_ps
    nic.fetch_tail += 1


@small
def reserve(s, nic_row, par, nic, wire_bytes):
    """Reserve room in the data class's egress pool."""
    nic.egress_bytes += wire_bytes
    if par.stats & STAT_BUFFERS:
        enqueue_stat(s, nic_row, TX_TC0, wire_bytes, nic.egress_bytes)


@kernel
def queue_data(s, nic_row, par, pdc, psn, now_ps):
    """Hand down a packet that needs no fetch: a retransmission, or a payload from the prefetch buffer."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    give_header(s, nic_row, par, pdc, psn)
    i = take_packet(s)
    p = s.packets[i]
    s.clock[0].created += 1
    fill_data(s, nic_row, par, pdc, psn, p)
    p.time_ps = now_ps
    if nic.paused & 1:
        note_waiting(s.pfc[port.queue_begin], now_ps)
    append(s, s.queues[port.queue_begin + Q_RTX], i, p)
    port.queued += 1


@kernel
def fetch_next(s, nic_row, par, g, pdc_row, psn, now_ps):
    """Fetch the PDC's next segment; without the prefetch buffer that commits it to the wire."""
    nic = s.nics[nic_row]
    pdc = s.tx[pdc_row]
    payload = payload_bytes(par, pdc, psn)
    open_slot(s, pdc, psn)
    g.fetched_bytes += payload + NOMINAL_HEADER_BYTES
    if par.prefetch != 0:
        nic.prefetch_bytes += payload + DATA_HEADER_BYTES
    else:
        sample_window(s.counters[nic_row], g)
        g.inflight_bytes += payload + NOMINAL_HEADER_BYTES
        reserve(s, nic_row, par, nic, payload + DATA_HEADER_BYTES)
    ready_ps = fetch(s, nic_row, par, payload, now_ps)
    push_fetch(s, nic, pdc_row, psn, ready_ps, par.prefetch != 0)
    if psn == pdc.packets - 1:
        send_complete(s, nic_row, par, pdc, now_ps)


@kernel
def send_complete(s, nic_row, par, pdc, now_ps):
    """The fetch of a message's last segment has been issued: to the host, every byte has been sent."""
    sent(s, nic_row, s.ops[pdc.op], now_ps)
    if par.stats & STAT_EVENTS:
        log_event(s, nic_row, E_SEND_COMPLETE, pdc.dst, pdc.id, pdc.remote_id, pdc.tx_message, now_ps)


@small
def kind_of(pdc):
    """What a PDC with work sends next: it never skips to a later kind."""
    if pdc.rtx_head >= 0:
        return RETRANSMIT
    return COMMIT if pdc.commit_psn < pdc.arrived_psn else FETCH


@small
def psn_of(pdc, kind):
    """The PSN of that kind."""
    if kind == RETRANSMIT:
        return pdc.rtx_head
    return pdc.commit_psn if kind == COMMIT else pdc.next_psn


@small
def may_send(nic, par, g, pdc, kind):
    """SENT if the PDC's next packet has room: in the window, and in the pool that it needs."""
    payload = payload_bytes(par, pdc, psn_of(pdc, kind))
    ahead = kind == FETCH and par.prefetch != 0
    if par.pass_through == 0:
        if kind == FETCH and g.fetched_bytes > g.cwnd_bytes:
            return LEFT
        if not ahead and g.inflight_bytes + payload + NOMINAL_HEADER_BYTES > g.cwnd_bytes:
            return LEFT
    wire_bytes = payload + DATA_HEADER_BYTES
    if ahead:
        return SENT if nic.prefetch_bytes + wire_bytes <= par.prefetch_bytes else PREFETCH_FULL
    if nic.egress_bytes + wire_bytes > par.egress_bytes:
        nic.wake_bytes = min(par.egress_bytes >> 1, par.egress_bytes - wire_bytes)
        return POOL_FULL
    return SENT


@kernel
def send_of(s, nic_row, par, g, row, kind, now_ps):
    """Send a PDC's next packet of a kind: fetch it, or commit it to the wire."""
    pdc = s.tx[row]
    psn = psn_of(pdc, kind)
    if kind == FETCH:
        fetch_next(s, nic_row, par, g, row, psn, now_ps)
        return
    nic = s.nics[nic_row]
    payload = payload_bytes(par, pdc, psn)
    if kind == RETRANSMIT:
        pdc.rtx_head = s.slots[slot_row(pdc, psn)].rtx_next
        if pdc.rtx_head < 0:
            pdc.rtx_tail = -1
        s.counters[nic_row].num_rtx += 1
        s.ops[pdc.op].rtx_packets += 1
    else:
        pdc.commit_psn = psn + 1
        nic.prefetch_bytes -= payload + DATA_HEADER_BYTES
        sample_window(s.counters[nic_row], g)
    g.inflight_bytes += payload + NOMINAL_HEADER_BYTES
    reserve(s, nic_row, par, nic, payload + DATA_HEADER_BYTES)
    queue_data(s, nic_row, par, pdc, psn, now_ps)


@kernel
def serve_group(s, nic_row, par, group_row, now_ps):
    """The turn of a group: one packet of the first PDC, in their turns, that can send.

    Returns SENT, LEFT (none has something that fits in the window), POOL_FULL or PREFETCH_FULL.
    """
    g = s.groups[group_row]
    nic = s.nics[nic_row]
    result = LEFT
    before = -1
    row = g.turn_head
    while row >= 0:
        pdc = s.tx[row]
        after = pdc.turn_next
        if not has_work(pdc):
            drop_turn(s, g, before, row)
        else:
            kind = kind_of(pdc)
            outcome = may_send(nic, par, g, pdc, kind)
            if outcome == SENT:
                drop_turn(s, g, before, row)
                send_of(s, nic_row, par, g, row, kind, now_ps)
                if has_work(pdc):
                    join_turn(s, g, row)
                return SENT
            if outcome == POOL_FULL:
                return POOL_FULL
            if outcome == PREFETCH_FULL:
                result = PREFETCH_FULL
            before = row
        row = after
    return result


@small
def arm_wake(s, nic, now_ps):
    """A lower bound of when the egress pool has drained to `wake_bytes`."""
    port = s.ports[nic.port]
    excess = nic.egress_bytes - nic.wake_bytes
    at = max(port.free_ps, now_ps)
    if nic.serving != 0 and port.service_tc == TC_DATA:
        excess -= port.service_bytes
    if excess > 0:
        at += serialization_ps(port, excess)
    nic.wake_ps = at


@kernel
def transmit_pass(s, nic_row, now_ps):
    """Serve the groups of the ready queue until none can send. Cut short by a table or the budget, it is resumed."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    clock = s.clock[0]
    nic.pool_wait = 0
    nic.wake_ps = INF_PS
    blocked = -1
    while nic.ready_head >= 0:
        if clock.budget <= 0 or short_of(s) >= 0:
            nic.pool_wait = UNFINISHED
            return
        row = nic.ready_head
        outcome = serve_group(s, nic_row, par, row, now_ps)
        if outcome == SENT:
            clock.budget -= 1
            blocked = -1
            if nic.ready_tail != row or s.groups[row].turn_head < 0:
                pop_ready(s, nic)
                if s.groups[row].turn_head >= 0:
                    ready_at_tail(s, nic, row)
        elif outcome == LEFT:
            pop_ready(s, nic)
        elif outcome == POOL_FULL:
            nic.pool_wait = 1
            arm_wake(s, nic, now_ps)
            return
        else:
            if row == blocked:
                return
            if blocked < 0:
                blocked = row
            pop_ready(s, nic)
            ready_at_tail(s, nic, row)


@once
def wake(s, nic_row, now_ps):
    """The egress pool may have drained far enough."""
    nic = s.nics[nic_row]
    if nic.egress_bytes <= nic.wake_bytes:
        transmit_pass(s, nic_row, now_ps)
    else:
        arm_wake(s, nic, now_ps)


@once
def payload_arrived(s, nic_row, now_ps):
    """Prefetch buffer: the next payload is here; its PDC's group joins the ready queue's tail."""
    nic = s.nics[nic_row]
    entry = s.rings[nic.fetch_begin + (nic.fetch_handed & (nic.fetch_room - 1))]
    par = s.nicpar[s.nodes[nic.node].param]
    if nic.fetch_credit == nic.fetch_handed:
        leave_host(s, nic, par)
    pdc = s.tx[entry.a]
    pdc.arrived_psn = entry.b + 1
    nic.fetch_handed += 1
    nic.fetch_head = nic.fetch_handed
    nic.handoff_ps = INF_PS
    if nic.fetch_handed != nic.fetch_tail:
        nic.handoff_ps = s.rings[nic.fetch_begin + (nic.fetch_handed & (nic.fetch_room - 1))].time_ps
    join_turn(s, s.groups[pdc.group], entry.a)
    ready_at_tail(s, nic, pdc.group)
    transmit_pass(s, nic_row, now_ps)


@small
def send_control(s, nic_row, i, p, now_ps):
    """Hand down a control packet now."""
    p.role = CONTROL
    p.tc = TC_CONTROL
    p.time_ps = now_ps
    hand_down(s, nic_row, i, p)


@kernel
def send_probe(s, nic_row, pdc, now_ps):
    """A base-RTT probe (transport, Acknowledgements): 62 B, answered at once."""
    node = s.nodes[s.nics[nic_row].node]
    i = take_packet(s)
    p = s.packets[i]
    s.clock[0].created += 1
    s.counters[nic_row].probe_sent += 1
    p.src = node.id
    p.dst = pdc.dst
    p.entropy = pdc.id
    p.path_hash = path_hash(node.id, pdc.dst, pdc.id)
    p.size_bytes = PROBE_WIRE_BYTES
    p.in_port = 0
    p.psn = pdc.probe_psn
    p.spdc = pdc.id
    p.dpdc = pdc.remote_id
    p.flag_bits = 0
    p.ptype = PROBE
    p.code = 0
    p.message = pdc.rx_message
    p.cack = pdc.tx_message
    send_control(s, nic_row, i, p, now_ps)
