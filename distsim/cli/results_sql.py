"""`distsim results sql`: SQL over the records of a run."""

from __future__ import annotations

import click

from .results_shared import find_run, form_option, frame_rows, options, run_argument, runs_option, show_frame, show_json

LIMIT = 100


@click.command("sql", short_help="SQL over the records of a run.")
@options(run_argument, runs_option, form_option)
@click.argument("statement", metavar="STATEMENT")
@click.option("--limit", type=click.IntRange(min=0), default=LIMIT, show_default=True,
              help="Most rows of the table; 0: all.")
def command(run: str, runs_dir: str, statement: str, limit: int, form: str) -> None:
    """Run a SELECT over the records of RUN; tables are called as records, with - as _:

    distsim results sql runs/quickstart "select tier, max(tx_rate_Gbps) as Gbps from nd_stats group by tier"
    """
    from distsim.results.query import query

    found = query(find_run(run, runs_dir), statement)
    if form == "json":
        show_json(frame_rows(found))
    else:
        show_frame(found, limit)
