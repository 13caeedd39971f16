"""The same jobs under several policies, each a run of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from distsim.errors import InputError
from distsim.scheduler.store import write_text

from .crew import Crew
from .records import claim
from .run import Options, run_alone

COMPARE = "compare.json"
# Of a job's entry in the report of a run.
KEPT = ("name", "namespace", "state", "reason", "nodes", "chips", "steps", "stepUs", "stepBaseUs", "busBW", "spine",
        "queueingMs", "runningMs", "endMs", "wallMs", "goodput", "partsMs", "interruptions")


def compare(options: Options, policies: Sequence[str], directory: Path) -> dict[str, Any] | None:
    """Run the jobs under each policy, with the files of each run in a folder of its name; the report, None on ranks
    other than 0.

    {"cluster", "policies": [{"policy", "goodput", "simulations", "jobs": [...]}], "warnings"}; of a job `stepUs` is the
    mean of its steps, `spine` the bytes on the links of the spines in the simulation of most of them.
    Raises InputError for an unknown policy, one that is given twice, and as `run_cluster`.
    """
    from distsim.scheduler.dry_run import check_policy

    if not policies:
        raise InputError("no policy is given; e.g. tor-affinity,binpack", where="--policies")
    for place, policy in enumerate(policies):
        check_policy(policy)
        if policy in policies[:place]:
            raise InputError(f"{policy} is given twice", where="--policies")
    crew = Crew(options.limits, options.quiet)
    return crew.lead(lambda: _compare(options, policies, directory, crew))


def _compare(options: Options, policies: Sequence[str], directory: Path, crew: Crew) -> dict[str, Any]:
    claim(directory, COMPARE)
    runs = [run_alone(replace(options, policy=policy), directory / policy, crew) for policy in policies]
    found = {"cluster": runs[0]["cluster"],
             "policies": [{"policy": policy, "goodput": run["goodput"], "simulations": run["simulations"],
                           "jobs": [{key: job.get(key) for key in KEPT} for job in run["jobs"]]}
                          for policy, run in zip(policies, runs)],
             "warnings": list(dict.fromkeys(line for run in runs for line in run["warnings"]))}
    write_text(directory / COMPARE, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return found
