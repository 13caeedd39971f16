"""The intervals that periodic rows speak of: a row of a report tells what happened since the row before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.errors import InputError
from distsim.quantities import parse_time

if TYPE_CHECKING:
    from distsim.results.run import Run

TIME = "sim_time_sec"
ND_INTERVAL = "NDStatsReportInterval"
DIGITS = 12  # of a time in seconds: picoseconds


def parameters_of(run: Run) -> dict[str, Any]:
    """SimulationParameters of the run's configuration, {} while there is no run.json."""
    found = run.info.get("configuration", {}).get("SimulationParameters", {})
    return found if isinstance(found, dict) else {}


def workload_start_s(run: Run) -> float:
    """When the workload starts and periodic rows begin to count: StartTime + ClientStartOffset, 0 if it is not known.
    """
    parameters = parameters_of(run)
    return round(float(parameters.get("StartTime", 0.0)) + float(parameters.get("ClientStartOffset", 0.0)), DIGITS)


def switch_buffer_interval_s(run: Run) -> float | None:
    """BufferStatsReportInterval of the switches, None if it is not known."""
    try:
        text = run.info["configuration"]["switch"]["SharedBufferManager"]["BufferStatsReportInterval"]
        return parse_time(text) / 1e12 or None
    except (KeyError, TypeError, ValueError, InputError):
        return None


def nd_interval_s(run: Run) -> float | None:
    """NDStatsReportInterval, None if it is not known."""
    found = parameters_of(run).get(ND_INTERVAL)
    return float(found) if found else None


def spans_of(rows: pl.LazyFrame, run: Run, interval_s: float | None, slots: int) -> pl.DataFrame:
    """(sim_time_sec, begin_s, end_s): what interval the rows of each time speak of, at most `slots` different ones.

    An interval begins at the row before, at the earliest the report interval earlier (`interval_s`; None: the least
    time between rows), and not before the workload's start. Where there are more than `slots`, neighbours are joined.
    """
    times = rows.select(pl.col(TIME).unique()).collect(engine="streaming")[TIME].sort()
    if times.is_empty():
        return pl.DataFrame(schema={TIME: pl.Float64, "begin_s": pl.Float64, "end_s": pl.Float64})
    steps = times.diff().drop_nulls()
    step = interval_s or (float(steps.min()) if len(steps) else float(times[0]))  # type: ignore[arg-type]
    before = pl.max_horizontal(pl.col(TIME).shift(1), pl.col(TIME) - step, pl.lit(workload_start_s(run)))
    begin = pl.min_horizontal(before, TIME).clip(lower_bound=0.0).round(DIGITS)
    wide = -(-len(times) // slots)
    frame = pl.DataFrame({TIME: times}).with_columns(begin.alias("begin_s"))
    slot = pl.int_range(pl.len()) // wide
    return frame.select(TIME, pl.col("begin_s").first().over(slot), pl.col(TIME).last().over(slot).alias("end_s"))
