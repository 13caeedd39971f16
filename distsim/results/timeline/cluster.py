"""What happened on a cluster: timeline.csv and steps.csv of `distsim schedule`, where a directory has them.

Times are the cluster's clock, which is another than that of packets.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from distsim.errors import InputError
from distsim.results.timeline.source import INSTANTS, Source

if TYPE_CHECKING:
    from distsim.results.run import Run

FILE, STEPS = "timeline.csv", "steps.csv"
GROUP = "Cluster (its own clock)"
NEEDED = ("time_ms", "kind")
STEP_COLUMNS = ("job", "from_ms", "to_ms", "steps", "step_us", "source", "simulation")
TEXTS = ("kind", "job", "pod", "node", "message")


def cluster_events(run: Run) -> Source | None:
    """An instant for each event, a track a job, those of no job on one of their node, else of the cluster. InputError
    for a file without time_ms and kind."""
    rows = _read(run.directory / FILE, NEEDED)
    if rows is None:
        return None
    empty = [pl.lit("").alias(name) for name in TEXTS if name not in rows.columns]
    rows = rows.with_columns(*empty).with_columns(pl.col(name).fill_null("") for name in TEXTS)
    at = _ns_of("time_ms")
    track = (pl.when(pl.col("job") != "").then("job " + pl.col("job"))
             .when(pl.col("node") != "").then("node " + pl.col("node")).otherwise(pl.lit("cluster")))
    arguments = [pl.when(pl.col(name) != "").then(name).alias(name) for name in TEXTS if name != "kind"]
    events = rows.lazy().select(track.alias("track"), pl.col("kind").alias("name"), at.alias("begin_ns"),
                                at.alias("end_ns"), *arguments)
    return Source("events of the cluster", GROUP, events, INSTANTS)


def cluster_steps(run: Run) -> Source | None:
    """A slice for steps of a job in a row that took the same time. InputError for a file without its columns."""
    rows = _read(run.directory / STEPS, STEP_COLUMNS)
    if rows is None:
        return None
    return Source("steps on the cluster", GROUP, rows.lazy().select(
        ("job " + pl.col("job")).alias("track"), pl.format("{} steps of {} us", "steps", "step_us").alias("name"),
        _ns_of("from_ms").alias("begin_ns"), _ns_of("to_ms").alias("end_ns"), pl.col("steps").cast(pl.Int64),
        pl.col("source"), pl.col("simulation")))


def _read(path: Path, needed: tuple[str, ...]) -> pl.DataFrame | None:
    """A CSV file as texts, None when there is none; InputError when it has not the columns that are needed."""
    if not path.is_file():
        return None
    rows = pl.read_csv(path, infer_schema=False)
    lacking = [name for name in needed if name not in rows.columns]
    if lacking:
        raise InputError(f"has no column {', '.join(lacking)}; needed are {', '.join(needed)}", file=str(path))
    return rows


def _ns_of(milliseconds: str) -> pl.Expr:
    return (pl.col(milliseconds).cast(pl.Float64) * 1e6).round(0).cast(pl.Int64)
