"""`distsim schedule compare`: the same jobs placed by several policies, each placement simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .schedule_run_command import in_parent, on_ranks, options_of, run_options, show, shown_at


@click.command("compare")
@run_options("runs/compare", "compare.json, and a folder for each policy with the files of its run.")
@click.option("--policies", required=True, metavar="NAME,NAME,...",
              help="Policies, each forced on every job: tor-affinity, multilevel, super-pod, hypernode, binpack, "
                   "spread, random.")
def command(policies: str, **given: Any) -> int:
    """Run the jobs of the FILEs under each policy and set the runs side by side: step time, bus bandwidth, bytes on the
    links of the spines (maximum, mean), queueing, goodput.

    Exit codes: those of distsim schedule run, over all policies.
    """
    from distsim.clusterrun.compare import COMPARE, compare

    names = tuple(name.strip() for name in policies.split(",") if name.strip())
    options, directory = options_of(given), Path(given["output"])
    if in_parent(given["ranks"]):
        code = on_ranks("compare", given["ranks"], options, directory, ("--policies", policies))
        return code or shown_at(directory / COMPARE, given["form"])
    report = compare(options, names, directory)
    return 0 if given["as_rank"] or report is None else show(report, given["form"])
