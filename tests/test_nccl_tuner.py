"""Algorithm and protocol of a size, and how its data is cut, by hand."""

from __future__ import annotations

import pytest

from distsim.workload.base import Context
from distsim.workload.collectives import Options
from distsim.workload.nccl_tests import Spec
from distsim.workload.nccl_tests.command import parse
from distsim.workload.nccl_tests.shape import shape_of
from distsim.workload.nccl_tests.sizes import amount
from distsim.workload.nccl_tests.tuner import Choice, Network, chain_us, chunk_bytes, ring_us, slices, tree_us

HALF_US = Network(400 * 10**9, 500_000)          # 50,000 bytes a microsecond, 0.5 us a message
KIB, MIB = 1 << 10, 1 << 20


@pytest.mark.parametrize(("size", "options", "us"), [
    # 8 ranks, 14 steps. 1 B from rank to rank: 0.5 us and 20 ps a step
    (8, Options(), 14 * (0.5 + 1 / 50_000)),
    # parts of 100,000 B take 2 us: slices of 50,000 B come after 1.5 us, before the NIC is free again
    (800_000, Options(slices=2), 14 * 2.0),
    (800_000, Options(), 14 * 2.5),
    # two channels: parts of 50,000 B, 2 us for both
    (800_000, Options(channels=2, slices=2), 14 * 2.0),
    # chunks of 25,000 B: four loops
    (800_000, Options(chunk_bytes=25_000), 4 * 14 * 1.0),
    # LL: 2 x 100,000 B a part
    (800_000, Options(slices=2, protocol="ll"), 14 * 4.0)])
def test_time_of_a_ring_of_eight(size, options, us):
    assert ring_us(size, 8, options, HALF_US) == pytest.approx(us)


@pytest.mark.parametrize(("ranks", "size", "options", "us"), [
    # 8 ranks, 3 levels up and down. Everything in the first chunks: 4 B of each tree, twice a port and level
    (8, 8, Options(), 6 * (0.5 + 8 / 50_000)),
    # chunks of 25,000 B: 6 x (0.5 + 1.0), then 150,000 B more cross a port twice
    (8, 200_000, Options(chunk_bytes=25_000), 9 + 6),
    (8, 200_000, Options(chunk_bytes=25_000, protocol="ll"), 6 * 2.5 + 12),
    # 9 ranks need a fourth level
    (9, 200_000, Options(chunk_bytes=25_000), 12 + 6)])
def test_time_of_two_trees(ranks, size, options, us):
    assert tree_us(size, ranks, options, HALF_US) == pytest.approx(us)


@pytest.mark.parametrize(("size", "options", "us"), [
    # 8 ranks, 7 hops for the first chunk, here everything
    (50_000, Options(), 7 * 1.5),
    # chunks of 25,000 B: 7 x (0.5 + 0.5), then 25,000 B more; in LL each takes twice as long
    (50_000, Options(chunk_bytes=25_000), 7 + 0.5),
    (50_000, Options(chunk_bytes=25_000, protocol="ll"), 7 * 1.5 + 1),
    # two channels send their first chunks at once
    (50_000, Options(chunk_bytes=12_500, channels=2), 7 + 0.5)])
def test_time_of_a_chain_of_eight(size, options, us):
    assert chain_us(size, 8, options, HALF_US) == pytest.approx(us)


def choice(size: int, ranks: int = 64, program: str = "all_reduce", **others: object) -> tuple[str, str]:
    command = parse(f"{program}_perf -b {size} -e {size}")
    shape = shape_of(Spec(kind="nccl-tests", command=command.name, **others), command, Context(ranks, 1))
    found = shape.choice(amount(program, "float", size, ranks))
    return found.algorithm, found.protocol


def test_trees_for_small_sizes_rings_for_large_ones():
    # 64 ranks, 12 levels up and down. 8 B: LL128 puts more on the wire. 64 KiB: Simple's chunks of 32 KiB take
    # 12 x (0.5 + 1.31) us, LL128's of 18,000 B 12 x (0.5 + 0.77) + 1.3. 2 MiB: LL128 15.2 + 88, Simple's chunks of
    # 64 KiB 37.5 + 79, a ring 126 x (0.5 + 0.66) = 146. 4 MiB: LL128's of 36,000 B 24.4 + 176, a ring 126 x 1.31 = 165
    assert [choice(size) for size in (8, 64 * KIB, 2 * MIB, 4 * MIB, 1 << 30)] == [
        ("double-binary-tree", "simple"), ("double-binary-tree", "ll128"), ("double-binary-tree", "ll128"),
        ("ring", "simple"), ("ring", "simple")]
    # 1 MiB on 8 ranks: a ring takes 14 x 2.62 = 37 us, trees in LL128 6 x (0.5 + 0.77) + 43 = 51. With 5 us a message
    # 14 x (5 + 1.31) = 88 us and 6 x (5 + 0.77) + 43 = 78
    assert [choice(MIB, 8, latency=latency)[0] for latency in ("500ns", "5us")] == ["ring", "double-binary-tree"]
    assert choice(8, 2) == ("ring", "simple")
    assert choice(2 * MIB, protocol="simple") == ("double-binary-tree", "simple")
    assert choice(2 * MIB, algorithm="ring") == ("ring", "simple")
    assert choice(2 * MIB, algorithm="ring", protocol="ll") == ("ring", "ll")


