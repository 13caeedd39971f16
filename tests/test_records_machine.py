"""Records of the machine that a rank runs on: rows with every number worked out by hand."""

import os

import numpy as np
import pytest
from records_cases import MS, shard

from distsim.records import COMPARED, RECORDS, Tick
from distsim.records.cpu_mem_stats import MB, CpuMemStats, Usage, own_usage, proc_usage, usage_columns
from distsim.records.mpi_profiling import MpiProfiling
from distsim.records.mpi_stats import MpiStats

FIGURES = {"windows": 40, "idle_windows": 15, "hops": 9_000, "calls": 45, "kernels_s": 1.5, "exchange_s": 0.25,
           "records_s": 0.125, "packets_sent": 700, "packets_received": 650, "bytes_sent": 44_800, "events": 1}


def row(columns):
    return {name: values if np.isscalar(values) else values[0] for name, values in columns.items()}


def test_they_are_outside_the_comparison_over_ranks():
    assert RECORDS.keys() - set(COMPARED) == {"mpi-stats", "mpi-profiling", "cpu-mem-stats"}


# ---- mpi-stats and mpi-profiling -------------------------------------------------------------------------------------

def test_mpi_stats_row():
    got = row(MpiStats(shard(index=3, count=4)).on_tick(Tick(3 * MS, "nd", run=FIGURES)))
    assert got == {"job_id": "sim", "sim_time_sec": 0.003, "core": 3, "mpi_pkt_tx": 700, "mpi_pkt_rx": 650,
                   "mpi_tr_tx": 40, "mpi_tr_rx": 40, "mpi_null": 15, "mpi_bytes_tx": 44_800}


def test_mpi_profiling_row():
    got = row(MpiProfiling(shard(index=1, count=2)).on_tick(Tick(3 * MS, "nd", run=FIGURES)))
    assert got == {"job_id": "sim", "sim_time_sec": 0.003, "core": 1, "cntWhile": 45, "cntCalcGrantedTime": 40,
                   "num_processed_events": 9_000, "timeGather_sec": 0.25, "timeEvents_sec": 1.5,
                   "timeRecords_sec": 0.125}


def test_figures_that_are_not_there_are_zero():
    for record in (MpiStats(shard()), MpiProfiling(shard())):
        got = row(record.on_tick(Tick(3 * MS, "nd")))
        assert {value for name, value in got.items() if name not in ("job_id", "sim_time_sec")} == {0}


# ---- cpu-mem-stats ---------------------------------------------------------------------------------------------------

def make_proc(directory, available=True):
    (directory / "self").mkdir(parents=True)
    # pid (comm) state ...; 14 utime 300, 15 stime 100, 22 starttime 5000, 23 vsize 2048 MB, 24 rss 65536 pages
    fields = ["S", *["0"] * 10, "300", "100", *["0"] * 6, "5000", str(2048 * MB), "65536", "0", "0"]
    (directory / "self/stat").write_text(f"77 (a) b (c) {' '.join(fields)}\n")
    (directory / "uptime").write_text("60.00 99.00\n")
    lines = ["MemTotal:        8388608 kB", "MemFree:         1048576 kB", "Buffers:           20480 kB",
             "SwapTotal:       4194304 kB", "SwapFree:        3145728 kB", "HugePages_Total:       0"]
    if available:
        lines.append("MemAvailable:    6291456 kB")
    (directory / "meminfo").write_text("\n".join(lines) + "\n")
    return directory


def test_proc_is_read(tmp_path):
    # up for 6000 ticks, the process since tick 5000: 1000 ticks; 65,536 pages of 4 KiB are 256 MB
    got = proc_usage(make_proc(tmp_path), 100, 4096)
    assert got == Usage(2048 * MB, 256 * MB, 300, 100, 1000, 8192 * MB, 6144 * MB, 4096 * MB, 3072 * MB)


def test_an_old_kernel_gives_free_memory(tmp_path):
    assert proc_usage(make_proc(tmp_path, available=False), 100, 4096).free_bytes == 1024 * MB


def test_usage_columns():
    got = usage_columns(Usage(2048 * MB, 256 * MB, 300, 100, 1000, 8192 * MB, 6144 * MB, 4096 * MB, 3072 * MB))
    assert got == {
        "core_vm_usage_M": 2048, "core_rss_M": 256, "core_vm_usage_pct": 25, "core_rss_usage_pct": 3.125,
        "sys_total_mem_M": 8192, "sys_free_mem_M": 6144, "sys_used_mem_M": 2048, "sys_mem_usage_pct": 25,
        "sys_swap_usage_pct": 25, "user_time_ticks": 300, "kernel_time_ticks": 100, "total_time_ticks": 400,
        "elapse_time_ticks": 1000, "user_time_pct": 30, "system_time_pct": 10, "total_time_pct": 40}


def test_what_the_machine_does_not_say_is_zero():
    got = usage_columns(Usage(0, 256 * MB, 3, 1, 0))
    assert got["core_rss_M"] == 256 and got["total_time_ticks"] == 4
    assert {value for name, value in got.items() if name.endswith("_pct")} == {0}


def test_own_usage_without_proc(tmp_path):
    got = own_usage(2.5)
    assert got.elapsed_ticks == 2.5 * os.sysconf("SC_CLK_TCK")
    assert 10 * MB < got.rss_bytes < 100_000 * MB and got.user_ticks > 0 and got.total_bytes == 0
    columns = CpuMemStats(shard(), proc=tmp_path / "none").on_tick(Tick(3 * MS, "nd"))
    assert columns["core_rss_M"] > 10 and columns["sys_total_mem_M"] == 0 and columns["pid"] == [os.getpid()]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no /proc")
def test_this_process():
    got = row(CpuMemStats(shard()).on_tick(Tick(3 * MS, "nd")))
    assert 0 < got["core_rss_M"] < got["core_vm_usage_M"] and got["core_rss_M"] < got["sys_total_mem_M"]
    assert 0 < got["sys_used_mem_M"] < got["sys_total_mem_M"]
    assert 0 < got["total_time_ticks"] == got["user_time_ticks"] + got["kernel_time_ticks"]
