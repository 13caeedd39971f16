"""Which packets uet-monitor logs: those of connections that a filter or a trigger has chosen, at this end.

scala-computing/docs models/scala-uet-nic/records, uet-monitor (Filters, Triggers). A connection is one message; each of
its ends is watched from `monitor_ps` of its OP or RXMSG row on. A choice is written down as a CHOSEN row; after the
window the loop applies the triggers' budget and tells the other end (`distsim/watching.py`).
"""

from __future__ import annotations

from ..state.tables import M_ACK_RX, M_ACK_TX, M_DATA_TX, P_CHOSEN
from .jit import kernel, small


@small
def matches(w, m):
    """Whether the filters choose the row's connection at this end."""
    if w.fep != -1 and m.node != w.fep:
        return False
    if w.local != -1 and m.node != w.local:
        return False
    if w.remote != -1 and m.peer != w.remote:
        return False
    if w.pdc_node == -1:
        return True
    return (m.node == w.pdc_node and m.local_id == w.pdc_id) or (m.peer == w.pdc_node and m.remote_id == w.pdc_id)


@small
def triggers(s, w, nic, m):
    """Whether a trigger chooses the row's connection."""
    if w.budget <= 0:
        return False
    if w.rtt != 0 and m.row == M_ACK_RX and m.rtt_ps >= w.rtt_least_ps:
        return True
    if w.penalty == 0:
        return False
    if m.row == M_ACK_RX or m.row == M_ACK_TX:
        return m.penalty >= w.penalty_least
    if m.row == M_DATA_TX:
        op = s.ops[nic.op_begin + m.op - nic.op_first]
        return op.pdc >= 0 and s.tx[op.pdc].penalty >= w.penalty_least
    return False


@kernel
def message_row(s, nic, op):
    """RXMSG row of a message that the NIC receives; its rows are in order of the operation."""
    low = nic.rx_begin
    high = low + nic.rx_count - 1
    while low < high:
        middle = (low + high) >> 1
        if s.rxmsg[middle].op < op:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def watched(s, nic_row, m, at_sender):
    """Whether the row is to be logged; a filter or trigger may choose its connection now."""
    w = s.watch[0]
    if w.everything != 0:
        return True
    nic = s.nics[nic_row]
    if at_sender:
        message = nic.op_begin + m.op - nic.op_first
        since = s.ops[message].monitor_ps
    else:
        message = message_row(s, nic, m.op)
        since = s.rxmsg[message].monitor_ps
    if since <= m.time_ps:
        return True
    filtered = w.filtering != 0 and matches(w, m)
    if not filtered and not triggers(s, w, nic, m):
        return False
    pool = s.pools[P_CHOSEN]
    row = s.chosen[pool.used]
    pool.used += 1
    row.time_ps = m.time_ps
    row.op = m.op
    row.fep = m.node
    row.triggered = 0 if filtered else 1
    row.at_sender = 1 if at_sender else 0
    if at_sender:
        s.ops[message].monitor_ps = m.time_ps
    else:
        s.rxmsg[message].monitor_ps = m.time_ps
    return True
