"""halving-doubling all_reduce and halving reduce_scatter (Chakra page), for groups whose size is a power of two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.exchange import exchange, exchange_tally
from distsim.workload.collectives.pieces import Runs, split
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule
from distsim.workload.graph import ALL_REDUCE


def expand(request: Request) -> Schedule:
    """log2 N steps (all_reduce: 2 log2 N) of every member. ValueError: the size of the group is no power of two."""
    request.power_of_two()
    return exchange(request, _blocks(request), True, request.collective == ALL_REDUCE)


def _blocks(request: Request) -> np.ndarray:
    """i8[channels, members]"""
    if request.collective == ALL_REDUCE and not request.options.whole:
        return split(split(np.int64(request.size_bytes), request.options.channels), request.members)
    return split(request.blocks(), request.options.channels).T


def tally(request: Request) -> Runs:
    """Messages by size."""
    request.power_of_two()
    return exchange_tally(request, _blocks(request), True, request.collective == ALL_REDUCE)


def ideal_bytes(request: Request) -> Fraction:
    """S (N - 1) / N, all_reduce twice that."""
    once = Fraction(request.size_bytes) * (request.members - 1) / request.members
    return once * 2 if request.collective == ALL_REDUCE else once
