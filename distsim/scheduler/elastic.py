"""elastic-scheduling: a job that runs on with less after a fault, when there are not enough nodes for what it asked.

Source: seed 001 (PodGroup Table 1, VolcanoJob Table 1: distributed); mind-cluster, docs "Elastic Training" and
"Resilience Controller": what was asked for is tried first; a job on one server goes by 8, 4, 2, 1 chips; a distributed
one gets half its demand, within [minReplicas, replicas], as the nodes allow; only fault-scheduling grace; once there is
enough again it goes back. How halves of odd numbers round (down), and that other keys must hold for the smaller size
too, is our decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from distsim.scheduler.types import FullSize, Job, Task


@dataclass(frozen=True, order=True)
class Size:
    """How large a job is. replicas : pods with chips. chips : of each."""

    replicas: int
    chips: int


def why_not_elastic(job: Job) -> str | None:
    """Why a job keeps the size that it asks for; None if it may run with less."""
    settings = job.settings
    if not settings.elastic:
        return "elastic-scheduling is off"
    if settings.fault_scheduling != "grace":
        return f"elastic-scheduling needs fault-scheduling grace, it is {settings.fault_scheduling}"
    if not job.npu_tasks:
        return "the job asks for no chips"
    return None


def full_size(job: Job) -> Size:
    """The size that a job asked for."""
    if job.full is None:
        return current_size(job)
    chips = [amount for amount in job.full.chips.values() if amount]
    return Size(len(chips), max(chips, default=0))


def current_size(job: Job) -> Size:
    """The size that a job has now."""
    tasks = job.npu_tasks
    return Size(len(tasks), max((task.chips for task in tasks), default=0))


def allowed_sizes(job: Job) -> tuple[Size, ...]:
    """The sizes that a job may run with, what it asked for first; only that for a job that is not elastic."""
    full = full_size(job)
    if why_not_elastic(job) is not None:
        return (full,)
    smaller = _by_replicas(job, full) if job.settings.distributed else _by_chips(full)
    return full, *(size for size in smaller if _keys_hold(job, size))


def next_smaller(job: Job) -> Size | None:
    """The largest allowed size below the present one, None if there is none."""
    now = current_size(job)
    return next((size for size in allowed_sizes(job) if size < now), None)


def resize(job: Job, size: Size) -> None:
    """Give a job one of its allowed sizes. Its tasks hold no node (AssertionError); the first pods stay, pods without
    chips too; min_available is at most the number of pods, and what it was once the job has its full size."""
    assert size in allowed_sizes(job), f"{job.uid} may not run with {size}"
    assert all(task.node is None for task in job.tasks), f"{job.uid} still holds nodes"
    whole = job.full or FullSize(tuple(job.tasks), {task.name: task.chips for task in job.tasks}, job.min_available)
    full = full_size(job)
    job.tasks = list(_kept(whole, size.replicas))
    for task in job.tasks:
        asked = whole.chips[task.name]
        _set_chips(job, task, asked if size == full else min(asked, size.chips))
    job.min_available = min(whole.min_available, len(job.tasks))
    job.full = None if size == full else whole


def _by_replicas(job: Job, full: Size) -> Iterator[Size]:
    replicas = full.replicas // 2
    while replicas >= job.settings.min_replicas:
        yield Size(replicas, full.chips)
        replicas //= 2


def _by_chips(full: Size) -> Iterator[Size]:
    """8, 4, 2, 1 chips of a job of one pod; several pods that are not distributed keep their size."""
    if full.replicas != 1:
        return
    chips = 1 << full.chips.bit_length()
    while chips > 1:
        chips //= 2
        if chips < full.chips:
            yield Size(1, chips)


def _keys_hold(job: Job, size: Size) -> bool:
    """Whether affinity-config and sp-block still divide a job of this size."""
    levels, block = job.settings.affinity_levels or (), job.settings.sp_block
    return all(size.replicas % level == 0 for level in levels) and (
        block is None or size.replicas * size.chips % block == 0)


def _kept(whole: FullSize, replicas: int) -> Iterator[Task]:
    for task in whole.tasks:
        if whole.chips[task.name]:
            replicas -= 1
            if replicas < 0:
                continue
        yield task


def _set_chips(job: Job, task: Task, chips: int) -> None:
    task.chips = chips
    if job.resource in task.request:
        task.request[job.resource] = chips
