"""`cpu-mem-stats`: what each rank's process takes of its machine, every NDStatsReportInterval.

Columns: scala-computing/docs, simulation-output-files, CPU/Memory Statistics. Read from /proc (proc(5): self/stat,
meminfo, uptime). Decisions: MB are 2**20 bytes, as in run.json; free memory is what could be had without swapping
(MemAvailable), used the rest; ticks are clock ticks (`getconf CLK_TCK`, 100 a second on Linux), since the process
started, all its threads together, so the percentages of elapsed time may pass 100. Where there is no /proc (macOS) the
CPU times and the greatest resident size so far come from getrusage, elapsed time counts from the record's opening, and
what is not known is 0.

All of it is the machine's: the record stands outside the equality over ranks.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from pathlib import Path
from typing import NamedTuple

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import ND, Shard, Tick

MB = 1 << 20
KB = 1 << 10

SCHEMA = RecordSchema(
    name="cpu-mem-stats",
    row_for="each rank's process",
    written="every NDStatsReportInterval",
    switch="EnableCPUMemStats",
    default=False,
    global_switch=True,
    order=("sim_time_sec", "host_name", "pid"),
    clock=ND,
    wall_clock=True,
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("host_name", TEXT, "", "name of the machine"),
        Column("pid", INT, "", "process id"),
        Column("core_vm_usage_M", FLOAT, "MB", "virtual memory of the process, MB of 2**20 bytes"),
        Column("core_rss_M", FLOAT, "MB", "resident memory of the process"),
        Column("core_vm_usage_pct", FLOAT, "%", "virtual memory of the process, of the machine's memory"),
        Column("core_rss_usage_pct", FLOAT, "%", "resident memory of the process, of the machine's memory"),
        Column("sys_total_mem_M", FLOAT, "MB", "memory of the machine"),
        Column("sys_free_mem_M", FLOAT, "MB", "memory to be had without swapping"),
        Column("sys_used_mem_M", FLOAT, "MB", "the rest of the memory"),
        Column("sys_mem_usage_pct", FLOAT, "%", "used memory, of the machine's"),
        Column("sys_swap_usage_pct", FLOAT, "%", "used swap space, of the machine's; 0 when it has none"),
        Column("user_time_ticks", INT, "ticks", "CPU time in user mode, since the process started"),
        Column("kernel_time_ticks", INT, "ticks", "CPU time in the kernel, since the process started"),
        Column("total_time_ticks", INT, "ticks", "CPU time, the sum of the two"),
        Column("elapse_time_ticks", INT, "ticks", "wall time since the process started"),
        Column("user_time_pct", FLOAT, "%", "user_time_ticks of elapse_time_ticks"),
        Column("system_time_pct", FLOAT, "%", "kernel_time_ticks of elapse_time_ticks"),
        Column("total_time_pct", FLOAT, "%", "total_time_ticks of elapse_time_ticks"),
    ),
)


class Usage(NamedTuple):
    """What the operating system says: sizes in bytes, times in clock ticks; 0 what it does not say."""

    vm_bytes: int
    rss_bytes: int
    user_ticks: int
    kernel_ticks: int
    elapsed_ticks: int
    total_bytes: int = 0
    free_bytes: int = 0
    swap_bytes: int = 0
    swap_free_bytes: int = 0


class CpuMemStats(Record):
    """Keeps the time it was opened."""

    schema = SCHEMA

    def __init__(self, shard: Shard, proc: Path = Path("/proc")) -> None:
        self._who = {"job_id": shard.simulation, "host_name": platform.node()}
        self._proc = proc
        self._begin_s = time.monotonic()

    def on_tick(self, tick: Tick) -> Columns | None:
        """The process's row."""
        try:
            usage = proc_usage(self._proc, os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"))
        except OSError:
            usage = own_usage(time.monotonic() - self._begin_s)
        return {**self._who, "sim_time_sec": seconds(tick.time_ps), "pid": [os.getpid()], **usage_columns(usage)}


def usage_columns(usage: Usage) -> dict[str, float]:
    """The columns from `core_vm_usage_M` on."""
    used_bytes, cpu_ticks = usage.total_bytes - usage.free_bytes, usage.user_ticks + usage.kernel_ticks
    return {
        "core_vm_usage_M": usage.vm_bytes / MB,
        "core_rss_M": usage.rss_bytes / MB,
        "core_vm_usage_pct": _percent(usage.vm_bytes, usage.total_bytes),
        "core_rss_usage_pct": _percent(usage.rss_bytes, usage.total_bytes),
        "sys_total_mem_M": usage.total_bytes / MB,
        "sys_free_mem_M": usage.free_bytes / MB,
        "sys_used_mem_M": used_bytes / MB,
        "sys_mem_usage_pct": _percent(used_bytes, usage.total_bytes),
        "sys_swap_usage_pct": _percent(usage.swap_bytes - usage.swap_free_bytes, usage.swap_bytes),
        "user_time_ticks": usage.user_ticks,
        "kernel_time_ticks": usage.kernel_ticks,
        "total_time_ticks": cpu_ticks,
        "elapse_time_ticks": usage.elapsed_ticks,
        "user_time_pct": _percent(usage.user_ticks, usage.elapsed_ticks),
        "system_time_pct": _percent(usage.kernel_ticks, usage.elapsed_ticks),
        "total_time_pct": _percent(cpu_ticks, usage.elapsed_ticks),
    }


def proc_usage(proc: Path, ticks_per_s: int, page_bytes: int) -> Usage:
    """Usage of this process from a /proc; OSError when there is none.

    self/stat, counted after the name in parentheses (which may hold spaces): fields 14 utime, 15 stime, 22 starttime
    (ticks since boot), 23 vsize (bytes), 24 rss (pages).
    """
    stat = (proc / "self/stat").read_text().rpartition(")")[2].split()
    user, kernel, started, vm_bytes, rss_pages = (int(stat[field - 3]) for field in (14, 15, 22, 23, 24))
    up_ticks = round(float((proc / "uptime").read_text().split()[0]) * ticks_per_s)
    memory = {}
    for line in (proc / "meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        memory[name] = int(value.split()[0]) * KB
    return Usage(vm_bytes, rss_pages * page_bytes, user, kernel, max(0, up_ticks - started), memory["MemTotal"],
                 memory.get("MemAvailable", memory["MemFree"]), memory.get("SwapTotal", 0), memory.get("SwapFree", 0))


def own_usage(elapsed_s: float) -> Usage:
    """Usage of this process from getrusage alone: the greatest resident size stands for the present one."""
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    spent = resource.getrusage(resource.RUSAGE_SELF)
    unit_bytes = 1 if sys.platform == "darwin" else KB
    return Usage(0, spent.ru_maxrss * unit_bytes, round(spent.ru_utime * ticks_per_s),
                 round(spent.ru_stime * ticks_per_s), round(elapsed_s * ticks_per_s))


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