def test_choices_of_others():
    # a chain of 64: LL's chunks of 32 KiB for 1 MiB take 63 x (0.5 + 1.31) + 40.6 = 155 us, Simple's of 512 KiB
    # 63 x (0.5 + 10.5) + 10.5 = 703; 64 MiB: 114 + 2,683 and 692 + 1,332
    assert [choice(size, program="broadcast") for size in (MIB, 64 * MIB)] == [("chain", "ll"), ("chain", "simple")]
    assert [choice(size, program="reduce") for size in (MIB, 64 * MIB)] == [("ring", "ll"), ("ring", "simple")]
    assert choice(MIB, program="all_gather") == choice(MIB, program="reduce_scatter") == ("ring", "simple")
    assert choice(MIB, program="alltoall") == ("nccl", "simple")
    assert choice(MIB, program="gather") == choice(MIB, program="scatter") == ("direct", "simple")
    servers = {"scale_up": {"gpus_per_server": 8}}
    assert choice(8, **servers) == choice(MIB, program="all_gather", **servers) == ("hierarchical", "simple")
    assert choice(8, 60, **servers)[0] == "double-binary-tree"          # no whole servers
    assert choice(MIB, program="broadcast", **servers) == ("chain", "ll")


RING, TREE, CHAIN = "ring", "double-binary-tree", "chain"


@pytest.mark.parametrize(("program", "algorithm", "protocol", "size", "where", "chunk"), [
    ("all_reduce", RING, "simple", 1 << 30, (8, 8, 1), 2 * MIB),
    ("all_gather", RING, "ll", 1 << 30, (8, 8, 1), 32 * KIB),
    ("all_reduce", RING, "ll128", 8, (8, 8, 1), 576_000),
    ("broadcast", CHAIN, "simple", 1 << 30, (8, 8, 1), 512 * KIB),
    ("broadcast", CHAIN, "ll", 1 << 30, (8, 8, 1), 32 * KIB),
    ("alltoall", "nccl", "simple", 1 << 30, (8, 8, 1), 0),
    # trees of 8 servers, depth 4: 512 KiB while there are 32 chunks (16 MiB); 8 MiB: 256 KiB; 1 MiB: 128 KiB are 8,
    # fewer than 16, so 64 KiB; 64 KiB: one chunk, fewer than 4, so 32 KiB
    ("all_reduce", TREE, "simple", 16 * MIB, (8, 8, 1), 512 * KIB),
    ("all_reduce", TREE, "simple", 8 * MIB, (8, 8, 1), 256 * KIB),
    ("all_reduce", TREE, "simple", 1 * MIB, (8, 8, 1), 64 * KIB),
    ("all_reduce", TREE, "simple", 64 * KIB, (8, 8, 1), 32 * KIB),
    ("all_reduce", TREE, "simple", 16 * MIB, (8, 8, 2), 256 * KIB),
    ("all_reduce", TREE, "ll", 64 * KIB, (8, 8, 1), 32 * KIB),
    # LL128, 8 ranks on 8 servers: depth 4.1; 263 chunks of 576,000 B stay, 262 are halved
    ("all_reduce", TREE, "ll128", 263 * 576_000, (8, 8, 1), 576_000),
    ("all_reduce", TREE, "ll128", 262 * 576_000, (8, 8, 1), 288_000),
    # until 72,000 for the first 128 KiB, then while there are fewer than 66 down to 18,000 B
    ("all_reduce", TREE, "ll128", 66 * 72_000, (8, 8, 1), 72_000),
    ("all_reduce", TREE, "ll128", 65 * 72_000, (8, 8, 1), 36_000),
    ("all_reduce", TREE, "ll128", 64 * KIB, (8, 8, 1), 18_000),
    # 16 ranks on 2 servers: (2 + 0.8) x 64 / 8 = 22.4
    ("all_reduce", TREE, "ll128", 23 * 576_000, (16, 2, 1), 576_000),
    ("all_reduce", TREE, "ll128", 22 * 576_000, (16, 2, 1), 288_000),
    # 64 ranks: a part of 512 KiB is in 4 chunks of 128 KiB
    ("all_reduce", "hierarchical", "simple", 32 * MIB, (64, 8, 1), 128 * KIB),
    ("all_reduce", "hierarchical", "simple", 32 * MIB - 64, (64, 8, 1), 64 * KIB),
    ("all_reduce", "hierarchical", "ll", 32 * MIB, (64, 8, 1), 32 * KIB)])
def test_chunks(program, algorithm, protocol, size, where, chunk):
    assert chunk_bytes(program, Choice(algorithm, protocol), size, *where) == chunk


def test_slices():
    assert slices("all_reduce", Choice(RING, "simple"), 32769) == 2
    assert slices("all_reduce", Choice(RING, "simple"), 32768) == 1
    assert slices("all_reduce", Choice(RING, "ll"), MIB) == 1
    assert slices("all_reduce", Choice(TREE, "simple"), MIB) == 1
    assert slices("broadcast", Choice(CHAIN, "simple"), MIB) == 1
