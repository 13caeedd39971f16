"""What an algorithm is asked for, and what its file has to define."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np

from distsim.workload.collectives.pieces import Runs, split, up
from distsim.workload.collectives.schedule import Options, Schedule


@dataclass(frozen=True)
class Request:
    """One collective, checked: at least 2 members, root within them, size >= 0.

    collective : number of graph.COLLECTIVES; a barrier comes as an all_reduce of 0 bytes, reduce_scatter_block as
    reduce_scatter. algorithm : the name asked for. counts : i8[members, members], bytes from row to column (alltoallv,
    the diagonal is 0), or None. When size_bytes is 0 and there are no counts, options.whole holds.
    """

    collective: int
    algorithm: str
    members: int
    size_bytes: int
    root: int = 0
    options: Options = field(default_factory=Options)
    counts: np.ndarray | None = None

    @property
    def keep_zero(self) -> bool:
        """Transfers of 0 bytes are made: the collective has no bytes at all. Otherwise empty pieces are left out."""
        return self.size_bytes == 0 and self.counts is None

    def blocks(self) -> np.ndarray:
        """i8[members], bytes of each member's block of a collective that divides its size.

        Whole form: C = size / members rounded up (Chakra). Cut form: their sum is the size, the last ones are smaller.
        """
        if self.options.whole:
            return np.full(self.members, up(self.size_bytes, self.members), "i8")
        return split(np.int64(self.size_bytes), self.members)

    def pair(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Bytes that src sends dst in an all_to_all; arrays of members that broadcast."""
        src, dst = np.broadcast_arrays(src, dst)
        return self.blocks()[dst] if self.counts is None else self.counts[src, dst]

    def power_of_two(self) -> int:
        """log2 of the members; ValueError unless it is whole."""
        if self.members & (self.members - 1):
            raise ValueError(f"{self.algorithm} needs a group whose size is a power of two, got {self.members} members")
        return self.members.bit_length() - 1


class Algorithm(Protocol):
    """What the file of an algorithm defines; a module is one."""

    def expand(self, request: Request) -> Schedule:
        """The transfers, in bytes of data (the protocol's overhead is added by the caller)."""

    def tally(self, request: Request) -> Runs:
        """How many messages of which size `expand` makes, without making them."""

    def ideal_bytes(self, request: Request) -> Fraction:
        """Bytes that the busiest port sends or receives from start to end, one after the other, in the ideal case."""
