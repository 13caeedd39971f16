"""Rows of uet-events and uet-monitor, written where things happen; the loop hands them to the records.

scala-computing/docs models/scala-uet-nic/records. A sent data packet, ACK or probe is logged when it has gone: it is
noted at the start of its serialization and completed at the end. A connection (one message) is watched at each of its
ends from `monitor_ps` of its OP or RXMSG row on. A filter or a trigger that chooses one writes a CHOSEN row; once the
window is over the loop applies the triggers' budget and tells the other end (`distsim/watching.py`).
"""

from __future__ import annotations

from ..state.tables import (
    ACK_CC,
    M_ACK_RX,
    M_ACK_TX,
    M_DATA_RX,
    M_DATA_TX,
    M_NACK_RX,
    M_NACK_TX,
    M_PROBE_RX,
    M_PROBE_TX,
    NACK,
    P_EVENT,
    P_MONITOR,
    PROBE,
    PROBE_ACK,
    RUD_REQUEST,
    TRIES_SHIFT,
)
from .groups import find_group
from .jit import kernel, small
from .segments import DATA_HEADER_BYTES
from .watch import watched

UID_DATA, UID_ACK, UID_NACK, UID_PROBE = 0, 1, 2, 3


@kernel
def log_event(s, nic_row, kind, peer, local_id, remote_id, op, now_ps):
    """A row of uet-events; `op`: global operation of the work request, -1 on events that have none."""
    nic = s.nics[nic_row]
    pool = s.pools[P_EVENT]
    row = s.events[pool.used]
    pool.used += 1
    row.time_ps = now_ps
    row.node = s.nodes[nic.node].id
    row.peer = peer
    row.local_id = local_id
    row.remote_id = remote_id
    row.kind = kind
    row.wqe = 0
    row.size_bytes = -1
    if op >= 0:
        row.wqe = op + 1
        row.size_bytes = s.ops[nic.op_begin + op - nic.op_first].length_bytes


@small
def uid_of(op, psn, tries, kind):
    """A packet's id: from its message, PSN, transmission and kind, so the same for every rank count.

    Different for all packets of a run while operations are below 2**29 and PSNs below 2**24.
    """
    return ((((op << 24) | (psn & 0xFFFFFF)) << 8) | tries) << 2 | kind


@small
def message_op(p):
    """Global operation of the message that a packet belongs to."""
    if p.ptype == RUD_REQUEST or p.ptype == PROBE:
        return p.cack
    return p.message


@kernel
def fill_row(node_id, m, p, row, received):
    """What every row says about its packet."""
    op = message_op(p)
    tries = p.flag_bits // (1 << TRIES_SHIFT)
    m.node = node_id
    m.peer = p.src if received else p.dst
    m.local_id = p.dpdc if received else p.spdc
    m.remote_id = p.spdc if received else p.dpdc
    m.op = op
    m.job = 0
    m.size_bytes = p.size_bytes
    m.entropy = p.entropy
    m.psn = p.psn
    m.bits = p.flag_bits & 0xFF
    m.row = row
    m.code = 0
    m.role = p.role
    m.rtt_ps = -1
    m.penalty = 0
    m.inflight_bytes = 0
    m.fetched_bytes = 0
    m.cwnd_bytes = 0.0
    m.nic_prefetched_bytes = 0
    m.pdc_prefetched_bytes = 0
    m.cack = 0
    m.sack_first = 0
    m.sack_lo = 0
    m.sack_hi = 0
    if p.ptype == ACK_CC or p.ptype == PROBE_ACK:
        m.uid = uid_of(op, p.psn, tries if p.ptype == ACK_CC else 1, UID_ACK if p.ptype == ACK_CC else UID_PROBE)
        m.penalty = p.code
        m.cack = p.cack
        m.sack_first = p.cack + max(p.sack_offset, 1)
        m.sack_lo = p.sack_lo
        m.sack_hi = p.sack_hi
    elif p.ptype == NACK:
        m.uid = uid_of(op, p.psn, tries, UID_NACK)
        m.code = p.code
        m.entropy = p.spdc
    elif p.ptype == PROBE:
        m.uid = uid_of(op, p.psn, 0, UID_PROBE)
    else:
        m.uid = uid_of(op, p.psn, tries, UID_DATA)


