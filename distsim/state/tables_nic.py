"""Tables of the NICs: rows, attributes, groups, PDCs, PSN slots, messages and operations. See `tables`."""

from __future__ import annotations

import numpy as np

# Kinds of operations and what is logged of them, for the kernels, which import nothing but `state`.
from ..workload.types import COMPUTE, DELAY, JOIN, LOCAL, LOCAL_IN, LOG_MESSAGE, LOG_OP, SEND

OPERATIONS = (SEND, JOIN, COMPUTE, DELAY, LOCAL, LOCAL_IN)
LOGS = (LOG_MESSAGE, LOG_OP)

# ---- NIC ----------------------------------------------------------------------------------------------------------
NICROW = np.dtype([
    # first cache line: what is looked at before every event
    ("node", "i4"),               # local node row
    ("port", "i4"),               # PORT row of the uplink
    ("heap_begin", "i4"), ("heap_size", "i4"),       # pending operations, a binary heap
    ("pool_wait", "i4"),          # 1: the transmit pass stopped at a full egress pool; 2: it is to be gone on with
    ("serving", "i4"),            # 1: the frame in service has not been released yet
    ("paused", "i4"),             # bit c: a pause was received for class c (it may be over)
    ("monitored", "i4"),          # 1: the frame in service is in `service` for uet-monitor
    ("rto_ps", "i8"),             # no retransmission timer expires before this
    ("pass_ps", "i8"),            # when the transmit process starts next (doorbell), INF_PS: not
    ("wake_ps", "i8"),            # lower bound of when a full pool has drained to wake_bytes, INF_PS: nobody waits
    ("fail_ps", "i8"),            # no early failure is due before this
    # second
    ("police_ps", "i8"),          # while a pause is outstanding: its next refresh or release of the pool, else INF_PS
    ("data_ps", "i8"),            # when the first of the fetch ring is ready, INF_PS: empty
    ("handoff_ps", "i8"),         # when the next payload arrives from the host, INF_PS: none on its way
    ("held_ps", "i8"),            # release of the first held ACK, INF_PS: none
    ("hold_until_ps", "i8"),      # release of the last held ACK
    ("release_ps", "i8"),         # when the receive pool gives up its next charge, INF_PS: it holds none
    ("egress_bytes", "i8"),       # reserved in the data class's transmit pool
    ("control_bytes", "i8"),      # waiting or in service, control class
    # third
    ("ready_head", "i4"), ("ready_tail", "i4"),      # groups ready to send
    ("op_begin", "i4"), ("op_first", "i4"),          # its operations: rows, global id of the first
    ("rx_begin", "i4"), ("rx_first", "i4"),          # messages it receives, likewise
    # fetch ring (RING rows: ready time, TXPDC row, PSN): first transmissions from the fetch's issue to their turn at
    # the port. [head, handed) wait in the egress queue, [handed, tail) are being fetched; `credit` >= handed: the first
    # whose payload is still in the host's transmit buffer. Positions count on and wrap with `fetch_room`.
    ("fetch_begin", "i4"), ("fetch_room", "i4"),
    ("fetch_head", "i4"), ("fetch_handed", "i4"), ("fetch_credit", "i4"), ("fetch_tail", "i4"),
    # NIC's transmit buffer of PCIe, RING: end on the lanes, data, header
    ("up_begin", "i4"), ("up_room", "i4"), ("up_head", "i4"), ("up_tail", "i4"),
    # fourth: PCIe, NIC to host ("up") and host to NIC ("down")
    ("up_free_ps", "i8"), ("down_free_ps", "i8"),    # end of what has been queued for the lanes
    ("up_accept_ps", "i8"), ("down_accept_ps", "i8"),            # when the last segment got into the transmit buffer
    ("up_data_bytes", "i8"), ("up_header_bytes", "i8"),          # in the transmit buffers
    ("down_data_bytes", "i8"), ("down_header_bytes", "i8"),
    # fifth
    ("up_read_ps", "i8"),         # when the last entry was made if it holds read requests, else -1
    ("ingress_bytes", "i8"),      # receive pool of the data class; RING: accepted by PCIe at, bytes
    ("now_ps", "i8"),             # latest event
    ("wake_bytes", "i8"),         # the level that a full pool has to drain to
    ("prefetch_bytes", "i8"),
    ("in_begin", "i4"), ("in_room", "i4"), ("in_head", "i4"), ("in_tail", "i4"),
    ("turn_class", "i4"), ("turn_left", "i4"),       # RoundRobin, WeightedRoundRobin
    # sixth
    ("pdc_head", "i4"), ("pdc_tail", "i4"),          # all open sending PDCs, in order of creation
    ("op_count", "i4"), ("rx_count", "i4"), ("heap_room", "i4"),
    ("next_tx_id", "i4"), ("next_rx_id", "i4"),      # PDC ids to try next
    ("open_tx", "i4"), ("open_rx", "i4"),
    ("groups_made", "i4"), ("ids_made", "i4"),
    ("wait_head", "i4"), ("wait_tail", "i4"),        # operations waiting for a PDC id
    ("spare_a", "i4"), ("spare_b", "i8"),
], align=True)
assert NICROW.itemsize == 384

