"""Which pods of a job a reschedule takes: the failed ones, their logical SuperPoD or tree level, the whole job.

Source: cluster.md section 6; isNormalTaskCanBeDelete, isMasterFault, getMultiLevelJobDeletePodInfo in
component/ascend-for-volcano/internal/rescheduling/job.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from distsim.scheduler.types import Job, Task

JOB, POD, PROCESS = "job", "pod", "process"
# Sessions (of 1 s) that a pod stays pending before the next step, and before the whole job goes.
STEP_SESSIONS, JOB_SESSIONS = 6, 12
SESSION_MS = 1000


def process_level(job: Job) -> bool:
    """Whether only failed tasks are replaced. hotSwitch brings it along (solutions_principles.md, "Hot Switching")."""
    return job.settings.process_recover or job.settings.sub_healthy == "hotSwitch"


def scope_of(job: Job, failed: Sequence[Task]) -> str:
    """The scope of a reschedule when these tasks have failed."""
    if job.settings.recover_pod_only:
        return POD
    if any(is_master(job, task) for task in failed):
        return JOB
    if process_level(job):
        return PROCESS
    return POD if job.settings.pod_rescheduling else JOB


def taken(job: Job, scope: str, failed: Sequence[Task]) -> list[Task]:
    """The tasks that a reschedule of a scope takes, in the order of the job."""
    if scope == JOB:
        return list(job.tasks)
    names = {task.name for task in failed}
    return [task for task in job.tasks if task.name in names]


def is_master(job: Job, task: Task) -> bool:
    """Whether a task is rank 0 of the job's tasks with chips."""
    return task.rank == 0 and bool(task.chips)


def may_widen(job: Job) -> bool:
    """Whether a reschedule of failed pods widens when they stay pending."""
    settings = job.settings
    return settings.pod_rescheduling and not settings.recover_pod_only and not process_level(job)


def widened(job: Job, failed: Sequence[Task], per_pod: int) -> list[Task] | None:
    """The pods of the groups of the failed ones, one step up: their logical SuperPoDs, or their groups of tree level 1.

    per_pod : chips of a pod. None when the job knows no such groups. All tasks when rank 0 is among them.
    """
    size = _group_pods(job, per_pod)
    if size is None:
        return None
    groups = {task.rank // size for task in failed if task.rank >= 0}
    found = [task for task in job.npu_tasks if task.rank >= 0 and task.rank // size in groups]
    return list(job.tasks) if any(is_master(job, task) for task in found) else found


def _group_pods(job: Job, per_pod: int) -> int | None:
    settings = job.settings
    if settings.schedule_policy == "multilevel" and settings.affinity_levels:
        return settings.affinity_levels[0]
    if settings.sp_block and per_pod:
        return max(1, settings.sp_block // per_pod)
    return None
