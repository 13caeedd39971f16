"""Figures on the iterations of a measurement, one by one.

Facts: NVIDIA/nccl-tests 2.19.1, src/util.cu (computeIterStats, percentileIndex).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Iterations:
    """times_us : of each iteration, the slowest rank's, microseconds an operation; the others from them."""

    times_us: tuple[float, ...]
    min_us: float
    max_us: float
    avg_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    stdev_us: float

    @property
    def cv_pct(self) -> float:
        """Standard deviation over average, percent."""
        return self.stdev_us / self.avg_us * 100 if self.avg_us > 0 else 0.0


def figures(times_us: Sequence[float]) -> Iterations:
    """The figures of at least one time; percentiles by nearest rank, the deviation that of all of them."""
    ordered, count = sorted(times_us), len(times_us)
    average = sum(times_us) / count
    deviation = math.sqrt(sum((time - average) ** 2 for time in times_us) / count)

    def percentile(wanted: int) -> float:
        return ordered[min(count - 1, (count * wanted + 99) // 100 - 1)]

    return Iterations(tuple(times_us), ordered[0], ordered[-1], average, ordered[count // 2], percentile(95),
                      percentile(99), deviation)
