"""Averages by message size.

Final ones sum all rows and round once, so they do not depend on how the log was read. Provisional ones are running
means that carry on from the rounded averages before, so they drift (measurement.md, section 3).
"""

from __future__ import annotations

from .status import Result


class Averages:
    """Sums of rows by size, in the order in which sizes first appear. Memory grows with the sizes, not the rows."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[float, float, int]] = {}  # replaced as a whole: another thread may be reading
        self.rows = 0

    def add(self, size_bytes: int, algbw_gbs: float, busbw_gbs: float) -> None:
        """Count one row; bandwidths in GB/s."""
        self.rows += 1
        algbw, busbw, count = self._sums.get(size_bytes, (0.0, 0.0, 0))
        self._sums[size_bytes] = (algbw + algbw_gbs, busbw + busbw_gbs, count + 1)

    def results(self) -> list[Result]:
        """One result a size; the binary value of the average is rounded to two decimals, as C does."""
        return [Result(size, f"{algbw / count:.2f}", f"{busbw / count:.2f}", count)
                for size, (algbw, busbw, count) in list(self._sums.items())]

    def onto(self, earlier: list[Result]) -> list[Result]:
        """Running means: each average in `earlier` weighs as many rows as it has samples; new sizes follow in order."""
        merged = {one.size_bytes: one for one in earlier}
        for size, (algbw, busbw, count) in self._sums.items():
            before = merged.get(size, Result(size, "0", "0", 0))
            total = before.samples + count
            merged[size] = Result(size, f"{(float(before.algbw) * before.samples + algbw) / total:.2f}",
                                  f"{(float(before.busbw) * before.samples + busbw) / total:.2f}", total)
        return list(merged.values())
