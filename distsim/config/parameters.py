"""Global simulation parameters, under their documented names; times are doubles in seconds unless they carry a unit."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from distsim.quantities import Time

from .fields import AttributeModel, attribute, flag, real, time, whole

LONGEST_S = 1e6


def seconds_to_ps(seconds: float) -> int:
    """Picoseconds of a number of seconds as it was written (0.001 is 10**9), rounded to the nearest."""
    return int((Decimal(repr(seconds)) * 10**12).to_integral_value())


class SimulationParameters(AttributeModel):
    """When a run starts and ends, and what is recorded how often."""

    StartTime: float = real(0.001, "Start of the simulation.", 0.0, LONGEST_S, unit="s")
    ClientStartOffset: float = real(0.001, "The workload starts this long after StartTime.", 0.0, LONGEST_S, unit="s")
    WarmUp: float = real(0.0, "First part of the run.", 0.0, LONGEST_S, unit="s")
    RunTime: float = real(
        1.0, "Middle part of the run; the run stops at StartTime + WarmUp + RunTime + CoolDown at the latest.", 0.0,
        LONGEST_S, unit="s")
    CoolDown: float = real(0.0, "Last part of the run.", 0.0, LONGEST_S, unit="s")
    NDStatsReportInterval: float = real(
        0.001, "Interval of nd-stats, uet-transport-stats, ecn-pfc-stats and pcie-stats.", 1e-9, LONGEST_S, unit="s")
    EnableNetDeviceStatLogging: bool = flag(True, "Write nd-stats.")
    EnablePFCECNStatsLogging: bool = flag(True, "Write ecn-pfc-stats.")
    EnableNetworkBufferStatsReporting: bool = flag(
        False, "Write net-buff-stats of the NICs whose EnableBufferStats is true.")
    NetworkBufferStatsReportingInterval: float = real(
        0.001, "Interval of net-buff-stats.", 1e-9, LONGEST_S, unit="s")
    EnablePCIeStatsLogging: bool = flag(False, "Write pcie-stats.")
    BeaconReportInterval: float = real(0.001, "Interval of chakra-cdf.", 1e-9, LONGEST_S, unit="s")
    EnableAnnotatedTraces: bool = flag(
        True, "Write post_annotated/, each rank's nodes with their times, of a workload of ranks (ours: the platform "
        "always does).")
    MonitorScope: Literal["global", "process"] = attribute(
        "global", "What uet-monitor selects by (ours): global counts the triggers over the whole run and follows a "
        "connection to its other end anywhere, process does both in each process, as the platform does.")
    MaxRecordRows: int = whole(
        0, "Most rows that each component writes into a record (ours); 0: no limit. What is left out is counted in "
        "run.json.")
    EnableTopologyReport: bool = flag(False, "Write topology-report (ours).")
    EnableTierHop: bool = flag(False, "Write tier-hop (ours).")
    EnableMPIStats: bool = flag(False, "Write mpi-stats (ours).")
    EnableMPIProfiling: bool = flag(False, "Write mpi-profiling (ours).")
    EnableCPUMemStats: bool = flag(False, "Write cpu-mem-stats (ours).")
    EnableSwitchBufferStats: bool = flag(
        False, "Write scala-switch-buff-stats and scala-switch-agg-buff-stats (ours).")
    FailedLinks: list[str] = attribute(
        [], "Links between switches that lose every packet, in both directions, while routes go on using them (ours): "
        "component names as A--B, e.g. RSW-0--SSW-1.")
    TriggerDelay: Time = time(
        "100ns", "Time that a trigger takes to another host (ours); the same host is told at once.", least="1ps")
