"""Results of a simulation: its files, links that download them, and figures computed from them."""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Request

from distsim.errors import InputError
from distsim.records.files import record_files
from distsim.records.registry import SCHEMAS
from distsim.results.columns import TIERS, tier_number
from distsim.server import models_simulations as models
from distsim.server.computed import CONTENT_TYPE, SERIES, SUMMARY
from distsim.server.computed import Request as Wanted
from distsim.server.context import Here
from distsim.server.errors import ApiError
from distsim.server.ids import iso
from distsim.server.links import COMPUTED, FILES
from distsim.server.paging import page
from distsim.server.paths import SIMULATION_ID, checked_id, checked_name, open_file
from distsim.server.routes_common import API, Limit, Next, base_of, errors
from distsim.server.routes_simulations import run_time_of
from distsim.server.simulations import duration_text

if TYPE_CHECKING:
    from distsim.results.run import Run

router = APIRouter(prefix=f"{API}/simulations/{{sim_id}}/results", tags=["Simulations"])
TYPES = {".pcap": "pcap", ".csv": "csv", ".json": "json", ".log": "log", ".state": "state"}
FileType = Literal["pcap", "csv", "json", "log", "state", "unknown"]
ALIASES = {"pfc": "ecn-pfc-stats", "pfc-stats": "ecn-pfc-stats", "perf-stats": "perf"}
TIER_NAMES = {"SSW": "spine", "FSW": "fabric", "RSW": "rack", "NIC": "nic"}
FOLDERS = ("post_annotated",)  # below a run's directory, whose files are listed too
SMALL_PERF = 64 << 20  # bytes of the perf record up to which the list of results tells the throughput
METRICS = sorted({*SCHEMAS, *ALIASES})
TIER_CHOICES = ["all", *TIERS, *TIER_NAMES, *map(str, TIERS.values())]


@dataclass(frozen=True)
class Listed:
    """A file of a run. name : below the run's directory. changed : seconds since the epoch."""

    name: str
    type: str
    size: int
    changed: float
    record: str


@router.get("", response_model=models.Results, response_model_exclude_none=True, responses=errors(404))
def list_results(
        request: Request, here: Here, sim_id: str, limit: Limit = 100, after: Next = None,
        kind: Annotated[FileType | None, Query(alias="type", description="Only files of this type.")] = None,
        metrics: Annotated[str | None, Query(description="Only files of these records, comma-separated.")] = None,
        sort: Annotated[Literal["created_at", "size"], Query(description="By last change or by size.")] = "created_at",
        order: Annotated[Literal["asc", "desc"], Query()] = "desc") -> Any:
    """The files of a simulation with links that download them. Those of one in progress grow."""
    run = here.run(sim_id)
    records = {ALIASES.get(name.strip(), name.strip()) for name in metrics.split(",")} if metrics else set()
    found = [file for file in files_of(run) if kind in (None, file.type) and (not records or file.record in records)]
    field = "size" if sort == "size" else "changed"
    items, pagination = page(found, limit, after, "results", lambda file: [getattr(file, field), file.name],
                             f"{sort}:{order}", order == "desc")
    base = base_of(request)
    listed = [{"type": file.type, "name": file.name, "size": size_text(file.size), "sizeBytes": file.size,
               "record": file.record or None, "createdAt": iso(file.changed),
               "downloadUrl": here.link(base, FILES, sim_id, file.name)[0]} for file in items]
    return {"simulationId": sim_id, "duration": run_time_of(here.simulations.get(sim_id)), "summary": _summary(run),
            "dashboardUrl": f"{base}#/simulations/{sim_id}", "files": listed, "pagination": pagination}


@router.get("/download-url", response_model=models.DownloadUrl, response_model_exclude_none=True,
            responses=errors(404))
def download_url(
        request: Request, here: Here, sim_id: str,
        name: Annotated[str, Query(alias="fileName", description="A name from the list of results.")],
        metrics: Annotated[str | None, Query(description="Not used.")] = None,
        kind: Annotated[str | None, Query(alias="type", description="Not used.")] = None) -> Any:
    """A link that downloads one file of a simulation, for 15 minutes, without a token."""
    checked_id(sim_id, SIMULATION_ID, "simulation")
    parts = checked_name(name)
    run = here.run(sim_id)
    fd = open_file(run.directory, parts)
    try:
        size = os.fstat(fd).st_size
    finally:
        os.close(fd)
    url, expires = here.link(base_of(request), FILES, sim_id, name)
    return {"simulationId": sim_id, "fileName": name, "contentType": content_type(name), "sizeBytes": size,
            "checksum": _checksum(run, name, size), "downloadUrl": url, "expiresAt": expires}


