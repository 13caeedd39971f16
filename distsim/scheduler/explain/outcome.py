"""What became of a job: state, ranks with their nodes, chips and NICs, and the reason while it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from distsim.scheduler.explain.wires import chips_of, nics_of_chips
from distsim.scheduler.session.chipped import chosen_policy
from distsim.scheduler.types import Condition, JobPhase

if TYPE_CHECKING:
    from distsim.scheduler.state import State
    from distsim.scheduler.types import Job, Task

SCHEDULED, PENDING, FAILED = "scheduled", "pending", "failed"


def outcome(job: Job) -> str:
    """scheduled, pending or failed."""
    if job.phase is JobPhase.FAILED:
        return FAILED
    return SCHEDULED if job.phase in (JobPhase.RUNNING, JobPhase.COMPLETED) else PENDING


def ranked(job: Job) -> list[Task]:
    """The placed tasks in order of rank; of a job with chips only those that hold chips."""
    return [task for task in job.placed if task.chips or not job.npu_tasks]


def latest(job: Job) -> Condition | None:
    """The condition that was written last, None without one."""
    return max(job.conditions.values(), key=lambda condition: condition.time_ms, default=None)


def reason_of(job: Job, state: State) -> str:
    """Why a job is not scheduled: "" for a scheduled one, never empty for others."""
    found = outcome(job)
    if found == SCHEDULED:
        return ""
    if found == FAILED and job.reason:
        return job.reason
    condition = latest(job)
    if condition is not None:
        return f"{condition.reason}: {condition.message}"
    actions = ", ".join(state.settings.actions) or "none"
    return f"the job is {job.phase.value}, and no action has looked at it (actions: {actions})"


def job_entry(job: Job, state: State) -> dict[str, Any]:
    """A job as plain data; ranks, chips and nics are lists by rank, ranks is None unless the job is scheduled,
    policy is empty for a job whose keys cannot be valid."""
    found = outcome(job)
    tasks = ranked(job) if found == SCHEDULED else []
    nodes = state.cluster.by_name
    return {
        "name": job.name, "state": found, "ranks": [task.node for task in tasks] or None,
        "reason": reason_of(job, state), "namespace": job.namespace, "kind": job.kind, "queue": job.queue,
        "priority": job.priority, "policy": "" if job.refusal else chosen_policy(job, state), "phase": job.phase.value,
        "pods": len(job.tasks), "placed": len(job.placed), "minAvailable": job.min_available,
        "podNames": [task.name for task in tasks],
        "chips": [chips_of(task.held) for task in tasks],
        "nics": [nics_of_chips(nodes[task.node], task.held) for task in tasks if task.node is not None],
        "conditions": [{"type": one.type, "status": one.status, "reason": one.reason, "message": one.message,
                        "timeMs": one.time_ms} for one in job.conditions.values()],
    }
