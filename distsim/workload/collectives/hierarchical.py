"""Two levels: inside a server (scale-up), and per rail between servers.

`options.server` consecutive members make a server; a rail is the members with the same place in their servers.
all_reduce: reduce_scatter inside the server, ring all_reduce along the rail, all_gather inside the server.
reduce_scatter: inside, then ring along the rail. all_gather: ring along the rail, then inside. all_to_all: to the
member of the own server that is on the receiver's rail, then along the rail (as NCCL's PXN). Inside a server everyone
sends to everyone else directly, one after another. Channels and loops (`chunk_bytes`) go through the phases by
themselves; on the rail a chunk is sent in slices, inside a server in one message. Pieces are exact: their sum is the
data, in the whole form too.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.phases import Phases
from distsim.workload.collectives.pieces import (
    Runs,
    array_runs,
    cut_runs,
    limit,
    loop_runs,
    loops,
    split,
    split_runs,
    sum_runs,
    times_runs,
)
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Options, Schedule
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER


def expand(request: Request) -> Schedule:
    """The phases of the collective. ValueError: members do not fill whole servers."""
    local, servers = levels(request)
    if request.collective == ALL_TO_ALL:
        return _all_to_all(request, local, servers)
    sizes = _rail_pieces(request, local, servers)
    phases = Phases(request.members, sizes.shape[0], sizes.shape[1], request.keep_zero)
    if request.collective != ALL_GATHER:
        _inside(phases, sizes, local, by_receiver=True)
    _along_rails(phases, sizes, request.collective)
    if request.collective != REDUCE_SCATTER:
        _inside(phases, sizes, local, by_receiver=False)
    return phases.schedule()


def levels(request: Request) -> tuple[int, int]:
    """Members of a server, and servers. ValueError: they do not come out even."""
    local, members = request.options.server, request.members
    if members % local:
        raise ValueError(f"{request.algorithm} needs whole servers: {members} members are no multiple of the "
                         f"{local} members of a server")
    return local, members // local


def _rail_pieces(request: Request, local: int, servers: int) -> np.ndarray:
    """i8[channels, loops, rails, servers, slices]: of each rail the blocks that go round it."""
    options = request.options
    if request.collective == ALL_REDUCE:
        rounds = loops(split(np.int64(request.size_bytes), options.channels), options.chunk_bytes * request.members)
        blocks = split(split(rounds, local), servers)
    else:
        each = _member_blocks(request)
        rounds = loops(split(each, options.channels), options.chunk_bytes)
        by_member = rounds.reshape(servers, local, *rounds.shape[1:])
        blocks = np.transpose(by_member, (2, 3, 1, 0))
    limit(blocks.size * options.slices)
    return split(blocks, options.slices)


def _member_blocks(request: Request) -> np.ndarray:
    """i8[members], each member's block of all_gather or reduce_scatter; together exactly the data."""
    if request.collective == ALL_GATHER:
        return np.full(request.members, request.size_bytes, "i8")
    return split(np.int64(request.size_bytes), request.members)


def _inside(phases: Phases, sizes: np.ndarray, local: int, by_receiver: bool) -> None:
    """Everyone in a server sends to everyone else in it: the block of the receiver's rail, or that of the own one.

    Grid: channel, loop, member, distance.
    """
    block = sizes.sum(axis=(3, 4))
    member = np.arange(phases.members)[:, None]
    distance = np.arange(1, local)
    peer = member // local * local + (member + distance) % local
    rail = (peer if by_receiver else member) % local
    grid = np.broadcast_to(block[:, :, rail], (*block.shape[:2], *peer.shape))
    phases.add(grid, member, peer, distance, distance - 1)


