"""Elastic jobs in a session: with less after a fault, with all again once there is enough (sizes: elastic.py)."""

from __future__ import annotations

from dataclasses import dataclass

from distsim.scheduler.chips import rule_of, sharing
from distsim.scheduler.elastic import Size, allowed_sizes, current_size, full_size, resize, why_not_elastic
from distsim.scheduler.session.attempt import place
from distsim.scheduler.session.conformance import protected
from distsim.scheduler.session.round import Round
from distsim.scheduler.state import State
from distsim.scheduler.types import Job, JobPhase, Refusal, Task, TaskState


def sizes_to_try(job: Job) -> tuple[Size, ...]:
    """The sizes with which a waiting job may run, largest first: smaller ones only for an elastic job that a fault has
    taken off all its nodes."""
    lost_all = all(task.node is None for task in job.tasks) and any(task.last_node is not None for task in job.tasks)
    if lost_all and why_not_elastic(job) is None:
        return allowed_sizes(job)
    return (current_size(job),)


def attempt(round_: Round, job: Job) -> Refusal | None:
    """Place what a job waits for, with the largest size that finds nodes; why not, if nothing could be. An elastic job
    that gets no size waits for the one that it asked for."""
    refusal: Refusal | None = None
    before = current_size(job)
    sizes = sizes_to_try(job)
    for size in sizes:
        _set(job, size)
        found = place(round_, job)
        if found is None:
            _tell(round_, job, before)
            return None
        refusal = refusal or found
    _set(job, sizes[0])
    return refusal


def grow(round_: Round, job: Job) -> Refusal | None:
    """Start a job that runs with less anew with what it asked for, if it gets nodes for that; else leave it alone, and
    say why."""
    if (job.full is None or job.phase is not JobPhase.RUNNING or not _at_rest(job) or sharing(rule_of(job)) is not None
            or protected(job, round_.state.settings)):
        return None
    before = current_size(job)
    stands = [_Stand(task, task.node or "", task.held, task.rank, task.last_node) for task in job.tasks]
    for stand in stands:
        round_.state.release(stand.task)
    resize(job, full_size(job))
    refusal = place(round_, job)
    if refusal is None:
        _tell(round_, job, before)
        return None
    resize(job, before)
    for stand in stands:
        stand.restore(round_.state)
    return refusal


@dataclass(frozen=True)
class _Stand:
    """Where a pod runs."""

    task: Task
    node: str
    held: int
    rank: int
    last_node: str | None

    def restore(self, state: State) -> None:
        """Put it back."""
        state.assign(self.task, self.node, self.held)
        self.task.rank, self.task.last_node = self.rank, self.last_node


def _at_rest(job: Job) -> bool:
    return all(task.state is TaskState.RUNNING for task in job.tasks)


def _set(job: Job, size: Size) -> None:
    if size != current_size(job):
        resize(job, size)


def _tell(round_: Round, job: Job, before: Size) -> None:
    after = current_size(job)
    if after != before:
        round_.happen("resized", job, f"from {before.replicas} pods of {before.chips} chips to {after.replicas} of "
                                      f"{after.chips}")
