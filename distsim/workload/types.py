"""What a workload is: operations with dependencies, as NumPy tables.

An operation becomes ready when the operations it waits for have reported (all of them, or any k of them), at the
latest of their notices (all) or the k-th (any k), and not before its own start time. A notice from another host takes
`TriggerDelay`; on the same host it acts at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

SEND, JOIN = 0, 1                 # a message to another host; a point that only passes notices on (barrier, trigger)
ON_SEND_DONE, ON_RECV_DONE, ON_FIRE = 0, 1, 2

OPS = np.dtype([
    ("user_id", "i8"),      # the id in the user's file, or a running number from 1
    ("kind", "u1"),         # SEND or JOIN
    ("any_of", "i4"),       # 0: waits for all `deps`; k > 0: the k-th notice in time starts it, later ones are ignored
    ("host", "i4"),         # where it runs (the sender; for a JOIN the lowest host that reports to it)
    ("dst", "i4"),          # SEND: destination host; JOIN: -1
    ("size_bytes", "i8"),   # SEND: message size, >= 0
    ("start_ps", "i8"),     # earliest start, relative to the workload's start
    ("deps", "i4"),         # number of edges that lead to it; 0: starts at start_ps
])

EDGES = np.dtype([
    ("src", "i4"),          # op row that reports
    ("dst", "i4"),          # op row that is told
    ("when", "u1"),         # ON_SEND_DONE (all acknowledged), ON_RECV_DONE (all in, at the receiver), ON_FIRE (JOIN)
])


@dataclass
class Workload:
    """ops : OPS[n]; edges : EDGES[m]; application : name of the traffic in records; warnings : lines for the user."""

    ops: np.ndarray
    edges: np.ndarray
    application: str = "flow"
    warnings: list[str] = field(default_factory=list)
