"""When a sweep has become steady, and what larger sizes then take."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

WITHIN = 0.01                 # successive marginal rates agree
AGREEMENTS = 2                # so often in a row


@dataclass
class Series:
    """Times of the sizes of one column, ascending, that were simulated with one algorithm and protocol.

    least_bytes : the smallest size that counts.
    """

    least_bytes: int
    choice: object = None
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, size_bytes: int, seconds: float, choice: object) -> None:
        """Note what a size took; another choice than before, or a size that does not grow, begins anew."""
        if choice != self.choice or (self.sizes and size_bytes <= self.sizes[-1]):
            self.choice, self.sizes, self.seconds = choice, [], []
        if size_bytes >= self.least_bytes:
            self.sizes.append(size_bytes)
            self.seconds.append(seconds)

    def sources(self, size_bytes: int, choice: object) -> tuple[int, ...]:
        """The sizes from which `size_bytes` may be extrapolated; none when it has to be simulated.

        The marginal rates dT/dS of the last sizes must agree within WITHIN, AGREEMENTS times in a row.
        """
        used = AGREEMENTS + 2
        if choice != self.choice or len(self.sizes) < used or size_bytes <= self.sizes[-1]:
            return ()
        rates = self._rates()[-(AGREEMENTS + 1):]
        if any(rate <= 0 for rate in rates):
            return ()
        agree = all(abs(rate / before - 1) <= WITHIN for before, rate in pairwise(rates))
        return tuple(self.sizes[-used:]) if agree else ()

    def extrapolated(self, size_bytes: int) -> float:
        """Seconds of a larger size on the line through the last two."""
        return self.seconds[-1] + self._rates()[-1] * (size_bytes - self.sizes[-1])

    def _rates(self) -> list[float]:
        return [(self.seconds[i + 1] - self.seconds[i]) / (self.sizes[i + 1] - self.sizes[i])
                for i in range(len(self.sizes) - 1)]
