"""What the programs of nccl-tests move at a size, worked out by hand."""

from __future__ import annotations

import pytest

from distsim.workload.nccl_tests.command import parse
from distsim.workload.nccl_tests.sizes import amount, bandwidths, bus_factor, planned, swept, warmed


@pytest.mark.parametrize(("program", "datatype", "asked", "ranks", "count", "row_bytes"), [
    ("all_reduce", "float", 8, 64, 2, 8),
    ("all_reduce", "float", 10, 64, 2, 8),              # 2.5 elements
    ("broadcast", "double", 30, 64, 3, 24),
    ("reduce", "half", 7, 3, 3, 6),
    ("sendrecv", "int8", 7, 3, 7, 7),
    ("all_gather", "float", 8192, 64, 32, 8192),
    ("all_gather", "float", 10000, 64, 36, 9216),       # 2500 / 64 = 39, down to a multiple of 4: 36 x 64 x 4
    ("all_gather", "float", 512, 64, 0, 0),             # 2 elements a rank are less than 16 bytes
    ("reduce_scatter", "half", 1000, 6, 80, 960),       # 500 / 6 = 83 -> 80, 80 x 6 x 2
    ("alltoall", "double", 1000, 6, 20, 960),           # 125 / 6 = 20
    ("gather", "int8", 1000, 6, 160, 960),              # 166 -> 160
    ("scatter", "f8e4m3", 1000, 6, 160, 960),
    ("hypercube", "double", 1000, 4, 28, 896),          # 125 / 16 = 7 blocks of 4, x 4 x 8: aligned to elements
])
def test_amounts(program, datatype, asked, ranks, count, row_bytes):
    moved = amount(program, datatype, asked, ranks)
    assert (moved.asked_bytes, moved.count, moved.row_bytes) == (asked, count, row_bytes)


def test_sizes_by_factor_and_by_step():
    assert list(swept(parse("all_reduce_perf -b 8 -e 100 -f 3"))) == [8, 24, 72]
    assert list(swept(parse("all_reduce_perf -b 1K -e 4K -i 1K"))) == [1024, 2048, 3072, 4096]
    assert list(swept(parse("all_reduce_perf -b 1K -e 2K -i 1000"))) == [1024, 2024]
    assert list(swept(parse("all_reduce_perf"))) == [32 << 20]
    assert list(swept(parse("all_reduce_perf -b 5 -e 5 -i 0"))) == [5]


def test_the_warm_up_doubles_whatever_the_step():
    assert list(warmed(parse("all_reduce_perf -b 8 -e 100 -f 3"))) == [8, 16, 32, 64]
    assert list(warmed(parse("all_reduce_perf -b 0 -e 100 -i 50"))) == [0]


def test_tests_go_by_type_then_operator_then_root():
    found = planned(parse("reduce_perf -d all -o all -r all"), ranks=3)
    assert len(found) == 12 * 6 * 3
    assert [(t.datatype, t.operator, t.root) for t in found[:4]] == [
        ("int8", "sum", 0), ("int8", "sum", 1), ("int8", "sum", 2), ("int8", "prod", 0)]
    assert [(t.operator, t.root) for t in planned(parse("all_reduce_perf -o max -r 1"), 3)] == [("max", -1)]
    assert [(t.operator, t.root) for t in planned(parse("broadcast_perf -o all -r 1"), 3)] == [("none", 1)]
    assert [(t.operator, t.root) for t in planned(parse("alltoall_perf"), 3)] == [("none", -1)]
    assert [(t.operator, t.root) for t in planned(parse("sendrecv_perf -o min"), 3)] == [("min", -1)]


@pytest.mark.parametrize(("program", "factor"), [
    ("all_reduce", 1.75), ("all_gather", 0.875), ("reduce_scatter", 0.875), ("alltoall", 0.875), ("gather", 0.875),
    ("scatter", 0.875), ("broadcast", 1.0), ("reduce", 1.0), ("sendrecv", 1.0), ("hypercube", 1.0)])
def test_bus_factors_of_eight_ranks(program, factor):
    assert bus_factor(program, 8) == factor


def test_bandwidths():
    moved = amount("all_gather", "float", 8000, 8)                 # 250 -> 248 elements a rank, 7,936 B in all
    assert bandwidths("all_gather", moved, 8, 1e-6) == pytest.approx((7.936, 6.944))
    moved = amount("hypercube", "float", 8000, 8)                  # 2000 / 32 = 62 x 4 = 248 elements, from 7 others
    assert bandwidths("hypercube", moved, 8, 1e-6) == pytest.approx((6.944, 6.944))
    moved = amount("all_reduce", "float", 1000, 8)
    assert bandwidths("all_reduce", moved, 8, 1e-6) == pytest.approx((1.0, 1.75))
    assert bandwidths("all_gather", amount("all_gather", "float", 8, 8), 8, 0.0) == (0.0, 0.0)
