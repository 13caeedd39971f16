"""Action allocate: nodes for the pods of Inqueue jobs, and for those that Running jobs have lost.

volcano-sh/volcano, pkg/scheduler/actions/allocate: one job of the first queue at a time; pods that ask for nothing are
left to backfill; where no action enqueue runs, Pending jobs go to Inqueue here.
"""

from __future__ import annotations

from distsim.scheduler.session.enqueue import to_inqueue
from distsim.scheduler.session.gang import best_effort, pending
from distsim.scheduler.session.queues import Queues
from distsim.scheduler.session.resizing import attempt, grow
from distsim.scheduler.session.round import Round
from distsim.scheduler.types import ENQUEUE_FAILED, PREDICATE_FAILED, Job, JobPhase, Refusal, TaskState


def allocate(round_: Round) -> None:
    """Try every job that waits for nodes once."""
    state = round_.state
    if "enqueue" not in state.settings.actions:
        for job in state.jobs.values():
            if job.phase is JobPhase.PENDING:
                to_inqueue(round_, job)
    queues = Queues(state)
    waiting = [job for job in state.jobs.values() if job.phase in (JobPhase.INQUEUE, JobPhase.RUNNING)
               and any(not best_effort(task) for task in pending(job))]
    for job in queues.turns(waiting):
        over = queues.over(job, pending(job))
        if over:
            round_.consider(job, Refusal(ENQUEUE_FAILED, over))
        else:
            _try(round_, job, queues)
    for job in queues.turns(job for job in state.jobs.values() if job.full is not None):
        if not queues.over(job, job.tasks) and not round_.tries.in_vain(job):
            round_.tries.note(job, grow(round_, job))


def _try(round_: Round, job: Job, queues: Queues) -> None:
    if round_.tries.in_vain(job):
        round_.consider(job, round_.tries.refusal(job))
        return
    ending = [task.name for task in job.tasks if task.state is TaskState.RELEASING]
    if ending:
        round_.consider(job, Refusal(PREDICATE_FAILED, f"pods of job {job.name} are still Releasing: "
                                                       f"{', '.join(ending)}"))
        return
    before = {task.name for task in job.tasks if task.node is not None}
    refusal = attempt(round_, job)
    round_.consider(job, refusal)
    round_.tries.note(job, refusal)
    queues.take(job, [task for task in job.tasks if task.node is not None and task.name not in before])
