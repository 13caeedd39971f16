"""all_to_all by distance: in step s each member sends to the one s places after it.

`sequential`: a member's sends go one after another; `interleaved`: all at once (Chakra page). `pairwise`: as
sequential, and a piece also waits for the receipt of the same piece in the step before, as a send-and-receive of MPI.
`sendrecv`: the first step only, in which S is not divided: the sendrecv test of NVIDIA/nccl-tests.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.layout import in_order, place, schedule, waits
from distsim.workload.collectives.pieces import Runs, array_runs, cut, cut_runs, limit
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule


def expand(request: Request) -> Schedule:
    """N (N - 1) transfers in whole form. Grid: channel, member, step, piece."""
    members = request.members
    member = np.arange(members)[:, None]
    distance = np.arange(1, 2 if request.algorithm == "sendrecv" else members)
    peer = (member + distance) % members
    limit(peer.size)
    sizes = np.moveaxis(cut(_sizes(request, member, peer), request.options), 2, 0)
    one_by_one = request.algorithm in ("sequential", "pairwise")
    step = (distance - 1)[:, None] if one_by_one else 0
    channels = np.arange(len(sizes))[:, None, None, None]
    transfers, index = place(sizes, member[:, :, None], peer[:, :, None], step, channels, request.keep_zero)
    lanes = index.reshape(*index.shape[:2], -1) if one_by_one else index
    received = []
    if request.algorithm == "pairwise":
        sender = (member - distance[:-1]) % members
        received = [waits(index[:, :, 1:], index[:, sender, np.arange(members - 2), :])]
    return schedule(members, [transfers], received, [in_order(lanes)])


def _sizes(request: Request, member: np.ndarray, peer: np.ndarray) -> np.ndarray:
    """i8[members, steps]"""
    if request.algorithm == "sendrecv":
        return np.full(peer.shape, request.size_bytes, "i8")
    return request.pair(member, peer)


def tally(request: Request) -> Runs:
    """Every block goes to one member from each of the others."""
    if request.algorithm == "sendrecv":
        return cut_runs({request.size_bytes: request.members}, request.options)
    return cut_runs(pair_runs(request), request.options)


def pair_runs(request: Request) -> Runs:
    """Bytes between all pairs of different members."""
    if request.counts is not None:
        return array_runs(request.counts, False)            # its diagonal is 0
    return array_runs(request.blocks(), request.keep_zero, request.members - 1)


def ideal_bytes(request: Request) -> Fraction:
    """S (N - 1) / N; with counts the largest sum of a row or column; sendrecv S."""
    if request.algorithm == "sendrecv":
        return Fraction(request.size_bytes)
    if request.counts is not None:
        return Fraction(int(max(request.counts.sum(axis=0).max(), request.counts.sum(axis=1).max())))
    return Fraction(request.size_bytes) * (request.members - 1) / request.members
