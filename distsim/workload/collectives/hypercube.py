"""all_gather over a hypercube: the hypercube test of NVIDIA/nccl-tests (src/hypercube.cu).

In step k partners that differ in bit k swap all the blocks they have, 2^k of them. Channels go on by themselves.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.exchange import exchange, exchange_tally
from distsim.workload.collectives.pieces import Runs, split
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule


def expand(request: Request) -> Schedule:
    """log2 N steps of every member. ValueError: the size of the group is no power of two."""
    request.power_of_two()
    return exchange(request, _blocks(request), False, True)


def _blocks(request: Request) -> np.ndarray:
    """i8[channels, members]"""
    return split(np.full(request.members, request.size_bytes, "i8"), request.options.channels).T


def tally(request: Request) -> Runs:
    """Messages by size."""
    request.power_of_two()
    return exchange_tally(request, _blocks(request), False, True)


def ideal_bytes(request: Request) -> Fraction:
    """S (N - 1)."""
    return Fraction(request.size_bytes) * (request.members - 1)
