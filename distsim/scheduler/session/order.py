"""Which job is served first: the plugins that say so, in the order in which the configuration lists them.

volcano-sh/volcano, pkg/scheduler/framework (JobOrderFn: the first plugin that tells two jobs apart decides, then the
time of creation, then the name), plugins priority, gang, drf; Ascend/mind-cluster, component/ascend-for-volcano/npu.go
(jobOrderFn).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from distsim.scheduler.session import amounts
from distsim.scheduler.session.amounts import Amounts
from distsim.scheduler.session.counters import dequeue_frequency
from distsim.scheduler.session.gang import min_available, ready
from distsim.scheduler.types import Job

if TYPE_CHECKING:
    from distsim.scheduler.state import State

Key = Callable[[Job], object]


def in_order(jobs: Iterable[Job], state: State) -> list[Job]:
    """Jobs in the order in which they are served within a queue."""
    keys: dict[str, Key] = {"priority": _by_priority, "gang": _by_gang, "volcano-npu": _by_risk}
    if state.settings.has("drf"):
        keys["drf"] = _by_share(state)
    used = [keys[name] for name in state.settings.plugins if name in keys]
    return sorted(jobs, key=lambda job: (*(key(job) for key in used), job.created_ms, job.uid))


def dominant_share(held: Amounts, total: Amounts) -> Fraction:
    """The greatest part of any resource of the cluster (plugin drf)."""
    return max((amount / total[name] for name, amount in held.items() if total.get(name)), default=Fraction(0))


def _by_priority(job: Job) -> int:
    return -job.priority


def _by_gang(job: Job) -> int:
    """Gangs that lack pods before those that run; first those of which a part runs, so that a gang that lost a node is
    whole again before a new job takes the repaired one (volcano-sh/volcano#5805)."""
    have = ready(job)
    if have >= min_available(job):
        return 2
    return 0 if have else 1


def _by_risk(job: Job) -> tuple[int, int]:
    """Jobs at risk (no more pods run than minAvailable) first, then those that were dequeued less often."""
    return int(ready(job) > min_available(job)), dequeue_frequency(job)


def _by_share(state: State) -> Key:
    """By dominant share, smallest first. Only pods that run count, so most waiting jobs have none."""
    total: Amounts = {}

    def key(job: Job) -> Fraction:
        placed = [task for task in job.tasks if task.node is not None]
        if not placed:
            return Fraction(0)
        if not total:
            total.update(amounts.total(state))
        return dominant_share(amounts.of_tasks(job, placed), total)

    return key
