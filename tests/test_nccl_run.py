"""nccl-tests end to end: what is simulated stands in the log, and is by hand what the fabric gives."""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st
from nccl_run_cases import PAYLOAD_GBPS, log_lines, report, settings, simulate, table, times_us

from distsim.config import from_dict
from distsim.engine import run_config
from distsim.workload.nccl_tests.command import PROGRAMS

KIB, MIB = 1 << 10, 1 << 20
# A message of 4 B to a NIC of the same rack: doorbell 15,000 ps, read request 1,555, 38 B of payload on PCIe 603, then
# two links of 110 B (2,200) and 100 ns each. 8 B: 42 B on PCIe 667, 114 B on the wire.
FOUR_BYTES_PS = 15_000 + 1_555 + 603 + 2 * (2_200 + 100_000)
EIGHT_BYTES_PS = 15_000 + 1_555 + 667 + 2 * (2_280 + 100_000)


def test_a_log_of_two_ranks(tmp_path):
    done = simulate(tmp_path, "all_reduce_perf -b 8 -e 16 -f 2 -n 1 -w 0 -J report.json", {"hosts": 2})
    assert done.exit_code == 0
    lines = log_lines(tmp_path)
    assert lines[:4] == [
        "# Writing JSON output to nccl-tests-report.json",
        "# nccl-tests version 2.19.1 nccl-headers=0 nccl-library=0",
        "# Collective test starting: all_reduce_perf",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 0 iters: 1 agg iters: 1 "
        "validation: 1 graph: 0 unalign: 0"]
    assert lines[4].startswith("# distsim: simulated;")
    assert lines[6:9] == ["# Using devices",
                          "#  Rank  0 Group  0 Pid   1000 on   server-0 device  0 [0000:00:00] simulated NIC-0",
                          "#  Rank  1 Group  0 Pid   1001 on   server-1 device  0 [0000:00:00] simulated NIC-1"]
    assert lines[9:11] == ["server-0:1000:1000 [0] NCCL INFO Using network UET",
                           "server-1:1001:1001 [0] NCCL INFO Using network UET"]
    # two steps of half the data, after a launch of 6.6 us: 7.043116 and 7.043564 us
    assert lines[15:17] == [
        "           8             2     float     sum      -1     7.04    0.00    0.00       0"
        "     7.04    0.00    0.00       0",
        "          16             4     float     sum      -1     7.04    0.00    0.00       0"
        "     7.04    0.00    0.00       0"]
    small, large = (6_600_000 + 2 * one for one in (FOUR_BYTES_PS, EIGHT_BYTES_PS))
    assert (small, large) == (7_043_116, 7_043_564)
    assert times_us(tmp_path) == [(7.043116, 7.043116), (7.043564, 7.043564)]
    # mean of 8 / 7,043.116 and 16 / 7,043.564 GB/s
    assert lines[17:] == ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 0.00170372 ", "#",
                          "# Collective test concluded: all_reduce_perf", "#", ""]


def test_twenty_iterations_five_to_warm_up_and_two_cycles(tmp_path):
    done = simulate(tmp_path, "all_reduce_perf -b 8 -e 16 -f 2 -n 20 -w 5 -N 2 -J report.json", {"hosts": 2})
    # 2 sizes x (5 + 2 cycles x 2 places x 20) operations of 4 messages
    assert done.info["flows"]["total"] == 2 * (5 + 80) * 4
    assert [row[0] for row in table(tmp_path)] == ["8", "16", "8", "16"]
    assert times_us(tmp_path) == [(7.043116, 7.043116), (7.043564, 7.043564)] * 2


def test_aggregated_operations_share_a_launch(tmp_path):
    simulate(tmp_path, "all_reduce_perf -b 8 -e 8 -n 1 -m 4 -w 0 -J report.json", {"hosts": 2})
    # (6.6 us + 4 x 443,116 ps) / 4
    assert times_us(tmp_path) == [(2.093116, 2.093116)]


@pytest.mark.parametrize(("command", "workload", "collective"), [
    ("all_reduce_perf", {"algorithm": "ring"}, {"collective": "all_reduce", "algorithm": "ring", "slices": 2}),
    ("all_reduce_perf", {"algorithm": "double-binary-tree", "chunk": "32KiB"},
     {"collective": "all_reduce", "algorithm": "double-binary-tree", "chunk": "32KiB"}),
    ("all_gather_perf", {}, {"collective": "all_gather", "algorithm": "ring", "slices": 2}),
    ("alltoall_perf", {}, {"collective": "all_to_all", "algorithm": "nccl"})])
