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
    from .inputs import build_fabric, build_workload

    fabric = build_fabric(checked)
    workload = build_workload(checked, fabric.hosts)
    for warning in [*fabric.warnings, *workload.warnings]:
        click.echo(f"distsim: warning: {warning}", err=True)
    from distsim.workload.types import SEND

    flows = int((workload.ops["kind"] == SEND).sum())
    click.echo(f"{config}: valid; {fabric.hosts} NICs, {len(fabric.nodes) - fabric.hosts} switches, {flows} flows, "
               f"configuration {checked.digest()[:16]}")
