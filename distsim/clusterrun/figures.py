"""What a simulation of a step says besides its length: bytes on the links of the spines, bandwidths of nccl-tests."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.records.files import record_files

from .work import Work

if TYPE_CHECKING:
    from .steptimes import Request

BYTES_PER_GB = 10**9
SPINE_TIER = 0
SENT_AND_RECEIVED = ("total_bytes_tx_GB", "total_bytes_rx_GB")       # of nd-stats


@dataclass(frozen=True)
class SpineLoad:
    """Bytes on the wire of the links of the spines in a step, each direction of a cable for itself."""

    links: int
    max_bytes: int
    total_bytes: int

    @property
    def mean_bytes(self) -> float:
        """Over all links."""
        return self.total_bytes / self.links

    def document(self) -> dict[str, Any]:
        """As plain data; imbalance : max over mean, None when nothing crossed a spine."""
        return {"links": self.links, "maxBytes": self.max_bytes, "meanBytes": round(self.mean_bytes, 3),
                "imbalance": round(self.max_bytes / self.mean_bytes, 6) if self.total_bytes else None}


@dataclass(frozen=True)
class Figures:
    """spine : None without spines or without the record nd-stats. bus_gbs : of each job that has a bus bandwidth, of
    its largest size, GB/s. bandwidth : BandwidthMeasurement of each job of nccl-tests."""

    spine: SpineLoad | None = None
    bus_gbs: dict[str, float] = field(default_factory=dict)
    bandwidth: dict[str, dict[str, Any]] = field(default_factory=dict)


def figures_of(folder: Path, request: Request, times: Mapping[str, int | None], works: Mapping[str, Work],
               names: Mapping[str, str]) -> Figures:
    """The figures of a simulation, from its folder."""
    found = Figures(spine_load(folder))
    for member in request.members:
        work, step_ps = works[member.job], times[member.job]
        bus: float | None = None
        if work.benchmark:
            document = _read(folder / f"{request.name}-{names[member.job]}-bandwidth.json")
            if document is not None:
                found.bandwidth[member.job] = document
                bus = largest_bus(document["status"].get("results") or ())
        elif step_ps is not None:
            bus = work.bus_gbs(len(member.hosts), step_ps)
        if bus is not None:
            found.bus_gbs[member.job] = bus
    return found


def largest_bus(results: Sequence[Mapping[str, Any]]) -> float | None:
    """Bus bandwidth of the largest size of a measurement, None without results."""
    largest = max(results, key=lambda row: int(row["sizeBytes"]), default=None)
    return None if largest is None else float(largest["busBW"])


def spine_load(folder: Path) -> SpineLoad | None:
    """The load of the spines by the last rows of nd-stats: every spine port is a cable, sent is downwards, received
    upwards. None without the record or without spines."""
    last_s, loads = -1.0, list[int]()
    for file in record_files(folder):
        if file.record != "nd-stats":
            continue
        with open(file.path, newline="") as rows:
            for row in csv.DictReader(rows):
                time_s = float(row["sim_time_sec"])
                if int(row["tier"]) != SPINE_TIER or time_s < last_s:
                    continue
                if time_s > last_s:
                    last_s, loads = time_s, []
                loads += [round(float(row[name]) * BYTES_PER_GB) for name in SENT_AND_RECEIVED]
    return SpineLoad(len(loads), max(loads), sum(loads)) if loads else None


def _read(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text())
    return found
