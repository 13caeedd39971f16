"""Which algorithms there are, and for which collectives: one row each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from distsim.workload.collectives import (
    all_to_all,
    chain,
    dissemination,
    halving,
    hierarchical,
    hypercube,
    nccl,
    ring,
    star,
    tree,
)
from distsim.workload.collectives.request import Algorithm, Request
from distsim.workload.collectives.schedule import Options
from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLLECTIVES,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCATTER,
)


class Row(NamedTuple):
    """An algorithm's name in the configuration, the module that makes it, the collectives that it makes."""

    name: str
    module: Algorithm
    collectives: tuple[int, ...]


# The first row of a collective is its default (Chakra page, Configuration). New names go to the end: the position of a
# name is the number in records.
ROWS = (
    Row("ring", ring, (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, BARRIER)),
    Row("ring", chain, (REDUCE,)),
    Row("tree", tree, (ALL_REDUCE, REDUCE, BARRIER)),
    Row("double-tree", tree, (ALL_REDUCE, BARRIER)),
    Row("halving-doubling", halving, (ALL_REDUCE, BARRIER)),
    Row("halving", halving, (REDUCE_SCATTER,)),
    Row("interleaved", star, (BROADCAST,)),
    Row("interleaved", all_to_all, (ALL_TO_ALL,)),
    Row("sequential", star, (BROADCAST,)),
    Row("sequential", all_to_all, (ALL_TO_ALL,)),
    Row("direct", star, (GATHER, SCATTER)),
    Row("chain", chain, (BROADCAST, REDUCE)),
    Row("double-binary-tree", tree, (ALL_REDUCE,)),
    Row("hierarchical", hierarchical, (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, ALL_TO_ALL)),
    Row("pairwise", all_to_all, (ALL_TO_ALL,)),
    Row("nccl", nccl, (ALL_TO_ALL,)),
    Row("sendrecv", all_to_all, (ALL_TO_ALL,)),
    Row("hypercube", hypercube, (ALL_GATHER,)),
    Row("dissemination", dissemination, (BARRIER,)),
)

ALGORITHMS: tuple[str, ...] = tuple(dict.fromkeys(row.name for row in ROWS))
ALGORITHMS_OF: dict[int, tuple[str, ...]] = {
    number: tuple(row.name for row in ROWS if number in row.collectives) for number in range(len(COLLECTIVES))}

MAX_BYTES = 2**48               # of one collective, so that no sum leaves an i8
SAME_AS = {BARRIER: ALL_REDUCE, REDUCE_SCATTER_BLOCK: REDUCE_SCATTER}


def find(collective: int, algorithm: str) -> Algorithm:
    """The module of an algorithm. ValueError: there is no such collective, or the collective has no such algorithm."""
    if collective not in ALGORITHMS_OF:
        raise ValueError(f"no collective has number {collective}, valid are 0 to {len(COLLECTIVES) - 1}")
    for row in ROWS:
        if row.name == algorithm and collective in row.collectives:
            return row.module
    raise ValueError(f"{COLLECTIVES[collective]} has no algorithm {algorithm!r}, valid are "
                     f"{', '.join(ALGORITHMS_OF[collective])}")


def ask(collective: int, algorithm: str, members: int, size_bytes: int, root: int, options: Options,
        counts: np.ndarray | None) -> Request:
    """The request, checked. ValueError: a value is out of range or does not fit the collective."""
    if members < 1:
        raise ValueError(f"a collective needs at least 1 member, got {members}")
    if not 0 <= size_bytes <= MAX_BYTES:
        raise ValueError(f"the size of a collective is 0 to {MAX_BYTES} bytes, got {size_bytes}")
    if not 0 <= root < members:
        raise ValueError(f"root must be a member, 0 to {members - 1}, got {root}")
    if collective == BARRIER:
        size_bytes = 0
    if counts is not None:
        if collective != ALL_TO_ALL or algorithm == "sendrecv":
            raise ValueError(f"counts are for all_to_all, not for {COLLECTIVES[collective]} {algorithm}")
        counts = _matrix(counts, members)
    elif size_bytes == 0:
        options = Options(server=options.server, p2p_channels=options.p2p_channels)
    return Request(SAME_AS.get(collective, collective), algorithm, members, size_bytes, root, options, counts)


def _matrix(counts: np.ndarray, members: int) -> np.ndarray:
    """i8[members, members], its diagonal 0; one row stands for every member's."""
    if counts.shape not in ((members,), (members, members)):
        raise ValueError(f"counts must have shape ({members},) or ({members}, {members}), got {counts.shape}")
    if counts.size and (counts.min() < 0 or counts.max() > MAX_BYTES):
        raise ValueError(f"counts are 0 to {MAX_BYTES} bytes, got {int(counts.min())} to {int(counts.max())}")
    matrix = np.broadcast_to(counts, (members, members)).astype("i8")
    np.fill_diagonal(matrix, 0)
    return matrix
