"""The tables of a workload while they are being filled."""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.workload.lower.settings import Settings
from distsim.workload.types import (
    EDGES,
    LABELS,
    LOCAL,
    LOCAL_IN,
    LOG_MESSAGE,
    LOG_OP,
    ON_LOCAL,
    OPS,
    ROLE_NODE,
    ROLE_TRANSFER,
    SEND,
)

CHUNK = 1 << 20


class Tables:
    """OPS, LABELS and EDGES of their final length. Edges are put one after the other."""

    def __init__(self, ops: int, edges: int, settings: Settings, placement: np.ndarray):
        self.ops = np.zeros(ops, OPS)
        self.labels = np.zeros(ops, LABELS)
        self.edges = np.zeros(edges, EDGES)
        self.used = 0
        self.settings = settings
        self.placement = placement
        self.ops["dst"] = -1
        for name in ("node", "instance", "peer", "tag"):
            self.labels[name] = -1

    def connect(self, src: Any, dst: Any, when: Any, delay_ps: Any = 0) -> None:
        """Add edges; the arguments are numbers or arrays of shapes that broadcast to that of `dst`."""
        shape = np.shape(dst)
        count = int(np.prod(shape))
        into = self.edges[self.used:self.used + count].reshape(shape)
        into["src"], into["dst"], into["when"], into["delay_ps"] = src, dst, when, delay_ps
        self.used += count

    def place(self, rows: np.ndarray, rank: np.ndarray) -> None:
        """Say which rank runs `rows`."""
        self.labels["rank"][rows] = rank
        self.ops["host"][rows] = self.placement[rank]

    def transfers(self, rows: np.ndarray, rank: np.ndarray, peer: np.ndarray, size_bytes: np.ndarray,
                  role: int) -> None:
        """Make `rows` messages over the fabric from `rank` to `peer`; arrays of the shape of `rows`."""
        self.place(rows, rank)
        self.ops["kind"][rows] = SEND
        self.ops["dst"][rows] = self.placement[peer]
        self.ops["size_bytes"][rows] = size_bytes
        self.labels["peer"][rows] = peer
        self.labels["role"][rows] = role
        flags = LOG_MESSAGE if self.settings.log_messages else 0
        if self.settings.log_ops == "all" and role in (ROLE_NODE, ROLE_TRANSFER):
            flags |= LOG_OP
        self.ops["flags"][rows] = flags

    def halves(self, rows: np.ndarray, arrivals: np.ndarray) -> None:
        """Turn the transfers `rows`, i8[n], into transfers of the scale-up fabric with the other halves `arrivals`."""
        scale_up = self.settings.scale_up
        assert scale_up is not None
        ops, labels = self.ops, self.labels
        rank, peer, size_bytes = labels["rank"][rows], labels["peer"][rows], ops["size_bytes"][rows]
        self.place(arrivals, peer)
        ops["kind"][rows], ops["kind"][arrivals] = LOCAL, LOCAL_IN
        ops["work_ps"][rows] = ops["work_ps"][arrivals] = scale_up.work_ps(rank, size_bytes)
        ops["dst"][arrivals], ops["size_bytes"][arrivals] = self.placement[rank], size_bytes
        ops["user_id"][arrivals] = ops["user_id"][rows]
        ops["flags"][arrivals] = ops["flags"][rows] & LOG_OP
        labels["peer"][arrivals] = rank
        for name in ("tag", "role", "instance"):
            labels[name][arrivals] = labels[name][rows]
        self.connect(rows, arrivals, ON_LOCAL, scale_up.latency_ps(rank, peer))

    def count_deps(self) -> None:
        """Set `deps` of every operation to its edges, those from a LOCAL to its LOCAL_IN left out."""
        assert self.used == len(self.edges)
        deps = np.zeros(len(self.ops), "i4")
        for begin in range(0, len(self.edges), CHUNK):
            part = self.edges[begin:begin + CHUNK]
            np.add.at(deps, part["dst"][part["when"] != ON_LOCAL], 1)
        self.ops["deps"] = deps
