"""A run from its files to its report: `run_cluster`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distsim.errors import DistsimError, InputError
from distsim.limits import Limits

from .check import check_jobs
from .clock import Clock
from .crew import Crew
from .fabric_faults import FabricFaults
from .links import Links
from .packets import Packets
from .records import RECORDS, claim, write, write_so_far
from .report import goodput_of, report_of, rows_of
from .steptimes import StepTimes
from .work import works_of

LONGEST_MS = 10**9            # --until; a simulation's clock ends at 10**6 s


@dataclass(frozen=True)
class Options:
    """What the command line says.

    files : of jobs. cluster : its file. conf : a volcano-scheduler-configmap. faults : a fault script. policy : forced
    on every job. busy : nodes whose chips others hold for the whole run. until_ms : when the run is cut off. limits,
    quiet : as for `distsim run`.
    """

    files: tuple[str, ...]
    cluster: str
    conf: str | None = None
    faults: str | None = None
    policy: str | None = None
    busy: tuple[str, ...] = ()
    until_ms: int | None = None
    limits: Limits = field(default_factory=Limits)
    quiet: bool = False


def run_cluster(options: Options, directory: Path) -> dict[str, Any] | None:
    """Run the jobs and write the state and the records of the run into a directory; the report, None on ranks other
    than 0. Every rank of a parallel run makes this call.

    Raises InputError, before anything is written, for whatever is wrong in the files.
    """
    crew = Crew(options.limits, options.quiet)
    return crew.lead(lambda: run_alone(options, directory, crew))


def run_alone(options: Options, directory: Path, crew: Crew) -> dict[str, Any]:
    """What rank 0 does of `run_cluster`, inside `Crew.lead`."""
    from distsim.cluster import load_cluster
    from distsim.scheduler.dry_run import check_busy, settings_of
    from distsim.scheduler.faults import Script, read_script
    from distsim.scheduler.read import read_jobs
    from distsim.scheduler.state import state_of

    if options.until_ms is not None and not 0 < options.until_ms <= LONGEST_MS:
        raise InputError(f"{options.until_ms} ms is out of range; valid: 1ms to {LONGEST_MS // 1000} s",
                         where="--until")
    settings, said = settings_of(options.conf, options.policy)
    cluster = load_cluster(options.cluster)
    check_busy(options.busy, cluster)
    jobs, ignored = read_jobs(options.files)
    script = read_script(options.faults, cluster, jobs) if options.faults is not None else Script()
    works = works_of(jobs, cluster)
    small = check_jobs(jobs, works, cluster)
    claim(directory)
    packets = Packets(cluster, works, directory / RECORDS, crew.simulate)
    faults = FabricFaults.of(cluster, script.faults, script.fabric)
    clock = Clock(state_of(cluster, settings, options.busy), jobs, works, StepTimes(works, faults, packets.simulate),
                  Links(cluster), script.faults, options.until_ms)
    try:
        clock.run()
    except (KeyboardInterrupt, DistsimError) as error:
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        write_so_far(directory, clock, rows_of(clock, packets), why)
        raise
    report = report_of(clock, packets, jobs, [*cluster.warnings, *said, *ignored, *small])
    write(directory, clock, packets, jobs, rows_of(clock, packets), report, goodput_of(clock))
    return report
