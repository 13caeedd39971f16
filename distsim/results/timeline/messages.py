"""Messages as slices on their senders' tracks, from the record perf."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from distsim.results.cache import cached
from distsim.results.timeline.source import Source, ns_of

if TYPE_CHECKING:
    from distsim.results.run import Run

RECORD = "perf"


def messages(run: Run) -> Source | None:
    """A slice for each message that completed, from its start to its last acknowledgement."""
    if RECORD not in run.records():
        return None
    path = pl.col("metric_path")
    return Source("messages", "Messages by sender", cached(run, RECORD).select(
        path.str.extract(r"^([^>]*)").alias("track"), path.alias("name"),
        ns_of(pl.col("start_time_sec")).alias("begin_ns"), ns_of(pl.col("sim_time_sec")).alias("end_ns"),
        pl.col("transfer_size_b").alias("size_B"), pl.col("transaction_number").alias("flow"),
        pl.col("application_name").alias("application")))
