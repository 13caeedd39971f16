"""Global simulation parameters, under their documented names; times are doubles in seconds unless they carry a unit."""

from __future__ import annotations

from decimal import Decimal

from distsim.quantities import Time

from .fields import AttributeModel, flag, real, time

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
        0.001, "Interval of nd-stats and uet-transport-stats.", 1e-9, LONGEST_S, unit="s")
    EnableNetDeviceStatLogging: bool = flag(True, "Write nd-stats.")
    EnablePFCECNStatsLogging: bool = flag(
        False, "Write ecn-pfc-stats. The platform's default is true; this version does not write it.",
        acts="not modelled")
    EnableNetworkBufferStatsReporting: bool = flag(False, "Write net-buff-stats.", acts="not modelled")
    NetworkBufferStatsReportingInterval: float = real(
        0.001, "Interval of net-buff-stats.", 1e-9, LONGEST_S, unit="s", acts="not modelled")
    EnablePCIeStatsLogging: bool = flag(False, "Write pcie-stats.", acts="not modelled")
    TriggerDelay: Time = time(
        "100ns", "Time that a trigger takes to another host (ours); the same host is told at once.", least="1ps")
