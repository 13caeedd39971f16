"""`distsim results plot`: figures of a run as PNG or SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .results_shared import find_run, options, run_argument, runs_option

if TYPE_CHECKING:
    from pathlib import Path

    from distsim.results.plots import Choice, Plot
    from distsim.results.run import Run


@click.command("plot", short_help="Figures of a run, PNG or SVG.")
@options(run_argument, runs_option)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Every plot that the run has records for.")
@click.option("-o", "--output", default=".", show_default=True, metavar="DIR",
              help="Where the files go, {run}-{plot}.png; made if need be.")
@click.option("--format", "form", type=click.Choice(["png", "svg"]), default="png", show_default=True)
@click.option("--node", "nodes", multiple=True, metavar="NAME|ID",
              help="Only these NICs and switches; * and ? match many. May be given several times.")
@click.option("--flow", "flows", multiple=True, metavar="PDC",
              help="windows: only these sending PDC ends, e.g. 32.0.0.1:1. May be given several times.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="At most N lines, bars or rows.")
def command(run: str, runs_dir: str, names: tuple[str, ...], every: bool, output: str, form: str,
            nodes: tuple[str, ...], flows: tuple[str, ...], top: int | None) -> int:
    """Draw plots of RUN. Without a NAME, list the plots and say which of them the run has.

    Prints the path of every file written. A plot that was named and cannot be drawn is an error (exit code 2); with
    --all it is left out, with a line on stderr that says which record is missing and what turns it on.
    """
    from distsim.results.plots import PLOTS, Choice, plot_named

    chosen = [plot_named(name) for name in dict.fromkeys(names)]
    found = find_run(run, runs_dir)
    choice = Choice(nodes, flows, top)
    if every:
        fitting = [plot for plot in PLOTS if choice.given <= plot.takes]
        return _draw_all(found, fitting, choice, _folder(output), form)
    if not chosen:
        _list(found)
        return 0
    frames = [plot.data_of(found, choice) for plot in chosen]  # nothing is written if one of them cannot be
    folder = _folder(output)
    for plot, data in zip(chosen, frames, strict=True):
        _write(found, plot, data, folder, form)
    return 0


def _draw_all(run: Run, plots: list[Plot], choice: Choice, folder: Path, form: str) -> int:
    from distsim.errors import InputError
    from distsim.results.plots import NotInRun

    drawn = 0
    for plot in plots:
        try:
            data = plot.data_of(run, choice)
        except NotInRun as error:
            click.echo(f"left out: {error.message}", err=True)
            continue
        _write(run, plot, data, folder, form)
        drawn += 1
    if not drawn:
        raise InputError("no plot can be drawn of this run", file=str(run.directory))
    return 0


def _folder(path: str) -> Path:
    """The directory, made if need be."""
    from pathlib import Path

    from distsim.errors import InputError

    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made a directory: {error.strerror}", file=path) from error
    return folder


def _write(run: Run, plot: Plot, data: Any, folder: Path, form: str) -> None:
    path = folder / f"{run.name}-{plot.name}.{form}"
    plot.figure(data, run.name).save(path)
    click.echo(str(path))


def _list(run: Run) -> None:
    """A line a plot: its name, what it shows; below it why the run has it not."""
    from distsim.results.plots import PLOTS, plots_of

    width = max(len(plot.name) for plot in PLOTS)
    for plot in PLOTS:
        click.echo(f"{plot.name:<{width}}  {plot.summary}")
        missing = getattr(plots_of(run), plot.identifier).why_not()
        if missing:
            click.echo(f"{'':<{width}}  not here: {missing.removeprefix(f'plot {plot.name}: ')}")
