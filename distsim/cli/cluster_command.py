"""`distsim cluster`: what a cluster file describes."""

from __future__ import annotations

import click


@click.group("cluster", short_help="Show a cluster: nodes, racks, queues and fabric.")
def command() -> None:
    """Clusters that jobs are placed on (distsim/cluster/README.md has the format of the file)."""


@command.command("show")
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", "form", type=click.Choice(["table", "json", "yaml"]), default="table",
              show_default=True, help="json and yaml hold everything, node by node.")
@click.option("--nodes", is_flag=True, help="Show every node in the table.")
def show(file: str, form: str, nodes: bool) -> None:
    """Check FILE and show its nodes by pool, labels, capacity, racks, queues and the fabric that joins the NICs.

    FILE is a cluster file, a basic-tor-node-cm (JSON or ConfigMap) or HyperNode manifests.
    """
    from distsim.cluster import load_cluster
    from distsim.cluster.show import plain, table_lines

    cluster = load_cluster(file)
    if form == "table":
        for line in table_lines(cluster, nodes):
            click.echo(line)
    else:
        import json

        text = json.dumps(plain(cluster), indent=2)
        click.echo(text if form == "json" else _yaml(json.loads(text)))
    for warning in cluster.warnings:
        click.echo(f"distsim: warning: {warning}", err=True)


def _yaml(data: object) -> str:
    import yaml

    return yaml.safe_dump(data, sort_keys=False, width=120).rstrip()
