"""Fewer pods than a request has, for a gang that needs not all of them: whole partitions, at least minPartitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from distsim.scheduler.policies.hyper.asks import Asks
from distsim.scheduler.policies.hyper.lumps import partition_of
from distsim.scheduler.types import Job, Task


def smaller(job: Job, tasks: Sequence[Task], asks: Asks, least: int) -> list[list[Task]]:
    """Beginnings of a request, from the longest to the shortest: what is left when the last pods, and of a task with
    partitions the last partitions as wholes, are left out one after another. Each has at least `least` pods, and with
    the pods that run minPartitions of each task."""
    partition = partition_of(job, asks)
    units: dict[tuple[str, int] | str, list[Task]] = {}
    for task in tasks:
        units.setdefault(partition.get(task.index, task.name), []).append(task)
    count = Counter(role for role, _ in set(partition.values()))
    found, left = [], list(tasks)
    for key, unit in reversed(units.items()):
        role = key[0] if isinstance(key, tuple) else None
        if len(left) - len(unit) < max(1, least):
            break
        if role is not None:
            if count[role] - 1 < asks.partitions[role].least:
                continue
            count[role] -= 1
        gone = {task.name for task in unit}
        left = [task for task in left if task.name not in gone]
        found.append(left)
    return found
