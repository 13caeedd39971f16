"""The sending side of a NIC: payloads on their way from the host, held ACKs, and the port.

scala-computing/docs models/scala-uet-nic/buffers-and-pfc (Egress buffer, Transmit scheduling) and transport. None of
this needs events: what a payload's arrival, a held ACK's release or a start of serialization does can be done later, as
long as it is done before the next thing that happens at the NIC. `catch_up` does it, in order of time.
"""

from __future__ import annotations

from ..state.tables import (
    F_AR,
    F_EOM,
    F_RTX,
    INF_PS,
    NIC_CONTROL,
    NIC_DATA,
    NO_TRIM,
    OP_ACTIVE,
    P_MONITOR,
    P_PACKET,
    PROBE,
    Q_CONTROL,
    Q_HELD,
    Q_PFC,
    Q_RTX,
    RUD_REQUEST,
    S_STRICT,
    S_WEIGHTED,
    SLOT_QUEUED,
    SLOT_QUEUED_AR,
    SLOT_SENT,
    STAT_BUFFERS,
    STAT_MONITOR,
    TC_CONTROL,
    TC_DATA,
    TRIES_SHIFT,
    TRIMMABLE,
    TRIMMABLE_RTX,
    TX_TC0,
    TX_TC1,
)
from . import spray
from .ingress import dequeue, enqueue_stat, release_due
from .jit import kernel, small
from .links import append, pop_queue, start_service
from .monitor import log_sent, note_service
from .pcie import leave_host
from .pfc import note_waiting
from .pools import take_packet
from .rng import path_hash
from .room import short_of_log, short_of_packets
from .segments import DATA_HEADER_BYTES, MAX_TRIES, arm_timers, payload_bytes, slot_row, wants_ack


@small
def head_time_ps(s, port, number):
    """When the first packet of a queue of the NIC's port was ready to go, INF_PS: there is none."""
    queue = s.queues[port.queue_begin + number]
    if queue.packets == 0:
        return INF_PS
    return s.packets[queue.head].time_ps


@small
def held_until_ps(s, nic, port, number, at_ps):
    """`at_ps`, or the end of the pause of the class if that is later."""
    if (nic.paused >> number) & 1 and at_ps < INF_PS:
        return max(at_ps, s.pfc[port.queue_begin + number].pause_end_ps)
    return at_ps


@small
def next_start(s, nic, port):
    """When the port starts the next frame, if nothing else happens first."""
    data = nic.data_ps
    control = nic.held_ps
    first = INF_PS
    if port.queued > 0:
        data = min(data, head_time_ps(s, port, Q_RTX))
        control = min(control, head_time_ps(s, port, Q_CONTROL))
        first = head_time_ps(s, port, Q_PFC)
    if nic.paused != 0:
        data = held_until_ps(s, nic, port, NIC_DATA, data)
        control = held_until_ps(s, nic, port, NIC_CONTROL, control)
    return max(port.free_ps, min(first, min(data, control)))


@kernel
def give_header(s, nic_row, par, pdc, psn):
    """A packet is handed down: entropy value and ACK request, counted as sent."""
    g = s.groups[pdc.group]
    counters = s.counters[nic_row]
    slot = s.slots[slot_row(pdc, psn)]
    pdc.transmissions += 1
    slot.entropy = spray.pick(s, nic_row, g, par)
    slot.state = SLOT_QUEUED_AR if wants_ack(par, pdc, psn) else SLOT_QUEUED
    if slot.tries < MAX_TRIES:
        slot.tries += 1
    if slot.tries > counters.ivl_max_tx_count:
        counters.ivl_max_tx_count = slot.tries
    counters.write_pkts_sent += 1


@kernel
def hand_off(s, nic_row, par, until_ps):
    """Payloads that have come from the host by `until_ps` get their headers and join the egress queue."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    while nic.handoff_ps <= until_ps:
        at = nic.fetch_handed
        entry = s.rings[nic.fetch_begin + (at & (nic.fetch_room - 1))]
        if nic.paused & 1:
            note_waiting(s.pfc[port.queue_begin + NIC_DATA], entry.time_ps)
        if nic.fetch_credit == at:
            leave_host(s, nic, par)
        give_header(s, nic_row, par, s.tx[entry.a], entry.b)
        nic.fetch_handed = at + 1
        nic.handoff_ps = INF_PS
        if at + 1 != nic.fetch_tail:
            nic.handoff_ps = s.rings[nic.fetch_begin + ((at + 1) & (nic.fetch_room - 1))].time_ps


@kernel
def release_acks(s, nic_row, until_ps):
    """Held ACKs whose time has come are handed down."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    counters = s.counters[nic_row]
    held = s.queues[port.queue_begin + Q_HELD]
    while nic.held_ps <= until_ps:
        i = pop_queue(s, held)
        nic.held_ps = s.packets[held.head].time_ps if held.packets > 0 else INF_PS
        counters.ack_pkts_sent += 1
        hand_down(s, nic_row, i, s.packets[i])


