"""`distsim results timeline`: a run as a trace for Perfetto."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .results_shared import find_run, options, run_argument, runs_option

if TYPE_CHECKING:
    from distsim.results.run import Run


@click.command("timeline", short_help="A run as a trace for ui.perfetto.dev.")
@options(run_argument, runs_option)
@click.option("-o", "--output", metavar="FILE", help="Where it goes. Default: {run}-timeline.pftrace.")
@click.option("--limit", type=click.FloatRange(min=0.1), default=64.0, show_default=True, metavar="MB",
              help="Size of the file at most. What does not fit is sampled: the longest, and every n-th of the others.")
def command(run: str, runs_dir: str, output: str | None, limit: float) -> int:
    """Write the timeline of RUN as a Perfetto trace: operations of ranks, collectives, messages, faults, utilisation.
    Open it in ui.perfetto.dev, or in a copy of it. RUN may also be a directory that only has a timeline.csv of
    `distsim schedule`.

    Prints the path of the file, and what was left out of it; the trace says so too.
    """
    from distsim.results.timeline import write_timeline

    found = _opened(run, runs_dir)
    written = write_timeline(found, output or f"{found.name}-timeline.pftrace", round(limit * 1e6))
    click.echo(f"{written.path}  ({written.size_bytes / 1e6:.3g} MB)")
    for what, shown, total in written.shown:
        click.echo(f"  {what:<22} {shown:>12,} of {total:,}")
    for note in written.notes:
        click.echo(f"sampled: {note}")
    return 0


def _opened(path: str, runs_dir: str) -> Run:
    """The run, or a directory that has only what a cluster's scheduler did."""
    from pathlib import Path

    from distsim.errors import InputError
    from distsim.results import Run
    from distsim.results.timeline.cluster import FILE

    try:
        return find_run(path, runs_dir)
    except InputError:
        directory = Path(path)
        if (directory / FILE).is_file():
            return Run(directory, directory.resolve().name, {})
        raise
