"""Every structured dtype of the simulation state, declared once.

Kernels, allocation, the exchange between ranks, records, checkpoints and `verify` all use these declarations. Rules:

- times are int64 picoseconds (`_ps`), sizes bytes (`_bytes`); row numbers are int32 and -1 means none;
- no dtype depends on the problem's size; a rank holds rows of its own nodes only;
- packets carry global ids (node, PDC id, message id), never row numbers of another rank;
- no field is named like an attribute of numpy.record (`size`, `flags`, `base`, ...), because kernels read `row.field`.
"""

from __future__ import annotations

import numpy as np

from .tables_logs import *  # noqa: F403 - one name for all: kernels and records import from here
from .tables_nic import *  # noqa: F403

# ---- packet -------------------------------------------------------------------------------------------------------
# Types, as uet-monitor names them.
RUD_REQUEST, ACK_CC, NACK, PROBE, PROBE_ACK, NOTICE, PFC_FRAME = 0, 1, 2, 3, 4, 5, 6
# Codepoint roles (scala-computing/docs, models/scala-uet-nic/transport, Packet marking).
NO_TRIM, TRIMMABLE, TRIMMABLE_RTX, TRIMMED, TRIMMED_LAST_HOP, CONTROL = 0, 1, 2, 3, 4, 5
# Traffic classes of a switch under the UET policy (models/scala-switch/shared-buffer, Buffer under the UET policy).
TC_DATA, TC_TRIMMED, TC_CONTROL = 0, 1, 2
CLASSES = 3
# Queues of a port: one a class, and PFC frames ahead of all. A NIC's port: retransmissions ready to go, control, ACKs
# held for the PCIe service time, PFC frames; its first transmissions wait in the fetch ring of the NICROW.
QUEUES, Q_PFC = 4, 3
Q_RTX, Q_CONTROL, Q_HELD = 0, 1, 2
# Traffic classes inside a NIC (models/scala-uet-nic/buffers-and-pfc, Traffic classes).
NIC_DATA, NIC_CONTROL, NIC_CLASSES = 0, 1, 2
# Bits of `flag_bits`; the upper byte holds the transmissions of the data packet so far (it tells copies apart).
F_AR, F_RTX, F_EOM, F_CE, F_ECHO, F_RESTORE = 1, 2, 4, 8, 16, 32
TRIES_SHIFT = 8

PACKET = np.dtype([
    ("time_ps", "i8"),        # arrival at the node that holds it (or is about to)
    ("next", "i4"),           # next packet of the list it is in
    ("src", "i4"),            # sending NIC, node id
    ("dst", "i4"),            # receiving NIC, node id
    ("path_hash", "u4"),      # hash of the 5-tuple; a switch mixes in its salt
    ("size_bytes", "u2"),     # size on the wire
    ("entropy", "u2"),        # UDP source port
    ("in_port", "u2"),        # port of the node that it came in by (shared buffers charge it)
    ("tc", "u1"),             # traffic class at a switch
    ("role", "u1"),           # codepoint role
    # transport
    ("psn", "i4"),            # data: PSN; ACK: the PSN that drew it; NACK: the PSN reported; probe: tag
    ("spdc", "u2"),           # PDC id at the sender of this packet
    ("dpdc", "u2"),           # PDC id at its receiver, 0 while unknown
    ("flag_bits", "u2"),      # F_*
    ("ptype", "u1"),          # RUD_REQUEST ...
    ("code", "u1"),           # receiver penalty (ACK), NACK code, PFC class (then `psn` holds the quanta)
    ("message", "i4"),        # data, probe: message id at the receiver; ACK, NACK: message id at the sender
    # data, probe: peer's message id in `cack`; ACK: cumulative PSN, bitmap of the 64 PSNs from sack_base on
    ("cack", "i4"),
    ("sack_lo", "u4"),
    ("sack_hi", "u4"),
    ("sack_offset", "i2"),    # SACK base - cack
    ("service", "u2"),        # receiver service time, 128 ns steps
], align=True)
assert PACKET.itemsize == 64

