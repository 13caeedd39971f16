"""Averages by message size: rows are summed and rounded once, so they do not depend on how the log was read."""

from __future__ import annotations

from .status import Result


class Averages:
    """Sums of rows by size, in the order in which sizes first appear. Memory grows with the sizes, not the rows."""

    def __init__(self) -> None:
        self._sums: dict[int, list[float]] = {}
        self.rows = 0

    def add(self, size_bytes: int, algbw_gbs: float, busbw_gbs: float) -> None:
        """Count one row; bandwidths in GB/s."""
        self.rows += 1
        sums = self._sums.get(size_bytes)
        if sums is None:
            self._sums[size_bytes] = [algbw_gbs, busbw_gbs, 1]
            return
        sums[0] += algbw_gbs
        sums[1] += busbw_gbs
        sums[2] += 1

    def results(self) -> list[Result]:
        """One result a size; the binary value of the average is rounded to two decimals, as C does."""
        return [Result(size, f"{algbw / count:.2f}", f"{busbw / count:.2f}", int(count))
                for size, (algbw, busbw, count) in self._sums.items()]