def test_a_row_is_a_collective_and_its_launch(command, workload, collective, tmp_path):
    simulate(tmp_path / "sweep", f"{command} -b 512K -e 512K -n 1 -w 0 -a 3 -J report.json", workload)
    alone = settings("", SimulationParameters={"RunTime": 0.01})
    alone["workload"] = {"kind": "collective", "size": "512KiB", **collective}
    done = run_config(from_dict(alone, []), tmp_path / "alone", quiet=True)
    (one,) = done.info["collectives"]
    assert times_us(tmp_path / "sweep")[0][0] == pytest.approx(6.6 + one["time_us"], abs=1e-5)


@pytest.mark.parametrize(("program", "least"), [
    ("all_reduce", 0.9), ("all_gather", 0.9), ("reduce_scatter", 0.9), ("alltoall", 0.9), ("sendrecv", 0.9),
    ("gather", 0.9), ("scatter", 0.9), ("hypercube", 0.9), ("broadcast", 0.7), ("reduce", 0.7)])
def test_every_program_comes_near_the_rate_of_a_nic_and_never_above_it(program, least, tmp_path):
    simulate(tmp_path, f"{program}_perf -b 64K -e 16M -f 256 -n 1 -w 0", {"launch": "0s"})
    small, large = table(tmp_path)                      # counted from the right: a hypercube's redop is empty
    for row in (small, large):
        assert all(0 < float(row[place]) <= PAYLOAD_GBPS + 0.005 for place in (-6, -2))
    # a chain of 8 in chunks of 512 KiB: 32 + 6 chunks for 32
    assert float(large[-6]) > least * PAYLOAD_GBPS
    assert (large[-5], large[-1]) == ("0", "N/A" if program in ("alltoall", "sendrecv") else "0")


@settings_of_hypothesis(max_examples=40, deadline=None, derandomize=True)
@given(program=st.sampled_from(PROGRAMS), hosts=st.integers(2, 8), size=st.integers(128, MIB),
       average=st.sampled_from((1, 3)), iterations=st.integers(1, 3))
def test_no_program_goes_above_the_rate_of_a_nic(program, hosts, size, average, iterations):
    hosts = 1 << hosts.bit_length() - 1 if program == "hypercube" else hosts
    with tempfile.TemporaryDirectory() as folder:
        simulate(Path(folder) / "run", f"{program}_perf -b {size} -e {size} -n {iterations} -w 0 -a {average} "
                                       "-J report.json", {"launch": "0s", "hosts": hosts})
        (row,) = report(Path(folder) / "run")["results"]
    for place in ("out_of_place", "in_place"):
        assert 0 < row[place]["bus_bw"] <= PAYLOAD_GBPS


def test_servers_go_above_a_nic_up_to_what_their_nics_carry(tmp_path):
    workload = {"scale_up": {"gpus_per_server": 4}, "launch": "0s"}
    simulate(tmp_path, "all_reduce_perf -b 16M -e 64M -f 4 -n 1 -w 0", workload)
    # Two servers of four: a NIC carries a quarter of the data, so algbw is at most 4 NICs, busbw 7/4 of that: 341 GB/s
    most = 4 * PAYLOAD_GBPS * 2 * 7 / 8
    small, large = (float(row[7]) for row in table(tmp_path))
    assert 0.6 * most < small < large <= most
    assert large > 0.8 * most


def test_times_grow_with_the_size_without_cliffs(tmp_path):
    simulate(tmp_path, "all_reduce_perf -b 8 -e 8M -f 2 -n 1 -w 0 -J report.json")
    found = [time for time, _ in times_us(tmp_path)]
    assert all(before < after < 2.01 * before for before, after in pairwise(found))
    assert report(tmp_path)["average_bus_bandwidth"]["bandwidth"] > 10


def test_the_terminal_shows_the_table_without_the_ranks(tmp_path):
    lines = simulate(tmp_path, "all_reduce_perf -b 8 -e 16 -f 2 -n 1 -w 0").lines
    text = "\n".join(lines)
    assert not re.search(r"# +Rank|NCCL INFO|minBytes", text)
    assert [line for line in lines if re.match(r" +(8|16) ", line)] == [
        line for line in log_lines(tmp_path) if re.match(r" +(8|16) ", line)]
    assert "#       size         count      type   redop    root     time" in text
    assert lines.index("# Out of bounds values : 0 OK") < next(
        number for number, line in enumerate(lines) if line.startswith("flows"))
