"""One dry run of the scheduler: all jobs handed in at once on a cluster that stands still, until nothing moves.

Jobs are handed in a millisecond apart, the first at 0 ms: of two jobs that are alike otherwise the older goes first.
Then there is a session every full second (cluster.md), until one changes no phase and no pod. A job that may be
dequeued (schedule_enable_dequeue, seed 001) changes something of its own after 5 minutes only, so the clock then jumps
past them, as long as a jump brings a job onto the cluster, and at most once in vain for each such job.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.scheduler.policies import POLICIES, policy
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Happening, Job, JobPhase

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.scheduler.session import Scheduler

SESSION_MS = 1000
DEQUEUE_MS = 300_000          # an Inqueue job must be strictly older
MOST_SESSIONS = 100_000
_SHOWN = 8


@dataclass
class DryRun:
    """state : at the end. jobs : in the order of the files. happenings : of all sessions. sessions : how many ran.
    warnings : one line each, of the cluster, the configuration and the jobs. refused : job's uid -> reason -> names of
    the nodes that it kept out, when the job was last looked at."""

    state: State
    jobs: list[Job]
    happenings: list[Happening] = field(default_factory=list)
    sessions: int = 0
    warnings: tuple[str, ...] = ()
    refused: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)


def dry_run(files: Sequence[str], cluster_file: str, conf: str | None = None, forced: str | None = None,
            busy: Sequence[str] = (), explain: bool = False) -> DryRun:
    """Read a cluster and jobs, and schedule them.

    files : of jobs, in the order in which they are handed in. conf : file of a volcano-scheduler-configmap.
    forced : a name of POLICIES, for every job that it can place. busy : nodes whose chips others hold.
    explain : find out which nodes each job could not have (`DryRun.refused`).
    Raises InputError (or ConfigError) with file, line, bad value and valid values.
    """
    from distsim.cluster import load_cluster
    from distsim.scheduler.read import read_jobs

    settings, said = settings_of(conf, forced)
    cluster = load_cluster(cluster_file)
    check_busy(busy, cluster)
    jobs, ignored = read_jobs(files)
    run = schedule(state_of(cluster, settings, busy), jobs)
    run.warnings = (*cluster.warnings, *said, *ignored, *_not_forced(run))
    if explain:
        from distsim.scheduler.explain.refused import refusals

        run.refused = refusals(run.state, run.happenings)
    return run


def settings_of(conf: str | None, forced: str | None) -> tuple[SchedulerSettings, list[str]]:
    """The settings of a configuration file (the default ones without), with a policy forced on all jobs that it can
    place, and lines for the user. InputError for an unknown policy."""
    settings = SchedulerSettings()
    said: list[str] = []
    if conf is not None:
        from distsim.scheduler.read import read_conf

        settings, said = read_conf(conf)
    if forced is not None:
        check_policy(forced)
        settings = replace(settings, policy=forced)
    return settings, said


def check_policy(name: str) -> None:
    """InputError unless it is the name of a policy."""
    if name not in POLICIES:
        raise InputError(f"{name!r} is no policy; {_valid(name, list(POLICIES))}", where="--policy")


def check_busy(names: Sequence[str], cluster: Cluster) -> None:
    """InputError for names that are no nodes of the cluster."""
    unknown = list(dict.fromkeys(name for name in names if name not in cluster.by_name))
    if unknown:
        raise InputError(f"{', '.join(unknown)}: no such node in cluster {cluster.name}; "
                         f"{_valid(unknown[0], list(cluster.by_name))}", where="--busy")


def schedule(state: State, jobs: Sequence[Job]) -> DryRun:
    """Hand in the jobs in their order and run sessions until nothing changes."""
    from distsim.scheduler.session import Scheduler

    scheduler = Scheduler(state)
    for index, job in enumerate(jobs):
        scheduler.submit(job, index)
    run = DryRun(state, list(jobs))
    now_ms = _settle(scheduler, run, max(0, len(jobs) - 1) // SESSION_MS * SESSION_MS)
    jumps = 0
    while jumps < sum(map(_may_leave, run.jobs)):
        running = _running(run.jobs)
        now_ms = _settle(scheduler, run, now_ms + DEQUEUE_MS)
        jumps = 0 if _running(run.jobs) > running else jumps + 1
    return run


def _not_forced(run: DryRun) -> Iterator[str]:
    """A line for each job that cannot be placed by the policy that the user forces."""
    from distsim.scheduler.session.chipped import chosen_policy

    forced = run.state.settings.policy
    for job in run.jobs if forced else ():
        used = chosen_policy(job, run.state)
        refusal = policy(forced).validate(job, run.state) if used != forced else None
        if refusal is not None:
            yield f"job {job.uid} cannot be placed by {forced} ({refusal.message}); {used} places it"


def _settle(scheduler: Scheduler, run: DryRun, now_ms: int) -> int:
    """Run sessions from the next second on until one changes nothing; when that one was."""
    before = None
    while before != (after := _standing(run.jobs)):
        before, now_ms = after, now_ms + SESSION_MS
        run.happenings += scheduler.session(now_ms)
        run.sessions += 1
        if run.sessions > MOST_SESSIONS:
            raise AssertionError(f"{run.sessions} sessions, and the jobs still change")
    return now_ms


def _standing(jobs: Sequence[Job]) -> list[Any]:
    """Everything of the jobs that a further session might depend on, besides the time."""
    return [(job.phase, [(task.state, task.node, task.rank) for task in job.tasks]) for job in jobs]


def _may_leave(job: Job) -> bool:
    return job.settings.enable_dequeue and job.phase is JobPhase.INQUEUE


def _running(jobs: Sequence[Job]) -> int:
    return sum(job.phase is JobPhase.RUNNING for job in jobs)


def _valid(name: str, valid: list[str]) -> str:
    """The valid names, the nearest one first where many are valid."""
    from distsim.config.names import nearest

    close = nearest(name, valid)
    if len(valid) > _SHOWN:
        return f"nearest: {close}" if close else f"the nodes are {valid[0]} to {valid[-1]}"
    return f"valid values: {', '.join(valid)}" + (f"; nearest: {close}" if close else "")