@small
def hand_down(s, nic_row, i, p):
    """A control packet, ready at p.time_ps, waits for the port."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    nic.control_bytes += p.size_bytes
    par = s.nicpar[s.nodes[nic.node].param]
    if par.stats & STAT_BUFFERS:
        enqueue_stat(s, nic_row, TX_TC1, p.size_bytes, min(nic.control_bytes, par.egress_control_bytes))
        if nic.control_bytes > par.egress_control_bytes:
            s.buff[4 * nic_row + TX_TC1].overflow += 1
    if nic.paused & 2:
        note_waiting(s.pfc[port.queue_begin + NIC_CONTROL], p.time_ps)
    append(s, s.queues[port.queue_begin + Q_CONTROL], i, p)
    port.queued += 1


@kernel
def fill_data(s, nic_row, par, pdc, psn, p):
    """Build the data packet of a PSN whose header has been given (`give_header`)."""
    node = s.nodes[s.nics[nic_row].node]
    slot = s.slots[slot_row(pdc, psn)]
    bits = slot.tries * (1 << TRIES_SHIFT)
    role = TRIMMABLE if par.trimming != 0 else NO_TRIM
    if psn == pdc.packets - 1:
        bits |= F_EOM
    if slot.state == SLOT_QUEUED_AR:
        bits |= F_AR
    if slot.tries > 1:
        bits |= F_RTX
        if par.distinct_rtx != 0:
            role = TRIMMABLE_RTX
    entropy = slot.entropy
    p.src = node.id
    p.dst = pdc.dst
    p.entropy = entropy
    p.path_hash = path_hash(node.id, pdc.dst, entropy)
    p.size_bytes = payload_bytes(par, pdc, psn) + DATA_HEADER_BYTES
    p.in_port = 0
    p.tc = TC_DATA
    p.role = role
    p.psn = psn
    p.spdc = pdc.id
    p.dpdc = pdc.remote_id
    p.flag_bits = bits
    p.ptype = RUD_REQUEST
    p.code = 0
    p.message = pdc.rx_message
    p.cack = pdc.tx_message


@small
def start_first(s, nic_row, par, port, at_ps):
    """Start the first packet of the fetch ring."""
    nic = s.nics[nic_row]
    entry = s.rings[nic.fetch_begin + (nic.fetch_head & (nic.fetch_room - 1))]
    pdc = s.tx[entry.a]
    psn = entry.b
    nic.fetch_head += 1
    nic.data_ps = INF_PS
    if nic.fetch_head != nic.fetch_tail:
        nic.data_ps = s.rings[nic.fetch_begin + (nic.fetch_head & (nic.fetch_room - 1))].time_ps
    i = take_packet(s)
    p = s.packets[i]
    s.clock[0].created += 1
    fill_data(s, nic_row, par, pdc, psn, p)
    if par.stats & STAT_MONITOR:
        note_service(s, nic_row, p)
    end = start_service(s, port, i, p, at_ps)
    slot = s.slots[slot_row(pdc, psn)]
    slot.state = SLOT_SENT
    arm_timers(nic, par, s.groups[pdc.group], pdc, slot, end)


@kernel
def start_queued(s, nic_row, par, number, at_ps):
    """Start the first packet of one of the port's queues."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    i = pop_queue(s, s.queues[port.queue_begin + number])
    port.queued -= 1
    p = s.packets[i]
    if par.stats & STAT_MONITOR:
        note_service(s, nic_row, p)
    end = start_service(s, port, i, p, at_ps)
    if p.ptype == PROBE:
        s.ops[nic.op_begin + p.cack - nic.op_first].mark_ps = end
    elif p.ptype == RUD_REQUEST:
        op = s.ops[nic.op_begin + p.cack - nic.op_first]
        if op.state == OP_ACTIVE:
            pdc = s.tx[op.pdc]
            if p.psn >= pdc.unacked:
                slot = s.slots[slot_row(pdc, p.psn)]
                if slot.state == SLOT_QUEUED or slot.state == SLOT_QUEUED_AR:
                    slot.state = SLOT_SENT
                    arm_timers(nic, par, s.groups[pdc.group], pdc, slot, end)


