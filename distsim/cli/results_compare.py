"""`distsim results compare`: what differs between runs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from .results_shared import find_run, form_option, options, runs_option, show_json, show_table, text

if TYPE_CHECKING:
    from distsim.results.compare import Comparison, Difference


@click.command("compare", short_help="What differs between runs; exit code 5 beyond the tolerance.")
@click.argument("runs", metavar="RUN RUN...", nargs=-1, required=True, type=click.Path())
@click.option("--tolerance", type=click.FloatRange(min=0.0), default=0.01, show_default=True,
              help="Relative: numbers a and b are alike when |a - b| <= tolerance * max(|a|, |b|). 0: equal.")
@click.option("--metric", "metrics", multiple=True, metavar="RECORD",
              help="Only this record; may be given several times. By default all, and the results in run.json.")
@options(runs_option, form_option)
def command(runs: tuple[str, ...], tolerance: float, metrics: tuple[str, ...], runs_dir: str, form: str) -> int:
    """Compare each further RUN with the first one: counts, completion times, and every row of every record.

    time_utc, Core and records of the machine are left out, so the number of ranks makes no difference.
    Exit code: 0 alike, 5 something differs by more than the tolerance, 2 input error.
    """
    from distsim.results.compare import EXIT_DIFFERENT, compare

    if len(runs) < 2:
        raise click.UsageError("give two runs or more")
    first, *others = [find_run(run, runs_dir) for run in runs]
    found = [compare(first, other, tolerance, list(metrics) or None) for other in others]
    if form == "json":
        show_json({"tolerance": tolerance, "alike": not any(one.differences for one in found),
                   "comparisons": [dataclasses.asdict(one) for one in found]})
    else:
        for one in found:
            _show(one)
    return EXIT_DIFFERENT if any(one.differences for one in found) else 0


def _show(found: Comparison) -> None:
    notes = [f"note: {note}" for note in found.notes]
    if not found.differences:
        for note in notes:
            click.echo(note)
        click.echo(f"{found.left} and {found.right} are alike within {found.tolerance:g}: "
                   f"{', '.join(found.records) or 'no records'}")
        return
    show_table(["record", "column", "rows", "left", "right", "unit", "differs by", "where the most"],
               [_row(one) for one in found.differences], title=f"{found.left} (left) and {found.right} (right)",
               left=["record", "column", "unit", "where the most"], notes=notes)
    click.echo(f"figures that differ by more than {found.tolerance:g}: {len(found.differences)}")


def _row(one: Difference) -> tuple[Any, ...]:
    rows = f"{one.rows:,} of {one.compared:,}" if one.compared > 1 else ""
    by = "" if one.relative is None else f"{100 * one.relative:.3g} %"
    missing = "none" if one.column else ""
    return (one.record, one.column or "(rows)", rows, missing if one.left is None else text(one.left),
            missing if one.right is None else text(one.right), one.unit, by, one.at)
