"""Which algorithm and protocol a size gets, and how its data is cut: NCCL's cost model, simplified.

Time of a choice = base latency + steps x latency of a step + bytes over bandwidth; the shortest wins. Figures:
NVIDIA/nccl src/graph/tuning.cc (baseLatencies, hwLatencies, the factors of ncclTopoTuneModel). Left out: what depends
on the GPU (limits per channel), the tree's correction factors, the ring's plateau.
"""

from __future__ import annotations

from dataclasses import dataclass

SIMPLE, LL, LL128 = "simple", "ll", "ll128"
RING, DOUBLE_TREE = "ring", "double-tree"

BASE_US = {(DOUBLE_TREE, LL): 6.8, (DOUBLE_TREE, LL128): 14.0, (DOUBLE_TREE, SIMPLE): 8.4,
           (RING, LL): 6.6, (RING, LL128): 14.0, (RING, SIMPLE): 8.4}
NETWORK_US = {(DOUBLE_TREE, LL): 5.0, (DOUBLE_TREE, LL128): 8.5, (DOUBLE_TREE, SIMPLE): 14.0,
              (RING, LL): 2.7, (RING, LL128): 4.0, (RING, SIMPLE): 14.0}
SERVER_US = {(DOUBLE_TREE, LL): 0.6, (DOUBLE_TREE, LL128): 1.25, (DOUBLE_TREE, SIMPLE): 4.0,
             (RING, LL): 0.6, (RING, LL128): 1.9, (RING, SIMPLE): 3.4}
EFFICIENCY = {(RING, SIMPLE): 1.0, (RING, LL): 0.5, (RING, LL128): 0.92,
              (DOUBLE_TREE, SIMPLE): 0.92, (DOUBLE_TREE, LL): 0.92 / 3.8, (DOUBLE_TREE, LL128): 0.92 * 120 / 128}
CHUNK_BYTES = {SIMPLE: 2 << 20, LL: 32 << 10, LL128: 576_000}      # of a ring; a tree's Simple starts with 512 KiB
TREE_CHUNK_BYTES = 512 << 10
LEAST_SLICE_BYTES = 32 << 10
RING_PROGRAMS = ("all_reduce", "all_gather", "reduce_scatter")
CHAIN_PROGRAMS = ("broadcast", "reduce")


@dataclass(frozen=True)
class Choice:
    """algorithm : a name of collectives.ALGORITHMS, "" for the program's only one; protocol : simple, ll or ll128."""

    algorithm: str
    protocol: str


def steps(program: str, ranks: int) -> int:
    """Steps of a ring, or hops of a chain."""
    return {"all_reduce": 2 * (ranks - 1), "all_gather": ranks - 1, "reduce_scatter": ranks - 1}.get(program, ranks)


def estimate_us(program: str, choice: Choice, size_bytes: int, ranks: int, servers: int, rate_bps: int) -> float:
    """What NCCL's model says a collective takes, microseconds. size_bytes : the row's size; servers : that the ranks
    are on, the same as ranks when each has its own."""
    key = (choice.algorithm, choice.protocol)
    bytes_per_us = rate_bps / 8e6 * EFFICIENCY[key]
    if choice.algorithm == DOUBLE_TREE:
        depth = 2 * max(0, servers.bit_length() - 1)
        latency = depth * NETWORK_US[key] + 2 * (ranks // servers - 1) * SERVER_US[key]
        return BASE_US[key] + latency + size_bytes / (bytes_per_us / 2)
    if program in CHAIN_PROGRAMS:
        return BASE_US[key] + NETWORK_US[key] + size_bytes / bytes_per_us
    count = steps(program, ranks)
    between = min(count, steps(program, servers)) if servers > 1 else 0
    latency = between * NETWORK_US[key] + (count - between) * SERVER_US[key]
    return BASE_US[key] + latency + size_bytes / (bytes_per_us * ranks / count)


def choose(program: str, size_bytes: int, ranks: int, servers: int, rate_bps: int, algorithm: str = "auto",
           protocol: str = "auto") -> Choice:
    """The choice for a size. Sends and receives (alltoall, gather, scatter, sendrecv, hypercube) are Simple.

    algorithm : "auto", or a name that leaves the protocol to choose; protocol : "auto" or the one that is wanted.
    """
    if program not in RING_PROGRAMS + CHAIN_PROGRAMS:
        return Choice("" if algorithm == "auto" else algorithm, SIMPLE if protocol == "auto" else protocol)
    if algorithm == "auto":
        models = (RING, DOUBLE_TREE) if program == "all_reduce" else (RING,)
    else:
        models = (DOUBLE_TREE if "tree" in algorithm else RING,)
    protocols = (SIMPLE, LL128, LL) if protocol == "auto" else (protocol,)
    best = min((Choice(model, one) for model in models for one in protocols),
               key=lambda choice: estimate_us(program, choice, size_bytes, ranks, servers, rate_bps))
    if algorithm != "auto":
        return Choice(algorithm, best.protocol)
    return Choice("" if program in CHAIN_PROGRAMS else best.algorithm, best.protocol)


def chunk_bytes(choice: Choice, size_bytes: int, servers: int, channels: int) -> int:
    """NCCL's chunk: by protocol; a double tree's Simple chunk is halved while there are too few for its depth.

    Facts: NVIDIA/nccl src/enqueue.cc (calcCollChunking).
    """
    if "tree" not in choice.algorithm or choice.protocol != SIMPLE:
        return CHUNK_BYTES[choice.protocol]
    chunk, depth = TREE_CHUNK_BYTES, max(1, servers.bit_length())
    for factor, least in ((8, 128 << 10), (4, 64 << 10), (1, 32 << 10)):
        while size_bytes // (channels * chunk) < depth * factor and chunk > least:
            chunk //= 2
    return chunk


def slices(choice: Choice, part_bytes: int) -> int:
    """Messages that a rank's part of a chunk is sent in: 2 in a ring's Simple protocol when it is above 32 KiB.

    Facts: NVIDIA/nccl src/device/prims_simple.h (a slice is at least a 32nd of its room in the buffer).
    """
    return 2 if choice.protocol == SIMPLE and "tree" not in choice.algorithm and part_bytes > LEAST_SLICE_BYTES else 1
