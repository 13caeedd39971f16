"""NCCL's cost model by hand: algorithm, protocol and chunk of a size."""

from __future__ import annotations

import pytest

from distsim.workload.nccl_tests.tuner import Choice, choose, chunk_bytes, estimate_us, slices

GBPS_400 = 400 * 10**9          # 50,000 bytes a microsecond


@pytest.mark.parametrize(("choice", "size", "us"), [
    # ring, 8 ranks on 8 servers: 14 steps; bytes cross 14 / 8 times
    (Choice("ring", "ll"), 8, 6.6 + 14 * 2.7 + 8 * 1.75 / 25_000),
    (Choice("ring", "simple"), 10**9, 8.4 + 14 * 14 + 1e9 * 1.75 / 50_000),
    (Choice("ring", "ll128"), 10**6, 14.0 + 14 * 4 + 1e6 * 1.75 / 46_000),
    # double tree: up and down 3 levels; half of 0.92 of the rate
    (Choice("double-tree", "ll"), 8, 6.8 + 6 * 5.0 + 8 * 2 / (50_000 * 0.92 / 3.8)),
    (Choice("double-tree", "simple"), 10**9, 8.4 + 6 * 14 + 1e9 * 2 / 46_000)])
def test_times_of_an_all_reduce_of_eight(choice, size, us):
    assert estimate_us("all_reduce", choice, size, 8, 8, GBPS_400) == pytest.approx(us)


def test_times_inside_servers():
    # 16 ranks on 2 servers: 2 steps of a ring's 30 are between servers; a tree of depth 1 and chains of 7
    assert estimate_us("all_reduce", Choice("ring", "ll"), 0, 16, 2, GBPS_400) == pytest.approx(
        6.6 + 2 * 2.7 + 28 * 0.6)
    assert estimate_us("all_reduce", Choice("double-tree", "ll"), 0, 16, 2, GBPS_400) == pytest.approx(
        6.8 + 2 * 5.0 + 14 * 0.6)
    assert estimate_us("all_gather", Choice("ring", "ll"), 0, 8, 8, GBPS_400) == pytest.approx(6.6 + 7 * 2.7)
    assert estimate_us("broadcast", Choice("ring", "simple"), 10**6, 8, 8, GBPS_400) == pytest.approx(8.4 + 14 + 20)


def test_choices_of_an_all_reduce_of_eight():
    # 8 B: ring ll 44.4 us, tree ll 36.8; 1 GiB: ring simple 37,785 us, tree simple 46,775
    assert choose("all_reduce", 8, 8, 8, GBPS_400) == Choice("double-tree", "ll")
    assert choose("all_reduce", 1 << 30, 8, 8, GBPS_400) == Choice("ring", "simple")
    assert choose("all_reduce", 8, 8, 8, GBPS_400, algorithm="ring") == Choice("ring", "ll")
    assert choose("all_reduce", 8, 8, 8, GBPS_400, algorithm="hierarchical") == Choice("hierarchical", "ll")
    assert choose("all_reduce", 8, 8, 8, GBPS_400, protocol="simple") == Choice("double-tree", "simple")


def test_choices_of_others():
    assert choose("all_gather", 8, 8, 8, GBPS_400) == Choice("ring", "ll")
    assert choose("broadcast", 8, 8, 8, GBPS_400) == Choice("", "ll")
    assert choose("alltoall", 8, 8, 8, GBPS_400) == Choice("", "simple")
    assert choose("alltoall", 8, 8, 8, GBPS_400, "pairwise", "ll") == Choice("pairwise", "ll")


def test_chunks_and_slices():
    assert chunk_bytes(Choice("ring", "simple"), 1 << 30, 8, 1) == 2 << 20
    assert chunk_bytes(Choice("ring", "ll"), 8, 8, 1) == 32768
    assert chunk_bytes(Choice("ring", "ll128"), 8, 8, 1) == 576_000
    # double tree of 8 servers, depth 4: 512 KiB while there are 32 chunks (16 MiB); 8 MiB: 256 KiB; 1 MiB: 128 KiB are
    # 8, fewer than 16, so 64 KiB; 64 KiB: one chunk, fewer than 4, so 32 KiB
    for size, chunk in ((16 << 20, 512 << 10), (8 << 20, 256 << 10), (1 << 20, 64 << 10), (64 << 10, 32 << 10)):
        assert chunk_bytes(Choice("double-tree", "simple"), size, 8, 1) == chunk
    assert slices(Choice("ring", "simple"), 32769) == 2
    assert slices(Choice("ring", "simple"), 32768) == 1
    assert slices(Choice("ring", "ll"), 1 << 20) == slices(Choice("double-tree", "simple"), 1 << 20) == 1
