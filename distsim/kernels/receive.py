"""What a NIC does with a data packet or a probe: find or open the receiving half of the PDC, record, answer.

scala-computing/docs models/scala-uet-nic/transport (Receiving a packet, Acknowledgements, Selective acknowledgements,
Trimmed packets and NACKs). The answer reuses the packet's row.
"""

from __future__ import annotations

from ..state.tables import (
    ACK_CC,
    CONTROL,
    E_PDC_CREATED,
    E_PDC_TERMINATED,
    E_RECV_COMPLETE,
    F_AR,
    F_CE,
    F_ECHO,
    F_EOM,
    F_RESTORE,
    F_RTX,
    NACK,
    NIC_CONTROL,
    NIC_DATA,
    PROBE_ACK,
    Q_HELD,
    RX_DONE,
    RX_OPEN,
    RX_UNSEEN,
    STAT_EVENTS,
    STAT_MONITOR,
    TC_CONTROL,
    TRIES_SHIFT,
    TRIMMED,
    TRIMMED_LAST_HOP,
    WORD_RING,
)
from .groups import join_group, leave_group
from .ingress import admit, hold_ps, lose, penalty, processed, service_ticks, write_to_host
from .jit import kernel, once, small
from .links import append
from .monitor import log_event, log_nack, log_received
from .operations import tell
from .pools import give_packet, give_rx, give_words, take_rx, take_words
from .rng import MASK, path_hash
from .segments import ACK_WIRE_BYTES, DATA_HEADER_BYTES, ETHERNET_BYTES, NACK_WIRE_BYTES
from .transmit import send_control

UET_TRIMMED, UET_TRIMMED_LASTHOP = 1, 2
FIRST_RX_ID, LAST_RX_ID = 32769, 65535
RX_IDS = LAST_RX_ID - FIRST_RX_ID + 1
FARTHEST_BLOCK = 32000      # the SACK offset is 16 bits and signed


@kernel
def open_rx(s, nic_row, par, msg, p, now_ps):
    """The first packet of a message makes the receiving half of its PDC."""
    nic = s.nics[nic_row]
    row = take_rx(s)
    r = s.rx[row]
    r.expected = 0
    r.last = -1
    r.highest = -1
    r.held = 0
    r.word_room = WORD_RING
    r.word_begin = take_words(s, WORD_RING)
    r.sack_next = 0
    r.id = nic.next_rx_id
    nic.next_rx_id = nic.next_rx_id + 1 if nic.next_rx_id < LAST_RX_ID else FIRST_RX_ID
    r.remote_id = p.spdc
    r.src = p.src
    r.message = p.message
    r.peer_message = p.cack
    r.nic = nic_row
    r.group = join_group(s, nic_row, p.src, -1, r.id, now_ps) if par.groups != 0 else -1
    nic.open_rx += 1
    msg.pdc = row
    msg.state = RX_OPEN
    msg.id = r.id
    if par.stats & STAT_EVENTS:
        log_event(s, nic_row, E_PDC_CREATED, p.src, r.id, r.remote_id, -1, now_ps)


@small
def word_of(s, r, psn):
    """WORD row that holds the receive bit of a PSN."""
    return s.words[r.word_begin + ((psn >> 5) & (r.word_room - 1))]


@kernel
def grow_words(s, r, psn):
    """Make the ring of receive bits reach from the next expected PSN to `psn`."""
    room = r.word_room
    while (psn >> 5) - (r.expected >> 5) >= room:
        room *= 2
    first = take_words(s, room)
    for block in range(r.expected >> 5, (r.highest >> 5) + 1):
        s.words[first + (block & (room - 1))].seen = s.words[r.word_begin + (block & (r.word_room - 1))].seen
    give_words(s, r.word_begin, r.word_room)
    r.word_begin = first
    r.word_room = room


@kernel
def record_psn(s, counters, r, psn):
    """Note that `psn` arrived; False when it had arrived before."""
    if psn < r.expected:
        return False
    if (psn >> 5) - (r.expected >> 5) >= r.word_room:
        grow_words(s, r, psn)
    word = word_of(s, r, psn)
    bit = 1 << (psn & 31)
    if word.seen & bit:
        return False
    if psn > r.highest:
        r.highest = psn
    if psn > r.expected:
        word.seen = word.seen | bit
        r.held += 1
        counters.num_out_of_order_events_on_nic += 1
        if r.held > counters.ivl_max_out_of_order_on_flow:
            counters.ivl_max_out_of_order_on_flow = r.held
        return True
    r.expected = psn + 1
    while r.held > 0:
        word = word_of(s, r, r.expected)
        bit = 1 << (r.expected & 31)
        if not (word.seen & bit):
            break
        word.seen = word.seen & ~bit
        r.held -= 1
        r.expected += 1
    return True


