"""Where queues build up: queue depth, ECN marks, pauses, trimmed and dropped packets by port over time.

Each is taken from the record that has it; what a record counts since the start is turned into what each report interval
added. No record tells the queue of a single port or where a packet was trimmed: queues are by switch and direction of
its ports, trimmed packets by the NIC that they were for (it sends a NACK for each).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from distsim.results.plots.intervals import TIME, nd_interval_s, spans_of, switch_buffer_interval_s
from distsim.results.plots.rows import chosen, not_in, rows_of, switch_of
from distsim.results.plots.style import HEAT, NOTHING, note, panels, time_unit
from distsim.results.plots.tiers import direction, port_name, tier_name
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME = "port-heatmap"
TOP, SLOTS = 24, 240  # rows of a panel, intervals that are told apart
PORT = ("node_id", "ifid", "uldl")
SCHEMA = {"what": pl.String, "unit": pl.String, "port": pl.String, "tier": pl.String, "begin_s": pl.Float64,
          "end_s": pl.Float64, "value": pl.Float64, "ports": pl.Int64, "note": pl.String}
OVER_INTERVAL = "% of the time"


class Panel(NamedTuple):
    """what, unit : of the values. record, id : where they are from, and its column of node ids.

    values : rows -> (TIME, port, tier, value), a row where a row of the record says something.
    joined : how values of neighbouring intervals become one, "sum" or "max".
    """

    what: str
    unit: str
    record: str
    id: str
    values: Callable[[pl.LazyFrame], pl.LazyFrame]
    joined: str = "sum"


def _added(rows: pl.LazyFrame, counter: pl.Expr, key: tuple[str, ...]) -> pl.LazyFrame:
    """Rows of those that a counter since the start grew in, with what it grew by as `value`."""
    grown = rows.with_columns(counter.alias("count")).filter(pl.col("count") > 0).sort(*key, TIME)
    before = pl.col("count").shift(1).over(key).fill_null(0)
    return grown.with_columns((pl.col("count") - before).cast(pl.Float64).alias("value"))


def _of_port(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.select(TIME, port_name().alias("port"), tier_name().alias("tier"), "value")


def _of_class(column: str) -> Callable[[pl.LazyFrame], pl.LazyFrame]:
    """A counter of ecn-pfc-stats, all classes of a port together."""
    return lambda rows: _of_port(_added(rows, pl.col(column), (*PORT, "priority")))


def _paused(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Microseconds that the class of a port paused longest was paused."""
    paused = rows.filter(pl.col("interval_total_time_xoff_usec") > 0)
    longest = paused.group_by(TIME, *PORT).agg(pl.col("component_name", "tier").first(),
                                               pl.col("interval_total_time_xoff_usec").max().alias("value"))
    return _of_port(longest)


def _dropped(rows: pl.LazyFrame) -> pl.LazyFrame:
    return _of_port(_added(rows, pl.col("tx_drops") + pl.col("rx_drops"), PORT))


def _trimmed(rows: pl.LazyFrame) -> pl.LazyFrame:
    return rows.filter(pl.col("ivl_nack_pkts_sent") > 0).select(
        TIME, ("to " + pl.col("component_name")).alias("port"), pl.lit("NIC").alias("tier"),
        pl.col("ivl_nack_pkts_sent").cast(pl.Float64).alias("value"))


def _queued(rows: pl.LazyFrame) -> pl.LazyFrame:
    """KB in the fullest pool's egress queues of a switch's ports in one direction."""
    full = rows.filter(pl.col("buff_id") == "egressQueue", pl.col("ivl_max_bytes") > 0)
    return full.select(TIME, pl.format("{} {} ports", "component_name", direction()).alias("port"),
                       tier_name().alias("tier"), (pl.col("ivl_max_bytes") / 1e3).alias("value"))


PANELS = (
    Panel("queue depth, greatest", "KB", "scala-switch-agg-buff-stats", "node_id", _queued, "max"),
    Panel("packets marked (ECN)", "packets", "ecn-pfc-stats", "node_id", _of_class("pkts_ecn_marked")),
    Panel("paused by the peer (PFC)", OVER_INTERVAL, "ecn-pfc-stats", "node_id", _paused),
    Panel("pauses sent (PFC)", "frames", "ecn-pfc-stats", "node_id", _of_class("pfcxoff_tx")),
    Panel("packets trimmed", "packets", "uet-transport-stats", "fep_id", _trimmed),
    Panel("packets dropped", "packets", "nd-stats", "node_id", _dropped),
)


