"""What fails in a fabric and what links lose at random: the same on every rank, in tables by link of the fabric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import tables as t
from .allocate import zeros

SIZE_BITS = 16         # a frame has fewer than 2**16 bytes
INTERVALS = np.dtype([("link", "i8"), ("begin_ps", "i8"), ("end_ps", "i8")])


@dataclass(frozen=True)
class FaultPlan:
    """Faults of one run.

    keep : f8[links], chance that a frame is not lost whatever its size. bit_class : i4[links], row of `survival` of the
    link's bit error rate, -1: no bit errors. survival : f8[classes, 16], chance that 2**k bytes arrive without a wrong
    bit. down : INTERVALS, when links are down, absolute; of a link they do not touch. routed : the same for when routes
    take a link as down.
    """

    keep: np.ndarray
    bit_class: np.ndarray
    survival: np.ndarray
    down: np.ndarray
    routed: np.ndarray

    @property
    def instants(self) -> list[int]:
        """When something changes, ascending, ps."""
        times = [part[name] for part in (self.down, self.routed) for name in ("begin_ps", "end_ps")]
        found = np.unique(np.concatenate(times))
        return [int(time) for time in found if time < t.INF_PS]

    @property
    def lossy(self) -> np.ndarray:
        """bool[links]: which lose frames at random."""
        return (self.keep < 1) | (self.bit_class >= 0)


def down_at(intervals: np.ndarray, links: int, time_ps: int) -> np.ndarray:
    """i8[links]: until when each link is down at an instant (the first beyond the interval), 0: it is up."""
    until = np.zeros(links, "i8")
    now = intervals[(intervals["begin_ps"] <= time_ps) & (intervals["end_ps"] > time_ps)]
    until[now["link"]] = now["end_ps"]
    return until


def merged(intervals: np.ndarray) -> np.ndarray:
    """INTERVALS in order of (link, begin), those of a link that touch or overlap made one."""
    found: list[list[int]] = []
    for link, begin, end in np.sort(intervals, order=["link", "begin_ps", "end_ps"]).tolist():
        if found and found[-1][0] == link and begin <= found[-1][2]:
            found[-1][2] = max(found[-1][2], end)
        else:
            found.append([link, begin, end])
    return np.array([tuple(row) for row in found], INTERVALS)


def survival_of(bit_error_rate: float) -> np.ndarray:
    """f8[16]: the chance that 2**k bytes have no wrong bit, by squaring alone, so the same on every machine."""
    keep = 1.0 - bit_error_rate
    for _ in range(3):
        keep *= keep
    row = np.zeros(SIZE_BITS)
    for k in range(SIZE_BITS):
        row[k] = keep
        keep *= keep
    return row


def loss_tables(plan: FaultPlan | None, ports: np.ndarray, in_rows: int) -> dict[str, np.ndarray]:
    """Tables `losses` and `survival` of a rank. ports : link of each PORT row. One row each without faults.

    LOSS rows: one a port, for what it loses as it sends; then one an IN row, for what a cut loses on the wire.
    """
    if plan is None:
        return {"losses": zeros(1, t.LOSS), "survival": zeros(1, t.SURVIVAL)}
    losses = zeros(len(ports) + in_rows, t.LOSS)
    losses["keep"] = 1.0
    losses["keep"][:len(ports)] = plan.keep[ports]
    losses["bits"] = -1
    own = plan.bit_class[ports]
    losses["bits"][:len(ports)] = np.where(own >= 0, own * SIZE_BITS, -1)
    survival = zeros(max(1, plan.survival.size), t.SURVIVAL)
    if plan.survival.size:
        survival["keep"] = plan.survival.reshape(-1)
    return {"losses": losses, "survival": survival}
