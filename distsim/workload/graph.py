"""The one internal form of every workload of ranks: what each rank does, in which order, and with whom.

Readers (Chakra, GOAL, SimAI, ...) and generators (collectives, nccl-tests) make a `Graph`; `lower` turns it into
operations of the engine on the hosts of a fabric, expanding collectives into transfers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# Kinds of nodes. COMP: work of the NPU, shared with what runs at once. FIXED: takes its duration whatever else runs
# (memory, CPU, measured durations). META: takes no time.
COMP, FIXED, SEND, RECV, COLL, META = 0, 1, 2, 3, 4, 5
NODE_KINDS = ("COMP", "FIXED", "SEND", "RECV", "COLL", "META")

# Collectives in the numbering of Chakra's CollectiveCommType (mlcommons/chakra, et_def.proto).
COLLECTIVES = ("all_reduce", "reduce", "all_gather", "gather", "scatter", "broadcast", "all_to_all", "reduce_scatter",
               "reduce_scatter_block", "barrier")
(ALL_REDUCE, REDUCE, ALL_GATHER, GATHER, SCATTER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK,
 BARRIER) = range(10)

NODES = np.dtype([
    ("rank", "i4"),
    ("kind", "u1"),          # COMP ...
    ("id", "u8"),            # in the user's file, or a running number
    ("duration_ps", "i8"),   # COMP, FIXED
    ("size_bytes", "i8"),    # SEND, RECV: of the transfer; COLL: its comm_size (see collectives/README.md)
    ("peer", "i4"),          # SEND: receiving rank; RECV: sending rank, -1: any (GOAL); else -1
    ("tag", "i8"),           # SEND, RECV: communication tag, 0 when the file has none
    ("group", "i4"),         # COLL, and a SEND that is ordered with a group's: row of `groups`; else -1
    ("collective", "u1"),    # COLL: number of COLLECTIVES
    ("root", "i4"),          # COLL with a root: its rank, -1: the group's first
    ("issue", "i8"),         # order in which the rank issued it, -1: the file does not say (no serialization)
])

# Rows of `nodes` of the same rank: `node` waits until `on` is done.
DEPS = np.dtype([("node", "i4"), ("on", "i4")])


@dataclass
class Group:
    """A process group: its name in the user's file and its ranks, i4[members], in the file's order."""

    name: str
    ranks: np.ndarray


@dataclass
class Graph:
    """What `ranks` ranks do.

    nodes : NODES[n], by rank, a rank's in the order of its file; deps : DEPS[m]; groups : process groups; counts :
    per-member bytes of an alltoallv, {node row: i8[members] sent to each}; warnings : lines for the user;
    source : the file (or prefix) it was read from, for messages; names : of nodes, {node row: text}, may be empty.
    control : bool[deps], those that the file calls control dependencies, and computation : bool[nodes], the nodes that
    it calls computations; None: all dependencies are of data, all COMP and FIXED nodes are computations.
    """

    ranks: int
    nodes: np.ndarray
    deps: np.ndarray
    groups: list[Group] = field(default_factory=list)
    counts: dict[int, np.ndarray] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    source: str = ""
    names: dict[int, str] = field(default_factory=dict)
    control: np.ndarray | None = None
    computation: np.ndarray | None = None
