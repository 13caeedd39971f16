"""What makes a job impossible under policy multilevel.

The table of validity of cluster.md section 3, as far as it needs the number of pods and the cluster; what the text of
huawei.com/affinity-config says by itself is checked where it is read (keys/values.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distsim.scheduler.types import INVALID_ARGUMENT, NOT_SUPPORT_POLICY, VALIDATE_FAILED, Job, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State

KEY = "huawei.com/affinity-config"


def invalid(job: Job, state: State) -> Refusal | None:
    """JobValidateFailed, or None: what `unsupported` says, and sizes that do not divide each other or the pods."""
    return unsupported(job, state) or _indivisible(job)


def unsupported(job: Job, state: State) -> Refusal | None:
    """JobValidateFailed for a job without affinity-config, or one whose levels no tree of the cluster has."""
    sizes = job.settings.affinity_levels
    if not sizes:
        return _refused(job, f"annotation {KEY} is missing; policy multilevel needs it, e.g. level1=2,level2=4")
    trees = state.settings.levels
    if not any(trees.values()):
        return _refused(job, "the scheduler has no resource-level-config; policy multilevel needs one, which names the "
                             "node label of each level", NOT_SUPPORT_POLICY)
    deepest = max(map(len, trees.values()))
    if len(sizes) > deepest:
        known = ", ".join(f"{name}: {len(trees[name])}" for name in sorted(trees))
        return _refused(job, f"{KEY} has {len(sizes)} levels, but no tree of resource-level-config has more than "
                             f"{deepest} (levels by tree: {known})")
    return None


def _indivisible(job: Job) -> Refusal | None:
    sizes, pods = job.settings.affinity_levels or (), len(job.npu_tasks)
    for level, size in enumerate(sizes, 1):
        if size < 1:
            return _refused(job, f"{KEY}: level{level}={size} is out of range; valid: 1 or more")
        if level > 1 and size % sizes[level - 2]:
            return _refused(job, f"{KEY}: level{level}={size} is not a multiple of level{level - 1}={sizes[level - 2]}")
    for level, size in enumerate(sizes, 1):
        if pods % size:
            return _refused(job, f"{KEY}: the job's {pods} pods are not a multiple of level{level}={size}")
    return None


def _refused(job: Job, message: str, reason: str = INVALID_ARGUMENT) -> Refusal:
    return Refusal(VALIDATE_FAILED, f"job {job.name}: {message}", reason, final=True)
