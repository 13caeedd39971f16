"""Scale-up groups: ranks whose transfers to each other go over a fabric of their own instead of the NICs.

Rules: scala-computing/docs, models/chakra-workload/workload-execution.md, section on scale-up groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from distsim.quantities import Rate, Size, StrictModel, Time
from distsim.workload.base import MAX_START_PS, spelled

MAX_PACKET_BYTES = 64 << 20
NO_LATENCY = ("switch and cable latency are both 0; a transfer between servers must take at least 1 ps, "
              "e.g. give a cable latency of 25 ns")


def latencies_ps(switch_ps: int, cable_ps: int) -> tuple[int, int]:
    """(within a subgroup, across subgroups): one switch hop and two cables, three hops and four cables."""
    return switch_ps + 2 * cable_ps, 3 * switch_ps + 4 * cable_ps


def latency_problem(switch_ps: int, cable_ps: int) -> str | None:
    """Why these latencies cannot be used, None when they can."""
    near, far = latencies_ps(switch_ps, cable_ps)
    if near == 0:
        return NO_LATENCY
    if far > MAX_START_PS:
        return f"a latency of {far} ps across subgroups is more than {MAX_START_PS} ps"
    return None


@dataclass(frozen=True)
class ScaleUp:
    """Which ranks share a scale-up fabric, and what that fabric does.

    group : i4[ranks], row of the group, -1: none; subgroup : i4[ranks]. ids : the groups' numbers in the user's file;
    rate_bps, switch_ps, cable_ps : of each group, one entry a group. ValueError for a group without latency.
    """

    group: np.ndarray
    subgroup: np.ndarray
    ids: tuple[int, ...]
    rate_bps: tuple[int, ...]
    switch_ps: tuple[int, ...]
    cable_ps: tuple[int, ...]
    header_bytes: int = 24
    max_payload_bytes: int = 4096

    def __post_init__(self) -> None:
        for number, switch_ps, cable_ps in zip(self.ids, self.switch_ps, self.cable_ps):
            problem = latency_problem(switch_ps, cable_ps)
            if problem:
                raise ValueError(f"scale-up group {number}: {problem}")

    def local(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """bool, shaped like the ranks `src` and `dst`: whether a transfer between them uses the scale-up fabric."""
        group = self.group[src]
        return (group >= 0) & (group == self.group[dst]) & (src != dst)

    def server_of(self, ranks: np.ndarray) -> int:
        """Consecutive ones of these ranks (i4[members], in the order of a process group) that share a group, when the
        members are runs of equal length each of a group of its own; else 1."""
        group = self.group[ranks]
        begins = np.flatnonzero(np.diff(group, prepend=-2))
        lengths = np.diff(begins, append=len(group))
        alike = len(lengths) and (group >= 0).all() and (lengths == lengths[0]).all()
        return int(lengths[0]) if alike and len(np.unique(group)) == len(begins) else 1

    def latency_ps(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """i8: switches and cables between ranks of one group."""
        both = np.array([latencies_ps(*pair) for pair in zip(self.switch_ps, self.cable_ps)], "i8").reshape(-1, 2)
        return both[self.group[src], (self.subgroup[src] != self.subgroup[dst]).astype("i4")]

    def work_ps(self, src: np.ndarray, size_bytes: np.ndarray) -> np.ndarray:
        """i8: time to send `size_bytes` and the headers of its packets at the full rate of the group of `src`, rounded
        up; a transfer of nothing is one header."""
        group = self.group[src]
        out = np.zeros(len(group), "i8")
        for row in np.unique(group).tolist():
            chosen = group == row
            sizes, place = np.unique(size_bytes[chosen], return_inverse=True)
            out[chosen] = np.array([self._work(size, self.rate_bps[row]) for size in sizes.tolist()], "i8")[place]
        return out

    def _work(self, size_bytes: int, rate_bps: int) -> int:
        packets = max(1, -(-size_bytes // self.max_payload_bytes))
        bits = 8 * (size_bytes + packets * self.header_bytes)
        return min(-(-bits * 10**12 // rate_bps), MAX_START_PS)


class ScaleUpSpec(StrictModel):
    """Servers of consecutive ranks that share a scale-up fabric."""

    gpus_per_server: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] = Field(
        default=8, description="Consecutive ranks that form a server.")
    bandwidth: Annotated[Rate, Field(ge=1)] = spelled(
        "3600Gbps", "Rate at which a rank sends and at which it receives, shared by those it talks to at once.")
    switch_latency: Annotated[Time, Field(ge=0, le=MAX_START_PS)] = spelled("100ns", "Latency of a switch hop.")
    cable_latency: Annotated[Time, Field(ge=0, le=MAX_START_PS)] = spelled("25ns", "Latency of a cable, two a hop.")
    header: Annotated[Size, Field(ge=0, le=MAX_PACKET_BYTES)] = spelled("24B", "Header of a packet, at most 64 MiB.")
    max_payload: Annotated[Size, Field(ge=1, le=MAX_PACKET_BYTES)] = spelled(
        "4096B", "Most data in a packet, 1 B to 64 MiB.")

    @model_validator(mode="after")
    def _takes_time(self) -> ScaleUpSpec:
        problem = latency_problem(self.switch_latency, self.cable_latency)
        if problem:
            raise ValueError(problem)
        return self

    def build(self, ranks: int) -> ScaleUp:
        """The groups of `ranks` ranks: ranks 0 to gpus_per_server - 1 are server 0, and so on."""
        group = np.arange(ranks, dtype="i4") // self.gpus_per_server
        count = int(group[-1]) + 1 if ranks else 0
        return ScaleUp(group, np.zeros(ranks, "i4"), tuple(range(count)), (self.bandwidth,) * count,
                       (self.switch_latency,) * count, (self.cable_latency,) * count, self.header, self.max_payload)
