"""Every structured dtype of the simulation state, declared once.

Kernels, allocation, the exchange between ranks, records, checkpoints and `verify` all use these declarations. Rules:

- times are int64 picoseconds (`_ps`), sizes bytes (`_bytes`); row numbers are int32 and -1 means none;
- no dtype depends on the problem's size; a rank holds rows of its own nodes only;
- packets carry global ids (node, PDC id, message id), never row numbers of another rank;
- no field is named like an attribute of numpy.record (`size`, `flags`, `base`, ...), because kernels read `row.field`.
"""

from __future__ import annotations

import numpy as np

# ---- packet -------------------------------------------------------------------------------------------------------
# Types, as uet-monitor names them.
RUD_REQUEST, ACK_CC, NACK, PROBE, PROBE_ACK, NOTICE = 0, 1, 2, 3, 4, 5
# Codepoint roles (scala-computing/docs, models/scala-uet-nic/transport, Packet marking).
NO_TRIM, TRIMMABLE, TRIMMABLE_RTX, TRIMMED, TRIMMED_LAST_HOP, CONTROL = 0, 1, 2, 3, 4, 5
# Traffic classes of a switch under the UET policy (models/scala-switch/shared-buffer, Buffer under the UET policy).
TC_DATA, TC_TRIMMED, TC_CONTROL = 0, 1, 2
CLASSES = 3
# Bits of `flag_bits`.
F_AR, F_RTX, F_EOM, F_CE, F_ECHO = 1, 2, 4, 8, 16

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
    ("code", "u1"),           # receiver penalty (ACK), NACK code, PFC class
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
    ("last_hop", "u1"),           # 1 when the far end is a NIC
    # second cache line
    ("ps_den", "i8"),             # when it is not 1, ps_num holds the negative of the numerator
    ("tx_drops", "i8"), ("trims", "i8"), ("ecn_marks", "i8"),
    ("draws", "i8"),              # random draws made so far
    ("link", "i4"),               # global link row: keys random draws
    ("node", "i4"),               # local node row that owns it
    ("ifid", "i4"), ("queue_begin", "i4"),           # QUEUE rows of its classes
    ("spare", "i8"),
], align=True)
assert PORT.itemsize == 128

# One class of a port's queue.
QUEUE = np.dtype([
    ("head", "i4"), ("tail", "i4"),
    ("waiting_bytes", "i4"),      # charges (IP size) of the packets waiting
    ("packets", "i4"),
], align=True)

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
], align=True)

SWPAR = np.dtype([
    ("data_limit_bytes", "i8"),   # egress queue limits, charged bytes
    ("trimmed_limit_bytes", "i8"), ("control_limit_bytes", "i8"),
    ("rtx_limit_bytes", "i8"),    # limit of the data queue for TRIMMABLE_RTX
    ("trimming", "i4"), ("ecn", "i4"),
    ("ecn_min_bytes", "f8"), ("ecn_max_bytes", "f8"),
    ("ecn_max_probability", "f8"), ("ecn_weight", "f8"),
    ("eager", "i4"),
], align=True)

# ---- NIC ----------------------------------------------------------------------------------------------------------
NICROW = np.dtype([
    ("node", "i4"),               # local node row
    ("port", "i4"),               # PORT row of the uplink
    ("ready_head", "i4"), ("ready_tail", "i4"),      # groups ready to send
    ("pdc_head", "i4"), ("pdc_tail", "i4"),          # all open sending PDCs, in order of creation
    ("rto_ps", "i8"),             # no retransmission timer expires before this
    ("now_ps", "i8"),             # latest event
    ("op_begin", "i4"), ("op_count", "i4"), ("op_first", "i4"),      # its operations: rows, global id of the first
    ("rx_begin", "i4"), ("rx_count", "i4"), ("rx_first", "i4"),      # messages it receives, likewise
    ("heap_begin", "i4"), ("heap_size", "i4"), ("heap_room", "i4"),  # pending operations, a binary heap
    ("next_tx_id", "i4"), ("next_rx_id", "i4"),      # PDC ids to try next
    ("open_tx", "i4"), ("open_rx", "i4"),
], align=True)

