"""Straight between the root and every other member: broadcast, gather and scatter of the Chakra page.

`sequential`: the root's transfers leave one after another, to the member after it first; `interleaved` and `direct`:
all at once. Pieces of one connection leave in order.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.layout import in_order, place, schedule
from distsim.workload.collectives.pieces import Runs, array_runs, cut, cut_runs
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule
from distsim.workload.graph import GATHER, SCATTER


def expand(request: Request) -> Schedule:
    """N - 1 transfers in whole form. Grid: channel, other member, piece."""
    sizes = np.moveaxis(cut(_sizes(request), request.options), 1, 0)
    other, root = _others(request)[:, None], np.full((1, 1), request.root)
    src, dst = (other, root) if request.collective == GATHER else (root, other)
    one_by_one = request.algorithm == "sequential"
    step = np.arange(len(other))[:, None] if one_by_one else 0
    transfers, index = place(sizes, src, dst, step, np.arange(len(sizes))[:, None, None], request.keep_zero)
    lanes = index.reshape(len(sizes), -1) if one_by_one else index
    return schedule(request.members, [transfers], [], [in_order(lanes)])


def _others(request: Request) -> np.ndarray:
    """The members other than the root, the one after it first."""
    return (request.root + np.arange(1, request.members)) % request.members


def _sizes(request: Request) -> np.ndarray:
    """i8[members - 1], bytes between the root and each other member: a block each for scatter, else S."""
    if request.collective == SCATTER:
        return request.blocks()[_others(request)]
    return np.full(request.members - 1, request.size_bytes, "i8")


def tally(request: Request) -> Runs:
    """Every piece is sent once."""
    return cut_runs(array_runs(_sizes(request), request.keep_zero), request.options)


def ideal_bytes(request: Request) -> Fraction:
    """All that passes the root's port: broadcast and gather S (N - 1), scatter S (N - 1) / N."""
    size = Fraction(request.size_bytes) * (request.members - 1)
    return size / request.members if request.collective == SCATTER else size
