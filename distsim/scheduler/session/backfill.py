"""Action backfill: nodes for pods that ask for nothing, so that the chips of a job do not wait for them.

volcano-sh/volcano, pkg/scheduler/actions/backfill: best-effort pods of jobs that are not Pending, pod by pod; resources
do not matter to them, the other filters do.
"""

from __future__ import annotations

from distsim.scheduler.session.attempt import run_pods
from distsim.scheduler.session.gang import best_effort, pending
from distsim.scheduler.session.queues import Queues
from distsim.scheduler.session.round import Round
from distsim.scheduler.types import JobPhase


def backfill(round_: Round) -> None:
    """Try the best-effort pods of every job once."""
    state = round_.state
    waiting = {job.uid: pods for job in state.jobs.values() if job.phase in (JobPhase.INQUEUE, JobPhase.RUNNING)
               if (pods := [task for task in pending(job) if best_effort(task)])}
    for job in Queues(state).turns(state.jobs[uid] for uid in waiting):
        round_.consider(job, run_pods(round_, job, waiting[job.uid]))