NICPAR = np.dtype([
    ("mss_bytes", "i4"),
    ("trimming", "i4"), ("distinct_rtx", "i4"), ("groups", "i4"),
    ("ar_every", "i4"), ("ar_first", "i4"), ("ar_last", "i4"),
    ("spraying", "i4"),           # registry number of the spraying type
    ("cc", "i4"),                 # registry number of the congestion control
    ("entropy_mask", "i4"), ("entropy_offset", "i4"),
    ("rto_fixed", "i4"), ("rto_max_backoff", "i4"),
    ("rto_ps", "i8"),             # InitialRetransmitTimeout, or FixedRexmitTimeout when rto_fixed
    # congestion control (models/scala-uet-nic/congestion-control; UEC 1.0 section 3.6.13)
    ("pass_through", "i4"), ("nscc_enable", "i4"), ("qa_disable", "i4"), ("qa_gate", "i4"),
    ("base_rtt_ps", "i8"), ("target_ps", "i8"), ("margin_ps", "i8"), ("qa_threshold_ps", "i8"),
    ("rate_gbps", "i8"),          # link rate in whole Gb/s
    ("max_window_bytes", "f8"),
    ("mtu_bytes", "f8"),          # nominal packet
    ("alpha", "f8"),              # proportional increase, bytes per ps of headroom per byte
    ("fair_bytes", "f8"), ("eta_bytes", "f8"), ("fast", "f8"), ("gamma", "f8"), ("max_md_jump", "f8"),
    ("delay_alpha", "f8"),
    # parameters of a congestion control or spraying added later
    ("plug_a", "f8"), ("plug_b", "f8"), ("plug_c", "f8"), ("plug_d", "f8"),
], align=True)

# One congestion-control group: all PDCs from one NIC to one remote address (or one PDC when groups are off).
GROUP = np.dtype([
    # window, read at every send and ACK
    ("cwnd_bytes", "f8"), ("inflight_bytes", "i8"), ("base_rtt_ps", "i8"), ("measured_ps", "i8"),
    ("average_ps", "f8"), ("inc", "f8"), ("received_bytes", "i8"), ("achieved_bytes", "i8"),
    ("ignored_bytes", "i8"), ("to_ignore_bytes", "i8"), ("fast_count_bytes", "i8"),
    ("last_adjust_ps", "i8"), ("last_decrease_ps", "i8"), ("qa_end_ps", "i8"),
    ("max_window_bytes", "f8"), ("saved_cwnd_bytes", "f8"),
    ("qa_trigger", "i4"), ("fast_mode", "i4"),
    # scheduling and life
    ("nic", "i4"), ("dst", "i4"), ("key_pdc", "i4"), ("hash_next", "i4"),
    ("ref_count", "i4"), ("in_ready", "i4"), ("ready_next", "i4"), ("param", "i4"),
    ("turn_head", "i4"), ("turn_tail", "i4"),        # PDCs with something to send, in turn
    ("spray_step", "i4"), ("incarnation", "i4"),
    ("state_a", "f8"), ("state_b", "f8"), ("state_c", "i8"), ("state_d", "i8"),      # of a plug-in
], align=True)

# The sending half of a PDC; one message each. Ends at WQE_COMPLETE.
TXPDC = np.dtype([
    ("group", "i4"), ("op", "i4"),                   # GROUP and OP rows
    ("packets", "i4"), ("next_psn", "i4"), ("unacked", "i4"),        # total; next new PSN; lowest PSN not retired
    ("slot_begin", "i4"), ("slot_room", "i4"),       # ring of PSN slots, a power of two
    ("transmissions", "i4"),                         # data packets sent, for the ACK-request rule
    ("rtx_head", "i4"), ("rtx_tail", "i4"),          # PSNs waiting for retransmission, oldest first
    ("last_bytes", "i4"),                            # payload of the last packet
    ("in_turn", "i4"), ("turn_next", "i4"),
    ("all_next", "i4"), ("all_prev", "i4"),
    ("probe_psn", "i4"), ("probed", "i4"),           # tag of its probe; 1 once it was sent
    ("rto_ps", "i8"),                                # none of its timers expires before this
    ("id", "i4"), ("remote_id", "i4"),
    ("nic", "i4"), ("dst", "i4"), ("rx_message", "i4"), ("tx_message", "i4"),
], align=True)

SLOT_FREE, SLOT_SENT, SLOT_WAITING, SLOT_DONE = 0, 1, 2, 3
SLOT = np.dtype([
    ("end_ps", "i8"),             # end of serialization of the latest transmission
    ("rtx_next", "i4"),
    ("entropy", "u2"),
    ("tries", "u1"),              # transmissions, saturating at 255
    ("state", "u1"),
], align=True)

