"""What a NIC does with a data packet or a probe: find or open the receiving half of the PDC, record, answer.

scala-computing/docs models/scala-uet-nic/transport (Receiving a packet, Acknowledgements, Selective acknowledgements,
Trimmed packets and NACKs). The answer reuses the packet's row.
"""

from __future__ import annotations

from ..state.tables import (
    ACK_CC,
    F_AR,
    F_CE,
    F_ECHO,
    F_EOM,
    F_RTX,
    NACK,
    PROBE_ACK,
    RX_DONE,
    RX_OPEN,
    RX_UNSEEN,
    TRIMMED,
    TRIMMED_LAST_HOP,
    WORD_RING,
)
from .groups import join_group, leave_group
from .jit import kernel, small
from .operations import tell
from .pools import give_packet, give_rx, give_words, take_rx, take_words
from .rng import MASK, path_hash
from .send import ACK_WIRE_BYTES, NACK_WIRE_BYTES, send_control

UET_TRIMMED, UET_TRIMMED_LASTHOP = 1, 2
FIRST_RX_ID, LAST_RX_ID = 32769, 65535
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
    r.group = join_group(s, nic_row, p.src, -1, now_ps) if par.groups != 0 else -1
    nic.open_rx += 1
    msg.pdc = row
    msg.state = RX_OPEN
    msg.id = r.id


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
def answer_bits(counters, p):
    """ECN echo and the copied retransmit flag."""
    bits = p.flag_bits & F_RTX
    if p.flag_bits & F_CE:
        bits |= F_ECHO
    return bits


@kernel
def receive_data(s, nic_row, i, now_ps):
    """A data packet, whole or trimmed."""
    nic = s.nics[nic_row]
    par = s.nicpar[s.nodes[nic.node].param]
    counters = s.counters[nic_row]
    p = s.packets[i]
    counters.write_pkts_rcvd += 1
    msg = s.rxmsg[nic.rx_begin + p.message - nic.rx_first]
    if msg.state == RX_UNSEEN:
        open_rx(s, nic_row, par, msg, p, now_ps)
    if p.role == TRIMMED or p.role == TRIMMED_LAST_HOP:
        code = UET_TRIMMED_LASTHOP if p.role == TRIMMED_LAST_HOP else UET_TRIMMED
        counters.nack_pkts_sent += 1
        p.flag_bits = answer_bits(counters, p)
        turn_around(s, i, p, NACK_WIRE_BYTES, NACK, msg.id)
        p.code = code
        send_control(s, nic, i, p, now_ps)
        return
    asks = (p.flag_bits & F_AR) != 0
    if msg.state == RX_DONE:
        counters.num_dup_events_on_nic += 1
        if asks:
            start_ack(s, counters, i, p, msg.id)
            p.cack = msg.last
            send_control(s, nic, i, p, now_ps)
        else:
            s.clock[0].delivered += 1
            give_packet(s, i)
        return
    r = s.rx[msg.pdc]
    if p.flag_bits & F_EOM:
        r.last = p.psn
    if not record_psn(s, counters, r, p.psn):
        counters.num_dup_events_on_nic += 1
    if asks:
        start_ack(s, counters, i, p, r.id)
        p.cack = r.expected - 1
        if r.held > 0:
            write_sack(s, r, p)
        send_control(s, nic, i, p, now_ps)
    else:
        s.clock[0].delivered += 1
        give_packet(s, i)
    if r.last >= 0 and r.expected > r.last:
        complete_rx(s, nic_row, msg, r, now_ps)


@small
def start_ack(s, counters, i, p, local_id):
    """Count an ACK and turn the packet into it."""
    counters.ack_pkts_sent += 1
    p.flag_bits = answer_bits(counters, p)
    if p.flag_bits & F_ECHO:
        counters.m_marked_pkts_sent += 1
    turn_around(s, i, p, ACK_WIRE_BYTES, ACK_CC, local_id)


@kernel
def complete_rx(s, nic_row, msg, r, now_ps):
    """RECV_COMPLETE: the receiving half ends; what remains of it answers duplicates."""
    s.clock[0].recvs_done += 1
    s.nics[nic_row].open_rx -= 1
    msg.state = RX_DONE
    msg.last = r.last
    give_words(s, r.word_begin, r.word_room)
    group = r.group
    row = msg.pdc
    msg.pdc = -1
    give_rx(s, row)
    if group >= 0:
        leave_group(s, group)
    tell(s, nic_row, msg.edge_begin, msg.edge_count, now_ps)


@kernel
def receive_probe(s, nic_row, i, now_ps):
    """A base-RTT probe is answered at once with an ACK."""
    nic = s.nics[nic_row]
    counters = s.counters[nic_row]
    p = s.packets[i]
    counters.probe_rcvd += 1
    msg = s.rxmsg[nic.rx_begin + p.message - nic.rx_first]
    counters.ack_pkts_sent += 1
    p.flag_bits = answer_bits(counters, p)
    if p.flag_bits & F_ECHO:
        counters.m_marked_pkts_sent += 1
    turn_around(s, i, p, ACK_WIRE_BYTES, PROBE_ACK, msg.id)
    p.cack = msg.last if msg.state == RX_DONE else s.rx[msg.pdc].expected - 1
    send_control(s, nic, i, p, now_ps)
