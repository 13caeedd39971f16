"""`distsim run`: simulate a configuration and write its records."""

from __future__ import annotations

from pathlib import Path

import click

from .launcher import check_world, start_ranks, world
from .options import config_argument, ranks_option, read, seed_option, set_option


@click.command("run", short_help="Simulate a configuration and write its records.")
@config_argument
@click.option("-o", "--output", type=click.Path(), help="Directory for the records; runs/<simulation> by default.")
@set_option
@seed_option
@ranks_option("Processes; more than one are started with mpirun, exactly as mpirun -n N distsim run does.")
@click.option("--quiet", is_flag=True, help="No progress and no table; errors are still shown.")
@click.option("--overwrite", is_flag=True, help="Replace a run that is in the output directory.")
@click.option("--steady", is_flag=True, help="nccl-tests: extrapolate large sizes once the rate is steady; rows are "
                                             "marked in a file of their own (as workload.steady=true).")
@click.option("--max-hops", type=click.IntRange(min=1), metavar="N",
              help="Refuse a run that is projected to take more packet-hops; a day's by default.")
@click.option("--yes", is_flag=True, help="Run however long it is projected to take.")
def command(config: str, output: str | None, assignments: tuple[str, ...], seed: int | None, ranks: int | None,
            quiet: bool, overwrite: bool, steady: bool, max_hops: int | None, yes: bool) -> int:
    """Simulate CONFIG and write its records. The results do not depend on the number of ranks.

    Exit code: 0 all flows finished, 3 some did not, 2 configuration or input error, 1 internal error, 130 interrupted.
    """
    if output == "":
        raise click.UsageError("-o: the output directory is empty; name one, or leave -o out")
    assignments = (*assignments, "workload.steady=true") if steady else assignments
    here = world()
    if here is not None:
        check_world(here, ranks)
    elif ranks is not None and ranks > 1:
        _check_before_starting(config, assignments, seed, ranks)
        return start_ranks(ranks, _arguments(output, assignments, seed, ranks, quiet, overwrite)
                           + (["--max-hops", str(max_hops)] if max_hops is not None else []) + ["--yes"] * yes
                           + ["--", config])
    checked = read(config, assignments, seed)
    from distsim.engine import run_config
    from distsim.errors import InputError
    from distsim.limits import Limits

    directory = Path(output) if output is not None else Path("runs") / checked.simulation
    try:
        result = run_config(checked, directory, ranks_expected=ranks, quiet=quiet, overwrite=overwrite,
                            limits=Limits(max_hops, yes))
    except InputError as error:
        raise checked.placed(error) from None
    if not quiet and (here is None or here.rank == 0):
        for line in result.lines:
            click.echo(line)
    return int(result.exit_code)


def _check_before_starting(config: str, assignments: tuple[str, ...], seed: int | None, ranks: int) -> None:
    """Refuse here, once and before any process is started, what every rank would refuse."""
    from distsim.errors import InputError
    from distsim.fabric import build
    from distsim.parallel.partition import partition

    checked = read(config, assignments, seed)
    try:
        partition(build(checked.fabric, checked.link_rules()), ranks)
    except InputError as error:
        raise checked.placed(error) from None


def _arguments(output: str | None, assignments: tuple[str, ...], seed: int | None, ranks: int, quiet: bool,
               overwrite: bool) -> list[str]:
    """The options of the same command for each of the ranks."""
    found = ["run", "--ranks", str(ranks)]
    if output is not None:
        found += ["-o", output]
    for assignment in assignments:
        found += ["--set", assignment]
    if seed is not None:
        found += ["--seed", str(seed)]
    found += ["--quiet"] * quiet + ["--overwrite"] * overwrite
    return found