# The receiving half of a PDC. Ends at RECV_COMPLETE; RXMSG then re-ACKs duplicates.
RXPDC = np.dtype([
    ("expected", "i4"),           # next PSN in order
    ("last", "i4"),               # PSN that ends the message, -1 while unknown
    ("highest", "i4"),            # highest PSN received
    ("held", "i4"),               # packets held beyond a gap
    ("word_begin", "i4"), ("word_room", "i4"),       # ring of 32-PSN words, a power of two
    ("sack_next", "i4"),          # block that the next SACK reports
    ("group", "i4"),              # group of the way back, kept alive by this half
    ("id", "i4"), ("remote_id", "i4"), ("src", "i4"),
    ("message", "i4"), ("peer_message", "i4"), ("nic", "i4"), ("next_free", "i4"),
], align=True)

WORD = np.dtype([("seen", "u4")], align=True)

RX_UNSEEN, RX_OPEN, RX_DONE = 0, 1, 2
RXMSG = np.dtype([
    ("pdc", "i4"),                # RXPDC row while open
    ("state", "i4"),
    ("last", "i4"),               # tombstone: PSN that ended it
    ("id", "i4"),                 # tombstone: PDC id it had
    ("op", "i4"),                 # global op
    ("edge_begin", "i4"), ("edge_count", "i4"),      # who is told when it has arrived
], align=True)

OP_WAITING, OP_QUEUED, OP_ACTIVE, OP_DONE = 0, 1, 2, 3
OP = np.dtype([
    ("global_op", "i4"), ("kind", "i4"), ("any_of", "i4"), ("state", "i4"),
    ("nic", "i4"), ("dst", "i4"), ("rx_message", "i4"), ("deps_left", "i4"),
    ("length_bytes", "i8"), ("user_id", "i8"),
    ("ready_ps", "i8"),           # latest notice so far; then the time it started
    ("done_ps", "i8"),
    ("edge_begin", "i4"), ("edge_count", "i4"),      # who is told when it is done
    ("pdc", "i4"), ("rtx_packets", "i4"),
    ("probe_end_ps", "i8"),       # end of serialization of its base-RTT probe; 0: none under way
], align=True)

# Who is told: global op and node; NIC row here, or -1 and the IN row of what leaves for its rank.
EDGE = np.dtype([("op", "i4"), ("node", "i4"), ("nic", "i4"), ("departures", "i4")], align=True)

PENDING = np.dtype([("time_ps", "i8"), ("op", "i4")], align=True)

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
    ("probe_sent", "i8"), ("probe_rcvd", "i8"), ("probe_ack_rcvd", "i8"), ("spare_a", "i8"), ("spare_b", "i8"),
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
    ("ops_done", "i8"), ("ops_started", "i8"), ("sends_done", "i8"), ("recvs_done", "i8"),
    ("ties", "i8"),               # events of one node at the same instant
    ("need", "i8"),               # which table ran short, see kernels.status
    ("fault", "i8"), ("fault_at", "i8"), ("fault_node", "i8"),
    ("seed", "i8"), ("trigger_delay_ps", "i8"),
], align=True)

# Free-row bookkeeping, one row a pool: last-in first-out over a high-water mark. Of the two arenas of rings (slots,
# words) `free_head` is the largest ring so far. `margin`: rows that must stay free beyond the pool's ordinary need.
POOL = np.dtype([("free_head", "i4"), ("high", "i4"), ("room", "i4"), ("used", "i4"), ("margin", "i4")], align=True)

# Free-list rows of `pools`.
P_PACKET, P_GROUP, P_TX, P_RX, P_SLOT, P_WORD, P_PERF = range(7)
# Rings come in powers of two: class c holds SLOT_RING << c slots, WORD_RING << c words; a free list for each class.
SLOT_RING, WORD_RING, RING_CLASSES = 8, 4, 24
P_SLOT_RINGS = 7
P_WORD_RINGS = P_SLOT_RINGS + RING_CLASSES
POOLS = P_WORD_RINGS + RING_CLASSES

# A unit runs its children in windows of width_ps; at level 1 the children are nodes.
UNIT = np.dtype([
    ("first", "i4"), ("count", "i4"),                # children: entries of `order` (level 1) or UNIT rows
    ("node_first", "i4"), ("node_count", "i4"),      # all nodes below
    ("width_ps", "i8"),           # of its windows
    ("end_ps", "i8"), ("window_ps", "i8"),           # where it runs to, and the end of the window it is in
    ("level", "i4"), ("parent", "i4"), ("cursor", "i4"),      # cursor: children begun in this window
], align=True)

INF_PS = 2**62
