"""How many packet-hops a run will come to, and how long they take: said before a long run, and refused above a limit.

A hop is a packet's arrival at a switch or a NIC, so a packet makes as many as its path has links. Counted: data, ACKs
as configured, and each message's base-RTT probe with its answer; not counted: retransmissions, NACKs, PFC frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .errors import InputError
from .fabric.types import Fabric, Routes
from .workload.types import SEND, Workload

# Packet-hops a second of one core: README.md, "How fast", perm8192, the slowest of launch/bench.py's cases. Two ranks
# on two cores did 2.09 times as many on perm1024; here each rank counts once.
HOPS_A_SECOND = 4_000_000
DAY_S = 86_400
PROBE_PACKETS = 2               # of a message: the base-RTT probe and its answer
LONG_S = 10.0                   # from here on a projection is worth a line


class _Pairs(Protocol):
    @property
    def src(self) -> np.ndarray: ...
    @property
    def dst(self) -> np.ndarray: ...
    @property
    def messages(self) -> np.ndarray: ...
    @property
    def size(self) -> np.ndarray: ...


class _Volume(Protocol):
    @property
    def operations(self) -> int: ...
    @property
    def messages(self) -> int: ...
    @property
    def wire_bytes(self) -> int: ...
    @property
    def pairs(self) -> _Pairs: ...
    @property
    def more(self) -> bool: ...


@dataclass(frozen=True)
class Senders:
    """What NICs do with a message. mss_bytes : RdmaDataMSS; ack_every, ack_first, ack_last : AckRequestEveryNthPacket,
    AckRequestFirstPacket, AckRequestLastPacket; each i8[hosts]."""

    mss_bytes: np.ndarray
    ack_every: np.ndarray
    ack_first: np.ndarray
    ack_last: np.ndarray

    @classmethod
    def of(cls, nicpar: np.ndarray, nic_param: np.ndarray) -> Senders:
        """From NICPAR rows and the row of each NIC (assemble.nic_parameters)."""
        rows = nicpar[nic_param]
        return cls(*(rows[name].astype("i8") for name in ("mss_bytes", "ar_every", "ar_first", "ar_last")))

    def packets(self, host: np.ndarray, size_bytes: np.ndarray) -> np.ndarray:
        """i8[n], packets of all kinds that a message from a host comes to."""
        data = np.maximum(1, -(-size_bytes // self.mss_bytes[host]))
        every, first = self.ack_every[host], self.ack_first[host] != 0
        acks = np.where(first, -(-data // every), data // every)
        last_asked = np.where(first, (data - 1) % every == 0, data % every == 0)
        acks += (self.ack_last[host] != 0) & ~last_asked
        return data + acks + PROBE_PACKETS


@dataclass(frozen=True)
class Projection:
    """hops : packet-hops; most : whether it may be fewer, and not more (a sweep that stops when it is steady)."""

    hops: int
    most: bool = False

    def seconds(self, ranks: int = 1) -> float:
        """Expected time on so many ranks, each on a core of its own."""
        return self.hops / HOPS_A_SECOND / ranks

    def text(self, ranks: int = 1) -> str:
        """For the user: ``projected: 1.2e+09 hops, about 5 min``."""
        return f"projected: {'at most ' * self.most}{self.hops:.2g} hops, about {spell_seconds(self.seconds(ranks))}"


def project(workload: Workload, fabric: Fabric, routes: Routes, senders: Senders) -> Projection:
    """The projection of a workload: of its operations, or for nccl-tests of all its phases without expanding them."""
    lengths = _Links(fabric, routes)
    parts = [workload] if workload.lanes is None else [lane.workload for lane in workload.lanes.lanes]
    found = [_part_hops(part, senders, lengths) for part in parts]
    return Projection(sum(hops for hops, _, _ in found),
                      any(fewer for _, fewer, _ in found) and not any(more for _, _, more in found))


def _part_hops(workload: Workload, senders: Senders, lengths: _Links) -> tuple[int, bool, bool]:
    """Hops of one workload, of all its phases; whether they may be fewer, whether more."""
    if workload.sweep is not None:
        volumes = [(_volume_hops(volume, senders, lengths), volume.more) for volume in workload.sweep.volumes()]
        return (sum(hops for hops, _ in volumes), bool(workload.sweep.shape.steady), any(more for _, more in volumes))
    ops = workload.ops[workload.ops["kind"] == SEND]
    packets = senders.packets(ops["host"], ops["size_bytes"])
    return int((packets * lengths.between(ops["host"], ops["dst"])).sum()), False, False


def project_estimate(transfers: int, size_bytes: int, fabric: Fabric, routes: Routes, senders: Senders) -> Projection:
    """The projection of so many transfers that carry so many bytes in all, between any two hosts alike."""
    if not transfers:
        return Projection(0)
    packets = senders.packets(np.zeros(1, "i8"), np.array([size_bytes // transfers], "i8"))
    return Projection(round(float(packets[0]) * transfers * _Links(fabric, routes).mean()))


def default_limit(ranks: int = 1) -> int:
    """Hops of a day on this machine."""
    return HOPS_A_SECOND * DAY_S * ranks


def check_projection(projection: Projection, limit_hops: int | None = None, yes: bool = False, ranks: int = 1) -> None:
    """InputError when the projection is above the limit (None: a day's) and `yes` does not allow it."""
    limit = default_limit(ranks) if limit_hops is None else limit_hops
    if yes or projection.hops <= limit:
        return
    why = "a day" if limit_hops is None else "--max-hops"
    raise InputError(f"{projection.text(ranks)}; that is above the limit of {limit:.2g} hops ({why}): --yes runs it "
                     "all the same, --max-hops sets another limit", where="workload")


def spell_seconds(seconds: float) -> str:
    """A duration in its natural unit: 12 s, 3 min, 5 h, 4 days."""
    for limit, unit_s, unit in ((90, 1, "s"), (90 * 60, 60, "min"), (36 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{max(1, round(seconds / unit_s))} {unit}"
    return f"{round(seconds / DAY_S):,} days"


def _volume_hops(volume: _Volume, senders: Senders, lengths: _Links) -> int:
    """From the mean message of each pair of hosts."""
    pairs = volume.pairs
    if not volume.messages or not len(pairs.src):
        return 0
    size = np.rint(volume.wire_bytes * pairs.size / (volume.messages * pairs.messages)).astype("i8")
    packets = senders.packets(pairs.src, size)
    hops = float((packets * lengths.between(pairs.src, pairs.dst) * pairs.messages).sum()) * volume.messages
    return round(hops) * volume.operations


class _Links:
    """Links of the shortest paths between hosts."""

    def __init__(self, fabric: Fabric, routes: Routes):
        self._leaf = routes.leaf_index[routes.leaf_of_host]
        self._hops = leaf_hops(fabric, routes)

    def mean(self) -> float:
        """Of two hosts taken at random."""
        share = np.bincount(self._leaf, minlength=len(self._hops)) / len(self._leaf)
        return float(2 + share @ self._hops @ share)

    def between(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """i8[n]: two NIC links and those between the leaves."""
        return 2 + self._hops[self._leaf[src], self._leaf[dst]]


def leaf_hops(fabric: Fabric, routes: Routes) -> np.ndarray:
    """i8[leaves, leaves], links between every two leaf switches."""
    leaves = np.flatnonzero(routes.leaf_index >= 0)
    leaves = leaves[np.argsort(routes.leaf_index[leaves])]
    columns = np.arange(len(leaves))
    here = np.repeat(leaves[:, None], len(leaves), axis=1)
    hops = np.zeros(here.shape, "i8")
    while True:
        sets = routes.table[here - fabric.hosts, columns]
        moving = sets >= 0
        if not moving.any():
            return hops
        here[moving] = fabric.links["dst"][routes.members[routes.set_begin[sets[moving]]]]
        hops[moving] += 1