def _along_rails(phases: Phases, sizes: np.ndarray, collective: int) -> None:
    """Rings of the members of each rail (ring.py). Grid: channel, loop, member, step, slice."""
    _, _, local, servers, slices = sizes.shape
    member = np.arange(phases.members)[:, None, None]
    step = np.arange((servers - 1) * (2 if collective == ALL_REDUCE else 1))[:, None]
    ahead = 0 if collective == ALL_GATHER else 1
    block = (member // local - ahead - step) % servers
    limit(sizes.size * len(step))
    grid = sizes[:, :, member % local, block, np.arange(slices)]
    index = phases.add(grid, member, (member + local) % phases.members, step * slices + np.arange(slices), step)
    before = (np.arange(phases.members) - local) % phases.members
    phases.wait(index[:, :, :, 1:], index[:, :, before, :-1])


def _all_to_all(request: Request, local: int, servers: int) -> Schedule:
    """Grid: channel, one loop, member, distance, chunk."""
    options, members = request.options, request.members
    phases = Phases(members, options.channels, 1, request.keep_zero)
    inside, along = _gathered(request, local, servers)
    member = np.arange(members)[:, None]
    near, far = np.arange(1, local), np.arange(1, servers)
    at_home = member // local * local + (member + near) % local
    on_rail = (member + far * local) % members
    for sizes, peer, distance in ((inside, at_home, near), (along, on_rail, far)):
        chunks = _chunks(sizes, request)
        order = distance[:, None] * chunks.shape[-1] + np.arange(chunks.shape[-1])
        phases.add(chunks[:, None], member[:, :, None], peer[:, :, None], order, (distance - 1)[:, None])
    return phases.schedule()


def _chunks(sizes: np.ndarray, request: Request) -> np.ndarray:
    """i8[channels, ..., pieces]"""
    rounds = loops(sizes, request.options.chunk_bytes)
    limit(rounds.size * request.options.slices)
    return split(rounds, request.options.slices).reshape(*sizes.shape, rounds.shape[-1] * request.options.slices)


def _gathered(request: Request, local: int, servers: int) -> tuple[np.ndarray, np.ndarray]:
    """i8[channels, members, distances]: bytes sent inside the server, and then along the rail, by distance."""
    member = np.arange(request.members)
    server, rail = (member // local)[:, None], (member % local)[:, None]
    near, far = (rail + np.arange(1, local)) % local, (server + np.arange(1, servers)) % servers
    channels = request.options.channels
    if request.counts is None:
        each = np.moveaxis(split(_member_blocks(request), channels), 1, 0).reshape(channels, servers, local)
        return each.sum(axis=1)[:, near], each[:, far, rail] * local
    pairs = np.moveaxis(split(request.counts, channels), 2, 0).reshape(channels, servers, local, servers, local)
    return pairs.sum(axis=3)[:, server, rail, near], pairs.sum(axis=2)[:, server, far, rail]


def tally(request: Request) -> Runs:
    """Inside a server: of each rail's block, one message between any two members; a ring's pieces once a step."""
    local, servers = levels(request)
    options, at_home = request.options, servers * (local - 1)
    if request.collective == ALL_TO_ALL:
        whole = Options(chunk_bytes=options.chunk_bytes, slices=options.slices)
        return cut_runs(sum_runs(*(array_runs(part, request.keep_zero)
                                   for part in _gathered(request, local, servers))), whole)
    if request.collective == ALL_REDUCE:
        rounds = loop_runs(split_runs({request.size_bytes: 1}, options.channels), options.chunk_bytes * request.members)
        rails = split_runs(rounds, local) if request.size_bytes else {0: local}
        pieces = split_runs(rails, servers) if request.size_bytes else {0: request.members}
        return sum_runs(times_runs(rails, 2 * at_home),
                        times_runs(split_runs(pieces, options.slices), 2 * (servers - 1)))
    sizes = _rail_pieces(request, local, servers)
    return sum_runs(array_runs(sizes.sum(axis=(3, 4)), request.keep_zero, at_home),
                    array_runs(sizes, request.keep_zero, servers - 1))


def ideal_bytes(request: Request) -> Fraction:
    """The rail's ring alone, at the rate of the NIC: all_reduce 2 S / g (n - 1) / n with g members in each of n
    servers, reduce_scatter half of it, all_gather S (n - 1), all_to_all S (n - 1) / n.
    """
    local, servers = levels(request)
    if request.collective == ALL_TO_ALL:
        if request.counts is not None:
            return Fraction(int(_gathered(request, local, servers)[1].sum(axis=(0, 2)).max()))
        return Fraction(request.size_bytes) * (servers - 1) / servers
    if request.collective == ALL_GATHER:
        return Fraction(request.size_bytes) * (servers - 1)
    once = Fraction(request.size_bytes) / local * (servers - 1) / servers
    return once * 2 if request.collective == ALL_REDUCE else once
