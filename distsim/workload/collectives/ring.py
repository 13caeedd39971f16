"""Ring all_reduce, all_gather and reduce_scatter: in every step each member sends a block to the next.

Blocks and their order are those of NVIDIA/nccl, src/device (all_reduce.h, all_gather.h, reduce_scatter.h): in step t
member m sends block m - 1 - t (all_gather: m - t). Whole form: the ring of the Chakra page, a step waits for the last
one's receive. Cut form: a member's transfers of a channel leave in the order of the program (loop, step, slice), each
once the one before has been sent and once the same slice has been received in the step before. Not modelled: the
eight buffers a connection that would hold a sender back.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.layout import in_order, place, schedule, waits
from distsim.workload.collectives.pieces import (
    Runs,
    array_runs,
    cut_runs,
    limit,
    loop_runs,
    loops,
    split,
    split_runs,
    times_runs,
)
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE


def expand(request: Request) -> Schedule:
    """all_reduce: 2 (N - 1) steps; all_gather, reduce_scatter: N - 1. Grid: channel, loop, step, slice, member."""
    members = request.members
    member = np.arange(members)
    step = np.arange(steps(request))
    ahead = 0 if request.collective == ALL_GATHER else 1
    block = (member - ahead - step[:, None]) % members
    pieces = block_sizes(request)
    limit(pieces.size * len(step))
    sizes = np.moveaxis(pieces[:, :, block, :], 4, 3)
    channels, _, _, _, _ = sizes.shape
    transfers, index = place(sizes, member, (member + 1) % members, step[:, None, None],
                             np.arange(channels)[:, None, None, None, None], request.keep_zero)
    received = waits(index[:, :, 1:], np.roll(index[:, :, :-1], 1, axis=4))
    if request.options.whole:
        return schedule(members, [transfers], [received])
    lanes = np.moveaxis(index, 4, 1).reshape(channels, members, -1)
    return schedule(members, [transfers], [received], [in_order(lanes)])


def steps(request: Request) -> int:
    """Steps that every block takes."""
    return (request.members - 1) * (2 if request.collective == ALL_REDUCE else 1)


def block_sizes(request: Request) -> np.ndarray:
    """i8[channels, loops, members, slices]: pieces of every member's block."""
    options, members = request.options, request.members
    if request.collective == ALL_REDUCE and not options.whole:
        rounds = loops(split(np.int64(request.size_bytes), options.channels), options.chunk_bytes * members)
        return split(split(rounds, members), options.slices)
    blocks = np.full(members, request.size_bytes, "i8") if request.collective == ALL_GATHER else request.blocks()
    rounds = loops(split(blocks, options.channels), options.chunk_bytes)
    return split(np.moveaxis(rounds, 0, 2), options.slices)


def tally(request: Request) -> Runs:
    """Every piece is sent once a step."""
    options, members = request.options, request.members
    if request.collective == ALL_REDUCE and not options.whole:
        rounds = loop_runs(split_runs({request.size_bytes: 1}, options.channels), options.chunk_bytes * members)
        pieces = split_runs(split_runs(rounds, members), options.slices)
    elif request.collective == ALL_GATHER:
        pieces = cut_runs({request.size_bytes: members}, options)
    else:
        pieces = cut_runs(array_runs(request.blocks(), request.keep_zero), options)
    return times_runs(pieces, steps(request))


def ideal_bytes(request: Request) -> Fraction:
    """all_reduce 2 S (N - 1) / N; reduce_scatter S (N - 1) / N; all_gather S (N - 1)."""
    size = Fraction(request.size_bytes)
    return size * steps(request) / (1 if request.collective == ALL_GATHER else request.members)
