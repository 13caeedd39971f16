"""`distsim schedule run`: jobs on a simulated cluster over time, every step simulated packet by packet."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distsim.errors import InputError
from distsim.quantities import parse_time

from .launcher import check_world, start_ranks, world
from .options import Decorator, ranks_option

if TYPE_CHECKING:
    from distsim.clusterrun.run import Options

FORMS = ("table", "json", "yaml")
PS_PER_MS = 10**9


def run_options(directory: str, written: str) -> Decorator:
    """The options of run and compare. directory : where files go by default; written : what is written there."""
    options = (
        click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path()),
        click.option("--cluster", required=True, type=click.Path(), metavar="FILE",
                     help="The cluster (distsim cluster show), with a map of workloads; or a basic-tor-node-cm."),
        click.option("--conf", type=click.Path(), metavar="FILE", help="A volcano-scheduler-configmap."),
        click.option("--faults", type=click.Path(), metavar="SCRIPT", help="A script of faults."),
        click.option("--busy", multiple=True, metavar="NODE[,NODE]",
                     help="Nodes whose chips others hold for the whole run."),
        click.option("-o", "--output", metavar="DIR", default=directory, show_default=True, help=written),
        ranks_option("Processes; more than one are started with mpirun. The results do not depend on it."),
        click.option("--report", "form", type=click.Choice(FORMS), default="table", show_default=True,
                     help="What is printed."),
        click.option("--until", metavar="TIME", help="Cut the run off at this time of the cluster, e.g. 600s."),
        click.option("--quiet", is_flag=True, help="No progress; the report and errors are still shown."),
        click.option("--max-hops", type=click.IntRange(min=1), metavar="N",
                     help="Refuse simulations that are projected to take more packet-hops; a day's by default."),
        click.option("--yes", is_flag=True, help="Run however long it is projected to take."),
        click.option("--as-rank", is_flag=True, hidden=True),
    )

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


@click.command("run")
@run_options("runs/schedule", "Where the state of all objects and the records are written.")
@click.option("--policy", metavar="NAME", help="Place every job by this policy, as in distsim schedule.")
def command(policy: str | None, **given: Any) -> int:
    """Run the jobs of the FILEs on a cluster, from their submission to their end: sessions of the scheduler every
    second, faults and recovery, and every step's time from a packet simulation of its placement.

    Exit codes: 0 every job has completed, 3 a job is pending, running or failed at the end, 2 input error, 1 internal
    error, 130 interrupted.
    """
    from distsim.clusterrun.records import REPORT
    from distsim.clusterrun.run import run_cluster

    options, directory = options_of(given, policy), Path(given["output"])
    if in_parent(given["ranks"]):
        code = on_ranks("run", given["ranks"], options, directory)
        return code or shown_at(directory / REPORT, given["form"])
    report = run_cluster(options, directory)
    return 0 if given["as_rank"] or report is None else show(report, given["form"])


def options_of(given: Mapping[str, Any], policy: str | None = None) -> Options:
    """The options of a run from those of `run_options`. InputError for a time that is none."""
    from distsim.clusterrun.run import Options
    from distsim.limits import Limits

    names = tuple(name for text in given["busy"] for name in text.split(",") if name)
    return Options(given["files"], given["cluster"], given["conf"], given["faults"], policy, names,
                   until_ms(given["until"]), Limits(given["max_hops"], given["yes"]), given["quiet"])


def until_ms(text: str | None) -> int | None:
    """Milliseconds that a time means, rounded up."""
    if text is None:
        return None
    try:
        return -(-parse_time(text) // PS_PER_MS)
    except ValueError as error:
        raise InputError(str(error), where="--until") from None


def in_parent(ranks: int | None) -> bool:
    """Whether this process is to start ranks; InputError if it is one of them and their number is another."""
    here = world()
    if here is not None:
        check_world(here, ranks)
    return here is None and ranks is not None and ranks > 1


def on_ranks(name: str, ranks: int, options: Options, directory: Path, more: tuple[str, ...] = ()) -> int:
    """Run a subcommand on several processes; their exit code."""
    arguments = ["schedule", name, "--as-rank", "--ranks", str(ranks), "--cluster", options.cluster,
                 "-o", str(directory), *more]
    for option, value in (("conf", options.conf), ("faults", options.faults), ("policy", options.policy)):
        arguments += [f"--{option}", value] if value is not None else []
    arguments += ["--busy", ",".join(options.busy)] if options.busy else []
    arguments += ["--until", f"{options.until_ms}ms"] if options.until_ms is not None else []
    arguments += ["--quiet"] * options.quiet + ["--yes"] * options.limits.yes
    arguments += ["--max-hops", str(options.limits.max_hops)] if options.limits.max_hops is not None else []
    return start_ranks(ranks, [*arguments, "--", *options.files])


def shown_at(path: Path, form: str) -> int:
    """Print the report that ranks have left, as `show`."""
    return show(json.loads(path.read_text()), form)


def show(report: dict[str, Any], form: str) -> int:
    """Print a report with its warnings; the exit code."""
    from distsim.clusterrun.report import exit_code
    from distsim.clusterrun.table import shown

    for line in report["warnings"]:
        click.echo(f"distsim: warning: {line}", err=True)
    click.echo(shown(report, form))
    return exit_code(report)
