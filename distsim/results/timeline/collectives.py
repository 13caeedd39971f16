"""Collectives of run.json and steps of a training job as slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from distsim.results.plots.intervals import workload_start_s
from distsim.results.plots.style import size_text
from distsim.results.timeline.source import NS, Source

if TYPE_CHECKING:
    from distsim.results.run import Run

STEPS = "training-steps.csv"


def collectives(run: Run) -> Source | None:
    """A slice for each collective that ended, from the last rank's entry to the last rank's end; a track a group."""
    listed = run.info.get("collectives")
    if not listed:
        return None
    start_ns = round(workload_start_s(run) * NS)
    rows = pl.DataFrame({
        "track": [one["group"] for one in listed],
        "name": [f"{one['collective']} {size_text(one['size_bytes'])}" for one in listed],
        "begin_ns": [start_ns + round(one["begin_us"] * 1e3) for one in listed],
        "end_ns": [start_ns + round(one["end_us"] * 1e3) for one in listed],
        "size_B": [one["size_bytes"] for one in listed], "members": [one["members"] for one in listed],
        "algorithm": [one["algorithm"] for one in listed]})
    return Source("collectives", "Collectives by group", rows.lazy())


def steps(run: Run) -> Source | None:
    """A slice for each step of the training jobs of the run; those that were not simulated say so."""
    parts = []
    for path in sorted(run.directory.glob(f"*-{STEPS}")):
        job = path.name.removesuffix(f"-{STEPS}")
        if job == run.name or job.startswith(f"{run.name}-"):
            simulated = pl.when(pl.col("simulated") == 1).then(pl.lit("")).otherwise(pl.lit(" (not simulated)"))
            parts.append(pl.read_csv(path).select(
                pl.lit(job).alias("track"), pl.format("step {}{}", "step", simulated).alias("name"),
                *((pl.col(f"{end}_ps") / 1e3).round(0).cast(pl.Int64).alias(f"{end}_ns") for end in ("begin", "end"))))
    return Source("training steps", "Training steps", pl.concat(parts).lazy()) if parts else None
