"""Exchanges between partners at distances that are powers of two: the engine of halving, doubling and hypercube."""

from __future__ import annotations

import numpy as np

from distsim.workload.collectives.layout import in_order, place, schedule, waits
from distsim.workload.collectives.pieces import Runs, array_runs, cut_runs, limit, loops, split
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Options, Schedule


def exchange(request: Request, blocks: np.ndarray, halving: bool, doubling: bool) -> Schedule:
    """Transfers of log2 N halving steps, log2 N doubling steps, or one after the other.

    blocks : i8[channels, members], bytes of each member's block in each channel. In a halving step a member sends the
    blocks of the half that is its partner's; in a doubling step all that its own half has. A step of a channel begins
    when the step before has been sent and received. Grid of each step: channel, member, piece.
    """
    bits = step_bits(request, halving, doubling)
    member = np.arange(request.members)
    partner = member ^ (1 << bits[:, None])
    messages = message_bytes(blocks, partner, bits, halving)
    channels = np.arange(len(blocks))[:, None, None]
    transfers: list[np.ndarray] = []
    received: list[np.ndarray] = []
    sent: list[np.ndarray] = []
    came: list[np.ndarray] = []                     # rows that came since the member's last send, -1: none
    left = np.full(blocks.shape, -1, "i4")          # row that it last sent, -1: none
    made = 0
    for step, peer in enumerate(partner):
        sizes = _pieces(messages[:, step], request.options)
        rows, index = place(sizes, member[:, None], peer[:, None], step, channels, request.keep_zero, made)
        first = index[:, :, :1]
        received += [waits(first, earlier) for earlier in came]
        sent += [waits(first[..., 0], left), in_order(index)]
        came = [np.where(first >= 0, -1, earlier) for earlier in came if (earlier >= 0).any()] + [index[:, peer]]
        left = np.maximum(left, index.max(axis=2))
        transfers.append(rows)
        made += len(rows)
    return schedule(request.members, transfers, received, sent)


def _pieces(messages: np.ndarray, options: Options) -> np.ndarray:
    """i8[channels, members, pieces], messages of one step in chunks and slices."""
    chunks = loops(messages, options.chunk_bytes)
    limit(chunks.size * options.slices)
    return split(chunks, options.slices).reshape(*messages.shape, -1)


def step_bits(request: Request, halving: bool, doubling: bool) -> np.ndarray:
    """i8[steps], the bit in which partners differ. ValueError unless the group's size is a power of two."""
    ways = np.arange(request.power_of_two())
    return np.concatenate([ways[::-1]] * halving + [ways] * doubling)


def message_bytes(blocks: np.ndarray, partner: np.ndarray, bits: np.ndarray, halving: bool) -> np.ndarray:
    """i8[channels, steps, members], bytes that each member sends its partner."""
    before = np.zeros((len(blocks), blocks.shape[1] + 1), "i8")
    np.cumsum(blocks, axis=1, out=before[:, 1:])
    ways = blocks.shape[1].bit_length() - 1
    from_half = (np.arange(len(bits)) < ways if halving else np.zeros(len(bits), bool))[:, None]
    whose = np.where(from_half, partner, np.arange(blocks.shape[1]))
    start = (whose >> bits[:, None]) << bits[:, None]
    return before[:, start + (1 << bits[:, None])] - before[:, start]


def exchange_tally(request: Request, blocks: np.ndarray, halving: bool, doubling: bool) -> Runs:
    """Runs of `exchange`."""
    bits = step_bits(request, halving, doubling)
    partner = np.arange(request.members) ^ (1 << bits[:, None])
    messages = array_runs(message_bytes(blocks, partner, bits, halving), request.keep_zero)
    options = request.options
    return cut_runs(messages, Options(chunk_bytes=options.chunk_bytes, slices=options.slices))
