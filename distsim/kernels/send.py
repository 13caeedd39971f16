"""What a NIC puts on the wire: control packets first, then data, one packet from one PDC of one group a turn.

scala-computing/docs models/scala-uet-nic/transport (Segmentation, Packets on the wire, PDC groups and the transmit
scheduler, Acknowledgements). A data packet is built when the port takes it, so the window is checked at that moment.
"""

from __future__ import annotations

from ..state.tables import (
    CONTROL,
    F_AR,
    F_EOM,
    F_RTX,
    NO_TRIM,
    PROBE,
    RUD_REQUEST,
    SLOT_SENT,
    TC_CONTROL,
    TC_DATA,
    TRIMMABLE,
    TRIMMABLE_RTX,
)
from . import spray
from .groups import has_work, join_turn, pop_ready, pop_turn, ready_at_tail
from .jit import kernel, small
from .links import charge_bytes, enqueue, pop_strict, start_service
from .pools import give_slots, take_packet, take_slots
from .rng import path_hash

DATA_HEADER_BYTES = 106       # payload + this on the wire: Ethernet 18, IPv4 20, UDP 8, PDS 16, SES 44
NOMINAL_HEADER_BYTES = 88     # payload + this is the IP datagram, the unit of the window
ACK_WIRE_BYTES, NACK_WIRE_BYTES, PROBE_WIRE_BYTES = 78, 62, 62
MAX_TRIES = 255


@small
def payload_bytes(par, pdc, psn):
    """Payload of a PSN: RdmaDataMSS but for the message's last packet."""
    return pdc.last_bytes if psn == pdc.packets - 1 else par.mss_bytes


@small
def slot_row(pdc, psn):
    """SLOT row of an outstanding PSN."""
    return pdc.slot_begin + (psn & (pdc.slot_room - 1))


@small
def rto_ps(par, tries):
    """Timeout of a packet sent `tries` times: doubles with every retransmission up to the cap, or is fixed."""
    if par.rto_fixed != 0:
        return par.rto_ps
    doublings = tries - 1
    if doublings > par.rto_max_backoff:
        doublings = par.rto_max_backoff
    return par.rto_ps << doublings


@small
def wants_ack(par, pdc, psn):
    """ACK-request rule: every n-th transmission of the PDC, counted from the first or not, and the last packet."""
    count = pdc.transmissions
    if par.ar_first != 0:
        asks = (count - 1) % par.ar_every == 0
    else:
        asks = count % par.ar_every == 0
    return asks or (par.ar_last != 0 and psn == pdc.packets - 1)


@kernel
def grow_slots(s, pdc):
    """Double the PDC's ring of PSN slots."""
    room = 2 * pdc.slot_room
    first = take_slots(s, room)
    for psn in range(pdc.unacked, pdc.next_psn):
        old = s.slots[slot_row(pdc, psn)]
        new = s.slots[first + (psn & (room - 1))]
        new.end_ps = old.end_ps
        new.rtx_next = old.rtx_next
        new.entropy = old.entropy
        new.tries = old.tries
        new.state = old.state
    give_slots(s, pdc.slot_begin, pdc.slot_room)
    pdc.slot_begin = first
    pdc.slot_room = room


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
def send_data(s, nic_row, par, g, pdc, psn, retransmission, now_ps):
    """Build the data packet of `psn` and start to serialize it; its timer starts when the serialization ends."""
    nic = s.nics[nic_row]
    node = s.nodes[nic.node]
    counters = s.counters[nic_row]
    pdc.transmissions += 1
    payload = payload_bytes(par, pdc, psn)
    i = take_packet(s)
    p = s.packets[i]
    s.clock[0].created += 1
    entropy = spray.pick(g, par)
    bits = 0
    if psn == pdc.packets - 1:
        bits |= F_EOM
    if wants_ack(par, pdc, psn):
        bits |= F_AR
    role = TRIMMABLE if par.trimming != 0 else NO_TRIM
    slot = s.slots[slot_row(pdc, psn)]
    if retransmission:
        bits |= F_RTX
        if par.distinct_rtx != 0:
            role = TRIMMABLE_RTX
        counters.num_rtx += 1
        s.ops[pdc.op].rtx_packets += 1
        if slot.tries < MAX_TRIES:
            slot.tries += 1
    else:
        slot.tries = 1
        sample_window(counters, g)
    if slot.tries > counters.ivl_max_tx_count:
        counters.ivl_max_tx_count = slot.tries
    counters.write_pkts_sent += 1
    p.src = node.id
    p.dst = pdc.dst
    p.entropy = entropy
    p.path_hash = path_hash(node.id, pdc.dst, entropy)
    p.size_bytes = payload + DATA_HEADER_BYTES
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
    g.inflight_bytes += payload + NOMINAL_HEADER_BYTES
    port = s.ports[nic.port]
    end = start_service(s, port, i, p, now_ps)
    slot.end_ps = end
    slot.entropy = entropy
    slot.state = SLOT_SENT
    deadline = end + rto_ps(par, slot.tries)
    if deadline < pdc.rto_ps:
        pdc.rto_ps = deadline
        nic.rto_ps = min(nic.rto_ps, deadline)


