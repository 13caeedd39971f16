"""`distsim topology`: show the fabric and how ranks would split it."""

from __future__ import annotations

from typing import Any

import click

from .options import config_argument, ranks_option, read, set_option


@click.command("topology", short_help="Show the fabric of a configuration and how ranks split it.")
@config_argument
@set_option
@ranks_option("Show how so many processes would split the fabric.")
def command(config: str, assignments: tuple[str, ...], ranks: int | None) -> None:
    """Show tiers, links, rates, delays and lookahead of the fabric of CONFIG, and how ranks would split it."""
    checked = read(config, assignments)
    from distsim.assemble import assemble
    from distsim.errors import InputError
    from distsim.fabric.summary import summary
    from distsim.parallel.partition import partition_report

    try:
        model = assemble(checked)
    except InputError as error:
        raise checked.placed(error) from None
    fabric = model.fabric
    report = partition_report(model, ranks or 1)
    rows = [*summary(fabric), *_split(report, checked.trigger_delay_ps)]
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        click.echo(f"{label:<{width}}  {value}")
    for warning in model.warnings:
        click.echo(f"distsim: warning: {warning}", err=True)


def _split(report: dict[str, Any], trigger_delay_ps: int) -> list[tuple[str, str]]:
    """Label and value of each line about lookahead and ranks."""
    parts = report["parts"]
    rows = [("lookahead", _time(report["lookahead_ps"])), ("ranks", str(len(parts)))]
    if report["triggers"]:
        rows.insert(0, ("trigger delay", f"{_time(trigger_delay_ps)} between {report['triggers']} pairs of hosts"))
    rows += [(f"rank {part['rank']}", f"{part['nics']} NICs, {part['switches']} switches") for part in parts]
    rows.append(("cut links", str(report["cut_links"])))
    if report["window_ps"] is not None:
        rows.append(("exchange window", _time(report["window_ps"])))
    return rows


def _time(ps: int) -> str:
    """``101.24 ns``: a time in the largest unit that leaves at least 1."""
    from distsim.quantities import TIME_UNITS

    unit = next((name for name, size in reversed(TIME_UNITS.items()) if ps >= size), "ps")
    return f"{ps / TIME_UNITS[unit]:.12g} {unit}"
