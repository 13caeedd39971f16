"""Plugin conformance: pods that the cluster itself needs are not evicted.

volcano-sh/volcano, pkg/scheduler/plugins/conformance: pods of namespace kube-system and of the priority classes
system-cluster-critical and system-node-critical. A job says its priority as a number; Kubernetes keeps those from 2
billion for these two classes, and users' classes end at 1 billion.
"""

from __future__ import annotations

from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.types import Job

SYSTEM_NAMESPACE = "kube-system"
SYSTEM_PRIORITY = 2_000_000_000


def protected(job: Job, settings: SchedulerSettings) -> str:
    """Why the pods of a job are not evicted while they could go on, "" if they may be.

    For evictions by choice: a move for the sake of topology, a new start of an elastic job with its full size, a
    graceful end for a sub-health fault. Pods whose chip or node is broken are lost anyway.
    """
    if not settings.has("conformance"):
        return ""
    if job.namespace == SYSTEM_NAMESPACE:
        return f"namespace {SYSTEM_NAMESPACE}"
    return f"priority {job.priority} of a system class" if job.priority >= SYSTEM_PRIORITY else ""
