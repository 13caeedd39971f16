"""Small runs, in this process, that show what an attribute changes: bases, paths, and what is looked at.

A `Case` runs its base twice, as it is and with one attribute changed, and compares one figure of one record.
"""

from __future__ import annotations

import json
import operator
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import distsim
from distsim.config.describe import SECTIONS, attributes

GLOBAL = "SimulationParameters."
NET = "nic.NetworkInterface."
IN = NET + "IngressBufferManager."
OUT = NET + "EgressBufferManager."
LAYERS = "nic.TransportProcessingLayers."
PDS = LAYERS + "ScalaUETPdsManager."
PORTS = LAYERS + "PacketSpraying.DefaultPacketSpraying."
REPS = LAYERS + "PacketSpraying.RecycledEntropyPacketSpraying."
CC = LAYERS + "ScalaUETCongestionControl."
MSS = LAYERS + "SemanticLayer.RdmaDataMSS"
MONITOR = LAYERS + "ScalaUETMonitor."
PLUGIN = LAYERS + "Plugin."
NIC_END = "nic.HostInterface.NICSide.PCIeGen3.0.NicDeviceLayer.NicPCIeInterface."
HOST_END = "nic.HostInterface.HostSide.PCIeGen3.0.ScalaHostPCIeDeviceLayer.HostPCIeInterface."
BUFFER = "switch.SharedBufferManager."
ECN = "switch.EcnHandler."

WALL_CLOCK = ("mpi-stats", "mpi-profiling", "cpu-mem-stats")
NO_PFC, DATA_PFC = [0] * 8, [1] + [0] * 7


def acting(kind: str = "acts") -> list[str]:
    """Paths of all attributes that the declarations give this kind."""
    found = []
    for section in SECTIONS:
        for path, declared in attributes(section):
            assert isinstance(declared.json_schema_extra, dict)
            if declared.json_schema_extra["acts"] == kind:
                found.append(path)
    return found


def flow(src: int, dst: int, size: str = "200KB", **more: Any) -> dict[str, Any]:
    return {"from": src, "to": dst, "size": size, **more}


def ticks(seconds: float) -> dict[str, Any]:
    """The same interval for all periodic records."""
    return {GLOBAL + "NDStatsReportInterval": seconds, GLOBAL + "NetworkBufferStatsReportingInterval": seconds,
            BUFFER + "BufferStatsReportInterval": f"{seconds * 1e6:g}us"}


# ---- bases -----------------------------------------------------------------------------------------------------------
# Two racks of four NICs (0..3 and 4..7) on two spines; every record on, a tick every 10 us.
FABRIC = {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4, "spines": 2}
RECORDS_ON = {
    **{GLOBAL + name: 1e-5 for name in ("StartTime", "ClientStartOffset")}, **ticks(1e-5),
    GLOBAL + "RunTime": 2e-3,
    **{GLOBAL + name: True for name in (
        "EnableNetDeviceStatLogging", "EnablePFCECNStatsLogging", "EnableNetworkBufferStatsReporting",
        "EnablePCIeStatsLogging", "EnableTopologyReport", "EnableTierHop", "EnableMPIStats", "EnableMPIProfiling",
        "EnableCPUMemStats", "EnableSwitchBufferStats")},
    "nic.EnableBufferStats": True, "nic.EnableTransportStats": True, "nic.EnableEventLogging": True,
    MONITOR + "EnableUETMonitor": True}
MONITOR_ONLY = {path: path == MONITOR + "EnableUETMonitor" for path, value in RECORDS_ON.items() if value is True}
LOGS_OFF = {MONITOR + "EnableUETMonitor": False, "nic.EnableEventLogging": False}
POLICY = {BUFFER + "UETPolicyEnabled": True, BUFFER + "EnablePFC": NO_PFC}
TRIMMING = {**POLICY, "switch.PacketTrimmer.TrimmingEnabled": True, PDS + "TrimmingEnabled": True,
            BUFFER + "PlaneBDP": "100KB"}
# NIC 0's host takes 8 * 31.52 = 252 Gb/s, less than what comes in: its receive pool, of 180 KB, fills.
SLOW_HOST = {NIC_END + "PhysicalLayer.LaneCount": 8, NIC_END + "TransactionLayer.TXHeaderBufferSize": "1088B",
             IN + "TotalBufferSize": "200KB"}
CROWD = [flow(src, 0) for src in (1, 2, 3, 4, 5)]
# Pauses early: a port of a switch pauses its sender at 40 KB in the pool.
PFC = {BUFFER + "StaticPoolXoffThreshold": "40KB", BUFFER + "StaticPoolXonThreshold": "20KB"}
PRIVATE = {BUFFER + "EnablePFC": NO_PFC, BUFFER + "HeadRoomPerPortLimit": "0B"}     # lossy, no headroom


@dataclass(frozen=True)
class Base:
    """A workload and what is set beside `RECORDS_ON`."""

    flows: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)


