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
    from distsim.fabric.summary import summary
    from distsim.parallel.partition import partition_report

    from .inputs import build_fabric

    fabric = build_fabric(checked)
    report = partition_report(fabric, ranks or 1, checked.trigger_delay_ps)
    rows = [*summary(fabric), *_split(report, checked.trigger_delay_ps)]
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        click.echo(f"{label:<{width}}  {value}")
    for warning in fabric.warnings:
        click.echo(f"distsim: warning: {warning}", err=True)


def _split(report: dict[str, Any], trigger_delay_ps: int) -> list[tuple[str, str]]:
    """Label and value of each line about lookahead and ranks."""
    from distsim.quantities import spell_time

    rows = [("trigger delay", spell_time(trigger_delay_ps)), ("lookahead", spell_time(report["lookahead_ps"])),
            ("ranks", str(len(report["parts"])))]
    rows += [(f"rank {part['rank']}", f"{part['nics']} NICs, {part['switches']} switches") for part in report["parts"]]
    if len(report["parts"]) > 1:
        rows += [("cut links", str(report["cut_links"])), ("exchange window", spell_time(report["window_ps"]))]
    return rows
