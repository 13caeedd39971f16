"""Congestion windows and round-trip times: of single flows where packets were recorded, else of whole NICs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from distsim.errors import InputError
from distsim.results.plots.intervals import nd_interval_s, spans_of
from distsim.results.plots.rows import chosen, not_in, rows_of, switch_of
from distsim.results.plots.style import colour, line, note, panels, time_unit
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME, PACKETS, REPORTS = "windows", "uet-monitor", "uet-transport-stats"
TOP = 6            # lines that can be told apart
POINTS = 2000      # of a line
SLOTS = 1000
FLOW = ("FEP_ID", "local_PDC_ID")
COLUMNS = ("flow", "begin_s", "end_s", "cwnd_B", "cwnd_min_B", "cwnd_max_B", "rtt_us", "rtt_min_us", "rtt_max_us")


def data_of(run: Run, choice: Choice) -> pl.DataFrame:
    """flow, begin_s, end_s, cwnd_B, cwnd_min_B, cwnd_max_B, rtt_us, rtt_min_us, rtt_max_us. By flow, time.

    From uet-monitor: a flow is a sending PDC end, a row a packet of it (begin_s is end_s), its window, and the RTT if
    the packet was an ACK that gave one; without a choice those with most packets (`choice.top`, 6), of more than 2,000
    packets every n-th. A PDC id is used again after its message, so a flow may be several messages of the NIC.
    From uet-transport-stats, where the run has no such rows: a flow is a NIC, a row a report interval in which it sent,
    with mean, least and greatest of the samples; null: the interval had none.
    """
    if PACKETS in run.records():
        packets = _packets(run, choice)
        if packets.height:
            return packets
        if choice.flows:
            raise InputError(f"plot {NAME}: {PACKETS} has no packets of the chosen flows; they are named by the "
                             "sender's PDC end as in local_PDC_ID, e.g. 32.0.0.1:1")
    elif choice.flows:
        raise not_in(run, NAME, f"single flows are in record {PACKETS}, which this run has not; {switch_of(PACKETS)}")
    return _reports(run, choice)


def _packets(run: Run, choice: Choice) -> pl.DataFrame:
    rows = chosen(rows_of(run, PACKETS, NAME), choice.nodes, "component_name", "FEP_ID")
    rows = rows.filter(pl.col("congestion_window").is_not_null())  # what a sender logs
    if choice.flows:
        rows = rows.filter(pl.col("local_PDC_ID").is_in(list(choice.flows)))
    counts = rows.group_by(FLOW).len().sort("len", *FLOW, descending=[True, False, False])
    most = counts.head(choice.top or TOP).collect()
    if most.is_empty():
        return pl.DataFrame()
    taken = rows.join(most.lazy(), on=FLOW).select(
        _flow_name().alias("flow"), (pl.col("sim_time_ns") / 1e9).alias("end_s"),
        pl.col("congestion_window").alias("cwnd_B"), (pl.col("RTT_ns") / 1e3).alias("rtt_us")).collect()
    taken = taken.sort("flow", "end_s", maintain_order=True)
    place, count = pl.int_range(pl.len()).over("flow"), pl.len().over("flow")
    every = (count + POINTS - 1) // POINTS
    thin = taken.filter((place % every == 0) | (place == count - 1))
    cwnd, rtt = pl.col("cwnd_B"), pl.col("rtt_us")
    return thin.with_columns(pl.col("end_s").alias("begin_s"), cwnd.alias("cwnd_min_B"), cwnd.alias("cwnd_max_B"),
                             rtt.alias("rtt_min_us"), rtt.alias("rtt_max_us")).select(COLUMNS)


def _flow_name() -> pl.Expr:
    """``NIC-0 32.0.0.1:1 > 32.0.0.11``: the id of the far end is not known from the first packet on."""
    return pl.format("{} {} > {}", "component_name", "local_PDC_ID", pl.col("remote_PDC_ID").str.extract(r"^([^:]*)"))


def _reports(run: Run, choice: Choice) -> pl.DataFrame:
    rows = rows_of(run, REPORTS, NAME)
    spans = spans_of(rows, run, nd_interval_s(run), SLOTS)
    rows = chosen(rows, choice.nodes, "component_name", "fep_id").filter(pl.col("ivl_write_pkts_sent") > 0)
    sent = pl.col("ivl_write_pkts_sent").sum()
    most = rows.group_by("fep_id").agg(sent.alias("sent")).sort("sent", "fep_id", descending=[True, False])
    names = {"cwnd_B": "ivl_calc_mean_cwnd_bytes", "cwnd_min_B": "ivl_calc_min_cwnd_bytes",
             "cwnd_max_B": "ivl_calc_max_cwnd_bytes", "rtt_us": "ivl_avg_calc_rtt_usec",
             "rtt_min_us": "ivl_min_calc_rtt_usec", "rtt_max_us": "ivl_max_calc_rtt_usec"}
    sampled = [pl.when(pl.col(old) > 0).then(pl.col(old)).alias(new) for new, old in names.items()]
    few = rows.join(most.head(choice.top or TOP), on="fep_id").join(spans.lazy(), on="sim_time_sec")
    joined = few.select("fep_id", pl.col("component_name").alias("flow"), "begin_s", "end_s", *sampled)
    data = joined.group_by("fep_id", "flow", "begin_s", "end_s").agg(
        pl.col("cwnd_B", "rtt_us").mean(), pl.col("cwnd_min_B", "rtt_min_us").min(),
        pl.col("cwnd_max_B", "rtt_max_us").max()).sort("fep_id", "begin_s").select(COLUMNS).collect()
    if data.is_empty():
        raise not_in(run, NAME, f"record {REPORTS} has no rows of NICs that sent data")
    return data


def figure(data: pl.DataFrame, title: str) -> Any:
    """Windows above, round-trip times below; steps with a band from least to greatest where rows are intervals."""
    drawn, (above, below) = panels(title, [2.0, 2.0])
    factor, unit = time_unit(float(data["end_s"].max()))  # type: ignore[arg-type]
    reports = bool((data["begin_s"] < data["end_s"]).any())
    for number, part in enumerate(data.partition_by("flow", maintain_order=True)):
        look = {"color": colour(number), "linestyle": line(number)}
        for axes, names, scale in ((above, ("cwnd_B", "cwnd_min_B", "cwnd_max_B"), 1e-3),
                                   (below, ("rtt_us", "rtt_min_us", "rtt_max_us"), 1.0)):
            rows = part.filter(pl.col(names[0]).is_not_null())
            draw = _intervals if reports else _samples
            draw(axes, rows, [rows[name] * scale for name in names], factor, look)
        above.plot([], [], label=part["flow"][0], **look)
    above.set(ylabel="congestion window (KB)", ylim=(0, None))
    below.set(ylabel="round-trip time (us)", ylim=(0, None), xlabel=f"simulation time ({unit})")
    above.legend(loc="upper left", bbox_to_anchor=(0, -0.02), ncols=2)
    note(drawn, "Mean of each NIC's report intervals; band: least to greatest sample" if reports else
         "Windows at each packet of a flow; round-trip times of its ACKs")
    return drawn


def _samples(axes: Any, rows: pl.DataFrame, values: list[pl.Series], factor: float, look: dict[str, Any]) -> None:
    axes.plot(rows["end_s"] * factor, values[0], linewidth=1.0, **look)


def _intervals(axes: Any, rows: pl.DataFrame, values: list[pl.Series], factor: float, look: dict[str, Any]) -> None:
    """Steps, broken where the flow had no samples for an interval."""
    begin, end = (rows[name].to_numpy() * factor for name in ("begin_s", "end_s"))
    broken = np.flatnonzero(begin[1:] > end[:-1]) + 1
    times = np.insert(np.column_stack([begin, end]).ravel(), 2 * broken, np.nan)
    mean, least, most = (np.insert(np.repeat(value.to_numpy(), 2), 2 * broken, np.nan) for value in values)
    axes.plot(times, mean, **look)
    axes.fill_between(times, least, most, color=look["color"], alpha=0.12, linewidth=0)
