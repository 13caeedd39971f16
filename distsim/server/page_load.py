"""The load of the drawn links over time, from nd-stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distsim.server.page_fabric import ND, Drawing, Network

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

SLOTS = 240
NUMBERS = 400_000  # that one answer holds at most
WAYS = ("up", "down")


def load_of(run: Run, network: Network, drawing: Drawing) -> dict[str, Any]:
    """begin_s, end_s: the intervals; mean, max: direction -> for each edge its percent by interval, null: no row.

    Of what the ports at an edge send, of their links' rates: mean and greatest of the cables that it stands for (and of
    the report intervals where neighbours are joined, so that there are at most `SLOTS`). Empty lists without nd-stats.
    """
    from distsim.results.plots.intervals import nd_interval_s, spans_of

    empty: dict[str, Any] = {"begin_s": [], "end_s": [], "mean": {way: [] for way in WAYS},
                             "max": {way: [] for way in WAYS}}
    if ND not in run.records() or not network.cables:
        return empty
    slots = max(2, min(SLOTS, NUMBERS // (4 * len(drawing.edges))))
    rows = run.scan(ND)
    spans = spans_of(rows, run, nd_interval_s(run), slots)
    if spans.is_empty():
        return empty
    times = spans.select("begin_s", "end_s").unique().sort("begin_s").with_row_index("slot")
    found = _grouped(rows, spans, times, _ports(network, drawing))
    shape = len(drawing.edges), times.height
    return {"begin_s": times["begin_s"].to_list(), "end_s": times["end_s"].to_list(),
            "mean": {way: _table(found, way, "mean", shape) for way in WAYS},
            "max": {way: _table(found, way, "max", shape) for way in WAYS}}


def _ports(network: Network, drawing: Drawing) -> pl.LazyFrame:
    """node_id, ifid -> edge, way: which port sends on which edge in which direction."""
    import polars as pl

    rows = [(cable.lower, cable.lower_port, edge, "up") for cable, edge in zip(network.cables, drawing.edge_of)]
    rows += [(cable.upper, cable.upper_port, edge, "down") for cable, edge in zip(network.cables, drawing.edge_of)]
    return pl.LazyFrame(rows, schema={"node_id": pl.Int64, "ifid": pl.Int64, "edge": pl.Int64, "way": pl.String},
                        orient="row")


def _grouped(rows: pl.LazyFrame, spans: pl.DataFrame, times: pl.DataFrame, ports: pl.LazyFrame) -> pl.DataFrame:
    import polars as pl

    slots = spans.join(times.select("slot", "begin_s"), on="begin_s").select("sim_time_sec", "slot")
    busy = pl.col("tx_link_percent_util")
    return (rows.select("sim_time_sec", "node_id", "ifid", busy).join(ports, on=["node_id", "ifid"])
            .join(slots.lazy(), on="sim_time_sec").group_by("edge", "way", "slot")
            .agg(busy.mean().round(2).alias("mean"), busy.max().round(2).alias("max")).collect(engine="streaming"))


def _table(found: pl.DataFrame, way: str, figure: str, shape: tuple[int, int]) -> list[list[float | None]]:
    table: list[list[float | None]] = [[None] * shape[1] for _ in range(shape[0])]
    for edge, slot, value in found.filter(found["way"] == way).select("edge", "slot", figure).iter_rows():
        table[edge][slot] = value
    return table
