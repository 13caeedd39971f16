"""`distsim schedule`: which nodes job files for MindCluster's Volcano get on a cluster, and why."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from distsim.errors import EXIT_OK, EXIT_UNFINISHED

FORMS = ("table", "json", "yaml")
# Subcommands; each is the attribute `command` of distsim/cli/schedule_<name>_command.py.
SUBCOMMANDS = {"run": "Run the jobs on the scheduler's clock, each step simulated, with faults and goodput.",
               "compare": "Place the jobs by several policies and simulate each placement."}


class DryRunOrSubcommand(click.Command):
    """A command whose first argument may be the name of a subcommand; a file of such a name is given as ./run."""

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None,
                     **extra: Any) -> click.Context:
        """The context of the dry run, or of the subcommand that the first argument names."""
        if args and args[0] in SUBCOMMANDS:
            found: click.Command = importlib.import_module(f"distsim.cli.schedule_{args[0]}_command").command
            return found.make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, then the subcommands."""
        super().format_options(ctx, formatter)
        with formatter.section("Subcommands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.command("schedule", cls=DryRunOrSubcommand,
               short_help="Place VolcanoJobs and AscendJobs on a cluster: dry run, run, compare.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("--cluster", required=True, type=click.Path(), metavar="FILE",
              help="The cluster (distsim cluster show), or a basic-tor-node-cm.")
@click.option("--conf", type=click.Path(), metavar="FILE", help="A volcano-scheduler-configmap.")
@click.option("--policy", metavar="NAME",
              help="Place every job by this policy: tor-affinity, multilevel, super-pod, hypernode, binpack, spread or "
                   "random. By default each job's own labels and annotations say.")
@click.option("--busy", multiple=True, metavar="NODE[,NODE]", help="Nodes whose chips others hold.")
@click.option("--explain", is_flag=True,
              help="Show chips and NICs by rank, reasons of refusal by node, slices, switches, what the ring of ranks "
                   "crosses, and free chips by rack.")
@click.option("--report", "form", type=click.Choice(FORMS), default="table", show_default=True,
              help="What is printed.")
@click.option("-o", "--output", metavar="DIR", help="Write PodGroups, pods, nodes and placement.json here.")
def command(files: tuple[str, ...], cluster: str, conf: str | None, policy: str | None, busy: tuple[str, ...],
            explain: bool, form: str, output: str | None) -> int:
    """Dry run of the scheduler: hand in the VolcanoJobs, AscendJobs and PodGroups of the FILEs in their order, run
    sessions until nothing changes, and print for every job its state, the node of each rank, and why it waits.

    Exit codes: 0 every job is scheduled, 3 a job is pending or failed, 2 input error, 1 internal error,
    130 interrupted.
    """
    from distsim.scheduler.dry_run import dry_run

    from .schedule_report import check_directory, report_of, shown, write

    directory = Path(output) if output is not None else None
    if directory is not None:
        check_directory(directory)
    names = tuple(name for text in busy for name in text.split(",") if name)
    run = dry_run(files, cluster, conf, policy, names, explain)
    report = report_of(run, explain)
    if directory is not None:
        write(directory, run, report)
    for line in run.warnings:
        click.echo(f"distsim: warning: {line}", err=True)
    click.echo(shown(report, form))
    return EXIT_OK if all(job["state"] == "scheduled" for job in report["jobs"]) else EXIT_UNFINISHED