# ---- network ------------------------------------------------------------------------------------------------------
# A port owns the sending side of one directed link.
PORT = np.dtype([
    ("free_ps", "i8"),            # end of the serialization in progress, or of the last one
    ("ps_num", "i8"),             # serialization of b bytes = ceil(b * ps_num / ps_den); negative: see ps_den
    ("delay_ps", "i8"),
    ("tx_packets", "i8"),         # counted at start of serialization
    ("tx_bytes", "i8"),
    ("ecn_average", "f8"),        # bytes, moving average of the data queue, updated at admission
    ("in_row", "i4"),             # IN row at the far end, or of the departures to another rank
    ("peer", "i4"),               # local node row at the far end; rows past the nodes stand for other ranks
    ("queued", "i4"),             # packets waiting, all classes
    ("service_bytes", "u2"),      # wire size of the packet in service, charged until free_ps
    ("service_tc", "u1"),         # its class (valid while free_ps > now)
    ("last_hop", "u1"),           # bit 0: the far end is a NIC; 1: a port towards the spines; 2: the link has failed,
                                  # for good; 3: it may lose what is sent (`losses` has a row for it)
    # second cache line
    ("ps_den", "i8"),             # when it is not 1, ps_num holds the negative of the numerator
    ("tx_drops", "i8"), ("trims", "i8"), ("ecn_marks", "i8"),
    ("draws", "i8"),              # random draws made so far
    ("link", "i4"),               # global link row: keys random draws
    ("node", "i4"),               # local node row that owns it
    ("ifid", "i4"), ("queue_begin", "i4"),           # first of its QUEUES rows of `queues`, `pfc` and `shares`
    ("service_in", "i4"),         # shared buffer: in-link that the packet in service came by
    ("service_state", "i2"),      # shared buffer: 1 while the packet in service has not been released
    ("paused", "i2"),             # 1: a pause was received for some class (it may be over)
], align=True)
assert PORT.itemsize == 128

LOSES = 8                         # bit of PORT.last_hop
# What a link loses: row by row with `ports`; then with `ins`, what was on the wire when the link went down.
LOSS = np.dtype([
    ("keep", "f8"),               # chance that a frame is not lost, whatever its size
    ("lost", "i8"), ("lost_bytes", "i8"),
    ("bits", "i4"),               # first row of `survival` for the link's bit error rate, -1: none
    ("down", "i4"),               # 1: everything is lost
], align=True)
SURVIVAL = np.dtype([("keep", "f8")])      # chance that 2**k bytes arrive without a wrong bit, 16 rows a rate

# One class of a port's queue.
QUEUE = np.dtype([
    ("head", "i4"), ("tail", "i4"),
    ("waiting_bytes", "i4"),      # charges (IP size) of the packets waiting
    ("packets", "i4"),
], align=True)

# PFC of one class of a port, row by row with `queues`. As sender of the class: what the peer's pauses do to it.
PFC = np.dtype([
    ("pause_end_ps", "i8"),       # transmission of the class is held until then
    ("xoff_since_ps", "i8"),      # start of the pause in force, -1: none
    ("occupied_since_ps", "i8"),  # the same, from when packets of the class waited, -1: none
    ("xoff_ps", "i8"), ("occupied_ps", "i8"),        # pauses that are over, total
    ("ivl_longest_ps", "i8"), ("ivl_longest_occupied_ps", "i8"),    # longest that ended since the previous row
    ("xoff_rx", "i8"), ("xon_rx", "i8"),
    # As receiver of the class: the pauses this port sends. Frames are counted when they are made.
    ("xoff_tx", "i8"), ("xon_tx", "i8"),
    ("refresh_ps", "i8"),         # NIC: when its pause is looked at again, INF_PS: no pause outstanding
    ("ecn_marks", "i8"),
], align=True)

# One port's part of a switch's shared buffer pool, row by row with `queues` (class slots 0..2).
SHARE = np.dtype([
    ("in_bytes", "i8"),           # ingress occupancy: brought in by this port and not yet sent
    ("headroom_bytes", "i8"),     # brought in while paused
    ("out_bytes", "i8"),          # queued for this port or in service
    ("refresh_ps", "i8"),         # when the pause is sent again, INF_PS: no pause outstanding
    ("ecn_average", "f8"),
], align=True)

# A pool of a switch's shared buffer, CLASSES rows a switch from NODE.buffer_begin on: slot = index among the pools
# that the three classes use.
BUFFER = np.dtype([
    ("size_bytes", "i8"), ("in_bytes", "i8"), ("out_bytes", "i8"),
    ("limit_bytes", "i8"),        # fixed egress limit of a queue, 0: LossyAlpha x free
    ("ecn_min_bytes", "f8"), ("ecn_max_bytes", "f8"),
], align=True)

# Samples of bytes held, BUFFER_KINDS rows a BUFFER row: at every change (only when the switch records them).
B_IN_UP, B_IN_DOWN, B_OUT_UP, B_OUT_DOWN, B_POOL = range(5)
BUFFER_KINDS = 5
BUFFER_STATS = np.dtype([
    ("now_bytes", "i8"), ("samples", "i8"), ("sum_bytes", "f8"), ("least_bytes", "i8"), ("most_bytes", "i8"),
], align=True)

