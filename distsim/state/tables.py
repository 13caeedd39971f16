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
F_AR, F_RTX, F_EOM, F_CE, F_ECHO, F_RESTORE, F_HEADROOM = 1, 2, 4, 8, 16, 32, 64
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
    ("last_hop", "u1"),           # bit 0: the far end is a NIC; bit 1: a port towards the spines
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
FLOWLET = np.dtype([("time_ps", "i8"), ("member", "i4"), ("spare", "i4")], align=True)

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
    ("flowlet", "i4"), ("pfc_aware", "i4"), ("spare", "i4"),
    ("gap_ps", "i8"),
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
    # fetch ring (RING rows: ready time, TXPDC row, PSN): first transmissions from the fetch's issue to their turn at
    # the port. [head, handed) wait in the egress queue, [handed, tail) are being fetched; `credit` >= handed: the first
    # whose payload is still in the host's transmit buffer. Positions count on and wrap with `fetch_room`.
    ("fetch_begin", "i4"), ("fetch_room", "i4"),
    ("fetch_head", "i4"), ("fetch_handed", "i4"), ("fetch_credit", "i4"), ("fetch_tail", "i4"),
    ("data_ps", "i8"),            # when the first of the ring is ready, INF_PS: empty
    ("handoff_ps", "i8"),         # when the next payload arrives from the host, INF_PS: none on its way
    ("held_ps", "i8"),            # release of the first held ACK, INF_PS: none
    ("hold_until_ps", "i8"),      # release of the last held ACK
    ("egress_bytes", "i8"),       # reserved in the data class's transmit pool
    ("control_bytes", "i8"),      # waiting or in service, control class
    ("serving", "i4"),            # 1: the frame in service has not been released yet
    ("pool_wait", "i4"),          # 1: the transmit pass stopped at a full egress pool; 2: it is to be gone on with
    ("paused", "i4"),             # bit c: a pause was received for class c (it may be over)
    ("monitored", "i4"),          # 1: the frame in service is in `service` for uet-monitor
    ("pass_ps", "i8"),            # when the transmit process starts next (doorbell), INF_PS: not
    ("wake_ps", "i8"),            # lower bound of when a full pool has drained to half, INF_PS: nobody waits
    ("wake_bytes", "i8"),         # the level it has to drain to
    ("fail_ps", "i8"),            # no early failure is due before this
    ("prefetch_bytes", "i8"),
    # PCIe, NIC to host ("up") and host to NIC ("down")
    ("up_free_ps", "i8"), ("down_free_ps", "i8"),    # end of what has been queued for the lanes
    ("up_accept_ps", "i8"), ("down_accept_ps", "i8"),            # when the last segment got into the transmit buffer
    ("up_data_bytes", "i8"), ("up_header_bytes", "i8"),          # in the transmit buffers
    ("down_data_bytes", "i8"), ("down_header_bytes", "i8"),
    ("up_begin", "i4"), ("up_room", "i4"), ("up_head", "i4"), ("up_tail", "i4"),    # RING: end on the lanes, data, header
    ("up_read_ps", "i8"),         # when the last entry was made if it holds read requests, else -1
    # receive pool of the data class; RING: accepted by PCIe at, bytes
    ("ingress_bytes", "i8"), ("release_ps", "i8"),
    ("in_begin", "i4"), ("in_room", "i4"), ("in_head", "i4"), ("in_tail", "i4"),
    ("turn_class", "i4"), ("turn_left", "i4"),       # RoundRobin, WeightedRoundRobin
    ("groups_made", "i4"), ("ids_made", "i4"),
    ("wait_head", "i4"), ("wait_tail", "i4"),        # operations waiting for a PDC id
    ("police_ps", "i8"),          # while a pause is outstanding: its next refresh or release of the pool, else INF_PS
], align=True)

