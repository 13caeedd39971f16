"""broadcast and reduce along the members in a row, in pieces that follow each other (`ring` and `chain` of reduce).

Broadcast starts at the root and ends at the member before it; reduce starts at the member after the root and ends at
the root, as in NVIDIA/nccl (src/device broadcast.h, reduce.h) and, in one piece, in the Chakra page's reduce `ring`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.flow import flow, rooted
from distsim.workload.collectives.pieces import Runs, cut, cut_runs, times_runs, up
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule
from distsim.workload.collectives.trees import line, line_back
from distsim.workload.graph import REDUCE


def expand(request: Request) -> Schedule:
    """N - 1 transfers for every piece."""
    upward = request.collective == REDUCE
    parent = rooted(line_back(request.members) if upward else line(request.members), request.root)
    pieces = cut(np.int64(request.size_bytes), request.options)
    return flow(parent, pieces, upward, not upward, request.keep_zero)


def tally(request: Request) -> Runs:
    """Every piece crosses every edge."""
    return times_runs(cut_runs({request.size_bytes: 1}, request.options), request.members - 1)


def ideal_bytes(request: Request) -> Fraction:
    """S + (N - 2) W: W is one piece, all that a later member waits for (whole: S); channels run apart, so that the rest
    of one overlaps the way of another."""
    options = request.options
    share = up(request.size_bytes, options.channels)
    piece = up(min(share, options.chunk_bytes or share), options.slices)
    first = min(request.size_bytes, piece)
    return Fraction(request.size_bytes + (request.members - 2) * first)