# A slot of a flow table (LoadBalancingMethod flowlet).
FLOWLET = np.dtype([("time_ps", "i8"), ("member", "i4")], align=True)

# The receiving side of one directed link: packets under way, in order of arrival.
IN = np.dtype([
    ("head", "i4"), ("tail", "i4"),
    ("node", "i4"),               # local node row it ends at; of departures: the row that stands for their rank
    ("rx_drops", "u4"),
    ("rx_packets", "i8"), ("rx_bytes", "i8"),
], align=True)
assert IN.itemsize == 32

NODE = np.dtype([
    ("id", "i4"),                 # global node id
    ("kind", "i4"),               # fabric.NIC or SWITCH
    ("port_begin", "i4"), ("port_count", "i4"),
    ("in_begin", "i4"), ("in_count", "i4"),
    ("param", "i4"),              # row of NICPAR or SWPAR
    ("eager", "i4"),              # 1: port ends are events (PFC outstanding, shared peaks recorded); else lazy
    ("salt", "i8"),               # switch: seeds the path hash, 32 bits
    ("last_ps", "i8"),            # latest arrival, to count ties
    ("route_begin", "i4"),        # switch: first entry of its row in `route`
    ("leaf", "i4"),               # leaf switch: its column of `route`, else -1
    ("nic", "i4"),                # NIC row, -1 for a switch
    ("shared", "i4"),             # switch: 1 when its shared buffer can bind or is recorded (kernels.shared)
    ("buffer_begin", "i4"),       # its BUFFER rows
    ("pauses", "i4"),             # pauses that it has outstanding
    ("flow_begin", "i4"),         # its FLOWLET rows
    ("draws", "i8"),              # random draws of its flow table
    ("wake_ps", "i8"),            # shared: lower bound of its next pause refresh
], align=True)

HASH_CRC_SALT, HASH_CRC, HASH_XOR, HASH_XOR_SALT, HASH_DPR, HASH_DPR_FALLBACK = range(6)
FLOW_SLOTS, FLOW_SETS = 512, 128      # of a flow table: slots an equal-cost set, sets a switch
SWPAR = np.dtype([
    # under the UET policy, nothing shared: egress queue limits, charged bytes
    ("data_limit_bytes", "i8"),
    ("trimmed_limit_bytes", "i8"), ("control_limit_bytes", "i8"),
    ("rtx_limit_bytes", "i8"),    # limit of the data queue for TRIMMABLE_RTX
    ("trimming", "i4"), ("ecn", "i4"),
    ("ecn_min_bytes", "f8"), ("ecn_max_bytes", "f8"),
    ("ecn_max_probability", "f8"), ("ecn_weight", "f8"),
    ("eager", "i4"),
    ("hash_method", "i4"),        # HASH_*
    # shared buffer (models/scala-switch/shared-buffer)
    ("uet_policy", "i4"),
    ("control_tc", "i4"),         # class of CONTROL packets: 2 under the UET policy, else DSCP // 8
    ("pfc_0", "i4"), ("pfc_1", "i4"), ("pfc_2", "i4"),           # 1: the class is lossless
    ("slot_0", "i4"), ("slot_1", "i4"), ("slot_2", "i4"),        # pool slot of each class
    ("alpha", "f8"),              # LossyAlpha, 0: the pool's fixed limit
    ("xoff_bytes", "i8"), ("xon_bytes", "i8"), ("headroom_bytes", "i8"),
    ("buffer_stats", "i4"),       # 1: sample bytes held for the buffer records
    ("flowlet", "i4"), ("pfc_aware", "i4"),
    ("gap_ps", "i8"),
], align=True)

