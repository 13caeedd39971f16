"""What a workload is: operations with dependencies, as NumPy tables.

An operation becomes ready when the operations it waits for have reported (all of them, or any k of them), at the
latest of their notices (all) or the k-th (any k), and not before its own start time; it starts `delay_ps` later. A
notice on the same host acts at once; one to another host takes its edge's `delay_ps`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# SEND: a message over the fabric. JOIN: passes notices on (barrier, trigger, receive, begin and end of a collective).
# COMPUTE: work of the rank's NPU, of which those running at once get equal shares. DELAY: takes `work_ps`, whatever
# else runs. LOCAL: a transfer to a host of the same scale-up group, LOCAL_IN its other half on the receiving host.
SEND, JOIN, COMPUTE, DELAY, LOCAL, LOCAL_IN = 0, 1, 2, 3, 4, 5

# Reports of an operation. ON_SEND_DONE: all acknowledged (SEND, LOCAL); ON_RECV_DONE: all in, at the receiver (SEND);
# ON_FIRE: done (JOIN, COMPUTE, DELAY, LOCAL_IN); ON_SENT: every byte has been sent, as SEND_COMPLETE of the NIC has it:
# the last segment's fetch has been issued (SEND), or the last byte has left (LOCAL);
# ON_LOCAL: from a LOCAL to its LOCAL_IN, when the first and when the last byte leaves.
ON_SEND_DONE, ON_RECV_DONE, ON_FIRE, ON_SENT, ON_LOCAL = 0, 1, 2, 3, 4

# flags of an operation
LOG_MESSAGE = 1           # a SEND or LOCAL writes a PERF row when it has been acknowledged
LOG_OP = 2                # writes an OPLOG row when it is done; a SEND or LOCAL also when its last byte has been sent

TRIGGER_DELAY = -1        # delay_ps of an edge: SimulationParameters.TriggerDelay

OPS = np.dtype([
    ("user_id", "i8"),      # the id in the user's file, or a running number from 1
    ("kind", "u1"),         # SEND ...
    ("flags", "u1"),        # LOG_*
    ("any_of", "i4"),       # 0: waits for all `deps`; k > 0: the k-th notice in time starts it, later ones are ignored
    ("host", "i4"),         # where it runs (the sender; for a JOIN the lowest host that reports to it)
    ("dst", "i4"),          # SEND, LOCAL: destination host; LOCAL_IN: source host; else -1
    ("size_bytes", "i8"),   # SEND, LOCAL, LOCAL_IN: message size, >= 0
    ("start_ps", "i8"),     # earliest start, relative to the workload's start
    ("delay_ps", "i8"),     # between being ready and the start, >= 0
    ("work_ps", "i8"),      # COMPUTE, DELAY: duration when alone; LOCAL, LOCAL_IN: duration at the full rate
    ("deps", "i4"),         # number of edges that lead to it (a LOCAL_IN: without its ON_LOCAL); 0: starts at start_ps
])

EDGES = np.dtype([
    ("src", "i4"),          # op row that reports
    ("dst", "i4"),          # op row that is told
    ("when", "u1"),         # ON_SEND_DONE ...
    ("delay_ps", "i8"),     # to another host: > 0, or TRIGGER_DELAY; on the same host not used
])

# What an operation of a graph is to the records; one row an OPS row.
LABELS = np.dtype([
    ("node", "i4"),         # row of Graph.nodes that it came from, -1: none (synchronization)
    ("instance", "i4"),     # row of Workload.instances, -1: no part of a collective
    ("rank", "i4"),         # rank that runs it
    ("peer", "i4"),         # SEND, LOCAL: rank that receives; LOCAL_IN: rank that sends; else -1
    ("tag", "i8"),          # communication tag of a transfer, else -1
    ("role", "u1"),         # ROLE_*
])
ROLE_NONE, ROLE_NODE, ROLE_BEGIN, ROLE_END, ROLE_TRANSFER, ROLE_SYNC = 0, 1, 2, 3, 4, 5
# NODE: a node of the graph itself (compute, send, receive, metadata). BEGIN, END: JOINs where a rank enters and leaves
# a collective. TRANSFER: a transfer of a collective. SYNC: operations of a synchronization barrier.

# One row a collective that was expanded.
INSTANCES = np.dtype([
    ("collective", "u1"),   # number of graph.COLLECTIVES
    ("group", "i4"),        # row of Graph.groups
    ("group_size", "i4"),
    ("size_bytes", "i8"),   # as in the graph
    ("algorithm", "u1"),    # number of collectives.ALGORITHMS
    ("order", "i4"),        # how many collectives of its group came before it
])


@dataclass
class Phase:
    """What a finished phase came to, the same on every rank.

    start_ps, end_ps : its start and the time of its last completion, absolute. done_ps, began_ps : i8[ops], when each
    operation flagged LOG_OP was done and had started (absolute; -1: not logged), in the order of the workload's ops.
    """

    start_ps: int
    end_ps: int
    began_ps: np.ndarray
    done_ps: np.ndarray


@dataclass
class Workload:
    """ops : OPS[n]; edges : EDGES[m]; application : name of the traffic in records; warnings : lines for the user.

    labels : LABELS[n] and graph, instances : INSTANCES[k] of a workload made from a graph (`lower`), for the chakra
    records; placement : i4[ranks], host of each rank. following : called on every rank with what this phase came to,
    once nothing is left to do, returns the next phase or None; `pause_ps` later it starts. notices : i8[n, 3], pairs of
    different hosts (from, to) between which operations of any phase tell each other something, and the least delay, ps;
    None when it has one phase only, or nothing but messages goes between hosts. sweep : of kind nccl-tests, the
    nccl_tests.sweep.Sweep that this phase belongs to, with its `report` (log lines, files) and `volumes()`.
    lanes : lanes.Lanes of parts of which some run in phases.
    """

    ops: np.ndarray
    edges: np.ndarray
    application: str = "flow"
    warnings: list[str] = field(default_factory=list)
    labels: np.ndarray | None = None
    instances: np.ndarray | None = None
    graph: Any = None
    placement: np.ndarray | None = None
    settings: Any = None
    notices: np.ndarray | None = None
    following: Callable[[Phase], Workload | None] | None = None
    pause_ps: int = 0
    sweep: Any = None
    lanes: Any = None
