"""What links lost to faults of the fabric: run.json of a configuration with the section `faults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.results.plots.rows import not_in
from distsim.results.plots.style import PALETTE, note, panels
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME = "losses"
TOP = 30
SCHEMA = {"link": pl.String, "lost_packets": pl.Int64, "lost_KB": pl.Float64, "total_packets": pl.Int64}


def data_of(run: Run, choice: Choice) -> pl.DataFrame:
    """link (``from > to``), lost_packets, lost_KB (1,000 bytes), total_packets (lost by all links of the run). Those
    that lost most first, `choice.top` of them (30); run.json lists 200 at most.
    """
    if not run.info:
        raise not_in(run, NAME, "the run has no run.json yet, which tells the losses when it has ended")
    faults = run.info.get("faults")
    if faults is None:
        raise not_in(run, NAME, "run.json has no faults; a section `faults` in the configuration makes links lose")
    links = faults["links"][:choice.top or TOP]
    if not links:
        raise not_in(run, NAME, "no link lost anything in this run")
    return pl.DataFrame({"link": [f"{one['from']} > {one['to']}" for one in links],
                         "lost_packets": [one["lost_packets"] for one in links],
                         "lost_KB": [one["lost_bytes"] / 1e3 for one in links],
                         "total_packets": [faults["lost_packets"]] * len(links)}, schema=SCHEMA)


def figure(data: pl.DataFrame, title: str) -> Any:
    """Bars by lost packets; at the end of each the bytes."""
    drawn, (axes,) = panels(title, [0.6 + 0.2 * data.height])
    axes.barh(range(data.height), data["lost_packets"], height=0.7, color=PALETTE[1])
    for place, row in enumerate(data.iter_rows(named=True)):
        axes.annotate(f"{row['lost_packets']:,} ({row['lost_KB']:,.4g} KB)", (row["lost_packets"], place),
                      xytext=(3, 0), textcoords="offset points", va="center", fontsize=6.5)
    most = float(data["lost_packets"].max())  # type: ignore[arg-type]
    axes.set_xlim(0, most * 1.3)
    axes.set_yticks(range(data.height), data["link"], fontsize=7)
    axes.set(xlabel="frames lost (count)", ylim=(data.height - 0.4, -0.6))
    axes.grid(axis="y", visible=False)
    listed = int(data["lost_packets"].sum())
    note(drawn, f"Links shown: {listed:,} of {data['total_packets'][0]:,} lost frames")
    return drawn