# ---- what records read ---------------------------------------------------------------------------------------------
NO_SAMPLE_MIN, NO_SAMPLE_MAX = np.int64(2**62), np.int64(-1)
COUNTERS = np.dtype([
    # Names as uet-transport-stats: packets handed down or admitted since the start; `ivl_`: extremes of this interval
    # (the record keeps those since the start). Samples: sums and counts since the start. Fields that one event touches
    # stand together.
    # at a data transmission; cwnd and bytes in flight are sampled at each first one
    ("write_pkts_sent", "i8"), ("tx_samples", "i8"),
    ("cwnd_sum", "f8"), ("ivl_cwnd_min", "f8"), ("ivl_cwnd_max", "f8"),              # bytes
    ("inflight_sum", "i8"), ("ivl_inflight_min", "i8"), ("ivl_inflight_max", "i8"),  # bytes
    # at a data ACK; penalty, average delay and RTT are sampled when it gives an RTT
    ("ack_pkts_rcvd", "i8"), ("ack_samples", "i8"),
    ("delay_sum", "f8"), ("ivl_delay_min", "f8"), ("ivl_delay_max", "f8"),           # ps
    ("rtt_sum", "i8"), ("ivl_rtt_min", "i8"), ("ivl_rtt_max", "i8"),                 # ps
    ("penalty_sum", "i8"), ("ivl_penalty_min", "i8"), ("ivl_penalty_max", "i8"),
    ("m_marked_pkts_rcvd", "i8"), ("ivl_max_tx_count", "i8"), ("num_rtx", "i8"), ("num_rto", "i8"),
    ("num_quick_adapt", "i8"),
    # at a data packet received
    ("write_pkts_rcvd", "i8"), ("ack_pkts_sent", "i8"), ("nack_pkts_sent", "i8"), ("m_marked_pkts_sent", "i8"),
    ("num_out_of_order_events_on_nic", "i8"), ("ivl_max_out_of_order_on_flow", "i8"), ("num_dup_events_on_nic", "i8"),
    ("rx_drops", "i8"),
    ("nack_pkts_rcvd", "i8"), ("wqes_created", "i8"), ("wqes_completed", "i8"),
    ("probe_sent", "i8"), ("probe_rcvd", "i8"), ("probe_ack_rcvd", "i8"), ("pdc_waits", "i8"), ("spare", "i8"),
], align=True)
assert COUNTERS.itemsize == 320

PERF = np.dtype([
    ("time_ps", "i8"),            # when the last byte was acknowledged, absolute simulation time
    ("start_ps", "i8"),           # when the message was posted
    ("length_bytes", "i8"),
    ("user_id", "i8"),
    ("node", "i4"),               # sending NIC, node id
    ("dst", "i4"),
    ("op", "i4"),                 # global op row
    ("rtx_packets", "i4"),
], align=True)

# ---- clock and totals: one row ---------------------------------------------------------------------------------------
CLOCK = np.dtype([
    ("end_ps", "i8"),             # end of the window being run
    ("budget", "i8"),             # events left before the kernel returns
    ("hops", "i8"),                                  # packet-hops: arrivals at the end of a link
    ("created", "i8"), ("delivered", "i8"), ("trimmed", "i8"), ("dropped", "i8"),
    ("handed_over", "i8"), ("taken_over", "i8"),     # packets to and from other ranks
    ("ops_before", "i8"), ("sends_before", "i8"), ("recvs_before", "i8"),     # done in phases that are over
    ("ops_done", "i8"), ("ops_started", "i8"), ("sends_done", "i8"), ("recvs_done", "i8"),
    ("ties", "i8"),               # events of one node at the same instant
    ("need", "i8"),               # which table ran short, see kernels.status
    ("fault", "i8"), ("fault_at", "i8"), ("fault_node", "i8"),
    ("seed", "i8"), ("trigger_delay_ps", "i8"),
    ("logging", "i8"),            # bit 0: uet-events or uet-monitor rows may be written; bit 1: OPLOG rows
    ("rx_dropped", "i8"),         # of `dropped`: by a NIC's receive pool
], align=True)

# Free-row bookkeeping, one row a pool: last-in first-out over a high-water mark. Of the two arenas of rings (slots,
# words) `free_head` is the largest ring so far. `margin`: rows that must stay free beyond the pool's ordinary need.
POOL = np.dtype([("free_head", "i4"), ("high", "i4"), ("room", "i4"), ("used", "i4"), ("margin", "i4")], align=True)

# Free-list rows of `pools`.
P_PACKET, P_GROUP, P_TX, P_RX, P_SLOT, P_WORD, P_PERF, P_RING, P_EVENT, P_MONITOR, P_CHOSEN, P_OPLOG = range(12)
# Rings come in powers of two: class c holds SLOT_RING << c slots (words, RING rows); a free list for each class.
SLOT_RING, WORD_RING, NIC_RING, RING_CLASSES = 8, 4, 8, 24
P_SLOT_RINGS = 12
P_WORD_RINGS = P_SLOT_RINGS + RING_CLASSES
P_NIC_RINGS = P_WORD_RINGS + RING_CLASSES
POOLS = P_NIC_RINGS + RING_CLASSES

# A unit runs its children in windows of width_ps; at level 1 the children are nodes.
UNIT = np.dtype([
    ("first", "i4"), ("count", "i4"),                # children: entries of `order` (level 1) or UNIT rows
    ("node_first", "i4"), ("node_count", "i4"),      # all nodes below
    ("width_ps", "i8"),           # of its windows
    ("end_ps", "i8"), ("window_ps", "i8"),           # where it runs to, and the end of the window it is in
    ("level", "i4"), ("parent", "i4"), ("cursor", "i4"),      # cursor: children begun in this window
], align=True)

INF_PS = 2**62