BASES = {
    "one": Base([flow(0, 4)]),
    "two": Base([flow(0, 4), flow(0, 4)]),
    "both ways": Base([flow(0, 4), flow(4, 0)]),
    "in turn": Base([flow(0, 4, id=1), flow(4, 1, id=2, after=[1])]),
    "crowd": Base(CROWD),
    "marked": Base([flow(1, 0, "2MB"), flow(2, 0, "500KB"), flow(4, 0, "500KB")],
                   {**POLICY, BUFFER + "PlaneBDP": "200KB", ECN + "MinThreshold": 0.02, ECN + "MaxThreshold": 0.3}),
    "trimmed": Base([flow(src, 0, "400KB") for src in (1, 2, 3, 4, 5)], TRIMMING),
    "dropped": Base(CROWD, {**POLICY, **ticks(5e-5), BUFFER + "PlaneBDP": "60KB", BUFFER + "QueueDropThreshold": 2}),
    "slow host": Base(CROWD, {**SLOW_HOST, **ticks(5e-5)}),
    "paused": Base([*CROWD, flow(4, 6)], PFC),
    "no way": Base([flow(0, 4, "20KB")], {
        **ticks(1e-3), GLOBAL + "FailedLinks": ["RackSwitch-0--SpineSwitch-0", "RackSwitch-0--SpineSwitch-1"]}),
    "reps": Base([flow(0, 4, "1MB")], {
        **ticks(1e-4), GLOBAL + "FailedLinks": ["RackSwitch-0--SpineSwitch-0"],
        PDS + "PacketSprayingType": "Recycled Entropy Packet Spraying", GLOBAL + "RunTime": 1e-3}),
    "lossy": Base(CROWD, {**PRIVATE, **ticks(5e-5), BUFFER + "TotalSharedBufferSize": "400KB"}),
}


# ---- runs ------------------------------------------------------------------------------------------------------------
def run(base: str, changes: dict[str, Any] | None = None) -> distsim.api.Run:
    """A base with changes; each is run once."""
    return _run(base, json.dumps({**BASES[base].settings, **(changes or {})}, sort_keys=True))


@cache
def _run(base: str, settings: str) -> distsim.api.Run:
    folder = Path(tempfile.mkdtemp(dir=KEPT.name))
    return distsim.run(config_of(base), folder, set={**RECORDS_ON, **json.loads(settings)})


def config_of(base: str) -> dict[str, Any]:
    """Fabric and workload of a base."""
    return {"simulation": "attributes", "seed": 2, "fabric": FABRIC,
            "workload": {"kind": "flows", "flows": BASES[base].flows}}


KEPT = tempfile.TemporaryDirectory(prefix="distsim-attributes-")


def records_of(found: distsim.api.Run) -> dict[str, list[tuple[Any, ...]]]:
    """Every record that holds no figures of the machine, without time_utc."""
    return {name: found.frame(name).drop("time_utc", strict=False).rows()
            for name in found.records if name not in WALL_CLOCK}


# ---- cases -----------------------------------------------------------------------------------------------------------
COMPARE: dict[str, Callable[[Any, Any], bool]] = {">": operator.gt, "<": operator.lt, "!=": operator.ne}
Figure = Callable[[Any], Any]


def total(frame: Any, column: str) -> Any:
    return frame[column].sum()


def mean(frame: Any, column: str) -> Any:
    return frame[column].mean()


def most(frame: Any, column: str) -> Any:
    return frame[column].max() or 0


def least(frame: Any, column: str) -> Any:
    return frame[column].min()


def kinds(frame: Any, column: str) -> Any:
    return frame[column].n_unique()


def rows(frame: Any, column: str) -> Any:
    return frame[column].to_list()


HOW = {"total": total, "mean": mean, "most": most, "least": least, "kinds": kinds, "rows": rows}


@dataclass(frozen=True)
class Case:
    """`value` in place of what `base` has makes a figure of a record greater, less or other.

    look : "record how column", how a column of the record is made one figure: total, mean, most (0 of none), least,
    kinds (different values) or rows (all of them). given : set in both runs. only : columns and their values in the
    rows looked at.
    """

    base: str
    value: Any
    look: str
    compare: str
    given: dict[str, Any] = field(default_factory=dict)
    only: dict[str, Any] = field(default_factory=dict)

    def figure(self, found: distsim.api.Run) -> Any:
        record, how, column = self.look.split()
        frame = found.frame(record)
        for name, value in self.only.items():
            frame = frame.filter(frame[name] == value)
        return HOW[how](frame, column)

    def figures(self, path: str) -> tuple[Any, Any]:
        """The figure without and with the change; logs of every packet are left out where they are not looked at."""
        given = self.given if self.look.startswith("uet-monitor") else {**LOGS_OFF, **self.given}
        return self.figure(run(self.base, given)), self.figure(run(self.base, {**given, path: self.value}))


def check(path: str, case: Case) -> None:
    before, after = case.figures(path)
    assert COMPARE[case.compare](after, before), f"{path}: {case.look} was {before}, is {after}"
