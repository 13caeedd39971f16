"""How many pods of a job must run for it to run at all (plugin gang), and how many do.

cluster.md section 5; volcano-sh/volcano, pkg/scheduler/plugins/gang; Ascend/mind-cluster,
component/ascend-for-volcano/plugin/job.go (initByJobInfo).
"""

from __future__ import annotations

from distsim.scheduler.types import Job, Task, TaskState


def min_available(job: Job) -> int:
    """minAvailable of a job; huawei.com/schedule_minAvailable overrides it only where the PodGroup's is 1. An elastic
    job that runs with less needs no more pods than it has."""
    given = job.settings.min_available
    least = given if given is not None and job.min_available == 1 else job.min_available
    return least if job.full is None else min(least, len(job.tasks))


def ready(job: Job) -> int:
    """Number of pods that run or have succeeded; a Releasing one is on its way out."""
    return sum(task.state in (TaskState.RUNNING, TaskState.SUCCEEDED) for task in job.tasks)


def pending(job: Job) -> list[Task]:
    """The pods that wait for a node, in order."""
    return [task for task in job.tasks if task.state is TaskState.PENDING]


def best_effort(task: Task) -> bool:
    """Whether a pod asks for nothing, so that the action backfill places it and allocate does not."""
    return not task.chips and not any(task.request.values())


def short(job: Job) -> bool:
    """Whether fewer pods than minAvailable run; conditions are written while this is so."""
    return ready(job) < min_available(job)
