"""`distsim results summary`: figures of a whole run."""

from __future__ import annotations

import click

from .results_shared import (
    find_run,
    form_option,
    frame_rows,
    options,
    run_argument,
    runs_option,
    show_frame,
    show_json,
    tier_option,
)


@click.command("summary", short_help="Least, mean, p50, p99 and greatest value of every column.")
@options(run_argument, runs_option, tier_option, form_option)
@click.option("--metric", "metrics", multiple=True, metavar="RECORD",
              help="A record, e.g. nd-stats; may be given several times. All that have figures by default.")
def command(run: str, runs_dir: str, metrics: tuple[str, ...], tier: str | None, form: str) -> None:
    """Sum up RUN: for every column of its records the least, mean, median, 99th percentile and greatest value over all
    rows, and the total of what is counted.

    Percentiles by nearest rank. A record of 64 MB or more is first copied to Parquet beside it (RUN/.cache).
    """
    from distsim.results.columns import figures
    from distsim.results.summary import summary

    found = find_run(run, runs_dir)
    names = list(metrics) or [name for name in found.records() if figures(found.schema(name))
                              and (tier is None or "tier" in found.schema(name).header)]
    frames = {name: summary(found, name, tier) for name in names}
    if form == "json":
        show_json({"run": str(found.directory), "name": found.name, "status": found.status, "tier": tier or "all",
                   "metrics": {name: frame_rows(frame) for name, frame in frames.items()}})
        return
    for name, frame in frames.items():
        show_frame(frame, 0, title=f"{found.name}: {name}" + (f", tier {tier}" if tier else ""))
