"""How a traceset is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from distsim.errors import InputError


@dataclass(frozen=True)
class Roofline:
    """What an NPU can do, for nodes that say how much work they are but not how long they take.

    tflops : peak rate in 10**12 operations a second; memory_gb_per_s : memory bandwidth in 10**9 bytes a second;
    None: not given.
    """

    tflops: float | None = None
    memory_gb_per_s: float | None = None

    def duration_ps(self, operations: int, size_bytes: int, file: str, node: str) -> int:
        """The longer of the time for the operations and the time for the bytes, ps, rounded up.

        Roofline model as in astra-sim (num_ops and tensor_size of a node). Raises InputError that says which fields to
        give when a rate is missing that the node needs.
        """
        needs = [("peak_tflops", operations, self.tflops, 1),
                 ("memory_gb_per_s", size_bytes, self.memory_gb_per_s, 1000)]
        missing = [name for name, amount, rate, _ in needs if amount and rate is None]
        if missing:
            raise InputError(f"{node} has no duration, only num_ops {operations} and tensor_size {size_bytes}; give "
                             f"workload.{' and workload.'.join(missing)} for a roofline estimate", file=file)
        return max(math.ceil(Fraction(amount * factor) / Fraction(rate)) if amount and rate else 0
                   for _, amount, rate, factor in needs)


UNKNOWN = Roofline()


@dataclass(frozen=True)
class Reading:
    """Settings of `read_traceset`.

    scaling : factor on every size and duration, None: as they are; the results are truncated to whole bytes and
    microseconds. roofline : rates of the NPU. ranks : so many ranks do what the only file says, None: one rank a file.
    names : keep the nodes' names.
    """

    scaling: float | None = None
    roofline: Roofline = UNKNOWN
    ranks: int | None = None
    names: bool = False


AS_WRITTEN = Reading()