@kernel
def fill_sender(s, nic_row, m):
    """What rows of a sender say about the PDC's group; nothing once the message is done and its group gone."""
    nic = s.nics[nic_row]
    op = s.ops[nic.op_begin + m.op - nic.op_first]
    m.job = m.op + 1
    m.nic_prefetched_bytes = nic.prefetch_bytes
    row = -1
    if op.pdc >= 0:
        pdc = s.tx[op.pdc]
        row = pdc.group
        waiting = pdc.arrived_psn - pdc.commit_psn
        if waiting > 0:
            par = s.nicpar[s.nodes[nic.node].param]
            bytes_ = waiting * (par.mss_bytes + DATA_HEADER_BYTES)
            if pdc.arrived_psn == pdc.packets:
                bytes_ -= par.mss_bytes - pdc.last_bytes
            m.pdc_prefetched_bytes = bytes_
    else:
        row = find_group(s, nic_row, op.dst, -1)
    if row >= 0:
        g = s.groups[row]
        m.inflight_bytes = g.inflight_bytes
        m.fetched_bytes = g.fetched_bytes
        m.cwnd_bytes = g.cwnd_bytes


@kernel
def note_service(s, nic_row, p):
    """A frame's serialization starts: remember what its row will say, if it has one when it is over."""
    nic = s.nics[nic_row]
    if p.ptype == RUD_REQUEST:
        row = M_DATA_TX
    elif p.ptype == PROBE:
        row = M_PROBE_TX
    elif p.ptype == ACK_CC or p.ptype == PROBE_ACK:
        row = M_ACK_TX
    else:
        return
    fill_row(s.nodes[nic.node].id, s.service[nic_row], p, row, False)
    nic.monitored = 1


@kernel
def log_sent(s, nic_row, now_ps):
    """The frame noted has gone."""
    nic = s.nics[nic_row]
    nic.monitored = 0
    m = s.monitor[s.pools[P_MONITOR].used]
    a = s.service[nic_row]
    m.time_ps = now_ps
    m.uid = a.uid
    m.node = a.node
    m.peer = a.peer
    m.local_id = a.local_id
    m.remote_id = a.remote_id
    m.op = a.op
    m.job = 0
    m.size_bytes = a.size_bytes
    m.entropy = a.entropy
    m.psn = a.psn
    m.bits = a.bits
    m.row = a.row
    m.code = a.code
    m.role = a.role
    m.rtt_ps = -1
    m.penalty = a.penalty
    m.inflight_bytes = 0
    m.fetched_bytes = 0
    m.cwnd_bytes = 0.0
    m.nic_prefetched_bytes = 0
    m.pdc_prefetched_bytes = 0
    m.cack = a.cack
    m.sack_first = a.sack_first
    m.sack_lo = a.sack_lo
    m.sack_hi = a.sack_hi
    at_sender = m.row != M_ACK_TX
    if at_sender:
        fill_sender(s, nic_row, m)
    if watched(s, nic_row, m, at_sender):
        s.pools[P_MONITOR].used += 1


@kernel
def log_nack(s, nic_row, p, now_ps):
    """A NACK is logged when the packet that drew it is processed."""
    m = s.monitor[s.pools[P_MONITOR].used]
    m.time_ps = now_ps
    fill_row(s.nodes[s.nics[nic_row].node].id, m, p, M_NACK_TX, False)
    if watched(s, nic_row, m, False):
        s.pools[P_MONITOR].used += 1


@kernel
def log_received(s, nic_row, p, rtt_ps, now_ps):
    """A row for a packet that the NIC has processed; `rtt_ps` < 0: none."""
    m = s.monitor[s.pools[P_MONITOR].used]
    m.time_ps = now_ps
    nic = s.nics[nic_row]
    node_id = s.nodes[nic.node].id
    at_sender = True
    if p.ptype == RUD_REQUEST or p.ptype == PROBE:
        fill_row(node_id, m, p, M_DATA_RX if p.ptype == RUD_REQUEST else M_PROBE_RX, True)
        m.local_id = s.rxmsg[nic.rx_begin + p.message - nic.rx_first].id      # the sender may not know it yet
        at_sender = False
    elif p.ptype == NACK:
        fill_row(node_id, m, p, M_NACK_RX, True)
    else:
        fill_row(node_id, m, p, M_ACK_RX, True)
        m.rtt_ps = rtt_ps
        fill_sender(s, nic_row, m)
    if watched(s, nic_row, m, at_sender):
        s.pools[P_MONITOR].used += 1
