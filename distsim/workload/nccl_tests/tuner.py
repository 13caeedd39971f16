"""How NCCL's algorithms cut a size, and which of them an all_reduce takes.

NCCL chooses by the latencies of GPUs, proxies and NICs that it knows (NVIDIA/nccl, src/graph/tuning.cc). None of these
is simulated, so the choice is made here by the time that a simulation takes: a message of m bytes arrives `latency`
after its last byte was sent, m / rate after its first.
"""

from __future__ import annotations

from dataclasses import dataclass

from distsim.workload.collectives import Options

SIMPLE, LL, LL128 = "simple", "ll", "ll128"
RING, DOUBLE_TREE, HIERARCHICAL = "ring", "double-binary-tree", "hierarchical"
RING_PROGRAMS = ("all_reduce", "all_gather", "reduce_scatter")
CHAIN_PROGRAMS = ("broadcast", "reduce")

CHUNK_BYTES = {SIMPLE: 512 << 10, LL: 32 << 10, LL128: 576_000}    # a step of the buffer, less what LL and LL128 add
RING_STEPS = 4                                                     # of the buffer, in a chunk of a ring's Simple
WIRE = {SIMPLE: 1.0, LL: 2.0, LL128: 128 / 120}                    # bytes sent for one of data
LEAST_SLICE_BYTES = 32 << 10
# While there are fewer chunks than depth x the first, a chunk above the second is halved.
TREE_RULES: dict[str, tuple[tuple[int, int], ...]] = {
    SIMPLE: ((8, 128 << 10), (4, 64 << 10), (1, 32 << 10)), LL: (), LL128: ((64, 128 << 10), (16, 32 << 10))}
# Not NCCL's: small enough that the network inside the servers and the rails work at the same time.
RAIL_CHUNK_BYTES, RAIL_LEAST_BYTES, RAIL_CHUNKS = 128 << 10, 64 << 10, 4


@dataclass(frozen=True)
class Network:
    """What the choice assumes of the fabric. rate_bps : of a NIC; latency_ps : of a message, besides its bytes."""

    rate_bps: int
    latency_ps: int

    def us(self, size_bytes: float) -> float:
        """Time of so many bytes at a NIC."""
        return size_bytes * 8e6 / self.rate_bps

    @property
    def latency_us(self) -> float:
        """latency_ps in microseconds."""
        return self.latency_ps / 1e6


def ring_us(size_bytes: int, ranks: int, options: Options, network: Network) -> float:
    """What a ring all_reduce takes: 2 (ranks - 1) steps for each loop. A step ends when its last slice has come, and
    not before the channels have sent their parts."""
    share = size_bytes / ranks / options.channels
    part = min(share, options.chunk_bytes or share) * WIRE[options.protocol]
    step = max(network.us(part * options.channels), network.us(part / options.slices) + network.latency_us)
    return 2 * (ranks - 1) * step * share * WIRE[options.protocol] / part


def tree_us(size_bytes: int, ranks: int, options: Options, network: Network) -> float:
    """What an all_reduce by two trees takes: the first chunks of both go up and down all levels, two to each port and
    level; the others follow at the rate of the ports, which carry the data twice."""
    half = size_bytes / 2 / options.channels
    first = min(half, options.chunk_bytes or half) * options.channels * WIRE[options.protocol]
    levels = (ranks - 1).bit_length()
    rest = size_bytes * WIRE[options.protocol] - 2 * first
    return 2 * levels * (network.latency_us + network.us(2 * first)) + network.us(2 * rest)


def chunk_bytes(program: str, algorithm: str, protocol: str, size_bytes: int, ranks: int, servers: int,
                channels: int) -> int:
    """Most bytes of a chunk, 0: the algorithm's own.

    NCCL's by protocol, smaller in a tree when there are too few for its depth; for `hierarchical`, ours. size_bytes :
    of the row; servers : that the ranks are on. Facts: NVIDIA/nccl, src/enqueue.cc (calcCollChunking),
    src/include/collectives.h (steps of a chunk).
    """
    if program not in RING_PROGRAMS + CHAIN_PROGRAMS:
        return 0
    chunk = CHUNK_BYTES[protocol]
    if "tree" in algorithm:
        return _tree_chunk(protocol, chunk, size_bytes, ranks, servers, channels)
    if program in CHAIN_PROGRAMS:
        return chunk
    if algorithm == HIERARCHICAL:
        part = size_bytes // ranks // channels
        return min(chunk, RAIL_LEAST_BYTES if part < RAIL_CHUNKS * RAIL_CHUNK_BYTES else RAIL_CHUNK_BYTES)
    return chunk * RING_STEPS if protocol == SIMPLE else chunk


def _tree_chunk(protocol: str, chunk: int, size_bytes: int, ranks: int, servers: int, channels: int) -> int:
    """The chunk halved by the rule of the protocol."""
    depth = float(servers.bit_length())
    if protocol == LL128:
        on_each = ranks / servers
        depth = (depth + 0.1 * on_each) / on_each
    for factor, least in TREE_RULES[protocol]:
        while size_bytes // (channels * chunk) < depth * factor and chunk > least:
            chunk //= 2
    return chunk


def slices(program: str, algorithm: str, protocol: str, part_bytes: int) -> int:
    """Messages that a rank's part of a chunk is sent in: 2 in a ring's Simple protocol when it is above 32 KiB.

    Facts: NVIDIA/nccl src/device/prims_simple.h (a slice is at least a 32nd of its room in the buffer).
    """
    ring = program in RING_PROGRAMS and "tree" not in algorithm and protocol == SIMPLE
    return 2 if ring and part_bytes > LEAST_SLICE_BYTES else 1
