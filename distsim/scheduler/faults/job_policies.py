"""The `policies` of a VolcanoJob: what an event of a pod makes of the job.

Source: applyPolicies in volcano pkg/controllers/job/job_controller_util.go: the first policy that fits decides; one
fits by its event or `*`, or by the exit code of the pod.
"""

from __future__ import annotations

from distsim.scheduler.types import Job, JobPhase, Task

POD_FAILED, POD_EVICTED, JOB_UNKNOWN, ANY = "PodFailed", "PodEvicted", "JobUnknown", "*"
RESTART_JOB, RESTART_TASK, RESTART_POD = "RestartJob", "RestartTask", "RestartPod"
ABORT, TERMINATE, COMPLETE = "AbortJob", "TerminateJob", "CompleteJob"
# Actions that end a job, and the phase that it ends in (Volcano: Aborted, Terminated, Completed).
FINAL = {ABORT: JobPhase.FAILED, TERMINATE: JobPhase.FAILED, COMPLETE: JobPhase.COMPLETED}


def action_for(job: Job, event: str, task: Task | None = None, exit_code: int | None = None) -> str:
    """The action of the policies for an event, "" when none fits; those of the pod's own task come before the job's."""
    for wanted, action, code in (*(task.policies if task is not None else ()), *job.policies):
        if wanted in (event, ANY) or (code is not None and exit_code is not None and code == exit_code):
            return action
    return ""