S_STRICT, S_ROUND_ROBIN, S_WEIGHTED = 0, 1, 2
STAT_BUFFERS, STAT_EVENTS, STAT_MONITOR, STAT_PCIE = 1, 2, 4, 8
NICPAR = np.dtype([
    ("mss_bytes", "i4"),
    ("attends", "i4"),            # 1: every packet received matters to a record or to PFC; set by `state.build`
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
    ("qa_trigger", "i2"), ("fast_mode", "i2"),
    # scheduling and life
    ("nic", "i4"), ("dst", "i4"), ("key_pdc", "i4"), ("hash_next", "i4"),
    ("ref_count", "i4"), ("in_ready", "i2"), ("frozen", "i2"), ("ready_next", "i4"), ("param", "i4"),
    ("turn_head", "i4"), ("turn_tail", "i4"),        # PDCs with something to send, in turn
    ("spray_step", "i4"), ("incarnation", "i4"),     # incarnation: how many groups the NIC had made before
    ("fetched_bytes", "i8"),      # nominal bytes fetched from the host and not yet acknowledged
    # Recycled Entropy Packet Spraying: a ring of RING rows
    ("reps_begin", "i4"), ("reps_head", "i4"), ("reps_count", "i4"), ("reps_stored", "i4"), ("reps_reuse", "i4"),
    ("explore_left", "i4"), ("draws", "i4"), ("frozen_ps", "i8"),
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
], align=True)

# QUEUED: committed to the wire, not yet sent (QUEUED_AR: and it asks for an ACK).
SLOT_FREE, SLOT_SENT, SLOT_WAITING, SLOT_DONE, SLOT_QUEUED, SLOT_QUEUED_AR = 0, 1, 2, 3, 4, 5
SLOT = np.dtype([
    ("end_ps", "i8"),             # end of serialization of the latest transmission
    ("rtx_next", "i4"),           # WAITING: next PSN; SENT: early failure is due this many ns after end_ps, -1 never
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
    ("monitor_ps", "i8"),         # its packets are logged from then on, INF_PS: not
], align=True)

OP_WAITING, OP_QUEUED, OP_ACTIVE, OP_DONE, OP_SENT = 0, 1, 2, 3, 4     # OP_SENT: a LOCAL whose last byte has left
OP = np.dtype([
    ("global_op", "i4"), ("kind", "i4"), ("any_of", "i4"), ("state", "i4"),
    ("nic", "i4"), ("dst", "i4"), ("rx_message", "i4"), ("deps_left", "i4"),
    ("length_bytes", "i8"), ("user_id", "i8"),
    ("ready_ps", "i8"),           # latest notice so far; then the time it started
    ("done_ps", "i8"),
    # who is told: first when it is done, then when its last byte has been sent, then the other half of a LOCAL
    ("edge_begin", "i4"), ("edge_count", "i4"), ("sent_count", "i4"),
    ("pdc", "i4"), ("rtx_packets", "i4"),
    ("log_bits", "i4"),           # LOG_* of workload.types
    ("mark_ps", "i8"),            # SEND: end of serialization of its base-RTT probe, 0: none under way; COMPUTE, LOCAL,
                                  # LOCAL_IN: the virtual time at which it has been served
    ("monitor_ps", "i8"),         # its packets are logged from then on, INF_PS: not
    ("delay_ps", "i8"),           # from being ready to the start
    ("work_ps", "i8"),            # COMPUTE, DELAY, LOCAL, LOCAL_IN: duration when alone
    ("wait_next", "i4"),          # next that waits for a PDC id; next that is served at once, or after this one
    ("queue_next", "i4"),         # LOCAL, LOCAL_IN: next between the same two hosts, which waits for this one
], align=True)

# Who is told: global op and node; NIC row here, or -1 and the IN row of what leaves for its rank; how much later.
EDGE = np.dtype([("op", "i4"), ("node", "i4"), ("nic", "i4"), ("departures", "i4"), ("delay_ps", "i8")], align=True)

PENDING = np.dtype([("time_ps", "i8"), ("op", "i4")], align=True)

# What the operations of a rank share, WORKS rows a NIC: its NPU, and both ways of its scale-up port. Those that are
# served at once get equal parts; `virtual_ps` counts the work that each of them has got.
W_NPU, W_OUT, W_IN = range(3)
WORKS = 3
WORK = np.dtype([("virtual_ps", "i8"), ("last_ps", "i8"), ("head", "i4"), ("running", "i4")], align=True)
