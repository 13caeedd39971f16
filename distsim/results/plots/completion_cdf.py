"""Completion times: the share of messages that completed within a time, a line for each part of the workload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from distsim.results.plots.rows import chosen, not_in, rows_of
from distsim.results.plots.style import GREY, colour, line, note, panels, plain_log, time_unit
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME, RECORD = "completion-cdf", "perf"
EVEN, TAIL = 1500, 500  # points of a line of many messages: at even shares, and crowding at the slowest
MARKED = (0.5, 0.99)
MOST_LINES = 12


def data_of(run: Run, choice: Choice) -> pl.DataFrame:
    """series, messages (of the series), completion_us, fraction: of the series' messages, this share took at most so
    long. By series, rising. A series of more than 2,000 messages has some of its points only, first and last among
    them. Messages that did not complete have no row in perf and count nowhere.
    """
    rows = rows_of(run, RECORD, NAME).with_columns(pl.col("metric_path").str.extract(r"^([^>]*)").alias("sender"))
    rows = chosen(rows, choice.nodes, "sender", "node_id")
    taken = rows.select(_series().alias("series"), pl.col("perf_metric_usec").alias("completion_us")).collect(
        engine="streaming")
    if taken.is_empty():
        raise not_in(run, NAME, f"record {RECORD} has no rows: no message over the fabric was to be reported, or none "
                                "completed")
    by_series = taken.partition_by("series", as_dict=True)
    parts = [_points(by_series[name].sort("completion_us")) for name in sorted(by_series)]
    return pl.concat(_short_names(parts))


def _series() -> pl.Expr:
    """The part of the workload and its application: ``part-0 flow``."""
    return pl.concat_str("metric_aggregation_id", "application_name", separator=" ", ignore_nulls=True)


def _points(part: pl.DataFrame) -> pl.DataFrame:
    count = part.height
    ranks = np.arange(1, count + 1)
    if count > EVEN + TAIL:
        even = np.linspace(1, count, EVEN)
        tail = count + 1 - np.geomspace(1, count, TAIL)
        ranks = np.unique(np.concatenate([even, tail]).round().astype(np.int64))
    return part[ranks - 1].select("series", pl.lit(count).cast(pl.Int64).alias("messages"), "completion_us",
                                  pl.Series("fraction", ranks / count))


def _short_names(parts: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """With a single series its name says nothing but the application's."""
    if len(parts) > 1:
        return parts
    return [parts[0].with_columns(pl.col("series").str.split(" ").list.last())]


def figure(data: pl.DataFrame, title: str) -> Any:
    """Steps over a logarithmic time axis; the median and the 99th percentile of all lines are marked."""
    drawn, (axes,) = panels(title, [3.2])
    factor, unit = time_unit(float(data["completion_us"].max()) / 1e6)  # type: ignore[arg-type]
    parts = data.partition_by("series", maintain_order=True)
    for number, part in enumerate(parts[:MOST_LINES]):
        times = part["completion_us"].to_numpy() / 1e6 * factor
        label = f"{part['series'][0]} ({part['messages'][0]:,})"
        axes.step(np.append(times[0], times), np.append(0.0, part["fraction"]), where="post", label=label,
                  color=colour(number), linestyle=line(number))
    for share in MARKED:
        axes.axhline(share, color=GREY, linewidth=0.6, linestyle=":")
        axes.annotate(f"p{share * 100:g}", (1.0, share), xycoords=("axes fraction", "data"), fontsize=7, color=GREY,
                      ha="right", va="bottom")
    if data["completion_us"].min() != data["completion_us"].max() and data["completion_us"].min() > 0:  # type: ignore
        axes.set_xscale("log")
        plain_log(axes.xaxis)
    axes.set(xlabel=f"completion time ({unit})", ylabel="share of messages", ylim=(0, 1.02))
    axes.legend(loc="upper left", title="messages of")
    hidden = len(parts) - MOST_LINES
    note(drawn, f"{hidden} further parts of the workload are not drawn" if hidden > 0 else "")
    return drawn
