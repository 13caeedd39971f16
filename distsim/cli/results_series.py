"""`distsim results series`: a record over time."""

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

LIMIT = 40


@click.command("series", short_help="A record over time, over all nodes or of chosen ones.")
@options(run_argument, runs_option, tier_option, form_option)
@click.option("--metric", required=True, metavar="RECORD", help="The record, e.g. uet-transport-stats.")
@click.option("--node", "nodes", multiple=True, metavar="NODE",
              help="A node's number or name, or all: rows of its own for each. May be given several times.")
@click.option("--column", "columns", multiple=True, metavar="NAME", help="A column; may be given several times.")
@click.option("--limit", type=click.IntRange(min=0), default=LIMIT, show_default=True,
              help="Most rows of the table; 0: all.")
def command(run: str, runs_dir: str, metric: str, tier: str | None, nodes: tuple[str, ...], columns: tuple[str, ...],
            limit: int, form: str) -> None:
    """Print a record of RUN over time. Without --node all nodes are put together: counts, bytes and rates are added up,
    times and shares averaged, columns named min, mean or max treated so. In JSON each column says its rule.
    """
    from distsim.results.series import EVERY, rules, series

    found = find_run(run, runs_dir)
    chosen = None if not nodes else EVERY if EVERY in nodes else list(nodes)
    frame = series(found, metric, tier, chosen, list(columns) or None)
    what = [rule for rule in rules(found, metric, list(columns) or None) if rule["column"] in frame.columns]
    if form == "json":
        show_json({"run": str(found.directory), "name": found.name, "status": found.status, "metric": metric,
                   "tier": tier or "all", "nodes": list(nodes) or None, "columns": what, "rows": frame_rows(frame)})
        return
    show_frame(frame, limit, title=f"{found.name}: {metric}", units={one["column"]: one["unit"] for one in what})
