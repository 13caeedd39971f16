"""What a timeline is made of: sources of slices, instants and counters, each a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from distsim.results.run import Run

NS = 1_000_000_000
FIXED = ("track", "name", "begin_ns", "end_ns")
SLICES, INSTANTS = "slices", "instants"


@dataclass
class Source:
    """Things that happened.

    what : for the note, a plural: messages. group : the track that its tracks stand under.
    rows : track, name, begin_ns, end_ns (whole ns; of an instant both are alike), and its arguments, whole numbers or
    texts, null where a row has none. lazy, so that a long record can be sampled without being read whole.
    kind : SLICES or INSTANTS.
    """

    what: str
    group: str
    rows: pl.LazyFrame
    kind: str = SLICES


@dataclass
class Counters:
    """Values over time. values : track, unit, begin_ns, end_ns, value (holds from begin to end), by track, time.
    joined : how many report intervals became one."""

    group: str
    values: pl.DataFrame
    joined: int = 1


Reader = Callable[["Run"], Source | None]


def ns_of(seconds: pl.Expr) -> pl.Expr:
    """Simulation times in seconds as whole nanoseconds."""
    return (seconds * NS).round(0).cast(pl.Int64)


def end_ns(run: Run) -> int:
    """How far the run's time went: what run.json says, while there is none the last row of a record."""
    if "simulated_s" in run.info:
        return round(float(run.info["simulated_s"]) * NS)
    last = [run.scan(record).select(pl.col("sim_time_sec").max()).collect().item()
            for record in ("perf", "nd-stats") if record in run.records()]
    return round(max([0.0, *(time for time in last if time is not None)]) * NS)
