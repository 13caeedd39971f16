"""How NCCL's algorithms and protocols cut a size, and which of them it gets.

NCCL chooses by the latencies of GPUs, proxies and NICs that it knows (NVIDIA/nccl, src/graph/tuning.cc). None of these
is simulated, so the choice is made here by the time that a simulation takes: a message of m bytes arrives `latency`
after its last byte was sent, m / rate after its first.
"""

from __future__ import annotations

from dataclasses import dataclass

from distsim.workload.collectives import Options

SIMPLE, LL, LL128 = "simple", "ll", "ll128"
PROTOCOLS = (SIMPLE, LL128, LL)
RING, CHAIN, DOUBLE_TREE, HIERARCHICAL = "ring", "chain", "double-binary-tree", "hierarchical"
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
class Choice:
    """algorithm : a name of collectives.ALGORITHMS; protocol : one of PROTOCOLS."""

    algorithm: str
    protocol: str


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


def estimate_us(program: str, algorithm: str, size_bytes: int, ranks: int, options: Options,
                network: Network) -> float | None:
    """What a collective takes when its data is cut as `options` say, None where there is no formula."""
    size = max(1, size_bytes)
    if program == "all_reduce" and algorithm == DOUBLE_TREE:
        return tree_us(size, ranks, options, network)
    if program in CHAIN_PROGRAMS and algorithm in (RING, CHAIN):
        return chain_us(size, ranks, options, network)
    return ring_us(size, ranks, options, network) if program == "all_reduce" and algorithm == RING else None


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
    first, rest = _first_and_rest(size_bytes, 2, options)
    levels = (ranks - 1).bit_length()
    return 2 * levels * (network.latency_us + network.us(first)) + network.us(2 * rest)


def chain_us(size_bytes: int, ranks: int, options: Options, network: Network) -> float:
    """What a broadcast or reduce takes: the first chunk goes through all ranks, the others follow."""
    first, rest = _first_and_rest(size_bytes, 1, options)
    return (ranks - 1) * (network.latency_us + network.us(first)) + network.us(rest)


def _first_and_rest(size_bytes: int, parts: int, options: Options) -> tuple[float, float]:
    """Bytes on the wire: of all first chunks (one a part and channel), and of the others; f8."""
    share = size_bytes / parts / options.channels
    first = min(share, options.chunk_bytes or share) * parts * options.channels
    return first * WIRE[options.protocol], (size_bytes - first) * WIRE[options.protocol]


def chunk_bytes(program: str, choice: Choice, size_bytes: int, ranks: int, servers: int, channels: int) -> int:
    """Most bytes of a chunk, 0: the algorithm's own.

    NCCL's by protocol, smaller in a tree when there are too few for its depth; for `hierarchical`, ours. size_bytes :
    of the row; servers : that the ranks are on. Facts: NVIDIA/nccl, src/enqueue.cc (calcCollChunking),
    src/include/collectives.h (steps of a chunk).
    """
    if program not in RING_PROGRAMS + CHAIN_PROGRAMS:
        return 0
    chunk = CHUNK_BYTES[choice.protocol]
    if "tree" in choice.algorithm:
        return _tree_chunk(choice.protocol, chunk, size_bytes // channels, ranks, servers)
    if program in CHAIN_PROGRAMS:
        return chunk
    if choice.algorithm == HIERARCHICAL:
        part = size_bytes // ranks // channels
        return min(chunk, RAIL_LEAST_BYTES if part < RAIL_CHUNKS * RAIL_CHUNK_BYTES else RAIL_CHUNK_BYTES)
    return chunk * RING_STEPS if choice.protocol == SIMPLE else chunk


def _tree_chunk(protocol: str, chunk: int, size_bytes: int, ranks: int, servers: int) -> int:
    """The chunk of a tree, halved by the rule of the protocol. size_bytes : of a channel."""
    depth = float(servers.bit_length())
    if protocol == LL128:
        on_each = ranks / servers
        depth = (depth + 0.1 * on_each) / on_each
    for factor, least in TREE_RULES[protocol]:
        while size_bytes // chunk < depth * factor and chunk > least:
            chunk //= 2
    return chunk


def slices(program: str, choice: Choice, part_bytes: int) -> int:
    """Messages that a rank's part of a chunk is sent in: 2 in a ring's Simple protocol when it is above 32 KiB.

    Facts: NVIDIA/nccl src/device/prims_simple.h (a slice is at least a 32nd of its room in the buffer).
    """
    ring = program in RING_PROGRAMS and "tree" not in choice.algorithm and choice.protocol == SIMPLE
    return 2 if ring and part_bytes > LEAST_SLICE_BYTES else 1