S_STRICT, S_ROUND_ROBIN, S_WEIGHTED = 0, 1, 2
STAT_BUFFERS, STAT_EVENTS, STAT_MONITOR, STAT_PCIE = 1, 2, 4, 8
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
    # PCIe: picoseconds a byte as fractions, transfers of a full segment, transmit buffers
    ("up_num", "i8"), ("up_den", "i8"), ("down_num", "i8"), ("down_den", "i8"),
    ("read_ps", "i8"), ("full_fetch_ps", "i8"), ("full_write_ps", "i8"), ("full_hold_ps", "i8"),
    ("up_data_bytes", "i8"), ("up_header_bytes", "i8"), ("down_data_bytes", "i8"), ("down_header_bytes", "i8"),
    # pools, classes 0 (data) and 1 (control)
    ("egress_bytes", "i8"), ("egress_control_bytes", "i8"),
    ("ingress_bytes", "i8"), ("ingress_control_bytes", "i8"),
    ("scheduling", "i4"),         # S_STRICT, S_ROUND_ROBIN, S_WEIGHTED
    ("weight_0", "i4"), ("weight_1", "i4"),
    ("pfc_0", "i4"), ("pfc_1", "i4"), ("quanta_0", "i4"), ("quanta_1", "i4"),
    ("xoff_0", "i8"), ("xoff_1", "i8"), ("xon_0", "i8"), ("xon_1", "i8"),       # bytes
    ("penalty_low_bytes", "f8"), ("penalty_high_bytes", "f8"),
    ("restore", "i4"), ("prefetch", "i4"), ("prefetch_bytes", "i8"),
    # Recycled Entropy Packet Spraying
    ("fail_multiplier", "i4"),    # early failure detection, base RTTs; 0 off
    ("reps_room", "i4"), ("entropy_values", "i4"), ("explore_packets", "i4"), ("freeze_ps", "i8"),
    ("stats", "i4"),              # STAT_* of the records that are on
    ("spare", "i4"),
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
    ("spray_step", "i4"), ("incarnation", "i4"),     # incarnation: how many groups the NIC had made before
    ("fetched_bytes", "i8"),      # nominal bytes fetched from the host and not yet acknowledged
    # Recycled Entropy Packet Spraying: a ring of RING rows
    ("reps_begin", "i4"), ("reps_head", "i4"), ("reps_count", "i4"), ("reps_stored", "i4"), ("reps_reuse", "i4"),
    ("frozen", "i4"), ("explore_left", "i4"), ("draws", "i4"), ("frozen_ps", "i8"),
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
    ("fail_ps", "i8"),            # no early failure of its packets is due before this
    ("arrived_psn", "i4"), ("commit_psn", "i4"),     # prefetch: payloads below are here; next to commit to the wire
    ("penalty", "i4"),            # receiver penalty of the latest ACK
    ("spare", "i4"),
], align=True)

# QUEUED: committed to the wire, not yet sent (QUEUED_AR: and it asks for an ACK).
SLOT_FREE, SLOT_SENT, SLOT_WAITING, SLOT_DONE, SLOT_QUEUED, SLOT_QUEUED_AR = 0, 1, 2, 3, 4, 5
SLOT = np.dtype([
    ("end_ps", "i8"),             # end of serialization of the latest transmission
    ("rtx_next", "i4"),           # WAITING: next PSN; SENT: early failure this many ns after end_ps, -1 none or reported
    ("entropy", "u2"),
    ("tries", "u1"),              # transmissions, saturating at 255
    ("state", "u1"),
], align=True)

# Rings of a NIC or group: fetches, PCIe transfers, charges of the receive pool, REPS cache.
RING = np.dtype([("time_ps", "i8"), ("a", "i4"), ("b", "i4")], align=True)

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
    ("spare", "i4"),
    ("monitor_ps", "i8"),         # its packets are logged from then on, INF_PS: not
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
    ("monitor_ps", "i8"),         # its packets are logged from then on, INF_PS: not
    ("wait_next", "i4"), ("spare", "i4"),
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
    ("transfers", "i8"), ("bytes", "i8"), ("payload_bytes", "i8"),               # on the lanes; payload without overhead
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
    ("bits", "u2"), ("row", "u1"), ("code", "u1"), ("role", "u1"), ("candidate", "u1"),
], align=True)

# A connection chosen for uet-monitor by a filter or trigger, not yet known at its other end.
CHOSEN = np.dtype([("time_ps", "i8"), ("op", "i4"), ("fep", "i4"), ("triggered", "i4"), ("at_sender", "i4")], align=True)

# What uet-monitor watches for: one row. Node ids; -1 any, -2 none can match.
WATCH = np.dtype([
    ("everything", "i4"),         # 1: every packet of every PDC
    ("filtering", "i4"),          # 1: the filters choose
    ("fep", "i4"), ("local", "i4"), ("remote", "i4"), ("pdc_node", "i4"), ("pdc_id", "i4"),
    ("rtt", "i4"), ("penalty", "i4"),                # triggers on
    ("penalty_least", "i4"), ("budget", "i4"),       # connections that triggers may still choose
    ("spare", "i4"),
    ("rtt_least_ps", "i8"), ("delay_ps", "i8"),      # until the other end knows
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
    ("logging", "i8"),            # 1: uet-events or uet-monitor rows may be written
    ("rx_dropped", "i8"),         # of `dropped`: by a NIC's receive pool
], align=True)

# Free-row bookkeeping, one row a pool: last-in first-out over a high-water mark. Of the two arenas of rings (slots,
# words) `free_head` is the largest ring so far. `margin`: rows that must stay free beyond the pool's ordinary need.
POOL = np.dtype([("free_head", "i4"), ("high", "i4"), ("room", "i4"), ("used", "i4"), ("margin", "i4")], align=True)

# Free-list rows of `pools`.
P_PACKET, P_GROUP, P_TX, P_RX, P_SLOT, P_WORD, P_PERF, P_RING, P_EVENT, P_MONITOR, P_CHOSEN = range(11)
# Rings come in powers of two: class c holds SLOT_RING << c slots (words, RING rows); a free list for each class.
SLOT_RING, WORD_RING, NIC_RING, RING_CLASSES = 8, 4, 8, 24
P_SLOT_RINGS = 11
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
