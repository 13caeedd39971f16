"""`distsim validate`: check a configuration and everything it refers to, or print the JSON Schema."""

from __future__ import annotations

import json

import click

from .options import read, seed_option, set_option


@click.command("validate", short_help="Check a configuration, or print its JSON Schema.")
@click.argument("config", type=click.Path(), required=False)
@set_option
@seed_option
@click.option("--schema", is_flag=True, help="Print the JSON Schema of configurations, for an editor.")
def command(config: str | None, assignments: tuple[str, ...], seed: int | None, schema: bool) -> None:
    """Check CONFIG, the fabric and the workload that it describes, and the files that it names."""
    if schema:
        from distsim.config import json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        return
    if config is None:
        raise click.UsageError("give a CONFIG to check, or --schema")
    checked = read(config, assignments, seed)
    from distsim.assemble import assemble
    from distsim.errors import InputError
    from distsim.workload.types import SEND

    try:
        model = assemble(checked)
    except InputError as error:
        raise checked.placed(error) from None
    for warning in model.warnings:
        click.echo(f"distsim: warning: {warning}", err=True)
    fabric, flows = model.fabric, int((model.messages.ops["kind"] == SEND).sum())
    phased = model.workload is not None and model.workload.following is not None
    click.echo(f"{config}: valid; {fabric.hosts} NICs, {len(fabric.nodes) - fabric.hosts} switches, {flows} flows"
               f"{' in the first phase' if phased else ''}, configuration {checked.digest()[:16]}")
