"""What makes a job impossible on this cluster, found once, before it is first considered (JobValidateFailed).

volcano-sh/volcano: JobValid of plugin gang; Ascend/mind-cluster, component/ascend-for-volcano/plugin/factory.go and
job.go (JobValid). None of it changes while a cluster stands, so the job fails instead of waiting for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.chips import ChipRule, sharing
from distsim.scheduler.policies import policy
from distsim.scheduler.session.chipped import chosen_policy, chosen_rule
from distsim.scheduler.session.gang import min_available
from distsim.scheduler.session.words import counted
from distsim.scheduler.types import INVALID_ARGUMENT, NOT_ENOUGH_POD, VALIDATE_FAILED, Job, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State


def invalid(job: Job, state: State) -> Refusal | None:
    """Why a job can never run, None if it can: its keys, its queue, its pods, its chips, its topology."""
    return job.refusal or _queue_unknown(job, state) or _pods_missing(job, state) or _chips_wrong(job, state)


def _queue_unknown(job: Job, state: State) -> Refusal | None:
    names = [queue.name for queue in state.cluster.queues]
    if not names or job.queue in names:
        return None
    return Refusal(VALIDATE_FAILED, f"queue {job.queue!r} of job {job.name} is not a queue of cluster "
                                    f"{state.cluster.name}; valid: {', '.join(names)}", INVALID_ARGUMENT, final=True)


def _pods_missing(job: Job, state: State) -> Refusal | None:
    if not job.tasks:
        return Refusal(VALIDATE_FAILED, f"job {job.name} has no pods", NOT_ENOUGH_POD, final=True)
    wanted = min_available(job)
    if not state.settings.has("gang") or wanted <= len(job.tasks):
        return None
    return Refusal(VALIDATE_FAILED, f"job {job.name} has {counted(len(job.tasks), 'pod')}, its minAvailable is "
                                    f"{wanted}",
                   NOT_ENOUGH_POD, final=True)


def _chips_wrong(job: Job, state: State) -> Refusal | None:
    if not job.npu_tasks:
        return None
    rule = chosen_rule(job, state)
    return (rule.validate(job) or _share_impossible(job, rule, state)
            or policy(chosen_policy(job, state)).validate(job, state))


def _share_impossible(job: Job, rule: ChipRule, state: State) -> Refusal | None:
    shared = sharing(rule)
    if shared is None:
        return None
    return shared.impossible(job, (node for node in state.nodes.values() if node.node.resources.get(job.resource)))
