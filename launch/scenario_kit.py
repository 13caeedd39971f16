"""What the scenarios share: a result's numbers and panels, a configuration's common parts, reading of records.

Rates and sizes by hand (scala-computing/docs models/scala-uet-nic): a full packet carries 4,096 B, is charged 4,184 B
in buffers and windows and takes 4,202 B of the wire, 84.04 ns at 400 Gb/s; its write to the host takes 4,368 B of the
PCIe lanes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import distsim
from distsim.api import Run

if TYPE_CHECKING:
    import polars as pl

PAYLOAD_B, NOMINAL_B, WIRE_B, LANES_B = 4096, 4184, 4202, 4368
HEADERS_B = WIRE_B - PAYLOAD_B
LINK_GBPS, LANE_GBPS = 400.0, 31.52
PACKET_NS = WIRE_B * 8 / LINK_GBPS

Curve = tuple[Sequence[float], Sequence[float]]      # times in us, values


@dataclass(frozen=True)
class Number:
    """A measured figure and the least and most it may be."""

    what: str
    value: float
    least: float
    most: float

    @property
    def holds(self) -> bool:
        return self.least <= self.value <= self.most


@dataclass(frozen=True)
class Panel:
    """One set of axes: curves over time by name, and horizontal lines by name."""

    title: str
    unit: str
    curves: Mapping[str, Curve]
    levels: Mapping[str, float]


@dataclass(frozen=True)
class Result:
    """What a scenario found."""

    numbers: tuple[Number, ...]
    panels: tuple[Panel, ...]


def exactly(what: str, value: float, wanted: float) -> Number:
    return Number(what, value, wanted, wanted)


def within(what: str, value: float, wanted: float, share: float, more: float = 0.0) -> Number:
    """`wanted` give or take a share of it, and `more` in its own unit."""
    return Number(what, value, wanted * (1 - share) - more, wanted * (1 + share) + more)


def leaf_spine(racks: int, nics_per_rack: int, spines: int) -> dict[str, Any]:
    return {"kind": "leaf-spine", "racks": racks, "nics_per_rack": nics_per_rack, "spines": spines}


def incast(receiver: int, sources: Sequence[int], size: str) -> dict[str, Any]:
    return {"kind": "incast", "receiver": receiver, "sources": list(sources), "size": size}


def times(run_s: float, interval_s: float, **more: Any) -> dict[str, Any]:
    """SimulationParameters of a workload that starts at time 0 and whose records come every `interval_s`."""
    return {"StartTime": 0.0, "ClientStartOffset": 0.0, "RunTime": run_s, "NDStatsReportInterval": interval_s,
            "NetworkBufferStatsReportingInterval": interval_s, **more}


def transport(**sections: Any) -> dict[str, Any]:
    """A part of `nic` with sections of TransportProcessingLayers."""
    return {"TransportProcessingLayers": sections}


def receiver(lanes: int, ingress: Mapping[str, Any], **sections: Any) -> list[dict[str, Any]]:
    """nic_overrides for NIC-0: PCIe lanes towards its host, receive buffer, transport."""
    physical = {"PhysicalLayer": {"LaneCount": lanes}}
    return [{"names": ["NIC-0"], "set": {
        "NetworkInterface": {"IngressBufferManager": dict(ingress)},
        "HostInterface": {"NICSide": {"PCIeGen3.0": {"NicDeviceLayer": {"NicPCIeInterface": physical}}}},
        **transport(**sections)}}]


def simulate(directory: Path, name: str, **config: Any) -> Run:
    """Run a configuration in this process, its records in a folder of its own."""
    return distsim.run({"simulation": name, "seed": 1, **config}, directory / name, overwrite=True)


def last_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of the last report."""
    return frame.filter(frame["sim_time_sec"] == frame["sim_time_sec"].max())


def of(frame: pl.DataFrame, **values: Any) -> pl.DataFrame:
    """The rows that have these values, in order of time."""
    for column, value in values.items():
        frame = frame.filter(frame[column] == value)
    return frame.sort("sim_time_sec") if "sim_time_sec" in frame.columns else frame


def curve(frame: pl.DataFrame, column: str, factor: float = 1.0) -> Curve:
    """A column over time."""
    return [time * 1e6 for time in frame["sim_time_sec"]], [value * factor for value in frame[column]]


def first_us(frame: pl.DataFrame, column: str, least: float) -> float:
    """Time of the first row in which a column has reached `least`; infinite if it never does."""
    found = frame.filter(frame[column] >= least)["sim_time_sec"].min()
    return float("inf") if found is None else float(str(found)) * 1e6


def total(frame: pl.DataFrame, column: str) -> float:
    return float(frame[column].sum())
