"""Utilisation of links over time: of the ports of a tier in one direction, the mean and the busiest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.results.plots.intervals import TIME, nd_interval_s, spans_of
from distsim.results.plots.rows import chosen, not_in, rows_of
from distsim.results.plots.style import PALETTE, panels, time_unit
from distsim.results.plots.tiers import DIRECTIONS, TIERS, direction, tier_name
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME, RECORD = "utilisation", "nd-stats"
DIGITS = 9    # of means: beyond them they depend on the order of the sum
SLOTS = 1000  # intervals that are told apart


def data_of(run: Run, choice: Choice, slots: int = SLOTS) -> pl.DataFrame:
    """tier (name), direction (up, down), begin_s, end_s, ports, mean_percent, max_percent: of what ports send, of
    their links' rates. By tier from the NICs upwards, direction, time. Of joined intervals (more than `slots`) the mean
    is that of all, the maximum that of the busiest port in one of them.
    """
    rows = rows_of(run, RECORD, NAME)
    spans = spans_of(rows, run, nd_interval_s(run), slots)
    rows = chosen(rows, choice.nodes, "component_name", "node_id")
    busy = pl.col("tx_link_percent_util")
    by_time = rows.group_by("tier", "uldl", TIME).agg(
        busy.sum().alias("sum"), busy.max().alias("max"), pl.len().cast(pl.Int64).alias("ports")).collect(
            engine="streaming")
    data = (by_time.join(spans, on=TIME).group_by("tier", "uldl", "begin_s", "end_s")
            .agg(pl.col("ports").max(),
                 (pl.col("sum").sum() / pl.col("ports").sum()).round(DIGITS).alias("mean_percent"),
                 pl.col("max").max().alias("max_percent"))
            .sort("tier", "uldl", "begin_s", descending=[True, True, False])
            .select(tier_name().alias("tier"), direction().alias("direction"), "begin_s", "end_s", "ports",
                    "mean_percent", "max_percent"))
    if data.is_empty():
        raise not_in(run, NAME, f"record {RECORD} has no rows yet; the first comes one NDStatsReportInterval after the "
                                "workload's start")
    return data


def figure(data: pl.DataFrame, title: str) -> Any:
    """A panel for each tier; up and down by colour, the mean in full and the busiest port dashed."""
    tiers = [name for name in [*TIERS.values(), "other"] if name in data["tier"]]
    drawn, axes = panels(title, [1.25] * len(tiers))
    factor, unit = time_unit(float(data["end_s"].max()))  # type: ignore[arg-type]
    for place, tier in zip(axes, tiers, strict=True):
        for number, way in enumerate(DIRECTIONS.values()):
            part = data.filter(pl.col("tier") == tier, pl.col("direction") == way)
            if part.height:
                _lines(place, part, way, PALETTE[number], factor)
        place.set(title=f"{tier} ports", ylim=(0, 105), ylabel="utilisation (%)", yticks=(0, 25, 50, 75, 100))
        place.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes[-1].set_xlabel(f"simulation time ({unit})")
    return drawn


def _lines(axes: Any, part: pl.DataFrame, way: str, shade: str, factor: float) -> None:
    """Mean and maximum of one direction as steps over the intervals."""
    edges = [part["begin_s"][0] * factor, *(part["end_s"] * factor)]
    count = int(part["ports"].max())  # type: ignore[arg-type]
    axes.stairs(part["mean_percent"], edges, baseline=None, color=shade, label=f"{way}, mean of {count}", linewidth=1.4)
    axes.stairs(part["max_percent"], edges, baseline=None, color=shade, label=f"{way}, busiest", linewidth=0.9,
                linestyle="--")
