"""The links that carried most: bytes by port since the start, and how busy each was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.results.plots.rows import chosen, not_in, rows_of
from distsim.results.plots.style import PALETTE, note, panels
from distsim.results.plots.tiers import TIERS, direction, port_name, tier_name
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME, RECORD, PEERS = "bottlenecks", "nd-stats", "topology-report"
TOP = 20
DIGITS = 9  # of means: beyond them they depend on the order of the sum
KEY = ("node_id", "ifid", "uldl")


def data_of(run: Run, choice: Choice) -> pl.DataFrame:
    """link (``RackSwitch-0 > SpineSwitch-1``, or the port where the run has no topology-report), tier, direction,
    sent_GB (on the wire, since the start), mean_percent and max_percent (utilisation by report interval), drops (before
    sending). Those that sent most first, `choice.top` of them (20).
    """
    rows = chosen(rows_of(run, RECORD, NAME), choice.nodes, "component_name", "node_id")
    busy = pl.col("tx_link_percent_util")
    # Counters never fall: the greatest is the last, in whatever order the rows stand.
    links = rows.group_by(KEY).agg(
        pl.col("component_name").first(), pl.col("tier").first(), pl.col("total_bytes_tx_GB").max().alias("sent_GB"),
        busy.mean().round(DIGITS).alias("mean_percent"), busy.max().alias("max_percent"),
        pl.col("tx_drops").max().alias("drops"))
    most = links.sort("sent_GB", *KEY, descending=[True, False, False, True]).head(choice.top or TOP)
    data = _named(run, most).select("link", tier_name().alias("tier"), direction().alias("direction"), "sent_GB",
                                    "mean_percent", "max_percent", "drops").collect(engine="streaming")
    if data.is_empty():
        raise not_in(run, NAME, f"record {RECORD} has no rows yet")
    return data


def _named(run: Run, links: pl.LazyFrame) -> pl.LazyFrame:
    """The links with a name each, in the same order."""
    if PEERS not in run.records():
        return links.with_columns(port_name().alias("link"))
    peers = run.scan(PEERS).select(pl.col("node_id"), pl.col("dev_id").alias("ifid"), "peer_component_name")
    both = links.join(peers, on=["node_id", "ifid"], how="left", maintain_order="left")
    name = pl.col("component_name") + " > " + pl.col("peer_component_name")
    twice = pl.len().over("component_name", "peer_component_name") > 1  # parallel cables
    name = pl.when(twice).then(name + " (port " + pl.col("ifid").cast(pl.String) + ")").otherwise(name)
    return both.with_columns(name.fill_null(port_name()).alias("link"))


def figure(data: pl.DataFrame, title: str) -> Any:
    """Bars by volume, coloured by tier; at the end of each its mean and greatest utilisation."""
    drawn, (axes,) = panels(title, [0.6 + 0.2 * data.height])
    tiers = [name for name in [*TIERS.values(), "other"] if name in data["tier"]]
    for number, tier in enumerate(tiers):
        hit = [place for place, name in enumerate(data["tier"]) if name == tier]
        axes.barh(hit, data["sent_GB"].gather(hit), height=0.7, color=PALETTE[number], label=f"{tier} ports")
    for place, row in enumerate(data.iter_rows(named=True)):
        lost = f", {row['drops']:,} dropped" if row["drops"] else ""
        axes.annotate(f"{row['mean_percent']:.0f} %, at most {row['max_percent']:.0f} %{lost}",
                      (row["sent_GB"], place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=6.5)
    axes.set_yticks(range(data.height), data["link"], fontsize=7)
    axes.set(xlabel="sent since the start (GB, on the wire)", xlim=(0, max(float(data["sent_GB"][0]) * 1.35, 1e-9)),
             ylim=(data.height - 0.4, -0.6))
    axes.grid(axis="y", visible=False)
    axes.legend(loc="lower right")
    note(drawn, "At the bars: utilisation, mean and greatest of the report intervals")
    return drawn
