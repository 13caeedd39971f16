"""`distsim results list`: the runs below a directory."""

from __future__ import annotations

import dataclasses

import click

from .results_shared import RUNS, form_option, iso, moment, show_json, show_table

STATUSES = ("running", "finished", "unfinished", "interrupted", "failed")


@click.command("list", short_help="The runs below a directory, newest first.")
@click.argument("runs_dir", metavar="[RUNS_DIR]", type=click.Path(), default=RUNS)
@click.option("--status", type=click.Choice(STATUSES), help="Only runs that stand so.")
@click.option("--name", metavar="TEXT", default="", help="Only runs with this in their name or path.")
@click.option("--rebuild", is_flag=True, help="Make the index anew from the files.")
@form_option
def command(runs_dir: str, status: str | None, name: str, rebuild: bool, form: str) -> None:
    """List the runs below RUNS_DIR (default: runs): id, name, status, configuration, flows, when they began.

    The index RUNS_DIR/.distsim-index.sqlite is made from the files, and may be removed at any time. In JSON each run
    has its parameters too.
    """
    from distsim.results.catalog import Catalog

    catalog = Catalog(runs_dir)
    found = [entry for entry in (catalog.rebuild() if rebuild else catalog.runs())
             if status in (None, entry.status) and (name in entry.name or name in entry.path)]
    if form == "json":
        show_json([{**dataclasses.asdict(entry), "started": iso(entry.started), "ended": iso(entry.ended)}
                   for entry in found])
        return
    show_table(["path", "name", "status", "flows", "ranks", "simulated s", "configuration", "started", "id"],
               [(entry.path, entry.name, entry.status, _flows(entry.flows), entry.ranks, entry.simulated_s,
                 entry.configuration_sha256[:8], moment(entry.started), entry.id[:12]) for entry in found],
               left=["path", "name", "status", "configuration", "started", "id"],
               notes=[] if found else [f"no runs below {runs_dir}"])


def _flows(flows: dict[str, int]) -> str:
    return f"{flows.get('finished', 0):,} of {flows.get('total', 0):,}" if flows else ""
