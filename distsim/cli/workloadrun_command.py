"""`distsim workloadrun`: a job file on a simulated cluster, from its Workflow to the verdict on its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from .launcher import check_world, start_ranks, world
from .options import ranks_option

FORMS = ("table", "json", "yaml")
_output = click.option(
    "-o", "--output", "outputs", multiple=True, metavar="DIR|FORM",
    help="A directory with the state of the run (runs/NAME by default), or table, json or yaml for what is printed; "
         "may be given twice. Write ./json for a directory of that name.")
_platform = click.option("--platform", metavar="NAME", help="Platform of the nodes, in place of what the cluster says.")
_gpu_arch = click.option("--gpu-arch", metavar="NAME", help="GPU architecture, e.g. h100, in place of the nodes' own.")


@click.group("workloadrun", short_help="Run a WorkloadRun on a simulated cluster; render, status, reports, delete.")
def command() -> None:
    """A WorkloadRun on a simulated cluster.

    Exit codes of run, status and reports: 0 the run succeeded, 4 a threshold does not hold (ValidationFailed) or a
    diagnosis found a fault by one, 3 a job did not come to its end, 2 input error, 130 interrupted.
    """


@command.command("run")
@click.argument("file", type=click.Path())
@click.option("--cluster", required=True, type=click.Path(), metavar="FILE", help="The cluster (distsim cluster show).")
@_output
@click.option("--report", "form", type=click.Choice(FORMS), help="What is printed at the end: table by default.")
@_platform
@_gpu_arch
@click.option("--steady", is_flag=True, help="nccl-tests: extrapolate large sizes once the rate is steady.")
@click.option("--diagnose", is_flag=True, help="Find the nodes or racks at fault: groups that miss a threshold are "
                                               "halved (as orchestration.diagnose with the cluster's rack label).")
@click.option("--busy", multiple=True, metavar="NODE[,NODE]", help="Nodes whose GPUs others hold for the whole run.")
@ranks_option("Processes; more than one are started with mpirun. The results do not depend on it.")
@click.option("--quiet", is_flag=True, help="No progress; the report and errors are still shown.")
@click.option("--max-hops", type=click.IntRange(min=1), metavar="N",
              help="Refuse simulations that are projected to take more packet-hops; a day's by default.")
@click.option("--yes", is_flag=True, help="Run however long it is projected to take.")
@click.option("--as-rank", is_flag=True, hidden=True)
def run(file: str, cluster: str, outputs: tuple[str, ...], form: str | None, platform: str | None, gpu_arch: str | None,
        steady: bool, diagnose: bool, busy: tuple[str, ...], ranks: int | None, quiet: bool, max_hops: int | None,
        yes: bool, as_rank: bool) -> int:
    """Run the WorkloadRun of FILE on a cluster: discover nodes, group them, simulate the jobs, measure and judge them.

    Jobs that may run at the same time are simulated together on the one fabric.
    """
    from distsim.limits import Limits
    from distsim.workloadrun.report import exit_code, shown
    from distsim.workloadrun.run import Options, run_workload

    wanted = _Output.of(outputs, form)
    here = world()
    if here is not None:
        check_world(here, ranks)
    names = tuple(name for text in busy for name in text.split(",") if name)
    options = Options(platform, gpu_arch, steady, diagnose, names, Limits(max_hops, yes), quiet)
    if here is None and ranks is not None and ranks > 1:
        return _on_ranks(ranks, file, cluster, wanted, options)
    report = run_workload(file, cluster, wanted.directory, options)
    if as_rank:
        return 0
    if here is None or here.rank == 0:
        _warn(report)
        click.echo(shown(report, wanted.form))
    return exit_code(report)


@command.command("render")
@click.argument("file", type=click.Path())
@click.option("--cluster", type=click.Path(), metavar="FILE",
              help="A cluster: its nodes say platform and GPUs, and the Jobs of the first iteration are rendered too.")
@_platform
@_gpu_arch
@_output
def render(file: str, cluster: str | None, platform: str | None, gpu_arch: str | None,
           outputs: tuple[str, ...]) -> None:
    """Print the Workflow that the WorkloadRun of FILE becomes.

    Without --platform and --cluster its overrides stay in it unresolved, and what depends on them is not checked.
    """
    from distsim.workloadrun.rendered import render_text

    form = outputs[-1] if outputs else "yaml"
    if len(outputs) > 1 or form not in ("yaml", "json"):
        raise click.UsageError("-o of render is yaml or json")
    text, notices = render_text(file, cluster, platform, gpu_arch, form)
    for line in notices:
        click.echo(f"distsim: warning: {line}", err=True)
    click.echo(text, nl=False)


@command.command("status")
@click.argument("file", type=click.Path())
@_output
def status(file: str, outputs: tuple[str, ...]) -> int:
    """What became of a run: FILE is its WorkloadRun or its directory."""
    from distsim.workloadrun.reading import status_of
    from distsim.workloadrun.report import exit_code

    wanted = _Output.of(outputs, None)
    report, text = status_of(_store(file, wanted), wanted.form)
    click.echo(text)
    return exit_code(report) if report is not None else 0


@command.command("reports")
@click.argument("file", type=click.Path())
@_output
def reports(file: str, outputs: tuple[str, ...]) -> int:
    """The report of a run: FILE is its WorkloadRun or its directory."""
    from distsim.workloadrun.report import exit_code, shown

    wanted = _Output.of(outputs, None)
    report = _store(file, wanted).report()
    click.echo(shown(report, wanted.form))
    return exit_code(report)


@command.command("delete")
@click.argument("file", type=click.Path())
@_output
def delete(file: str, outputs: tuple[str, ...]) -> None:
    """Delete a run with its Workflow, Jobs, measurements and records: FILE is its WorkloadRun or its directory."""
    store = _store(file, _Output.of(outputs, None))
    click.echo(f"workloadrun {store.delete()} deleted ({store.directory})")


@dataclass(frozen=True)
class _Output:
    """directory : None for the default. form : table, json or yaml."""

    directory: Path | None
    form: str

    @classmethod
    def of(cls, outputs: Sequence[str], form: str | None) -> _Output:
        """What the options -o and --report say together."""
        forms = [text for text in outputs if text in FORMS]
        directories = [text for text in outputs if text not in FORMS]
        if len(directories) > 1 or len(forms) > 1 or "" in directories:
            raise click.UsageError("-o: name one directory, and at most one of table, json and yaml")
        return cls(Path(directories[0]) if directories else None, form or (forms[0] if forms else "table"))


def _store(file: str, wanted: _Output) -> Any:
    """The state of a run: of a directory, or of the run that a file names."""
    from distsim.workloadrun.load import load_workloadrun
    from distsim.workloadrun.reading import find_store

    if Path(file).is_dir():
        return find_store(Path(file), None)
    run = load_workloadrun(file)
    return find_store(wanted.directory or Path("runs") / run.name, run)


def _on_ranks(ranks: int, file: str, cluster: str, wanted: _Output, options: Any) -> int:
    """Run on several processes, then print what they have left."""
    from distsim.workloadrun.load import load_workloadrun
    from distsim.workloadrun.report import exit_code, shown
    from distsim.workloadrun.store import Store

    directory = wanted.directory or Path("runs") / load_workloadrun(file).name
    arguments = ["workloadrun", "run", "--as-rank", "--ranks", str(ranks), "--cluster", cluster, "-o", str(directory)]
    for name in ("platform", "gpu_arch"):
        if getattr(options, name):
            arguments += [f"--{name.replace('_', '-')}", getattr(options, name)]
    arguments += [f"--{name}" for name in ("steady", "diagnose", "quiet") if getattr(options, name)]
    arguments += ["--busy", ",".join(options.busy)] if options.busy else []
    arguments += ["--max-hops", str(options.limits.max_hops)] if options.limits.max_hops is not None else []
    code = start_ranks(ranks, [*arguments, *["--yes"] * options.limits.yes, "--", file])
    if code:
        return code
    report = Store(directory).report()
    _warn(report)
    click.echo(shown(report, wanted.form))
    return exit_code(report)


def _warn(report: dict[str, Any]) -> None:
    for line in report["warnings"]:
        click.echo(f"distsim: warning: {line}", err=True)