@small
def seen_from(s, r, psn):
    """Receive bits of the 32 PSNs from `psn` on; `psn` is not past the highest received."""
    shift = psn & 31
    bits = word_of(s, r, psn).seen >> shift
    if shift > 0 and (psn | 31) < r.highest:
        bits |= (word_of(s, r, psn + 32).seen << (32 - shift)) & MASK
    return bits


@small
def write_sack(s, r, p):
    """The 64 PSNs beyond the cumulative one; when more are out of order, successive ACKs report successive blocks."""
    first = r.expected
    at = first
    if r.highest >= first + 64:
        at = r.sack_next
        if at < first or at > r.highest or at - first > FARTHEST_BLOCK:
            at = first
        r.sack_next = at + 64
    p.sack_lo = seen_from(s, r, at)
    p.sack_hi = seen_from(s, r, at + 32) if at + 32 <= r.highest else 0
    p.sack_offset = at - (r.expected - 1)


@small
def turn_around(s, i, p, size_bytes, ptype, local_id):
    """Make a received packet's row the answer to it."""
    clock = s.clock[0]
    clock.delivered += 1
    clock.created += 1
    src = p.dst
    p.dst = p.src
    p.src = src
    p.path_hash = path_hash(src, p.dst, p.entropy)
    p.size_bytes = size_bytes
    p.ptype = ptype
    p.dpdc = p.spdc
    p.spdc = local_id
    p.message = p.cack
    p.code = 0
    p.service = 0
    p.sack_lo = 0
    p.sack_hi = 0
    p.sack_offset = 0


@small
def answer_bits(p):
    """ECN echo, the copied retransmit flag, and which transmission is answered."""
    bits = p.flag_bits & (F_RTX | (0xFF << TRIES_SHIFT))
    if p.flag_bits & F_CE:
        bits |= F_ECHO
    return bits


