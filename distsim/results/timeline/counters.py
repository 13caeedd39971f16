"""Utilisation of each tier as counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from distsim.results.plots import Choice, NotInRun
from distsim.results.plots.utilisation import data_of
from distsim.results.timeline.source import Counters, ns_of

if TYPE_CHECKING:
    from distsim.results.run import Run

GROUP = "Utilisation of links"


def utilisation(run: Run, slots: int) -> Counters | None:
    """Mean and greatest utilisation of the ports of each tier and direction, at most `slots` values a track."""
    try:
        data = data_of(run, Choice(), slots)
    except NotInRun:
        return None
    long = data.unpivot(["mean_percent", "max_percent"], index=["tier", "direction", "begin_s", "end_s"])
    which = pl.col("variable").replace_strict({"mean_percent": "mean", "max_percent": "busiest"})
    values = long.select(pl.format("{} {}, {}", "tier", "direction", which).alias("track"), pl.lit("%").alias("unit"),
                         ns_of(pl.col("begin_s")).alias("begin_ns"), ns_of(pl.col("end_s")).alias("end_ns"), "value")
    times = run.scan("nd-stats").select(pl.col("sim_time_sec").n_unique()).collect().item()
    return Counters(GROUP, values.sort("track", "begin_ns", maintain_order=True), -(-int(times) // slots))
