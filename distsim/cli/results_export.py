"""`distsim results export`: records as Parquet, CSV or JSON."""

from __future__ import annotations

import os

import click

from .results_shared import find_run, options, run_argument, runs_option, show_json


@click.command("export", short_help="Records as Parquet, CSV or JSON, shards merged.")
@options(run_argument, runs_option)
@click.option("--format", "form", type=click.Choice(["parquet", "csv", "json"]), default="parquet", show_default=True)
@click.option("-o", "--output", metavar="PATH",
              help="Directory for the files, or with one --metric the file; <simulation>-<format> by default.")
@click.option("--metric", "metrics", multiple=True, metavar="RECORD",
              help="A record; may be given several times. All by default.")
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print the files as JSON.")
def command(run: str, runs_dir: str, form: str, output: str | None, metrics: tuple[str, ...], overwrite: bool,
            as_json: bool) -> None:
    """Write the records of RUN, one file each, their shards merged in order of time and node.

    Parquet is typed and says units and meanings of columns in its metadata (key distsim).
    """
    from distsim.results.export import export

    found = find_run(run, runs_dir)
    paths = export(found, form, output or f"{found.name}-{form}", list(metrics) or None, overwrite)
    if as_json:
        show_json([{"file": str(path), "bytes": os.path.getsize(path)} for path in paths])
        return
    for path in paths:
        click.echo(f"{path}  ({os.path.getsize(path):,} bytes)")
