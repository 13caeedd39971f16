"""The log's text against lines that nccl-tests 2.19 and NCCL print (columns as in real logs)."""

from __future__ import annotations

import pytest

from distsim.measure.profile import STRICT, builtin_profile
from distsim.workload.nccl_tests.command import parse
from distsim.workload.nccl_tests.iterations import figures
from distsim.workload.nccl_tests.layout import (
    columns,
    device,
    footer,
    half,
    iterations,
    network,
    number,
    parameters,
    row,
)


@pytest.mark.parametrize(("value", "width", "text"), [
    (387.62, 7, " 387.62"), (9999.994, 7, "9999.99"), (11832.42, 7, "11832.4"), (175014.2, 7, " 175014"),
    (1332532.0, 7, "1332532"), (12345678.0, 7, "1.2e+07"), (123456789.0, 7, "1.2e+08"),
    (0.0, 6, "  0.00"), (0.004, 6, "  0.00"), (999.994, 6, "999.99"), (1846.12, 6, "1846.1"), (49666.3, 6, " 49666"),
    (217005.0, 6, "217005"), (6e6, 6, " 6e+06")])
def test_numbers(value, width, text):
    assert number(value, width) == text


def test_rows_as_in_real_logs():
    halves = (half(1558.97, 688.75, 0.0, True), half(0.19, 6e6, 0.0, True))
    assert row(1073741824, 268435456, "float", "sum", -1, halves) == (
        "  1073741824     268435456     float     sum      -1  1558.97  688.75    0.00       0     0.19   6e+06    0.00"
        "       0")
    halves = (half(161.65, 51.89, 90.81, True), half(158.47, 52.93, 92.63, True))
    assert row(8388608, 2097152, "float", "sum", -1, halves) == (
        "     8388608       2097152     float     sum      -1   161.65   51.89   90.81       0   158.47   52.93   92.63"
        "       0")


def test_a_row_that_is_not_checked_is_a_column_short():
    assert half(34.24, 0.01, 0.01, False) == "    34.24    0.01    0.01    N/A"
    assert len(half(34.24, 0.01, 0.01, True)) == len(half(34.24, 0.01, 0.01, False)) + 1


def test_the_strict_profile_reads_a_row():
    profile = builtin_profile(STRICT)
    assert profile is not None
    text = row(134217728, 33554432, "float", "none", 0, (half(1295.41, 103.61, 181.32, True),) * 2)
    sample = profile.sample(text.encode())
    assert sample is not None and (sample.size_bytes, sample.algbw_gbs, sample.busbw_gbs) == (134217728, 103.61, 181.32)
    assert profile.transport(network("job-node-0-1", 530, 0, "Socket").encode()) == "Socket"


def test_header():
    assert parameters(parse("all_reduce_perf -b 8 -e 128M -f 2 -g 8"))[1:] == [
        "# Collective test starting: all_reduce_perf",
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 "
        "validation: 1 graph: 0 unalign: 0",
        "#"]
    assert "step: 1048576(bytes)" in parameters(parse("all_reduce_perf"))[2]
    assert parameters(parse("all_reduce_perf -z 1 -p 1"))[3:5] == [
        "# Blocking Enabled: wait for completion and barrier after each collective ",
        "# Parallel Init Enabled: threads call into NcclInitRank concurrently "]


def test_columns():
    assert columns(parse("all_reduce_perf")) == [
        "#",
        "#                                                              out-of-place                       in-place"
        "          ",
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw"
        "  #wrong ",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)"
        "         "]
    assert "  cputime  " in columns(parse("all_reduce_perf -C 1"))[2]
    assert columns(parse("all_reduce_perf -S 1"))[2].endswith("#wrong           timestamp")
    assert columns(parse("all_reduce_perf -S 1"))[3].endswith("           %Y-%m-%d %H:%M:%S")


def test_devices_and_network():
    assert device(1, 530, "job-node-0-1", 0, "0000:00:06", "NVIDIA A100-PCIE-40GB") == (
        "#  Rank  1 Group  0 Pid    530 on job-node-0-1 device  0 [0000:00:06] NVIDIA A100-PCIE-40GB")
    assert device(7, 584419, "dkh", 7, "0000:d4:00", "NVIDIA A100-SXM4-80GB") == (
        "#  Rank  7 Group  0 Pid 584419 on        dkh device  7 [0000:d4:00] NVIDIA A100-SXM4-80GB")
    assert network("job-node-0-1", 530, 0, "Socket") == "job-node-0-1:530:530 [0] NCCL INFO Using network Socket"


def test_footer():
    assert footer(parse("all_reduce_perf"), 34.902375) == [
        "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 34.9024 ", "#",
        "# Collective test concluded: all_reduce_perf", "#", ""]
    assert footer(parse("all_reduce_perf"), 0.0119653)[1] == "# Avg bus bandwidth    : 0.0119653 "


def test_columns_per_iteration():
    header = columns(parse("all_reduce_perf -I 1"))
    assert header[1] == "#" + " " * 65 + "out-of-place (+ per-iteration)" + " " * 32 + "in-place (+ per-iteration)"
    assert header[2] == (
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max"
        "    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv% ")
    assert "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows " in parameters(
        parse("all_reduce_perf -I 1"))


def test_figures_of_iterations():
    found = figures([4.0, 1.0, 3.0, 2.0])          # mean 2.5, deviations 1.5, 1.5, 0.5, 0.5: sqrt(5 / 4)
    assert (found.min_us, found.max_us, found.avg_us, found.p50_us) == (1.0, 4.0, 2.5, 3.0)
    assert found.stdev_us == pytest.approx(1.118034) and found.cv_pct == pytest.approx(44.721360)
    assert iterations(found) == "     1.00     4.00     4.00    44.72"
    many = figures([float(i) for i in range(1, 201)])
    assert (many.p95_us, many.p99_us) == (190.0, 198.0)
    assert figures([0.0]).cv_pct == 0.0
