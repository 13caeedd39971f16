"""Tables that only records read, and what uet-monitor looks for. See `tables`."""

from __future__ import annotations

import numpy as np

# Pools of a NIC (net-buff-stats), NIC_BUFFERS rows a NIC. Only kept when EnableBufferStats and the record are on.
RX_TC0, RX_TC1, TX_TC0, TX_TC1 = range(4)
NIC_BUFFERS = 4
BUFF = np.dtype([
    ("now_bytes", "i8"), ("most_bytes", "i8"), ("ivl_most_bytes", "i8"),         # occupancy
    ("enq", "i8"), ("deq", "i8"), ("enq_bytes", "i8"), ("deq_bytes", "i8"), ("overflow", "i8"),      # since the start
], align=True)

# The ends of a NIC's PCIe link (pcie-stats), PCIE_ENDS rows a NIC: what each end has sent; the other end receives the
# same. A transfer is counted when it is queued for the lanes.
PCIE_NIC, PCIE_HOST = 0, 1
PCIE_ENDS = 2
PCIE = np.dtype([
    ("transfers", "i8"), ("bytes", "i8"), ("payload_bytes", "i8"),      # on the lanes; payload without overhead
    ("reads", "i8"),              # NIC: read requests; host: completions
    ("writes", "i8"),             # NIC: posted writes of received payload
    ("waits", "i8"), ("wait_ps", "i8"),              # transfers of a segment that waited for buffer room, and how long
    ("ivl_most_bytes", "i8"),     # most payload in the transmit buffer since the previous row
], align=True)

# uet-events, one row an event.
E_PDC_CREATED, E_WQE_CREATED, E_SEND_COMPLETE, E_WQE_COMPLETE, E_RECV_COMPLETE, E_PDC_TERMINATED = range(6)
EVENT = np.dtype([
    ("time_ps", "i8"), ("size_bytes", "i8"),         # of the work request, -1: none
    ("node", "i4"), ("peer", "i4"),                  # node ids of this NIC and the other
    ("local_id", "i4"), ("remote_id", "i4"),         # PDC ids, 0 while unknown
    ("wqe", "i4"), ("kind", "i4"),                   # work request id from 1, 0: none; E_*
], align=True)

# Operations of a workload that are to be logged: when they were done, and when the last byte of a transfer was sent.
O_DONE, O_SENT = 0, 1
OPLOG = np.dtype([
    ("time_ps", "i8"), ("start_ps", "i8"),
    ("op", "i4"), ("what", "i4"),                    # global operation; O_*
], align=True)

# uet-monitor, one row a packet. `row` says which columns are filled.
M_DATA_TX, M_DATA_RX, M_ACK_TX, M_ACK_RX, M_PROBE_TX, M_PROBE_RX, M_NACK_TX, M_NACK_RX = range(8)
MONITOR = np.dtype([
    ("time_ps", "i8"), ("uid", "i8"),
    ("rtt_ps", "i8"),             # -1: none
    ("inflight_bytes", "i8"), ("fetched_bytes", "i8"), ("nic_prefetched_bytes", "i8"), ("pdc_prefetched_bytes", "i8"),
    ("cwnd_bytes", "f8"),
    ("node", "i4"), ("peer", "i4"), ("local_id", "i4"), ("remote_id", "i4"),
    ("job", "i4"), ("size_bytes", "i4"),             # size on the wire
    ("entropy", "i4"), ("psn", "i4"), ("cack", "i4"), ("sack_first", "i4"),
    ("sack_lo", "u4"), ("sack_hi", "u4"),            # the 64 PSNs from sack_first on
    ("penalty", "i4"), ("op", "i4"),                 # op: global operation of the message (connection)
    ("bits", "u2"), ("row", "u1"), ("code", "u1"), ("role", "u1"),
], align=True)

# A connection chosen for uet-monitor by a filter or trigger, not yet known at its other end.
CHOSEN = np.dtype([
    ("time_ps", "i8"), ("op", "i4"), ("fep", "i4"), ("triggered", "i4"), ("at_sender", "i4"),
], align=True)

# What uet-monitor watches for: one row. Node ids; -1 any, -2 none can match.
WATCH = np.dtype([
    ("everything", "i4"),         # 1: every packet of every PDC
    ("filtering", "i4"),          # 1: the filters choose
    ("fep", "i4"), ("local", "i4"), ("remote", "i4"), ("pdc_node", "i4"), ("pdc_id", "i4"),
    ("rtt", "i4"), ("penalty", "i4"),                # triggers on
    ("penalty_least", "i4"), ("budget", "i4"),       # connections that triggers may still choose
    ("rtt_least_ps", "i8"), ("delay_ps", "i8"),      # until the other end knows
], align=True)