@kernel
def serve_group(s, nic_row, par, group_row, now_ps):
    """One packet of the PDC whose turn it is: its oldest retransmission, else its next segment.

    Returns True when a packet went out. False: the packet does not fit in the window, or there is none.
    """
    g = s.groups[group_row]
    while g.turn_head >= 0:
        pdc = s.tx[g.turn_head]
        if has_work(pdc):
            break
        pop_turn(s, g)
    if g.turn_head < 0:
        return False
    pdc = s.tx[g.turn_head]
    retransmission = pdc.rtx_head >= 0
    psn = pdc.rtx_head if retransmission else pdc.next_psn
    nominal = payload_bytes(par, pdc, psn) + NOMINAL_HEADER_BYTES
    if par.pass_through == 0 and g.inflight_bytes + nominal > g.cwnd_bytes:
        return False
    if retransmission:
        pdc.rtx_head = s.slots[slot_row(pdc, psn)].rtx_next
        if pdc.rtx_head < 0:
            pdc.rtx_tail = -1
    else:
        if psn - pdc.unacked >= pdc.slot_room:
            grow_slots(s, pdc)
        pdc.next_psn = psn + 1
    row = pop_turn(s, g)
    send_data(s, nic_row, par, g, pdc, psn, retransmission, now_ps)
    if has_work(pdc):
        join_turn(s, g, row)
    return True


@kernel
def transmit(s, nic_row, now_ps):
    """The port is free: start the next packet if there is one to send."""
    nic = s.nics[nic_row]
    port = s.ports[nic.port]
    if port.queued > 0:
        i = pop_strict(s, port)
        p = s.packets[i]
        start_control(s, nic, port, i, p, now_ps)
        return
    par = s.nicpar[s.nodes[nic.node].param]
    while nic.ready_head >= 0:
        row = pop_ready(s, nic)
        if serve_group(s, nic_row, par, row, now_ps):
            if s.groups[row].turn_head >= 0:
                ready_at_tail(s, nic, row)
            return


@small
def start_control(s, nic, port, i, p, now_ps):
    """Serialize a control packet; a probe's round trip counts from the end of its serialization."""
    end = start_service(s, port, i, p, now_ps)
    if p.ptype == PROBE:
        s.ops[nic.op_begin + p.cack - nic.op_first].probe_end_ps = end


@small
def send_control(s, nic, i, p, now_ps):
    """Hand down a control packet: it goes at once if the port is idle, else it waits ahead of all data."""
    port = s.ports[nic.port]
    p.role = CONTROL
    p.tc = TC_CONTROL
    if port.free_ps <= now_ps and port.queued == 0:
        start_control(s, nic, port, i, p, now_ps)
    else:
        enqueue(s, port, TC_CONTROL, i, p, charge_bytes(p.size_bytes))


@kernel
def send_probe(s, nic_row, pdc, now_ps):
    """A base-RTT probe (transport, Acknowledgements): 62 B, answered at once."""
    nic = s.nics[nic_row]
    node = s.nodes[nic.node]
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
    send_control(s, nic, i, p, now_ps)
