"""What the subcommands of `distsim results` share: how a run is named, tables that fit the terminal, JSON."""

from __future__ import annotations

import datetime
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import Decorator

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

TABLE, JSON = "table", "json"
PIPE_WIDTH = 160  # columns of a table that goes to a file
RUNS = "runs"

run_argument: Decorator = click.argument("run", metavar="RUN", type=click.Path())
runs_option: Decorator = click.option("--runs", "runs_dir", type=click.Path(), default=RUNS, show_default=True,
                                      metavar="DIR", help="Directory in which RUN is looked for by id or name.")
form_option: Decorator = click.option("-o", "--output", "form", type=click.Choice([TABLE, JSON]), default=TABLE,
                                      show_default=True, help="What is printed.")
metric_option: Decorator = click.option("--metric", metavar="RECORD", help="The record, e.g. nd-stats.")
tier_option: Decorator = click.option("--tier", metavar="TIER",
                                      help="Only rows of a tier: spine, fabric, rack, nic, or 0 to 3.")


def find_run(text: str, runs_dir: str) -> Run:
    """The run that RUN names: a directory or run.json that is there, else an id, path or name below `runs_dir`."""
    from distsim.errors import InputError
    from distsim.results.catalog import Catalog
    from distsim.results.run import open_run

    if Path(text).exists():
        return open_run(text)
    if not Path(runs_dir).is_dir():
        raise InputError(f"there is no run {text!r}, and no directory {runs_dir!r} to look for it by name; give a "
                         "run's directory, or --runs DIR", where="RUN")
    return Catalog(runs_dir).get(text).open()


def show_json(value: Any) -> None:
    """Print a value as JSON; figures that are not numbers (NaN, infinite) as null."""
    click.echo(json.dumps(_plain(value), indent=2))


def frame_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A frame as plain rows."""
    return frame.to_dicts()


def show_table(header: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str = "", left: Sequence[str] = (),
               notes: Iterable[str] = ()) -> None:
    """Print a table that fits the terminal: what is too long is folded. left : columns of text; others are numbers.
    notes : lines below it."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in header:
        table.add_column(escape(name), justify="left" if name in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(text(value)) for value in row))
    console.print(table)
    for note in notes:
        click.echo(note)


def show_frame(frame: pl.DataFrame, limit: int, *, title: str = "", units: dict[str, str] | None = None,
               notes: Iterable[str] = ()) -> None:
    """Print the first rows of a frame and as many of its columns as fit; says what was left out. limit : most rows,
    0: all. units : of columns, for the header."""
    heads = {name: f"{name} ({units[name]})" if units and units.get(name) else name for name in frame.columns}
    shown = frame.head(limit) if limit else frame
    cells = {name: [text(value) for value in shown[name]] for name in frame.columns}
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    fitting: list[str] = []
    used = 0
    for name in frame.columns:
        used += 2 + max([len(heads[name]), *map(len, cells[name])])
        if fitting and used > width:
            break
        fitting.append(name)
    left = [heads[name] for name in fitting if str(frame.schema[name]) == "String"]
    more = []
    if len(shown) < len(frame):
        more.append(f"{len(frame) - len(shown):,} more rows; --limit 0 or -o json shows all")
    if len(fitting) < len(frame.columns):
        more.append(f"{len(frame.columns) - len(fitting)} more columns; choose some with --column, or -o json")
    show_table([heads[name] for name in fitting], zip(*(cells[name] for name in fitting)), title=title, left=left,
               notes=[*more, *notes])


def text(value: Any) -> str:
    """A value as a cell: integers in full, floats with six significant digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, float) and not (value.is_integer() and abs(value) < 2**53):
        return f"{value:.6g}"
    return f"{int(value):,}"


def moment(seconds: float) -> str:
    """Seconds since the epoch as local time, "" for 0."""
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S") if seconds else ""


def iso(seconds: float) -> str | None:
    """Seconds since the epoch as UTC, ISO 8601; None for 0."""
    if not seconds:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def options(*decorators: Decorator) -> Decorator:
    """Several options as one decorator."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)
