"""Bus bandwidth against size, with the bus bandwidth that the network allows at most.

The ideal line. Without a scale-up network all that a rank sends takes its NIC, so that busbw is at most the NIC's rate:
that is what nccl-tests' factors are made for. With one, of n ranks on m servers of g NICs with rate B each, what leaves
a server takes g NICs: all_reduce needs 2 S (m-1)/m through g B, all_gather, reduce_scatter, gather and scatter half of
that, alltoall S (m-1)/m of each rank through B, the others S through g B; busbw follows with the program's factor. It
is at most what a rank has altogether, its NIC and its scale-up port. The rate is that of the slowest NIC, headers
included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from distsim.errors import InputError
from distsim.quantities import parse_rate
from distsim.results.plots.jobs import Job, bus_factor, jobs_of
from distsim.results.plots.rows import not_in
from distsim.results.plots.style import colour, line, note, panels, size_text
from distsim.results.plots.types import Choice

if TYPE_CHECKING:
    from distsim.results.run import Run

NAME = "bandwidth"
MARKERS = "osD^vP*X"
MOST_LINES, MOST_LABELS = 12, 14
SCHEMA = {"job": pl.String, "program": pl.String, "ranks": pl.Int64, "size_bytes": pl.Int64, "algbw_GBps": pl.Float64,
          "busbw_GBps": pl.Float64, "samples": pl.Int64, "extrapolated": pl.Boolean, "ideal_GBps": pl.Float64}


def data_of(run: Run, choice: Choice) -> pl.DataFrame:
    """job, program, ranks (0: not known), size_bytes, algbw_GBps, busbw_GBps (means of the samples), samples,
    extrapolated (the size was not simulated, --steady), ideal_GBps (null: not known). By job, size."""
    jobs = jobs_of(run)
    if not jobs:
        raise not_in(run, NAME, "this run has no launcher's log, no bandwidth.json and no collectives in run.json; "
                                "workloads of kind nccl-tests, collective, chakra or simai have")
    rates = rate_of_nics_gbs(run)
    rows = [(job.name, job.program, job.ranks, size, algbw, busbw, samples, size in job.extrapolated,
             ideal_gbs(job, rates, scale_up_gbs(run, job)))
            for job in jobs for size, algbw, busbw, samples in job.results]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("job", "size_bytes", maintain_order=True)


def rate_of_nics_gbs(run: Run) -> float | None:
    """The rate of the slowest NIC, GB/s: that of the NICs that sent (nd-stats), else as configured for all and for
    some; None for a fabric from a file whose NICs sent nothing."""
    if "nd-stats" in run.records():
        busy = pl.col("tx_link_percent_util")
        sent = run.scan("nd-stats").filter(pl.col("component_type") == "NIC", busy > 0)
        slowest = sent.select((pl.col("tx_rate_Gbps") / busy * 100).min()).collect().item()
        if slowest is not None:
            return round(float(slowest), 6) / 8
    configuration = run.info.get("configuration", {})
    if configuration.get("fabric", {}).get("kind") in ("topo", "ns3", None):
        return None
    nics = [configuration.get("nic", {}), *(one.get("set", {}) for one in configuration.get("nic_overrides") or ())]
    rates = [_gbs(nic.get("NetworkInterface", {}).get("UplinkNetworkInterface", {}).get("DataRate")) for nic in nics]
    return min((rate for rate in rates if rate), default=None)


def scale_up_gbs(run: Run, job: Job) -> float | None:
    """The rate of a rank's scale-up port, GB/s; 0 without a scale-up network, None if it is not known."""
    configuration = run.info.get("configuration", {})
    if configuration.get("fabric", {}).get("kind") == "ns3":
        return None  # NVSwitches stand in its file
    workload = configuration.get("workload", {})
    parts = [part for part in workload.get("parts") or () if job.part and part.get("name") == job.part]
    section = (parts[0] if parts else workload).get("scale_up")
    return _gbs(section.get("bandwidth")) if section else 0.0


def _gbs(rate: Any) -> float | None:
    try:
        return parse_rate(rate) / 8e9 if rate is not None else None
    except (ValueError, InputError):
        return None


def ideal_gbs(job: Job, nic_gbs: float | None, up_gbs: float | None) -> float | None:
    """The greatest bus bandwidth that the network allows, GB/s; None if what it follows from is not known."""
    if nic_gbs is None or up_gbs is None:
        return None
    if not up_gbs:
        return nic_gbs
    if job.ranks < 2 or not job.servers or job.ranks % job.servers:
        return None
    whole = up_gbs + nic_gbs
    if job.servers == 1:
        return up_gbs
    local = job.ranks // job.servers
    if job.program == "all_reduce":
        through = 2 * (job.servers - 1) / job.servers / local
    elif job.program in ("all_gather", "reduce_scatter", "gather", "scatter"):
        through = (job.servers - 1) / job.servers / local
    elif job.program == "alltoall":
        through = (job.servers - 1) / job.servers
    else:
        through = 1 / local
    return min(bus_factor(job.program, job.ranks) * nic_gbs / through, whole)


def figure(data: pl.DataFrame, title: str) -> Any:
    """Sizes on an axis of powers of two; a line a job, hollow where a size was extrapolated; the ideal dashed."""
    drawn, (axes,) = panels(title, [3.2])
    jobs = data.partition_by("job", maintain_order=True)
    for number, part in enumerate(jobs[:MOST_LINES]):
        _draw(axes, part, number)
    ideals = sorted(data["ideal_GBps"].drop_nulls().unique().to_list())
    for ideal in ideals:
        axes.axhline(ideal, color="black", linewidth=0.9, linestyle="--",
                     label="most that the network allows" if ideal == ideals[0] else None)
        axes.annotate(f"{ideal:.4g} GB/s", (0.0, ideal), xycoords=("axes fraction", "data"), xytext=(3, 2),
                      textcoords="offset points", fontsize=7)
    _size_axis(axes, sorted(data["size_bytes"].unique().to_list()))
    axes.set(xlabel="size", ylabel="bus bandwidth (GB/s)")
    axes.set_ylim(0, max([*ideals, float(data["busbw_GBps"].max())]) * 1.1 or 1)  # type: ignore[arg-type]
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.9))
    said = "Hollow: extrapolated, not simulated. " if data["extrapolated"].any() else ""
    said += "" if ideals else "The ideal line is not known: the rates of this fabric stand in its file. "
    note(drawn, said + (f"{len(jobs) - MOST_LINES} further jobs are not drawn." if len(jobs) > MOST_LINES else ""))
    return drawn


def _draw(axes: Any, part: pl.DataFrame, number: int) -> None:
    shade, marker = colour(number), MARKERS[number % len(MARKERS)]
    axes.plot(part["size_bytes"], part["busbw_GBps"], color=shade, linestyle=line(number), marker=marker, markersize=4,
              label=part["job"][0])
    hollow = part.filter("extrapolated")
    axes.plot(hollow["size_bytes"], hollow["busbw_GBps"], color=shade, linestyle="", marker=marker, markersize=4,
              markerfacecolor="white")


def _size_axis(axes: Any, sizes: list[int]) -> None:
    """A tick at every size, or at every n-th."""
    axes.set_xscale("symlog" if sizes[0] <= 0 else "log", base=2)
    shown = sizes[::-(-len(sizes) // MOST_LABELS)]
    axes.set_xticks(shown, [size_text(size) for size in shown], rotation=30, ha="right")
    axes.set_xticks([], minor=True)
