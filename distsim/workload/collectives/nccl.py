"""all_to_all as NVIDIA/nccl does grouped sends and receives (src/init.cc, src/include/channel.h, device.h, enqueue.cc).

Rounds: in each a member sends to one peer and receives from another; the distance between servers, and inside a server
between its members, takes the values k (k + 1) / 2 modulo a power of two. A message is cut into one part a channel,
each a multiple of 4 KiB, and a part into chunks. A channel works on 8 rounds at once, in order; here, each of the 8
places takes its next round once its last one has been sent and received (NCCL waits for all 8). A round starts at the
channel of its number, without NCCL's reversal of the bits.
"""

from __future__ import annotations

import numpy as np

from distsim.workload.collectives.all_to_all import ideal_bytes, pair_runs
from distsim.workload.collectives.layout import in_order_of, place, schedule, waits
from distsim.workload.collectives.pieces import Runs, limit, loop_runs, loops, split, split_runs, sum_runs, up
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Options, Schedule

__all__ = ["expand", "ideal_bytes", "tally"]

CHUNK_BYTES = 128 * 1024        # p2pChunkSize over a network
PART_BYTES = 4096               # a channel's part is a multiple of it
AT_ONCE = 8                     # NCCL_MAX_DEV_WORK_P2P_PER_BATCH


def expand(request: Request) -> Schedule:
    """Transfers of all rounds but the one in which a member would send to itself. Grid: member, round, part, piece."""
    members, options = request.members, request.options
    peer, base = rounds(members, options.server)
    member = np.arange(members)[:, None]
    sizes = _pieces(request.pair(member, peer), options)
    limit(sizes.size)
    sizes = sizes * (peer != member)[:, :, None, None]
    channel, lane, order = _lanes(base, sizes.shape[2], max(options.p2p_channels, options.channels))
    turn = np.arange(members)[:, None, None]
    keep = request.keep_zero
    if keep:                                            # the round to itself is left out all the same
        peer, sizes = peer[:, 1:], sizes[:, 1:]
        channel, lane, order, turn = channel[1:], lane[1:], order[1:], turn[1:]
    transfers, index = place(sizes, member[:, :, None, None], peer[:, :, None, None], turn, channel[:, :, None], keep)
    there = index >= 0
    lanes = np.broadcast_to((member[:, :, None] * (int(lane.max()) + 1) + lane)[..., None], index.shape)
    orders = np.broadcast_to(order[..., None] * index.shape[3] + np.arange(index.shape[3]), index.shape)
    sent = in_order_of(index[there], lanes[there], orders[there])
    return schedule(members, [transfers], _received(index, peer, lane, order), [sent])


def rounds(members: int, server: int) -> tuple[np.ndarray, np.ndarray]:
    """i8[members, rounds], whom each sends to in each round (itself in the first); i8[rounds], the round's channel.

    Members that do not fill their servers count as one server.
    """
    local = server if members % server == 0 else members
    between, inside = _distances(members // local), _distances(local)
    member = np.arange(members)[:, None]
    far, near = np.repeat(between, local), np.tile(inside, members // local)
    peer = (member // local + far) % (members // local) * local + (member % local + near) % local
    turn = np.arange(members)
    if members == local:
        return peer, turn
    return peer, turn // local * up(local, AT_ONCE) + turn % local // AT_ONCE


def _distances(count: int) -> np.ndarray:
    """0 ... count - 1 in the order k (k + 1) / 2 modulo the next power of two."""
    power = 1 << (count - 1).bit_length()
    k = np.arange(power)
    distance = k * (k + 1) // 2 % power
    return distance[distance < count]


def _pieces(messages: np.ndarray, options: Options) -> np.ndarray:
    """i8[..., parts, pieces]"""
    parts = -(-messages // (PART_BYTES * options.channels)) * PART_BYTES
    used = max(1, int((-(-messages // np.maximum(parts, 1))).max()))
    limit(messages.size * used)
    shares = np.clip(messages[..., None] - np.arange(used) * parts[..., None], 0, parts[..., None])
    chunks = loops(shares, options.chunk_bytes or CHUNK_BYTES)
    limit(chunks.size * options.slices)
    return split(chunks, options.slices).reshape(*shares.shape, -1)


def _lanes(base: np.ndarray, parts: int, channels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """i8[rounds, parts] each: every part's channel, its place (8 times the channel and which of 8), its turn there."""
    channel = (base[:, None] + np.arange(parts)) % channels
    by_channel = np.argsort(channel, axis=None, kind="stable")
    ordered = channel.ravel()[by_channel]
    starts = np.searchsorted(ordered, np.arange(channels))
    turn = np.zeros_like(channel)
    turn.ravel()[by_channel] = np.arange(channel.size) - starts[ordered]
    return channel, channel * AT_ONCE + turn % AT_ONCE, turn // AT_ONCE


def _received(index: np.ndarray, peer: np.ndarray, lane: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """The first piece of a part waits for the last one that its place received in the turn before."""
    members, rounds_made, parts, _ = index.shape
    last = index.max(axis=3)
    sender = np.empty_like(peer)
    sender[peer, np.arange(rounds_made)] = np.arange(members)[:, None]
    came = last[sender, np.arange(rounds_made)]                             # [member, round, part]
    by_lane = np.lexsort((order.ravel(), lane.ravel()))
    lanes = lane.ravel()[by_lane]
    same = lanes[1:] == lanes[:-1]
    now, before = by_lane[1:][same], by_lane[:-1][same]
    first = index[..., 0].reshape(members, rounds_made * parts)
    return [waits(first[:, now], came.reshape(members, -1)[:, before])]


def tally(request: Request) -> Runs:
    """Every message in parts and chunks."""
    options, found = request.options, []
    for size, times in pair_runs(request).items():
        part = max(up(up(size, PART_BYTES), options.channels) * PART_BYTES, 1)
        parts = loop_runs({size: times}, part)
        found.append(split_runs(loop_runs(parts, options.chunk_bytes or CHUNK_BYTES) if size else {0: times},
                                options.slices))
    return sum_runs(*found)