@once
def receive_data(s, nic_row, i, now_ps):
    """A data packet, whole or trimmed: charge it, find its PDC, record it, write it to the host, answer it."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    p = s.packets[i]
    trimmed = p.role == TRIMMED or p.role == TRIMMED_LAST_HOP
    number = NIC_CONTROL if trimmed else NIC_DATA
    wire_bytes = p.size_bytes
    if not admit(s, nic_row, par, number, wire_bytes, now_ps):
        give_packet(s, i)
        return
    msg = s.rxmsg[nic.rx_begin + p.message - nic.rx_first]
    if msg.state == RX_UNSEEN and nic.open_rx >= RX_IDS:        # no PDC id is left: as if it had not fitted
        processed(s, nic_row, par, number, wire_bytes, now_ps)
        lose(s, nic_row, par, number)
        give_packet(s, i)
        return
    s.counters[nic_row].write_pkts_rcvd += 1
    if msg.state == RX_UNSEEN:
        open_rx(s, nic_row, par, msg, p, now_ps)
    if par.stats & STAT_MONITOR:
        log_received(s, nic_row, p, -1, now_ps)
    if trimmed:
        processed(s, nic_row, par, number, wire_bytes, now_ps)
        answer_trimmed(s, nic_row, par, msg, i, now_ps)
    elif msg.state == RX_DONE:
        s.counters[nic_row].num_dup_events_on_nic += 1
        processed(s, nic_row, par, number, wire_bytes, now_ps)
        answer(s, nic_row, par, i, msg.id, msg.last, -1, wire_bytes, now_ps)
    else:
        record_data(s, nic_row, par, msg, i, now_ps)


@once
def record_data(s, nic_row, par, msg, i, now_ps):
    """A data packet of an open PDC."""
    counters = s.counters[nic_row]
    p = s.packets[i]
    wire_bytes = p.size_bytes
    row = msg.pdc
    r = s.rx[row]
    if p.flag_bits & F_EOM:
        r.last = p.psn
    fresh = record_psn(s, counters, r, p.psn)
    answer(s, nic_row, par, i, r.id, r.expected - 1, row, wire_bytes, now_ps)
    if fresh:
        write_to_host(s, nic_row, par, wire_bytes - DATA_HEADER_BYTES, wire_bytes - ETHERNET_BYTES, now_ps)
    else:
        counters.num_dup_events_on_nic += 1
        processed(s, nic_row, par, NIC_DATA, wire_bytes, now_ps)
    if r.last >= 0 and r.expected > r.last:
        complete_rx(s, nic_row, par, msg, r, now_ps)


@kernel
def answer(s, nic_row, par, i, local_id, cack, rx_row, wire_bytes, now_ps):
    """ACK a data packet that asks for it, held for the PCIe service time behind the ACKs before it; else drop its row.

    rx_row : RXPDC row whose out-of-order packets the ACK reports, -1 for none.
    """
    p = s.packets[i]
    if not (p.flag_bits & F_AR):
        s.clock[0].delivered += 1
        give_packet(s, i)
        return
    nic = s.nics[nic_row]
    counters = s.counters[nic_row]
    bits = answer_bits(p)
    if bits & F_ECHO:
        counters.m_marked_pkts_sent += 1
    if par.restore != 0:
        bits |= F_RESTORE
    p.flag_bits = bits
    turn_around(s, i, p, ACK_WIRE_BYTES, ACK_CC, local_id)
    p.cack = cack
    if rx_row >= 0 and s.rx[rx_row].held > 0:
        write_sack(s, s.rx[rx_row], p)
    hold = hold_ps(nic, par, wire_bytes - ETHERNET_BYTES)
    p.service = service_ticks(hold)
    p.code = penalty(nic, par, wire_bytes - ETHERNET_BYTES)
    p.role = CONTROL
    p.tc = TC_CONTROL
    nic.hold_until_ps = max(nic.hold_until_ps, now_ps + hold)
    p.time_ps = nic.hold_until_ps
    held = s.queues[s.ports[nic.port].queue_begin + Q_HELD]
    if held.packets == 0:
        nic.held_ps = p.time_ps
    append(s, held, i, p)


@kernel
def answer_trimmed(s, nic_row, par, msg, i, now_ps):
    """A NACK for a trimmed packet, at once and ahead of held ACKs."""
    p = s.packets[i]
    s.counters[nic_row].nack_pkts_sent += 1
    code = UET_TRIMMED_LASTHOP if p.role == TRIMMED_LAST_HOP else UET_TRIMMED
    p.flag_bits = answer_bits(p)
    turn_around(s, i, p, NACK_WIRE_BYTES, NACK, msg.id)
    p.code = code
    send_control(s, nic_row, i, p, now_ps)
    if par.stats & STAT_MONITOR:
        log_nack(s, nic_row, p, now_ps)


@kernel
def complete_rx(s, nic_row, par, msg, r, now_ps):
    """RECV_COMPLETE: the receiving half ends; what remains of it answers duplicates."""
    s.clock[0].recvs_done += 1
    s.nics[nic_row].open_rx -= 1
    msg.state = RX_DONE
    msg.last = r.last
    give_words(s, r.word_begin, r.word_room)
    group = r.group
    if par.stats & STAT_EVENTS:
        log_event(s, nic_row, E_RECV_COMPLETE, r.src, r.id, r.remote_id, -1, now_ps)
        log_event(s, nic_row, E_PDC_TERMINATED, r.src, r.id, r.remote_id, -1, now_ps)
    row = msg.pdc
    msg.pdc = -1
    give_rx(s, row)
    if group >= 0:
        leave_group(s, group)
    tell(s, nic_row, msg.edge_begin, msg.edge_count, now_ps)


@once
def receive_probe(s, nic_row, i, now_ps):
    """A base-RTT probe is answered at once with an ACK."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    counters = s.counters[nic_row]
    p = s.packets[i]
    if not admit(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps):
        give_packet(s, i)
        return
    counters.probe_rcvd += 1
    if par.stats & STAT_MONITOR:
        log_received(s, nic_row, p, -1, now_ps)
    processed(s, nic_row, par, NIC_CONTROL, p.size_bytes, now_ps)
    msg = s.rxmsg[nic.rx_begin + p.message - nic.rx_first]
    counters.ack_pkts_sent += 1
    p.flag_bits = answer_bits(p)
    if p.flag_bits & F_ECHO:
        counters.m_marked_pkts_sent += 1
    turn_around(s, i, p, ACK_WIRE_BYTES, PROBE_ACK, msg.id)
    p.cack = msg.last if msg.state == RX_DONE else s.rx[msg.pdc].expected - 1
    send_control(s, nic_row, i, p, now_ps)