def data_of(run: Run, choice: Choice) -> pl.DataFrame:
    """what, unit, port, tier, begin_s, end_s, value, ports, note: a row for each port and interval with a value that is
    not 0, of the `choice.top` ports (24) with most of each; ports: how many have any. A row with a `note` and no port
    says why there is nothing of a kind. More than 240 intervals are joined. NotInRun when no record is there.
    """
    there = [panel for panel in PANELS if panel.record in run.records()]
    if not there:
        missing = "; ".join(f"{record}: {switch_of(record)}" for record in dict.fromkeys(one.record for one in PANELS))
        raise not_in(run, NAME, f"this run has none of the records that tell it ({missing})")
    parts = [_cells(run, panel, choice) if panel in there else
             _said(panel, f"no record {panel.record}; {switch_of(panel.record)}") for panel in PANELS]
    return pl.concat(parts)


def _said(panel: Panel, why: str) -> pl.DataFrame:
    return pl.DataFrame([{"what": panel.what, "unit": panel.unit, "note": f"{panel.what}: {why}"}], schema=SCHEMA)


def _cells(run: Run, panel: Panel, choice: Choice) -> pl.DataFrame:
    rows = rows_of(run, panel.record, NAME)
    interval = switch_buffer_interval_s(run) if panel.record.startswith("scala") else nd_interval_s(run)
    spans = spans_of(rows, run, interval, SLOTS)
    values = panel.values(chosen(rows, choice.nodes, "component_name", panel.id))
    value = pl.col("value").max() if panel.joined == "max" else pl.col("value").sum()
    cells = (values.join(spans.lazy(), on=TIME).group_by("port", "tier", "begin_s", "end_s").agg(value)
             .filter(pl.col("value") > 0).collect(engine="streaming"))
    if cells.is_empty():
        return _said(panel, "none in this run")
    if panel.unit == OVER_INTERVAL:
        cells = cells.with_columns(pl.col("value") / 1e4 / (pl.col("end_s") - pl.col("begin_s")))
    most = cells.group_by("port").agg(value.alias("most")).sort("most", "port", descending=[True, False])
    kept = cells.join(most.head(choice.top or TOP).with_row_index("place"), on="port").sort("place", "begin_s")
    return kept.with_columns(pl.lit(panel.what).alias("what"), pl.lit(panel.unit).alias("unit"),
                             pl.lit(most.height).cast(pl.Int64).alias("ports"),
                             pl.lit(None).cast(pl.String).alias("note")).select(list(SCHEMA))


def figure(data: pl.DataFrame, title: str) -> Any:
    """A heat map for each kind that there is; what there is not stands below."""
    parts = data.filter(pl.col("port").is_not_null()).partition_by("what", maintain_order=True)
    counts = [part["port"].n_unique() for part in parts]
    drawn, axes = panels(title, [0.45 + 0.15 * count for count in counts] or [0.4])
    if parts:
        factor, unit = time_unit(float(data["end_s"].max()))  # type: ignore[arg-type]
        for place, part in zip(axes, parts, strict=True):
            _heat(drawn, place, part, factor)
        axes[-1].set_xlabel(f"simulation time ({unit})")
    else:
        axes[0].axis("off")
        axes[0].text(0, 0.5, "nothing to show", transform=axes[0].transAxes)
    note(drawn, "\n".join(data["note"].drop_nulls().to_list()))
    return drawn


def _heat(drawn: Any, axes: Any, part: pl.DataFrame, factor: float) -> None:
    """One heat map: ports downwards, intervals rightwards, white-grey where nothing was."""
    ports = part["port"].unique(maintain_order=True).to_list()
    edges = np.unique(np.concatenate([part["begin_s"].to_numpy(), part["end_s"].to_numpy()]))
    grid = np.full((len(ports), len(edges) - 1), np.nan)
    row = {port: place for place, port in enumerate(ports)}
    grid[[row[port] for port in part["port"]], np.searchsorted(edges, part["begin_s"].to_numpy())] = part["value"]
    axes.set_facecolor(NOTHING)
    mesh = axes.pcolormesh(edges * factor, np.arange(len(ports) + 1), grid, cmap=HEAT, vmin=0, rasterized=True)
    axes.set_yticks(np.arange(len(ports)) + 0.5, ports, fontsize=6)
    axes.set_ylim(len(ports), 0)
    axes.grid(visible=False)
    shown = "" if len(ports) == part["ports"][0] else f" ({len(ports)} of {part['ports'][0]:,} ports that had any)"
    axes.set_title(part["what"][0] + shown)
    drawn.colorbar(mesh, ax=axes, label=part["unit"][0], fraction=0.05, aspect=8, pad=0.01)