@router.get("/data", response_model=models.ResultData, responses=errors(404))
def result_data(
        request: Request, here: Here, sim_id: str,
        metric: Annotated[str, Query(description="Record.", json_schema_extra={"enum": METRICS})],
        mode: Annotated[Literal["summary", "timeSeries"], Query(description="Figures of the whole run, or over time."
                                                                )] = "summary",
        tier: Annotated[str, Query(description="Only rows of this tier, for records that have one.",
                                   json_schema_extra={"enum": TIER_CHOICES})] = "all",
        node: Annotated[list[str], Query(max_length=1000, description="Ours, timeSeries: rows of these nodes, by "
                                         "component name or number, or `all` for each of them; all put together when "
                                         "left out.")] = [],  # noqa: B006 - FastAPI copies defaults
        column: Annotated[list[str], Query(max_length=200, description="Ours, timeSeries: only these columns."
                                           )] = []) -> Any:  # noqa: B006
    """Figures of a record, as a link to a zstd-compressed JSON file. summary: least, mean, percentiles, greatest and
    total of each column over the run; timeSeries: the columns at each instant. Kept until the record changes."""
    checked_id(sim_id, SIMULATION_ID, "simulation")
    if metric not in METRICS:
        raise ApiError(400, f"metric: no {metric!r}; there are {', '.join(METRICS)}")
    tier_name = _tier(tier)
    if mode == SUMMARY and (node or column):
        raise ApiError(400, "node and column belong to mode=timeSeries")
    run = here.run(sim_id)
    record = ALIASES.get(metric, metric)
    if record not in run.records():
        raise ApiError(404, f"no data files for {metric}; this run has {', '.join(run.records()) or 'none yet'}")
    wanted = Wanted(record, SERIES if mode == SERIES else SUMMARY, tier_name, tuple(node), tuple(column))
    found = here.computed.get(sim_id, run, wanted)
    url, expires = here.link(base_of(request), COMPUTED, sim_id, found.name)
    return {"simulationId": sim_id, "metric": metric, "mode": mode, "tier": tier_name,
            "file": {"name": found.name, "size": found.size, "contentType": CONTENT_TYPE, "downloadUrl": url,
                     "expiresAt": expires},
            "metadata": {"cached": found.cached, "computedAt": iso(found.computed), "rowsProcessed": found.rows,
                         "computeTimeMs": found.took_ms}}


def files_of(run: Run) -> list[Listed]:
    """The regular files of a run's directory and of the folders that runs make; none that are hidden or links."""
    records = {os.path.basename(file.path): file.record for file in record_files(run.directory)}
    return [Listed(name, TYPES.get(os.path.splitext(name)[1], "unknown"), status.st_size, status.st_mtime,
                   records.get(name, "")) for name, status in _regular(run.directory)]


def content_type(name: str) -> str:
    """What a file is, by its name."""
    return {".csv": "text/csv", ".json": "application/json", ".log": "text/plain", ".prom": "text/plain",
            ".zst": CONTENT_TYPE}.get(os.path.splitext(name)[1], mimetypes.guess_type(name)[0]
                                      or "application/octet-stream")


def size_text(size: int) -> str:
    """Bytes in the largest unit that gives 1 or more: ``2.5MB``."""
    for scale, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= scale:
            return f"{size / scale:.1f}{unit}"
    return f"{size}B"


def _regular(directory: Path) -> Iterator[tuple[str, os.stat_result]]:
    for folder in ("", *FOLDERS):
        at = directory / folder
        if not at.is_dir() or at.is_symlink():
            continue
        with os.scandir(at) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode) and not entry.name.startswith("."):
                    yield (f"{folder}/{entry.name}" if folder else entry.name), status


def _tier(text: str) -> str:
    """Canonical name of a tier; 400 for an unknown one."""
    try:
        number = tier_number(TIER_NAMES.get(text.upper(), text))
    except InputError as error:
        raise ApiError(400, f"tier: {error.message}") from None
    return "all" if number is None else next(name for name, one in TIERS.items() if one == number)


def _summary(run: Run) -> dict[str, Any]:
    """Figures of the run that its run.json and a small perf record give."""
    counts, times = run.info.get("counts") or {}, run.info.get("fct_us") or {}
    created, mean = counts.get("created"), times.get("mean")
    rate = _throughput(run)
    return {"totalPackets": created, "avgLatency": duration_text(mean / 1e6) if mean else None,
            "throughput": rate_text(rate) if rate else None,
            "dropRate": counts.get("dropped", 0) / created if created else None}


def _throughput(run: Run) -> float | None:
    """Bits of all finished messages over the time from the first start to the last completion, in bit/s."""
    import polars as pl

    files = run.files("perf")
    if not files or sum(os.path.getsize(file.path) for file in files) > SMALL_PERF:
        return None
    total, first, last = run.scan("perf").select(
        pl.col("transfer_size_b").sum(), pl.col("start_time_sec").min(), pl.col("sim_time_sec").max()).collect().row(0)
    return total * 8 / (last - first) if total and last is not None and first is not None and last > first else None


def rate_text(bps: float) -> str:
    """A rate in the largest unit that gives 1 or more: ``1.2Tbps``."""
    for scale, unit in ((1e12, "Tbps"), (1e9, "Gbps"), (1e6, "Mbps"), (1e3, "Kbps")):
        if bps >= scale:
            return f"{bps / scale:.4g}{unit}"
    return f"{bps:.4g}bps"


def _checksum(run: Run, name: str, size: int) -> str | None:
    """The hash that run.json has of a file, when it is still as long as it was."""
    for file in run.info.get("files") or []:
        if file.get("file") == name and file.get("bytes") == size and file.get("sha256"):
            return f"sha256:{file['sha256']}"
    return None