@small
def take_turn(nic, par, data, control):
    """The class that sends next (Transmit scheduling); at least one of the two has a packet to send."""
    if par.scheduling == S_STRICT:
        return NIC_CONTROL if control else NIC_DATA
    chosen = nic.turn_class
    if (chosen == NIC_CONTROL and not control) or (chosen == NIC_DATA and not data):
        chosen = 1 - chosen
        nic.turn_left = turn_packets(par, chosen)
    nic.turn_left -= 1
    nic.turn_class = chosen
    if nic.turn_left <= 0:
        nic.turn_class = 1 - chosen
        nic.turn_left = turn_packets(par, 1 - chosen)
    return chosen


@small
def turn_packets(par, number):
    """Packets that a class may send in its turn."""
    if par.scheduling != S_WEIGHTED:
        return 1
    return par.weight_1 if number == NIC_CONTROL else par.weight_0


@kernel
def start_next(s, nic_row, par, at_ps):
    """The port takes the next frame at `at_ps`: PFC frames first, then one class."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    nic.serving = 1
    if port.queued == 0:
        start_first(s, nic_row, par, port, at_ps)
        if par.scheduling != S_STRICT:
            take_turn(nic, par, True, False)
        return
    if head_time_ps(s, port, Q_PFC) <= at_ps:
        start_queued(s, nic_row, par, Q_PFC, at_ps)
        return
    again = head_time_ps(s, port, Q_RTX)
    data = held_until_ps(s, nic, port, NIC_DATA, min(nic.data_ps, again)) <= at_ps
    control = held_until_ps(s, nic, port, NIC_CONTROL, head_time_ps(s, port, Q_CONTROL)) <= at_ps
    if take_turn(nic, par, data, control) == NIC_CONTROL:
        start_queued(s, nic_row, par, Q_CONTROL, at_ps)
    elif again <= nic.data_ps:
        start_queued(s, nic_row, par, Q_RTX, at_ps)
    else:
        start_first(s, nic_row, par, port, at_ps)


@small
def finish(s, nic_row, par, nic, port):
    """The frame in service has gone: its egress reservation ends. ACKs released before that are handed down first."""
    if nic.held_ps < port.free_ps:
        release_acks(s, nic_row, port.free_ps - 1)
    nic.serving = 0
    size_bytes = port.service_bytes
    if port.service_tc == TC_DATA:
        nic.egress_bytes -= size_bytes
        if par.stats & STAT_BUFFERS:
            dequeue(s, nic_row, TX_TC0, size_bytes, nic.egress_bytes)
    elif port.service_tc == TC_CONTROL:
        nic.control_bytes -= size_bytes
        if par.stats & STAT_BUFFERS:
            dequeue(s, nic_row, TX_TC1, size_bytes, min(nic.control_bytes, par.egress_control_bytes))
    if nic.monitored != 0:
        log_sent(s, nic_row, port.free_ps)


@kernel
def catch_up(s, nic_row, until_ps):
    """Do all that happens by itself up to and at `until_ps`: payloads arriving, releases, ends and starts at the port.

    It stops before `until_ps` once a timer is due. Returns when the port starts next, or -1: a table or the budget ran
    short; call again.
    """
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    node = s.nodes[nic.node]
    par = s.nicpar[node.param]
    clock = s.clock[0]
    while True:
        at = next_start(s, nic, port)
        if at > until_ps:
            break
        if clock.budget <= 0:
            return -1
        if short_of_packets(s):
            clock.need = P_PACKET
            return -1
        if nic.monitored != 0 and short_of_log(s):
            clock.need = P_MONITOR
            return -1
        if nic.serving != 0:
            finish(s, nic_row, par, nic, port)
        clock.budget -= 1
        if nic.handoff_ps <= at and par.prefetch == 0:
            hand_off(s, nic_row, par, at)
        if nic.held_ps <= at:
            release_acks(s, nic_row, at)
        start_next(s, nic_row, par, at)
        until_ps = min(until_ps, min(nic.rto_ps, nic.fail_ps))
    if nic.serving != 0 and port.free_ps <= until_ps:
        if nic.monitored != 0 and short_of_log(s):
            clock.need = P_MONITOR
            return -1
        finish(s, nic_row, par, nic, port)
    if nic.handoff_ps <= until_ps and par.prefetch == 0:
        hand_off(s, nic_row, par, until_ps)
    if nic.held_ps <= until_ps:
        release_acks(s, nic_row, until_ps)
    if nic.release_ps <= until_ps:
        release_due(s, nic_row, par, until_ps)
    return at


__all__ = ["catch_up", "fill_data", "give_header", "hand_down", "next_start"]
