"""The pods of a request, cut into what is placed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from distsim.scheduler.policies.hyper.asks import Asks
from distsim.scheduler.types import Job, Task

Shape = tuple[int, bool, tuple[tuple[str, int], ...]]


@dataclass(frozen=True)
class Lump:
    """Pods of one shape that are placed together: a partition, or all pods of a shape that are in none.

    name : for messages. tasks : in rank order. tier : the highest that they may span. role : task of the partition,
    None without. kept : pods of the partition that keep their nodes.
    """

    name: str
    tasks: tuple[Task, ...]
    tier: int
    role: str | None = None
    kept: tuple[Task, ...] = ()

    @property
    def chips(self) -> int:
        """Chips of all its pods."""
        return sum(task.chips for task in self.tasks)


def shape_of(task: Task) -> Shape:
    """What a pod asks of a node, apart from which nodes it may stand on."""
    return task.chips, task.spread, tuple(sorted(task.request.items()))


def partition_of(job: Job, asks: Asks) -> dict[int, tuple[str, int]]:
    """(task, number of the partition) by `Task.index`, which a backup pod shares with the pod that it stands in for:
    pod i of a task is in partition i // partitionSize."""
    seen: dict[str, int] = {}
    found: dict[int, tuple[str, int]] = {}
    for task in job.tasks:
        at = seen[task.role] = seen.get(task.role, -1) + 1
        if task.role in asks.partitions:
            found[task.index] = task.role, at // asks.partitions[task.role].size
    return found


def lumps_of(job: Job, tasks: Sequence[Task], asks: Asks) -> list[Lump]:
    """The pods to place: partitions that lost pods, then the others by shape."""
    partition = partition_of(job, asks)
    asked = {task.name for task in tasks}
    lost: dict[tuple[str, int], list[Task]] = {}
    others: dict[Shape, list[Task]] = {}
    for task in tasks:
        if task.index in partition:
            lost.setdefault(partition[task.index], []).append(task)
        else:
            others.setdefault(shape_of(task), []).append(task)
    kept: dict[tuple[str, int], list[Task]] = {key: [] for key in lost}
    for task in job.tasks:
        if task.node is not None and task.name not in asked and partition.get(task.index) in kept:
            kept[partition[task.index]].append(task)
    return [*(_partition(key, group, kept[key], asks) for key, group in lost.items()),
            *(_rest(group, asks) for group in others.values())]


def _partition(key: tuple[str, int], group: Sequence[Task], kept: Sequence[Task], asks: Asks) -> Lump:
    role, number = key
    return Lump(f"partition {number} of task {role}", tuple(group), asks.partitions[role].tier, role, tuple(kept))


def _rest(group: Sequence[Task], asks: Asks) -> Lump:
    pods = "1 pod" if len(group) == 1 else f"{len(group)} pods"
    return Lump(f"{pods} of {group[0].chips} chips", tuple(group), asks.tier)
