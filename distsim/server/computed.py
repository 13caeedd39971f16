"""Figures of a run as zstd-compressed JSON files, computed once and kept as long as the record does not change."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.server.errors import ApiError
from distsim.server.limits import Turns
from distsim.server.paths import write_whole
from distsim.server.settings import Settings

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

SUMMARY, SERIES = "summary", "timeSeries"
SUFFIX = ".json.zst"
CONTENT_TYPE = "application/zstd"
LEVEL = 6
MOST_VALUES = 20_000_000  # of a series
KEPT = 64  # files of a simulation, the newest
_VERSION = "1"


@dataclass(frozen=True)
class Request:
    """What is wanted. mode : SUMMARY or SERIES. tier : as `distsim.results` takes it. nodes, columns : of a series,
    () for all nodes together and all columns."""

    metric: str
    mode: str = SUMMARY
    tier: str = "all"
    nodes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """A computed file. name, path, size. cached : it was there. computed : when, seconds since the epoch.
    rows : of the record. took_ms : to compute."""

    name: str
    path: Path
    size: int
    cached: bool
    computed: float
    rows: int
    took_ms: int


class Computed:
    """The computed files, a folder for each simulation."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._folder, self._settings = folder, settings
        self._turns = Turns(settings.most_computing, settings.patience_s, "computing figures")
        self._locks: dict[str, tuple[threading.Lock, list[int]]] = {}
        self._guard = threading.Lock()

    def folder(self, simulation: str) -> Path:
        """Where a simulation's files are."""
        return self._folder / simulation

    def get(self, simulation: str, run: Run, request: Request) -> Answer:
        """The file with what is wanted, computed now if need be. InputError for what the run has not."""
        run.schema(request.metric)
        name = f"{request.metric}-{request.mode}-{request.tier}-{_stamp(run, request)}{SUFFIX}"
        folder = self.folder(simulation)
        with self._alone(f"{simulation}/{name}"):
            found = _known(folder, name)
            if found is not None:
                return found
            with self._turns.one():
                answer = _compute(simulation, run, request, folder, name)
        self._forget_old(folder)
        return answer

    def remove(self, simulation: str) -> None:
        """Removes what was computed of a simulation."""
        shutil.rmtree(self.folder(simulation), ignore_errors=True)

    @contextlib.contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """One at a time for each file, so that two who ask for the same wait for one computation."""
        with self._guard:
            lock, users = self._locks.setdefault(name, (threading.Lock(), [0]))
            users[0] += 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                users[0] -= 1
                if not users[0]:
                    del self._locks[name]

    def _forget_old(self, folder: Path) -> None:
        """Removes all but the newest files; none that a link may still lead to."""
        stands = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in stands[KEPT:]:
            if path.stat().st_mtime < time.time() - self._settings.link_lifetime_s - 60:
                for each in (path, _facts_of(path)):
                    each.unlink(missing_ok=True)


def _compute(simulation: str, run: Run, request: Request, folder: Path, name: str) -> Answer:
    import zstandard

    began = time.perf_counter()
    found = {"simulationId": simulation, "metric": request.metric, "mode": request.mode, "tier": request.tier,
             **(_summary(run, request) if request.mode == SUMMARY else _series(run, request))}
    data = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(json.dumps(found).encode())
    facts = {"computed": time.time(), "rows": found["rowsProcessed"],
             "took_ms": round((time.perf_counter() - began) * 1e3)}
    folder.mkdir(mode=0o700, exist_ok=True)
    write_whole(_facts_of(folder / name), json.dumps(facts).encode())
    write_whole(folder / name, data)
    return Answer(name, folder / name, len(data), False, **facts)


def _known(folder: Path, name: str) -> Answer | None:
    try:
        facts = json.loads(_facts_of(folder / name).read_text())
        return Answer(name, folder / name, os.stat(folder / name).st_size, True, **facts)
    except (OSError, ValueError, TypeError):
        return None


def _facts_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.facts")


def _summary(run: Run, request: Request) -> dict[str, Any]:
    """``columns``: an object for each figure, as the rows of `distsim.results.summary`."""
    rows = run.summary(request.metric, request.tier)
    return {"rowsProcessed": _rows(run, request), "columns": [_finite(row) for row in rows.iter_rows(named=True)]}


def _series(run: Run, request: Request) -> dict[str, Any]:
    """``columns``: what each is; ``series``: name -> its values, in order of time."""
    from distsim.results.series import rules, series

    nodes: Any = "all" if request.nodes == ("all",) else list(request.nodes) or None
    rows = series(run, request.metric, request.tier, nodes, list(request.columns) or None)
    if rows.width * rows.height > MOST_VALUES:
        raise ApiError(400, f"the series has {rows.width * rows.height:,} values, more than {MOST_VALUES:,}; choose "
                            "columns or nodes")
    said = rules(run, request.metric, list(request.columns) or None)
    known = {one["column"] for one in said}
    columns = [{"column": one["column"], "unit": one["unit"], "overNodes": one["over_nodes"],
                "meaning": one["meaning"]} for one in said if one["column"] in rows.columns]
    columns += [{"column": name, "unit": "", "overNodes": "", "meaning": ""}
                for name in rows.columns if name not in known]
    return {"rowsProcessed": _rows(run, request), "columns": columns,
            "series": {name: _values(rows[name]) for name in rows.columns}}


def _rows(run: Run, request: Request) -> int:
    """Rows that the figures are of."""
    import polars as pl

    from distsim.results.summary import of_tier

    rows = of_tier(run.scan(request.metric), run.schema(request.metric), request.tier)
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def _values(column: pl.Series) -> list[Any]:
    values = column.to_list()
    return [None if isinstance(value, float) and not math.isfinite(value) else value for value in values] \
        if column.dtype.is_float() else values


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinities."""
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()}


def _stamp(run: Run, request: Request) -> str:
    """Tells one request, and the record as it is now, from all others."""
    said = [_VERSION, run.name, *request.nodes, "", *request.columns, "", *run.schema(request.metric).header]
    for file in run.files(request.metric):
        status = os.stat(file.path)
        said.append(f"{os.path.basename(file.path)} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(said).encode("utf-8", "replace")).hexdigest()[:16]
