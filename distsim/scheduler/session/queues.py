"""Queues: what each deserves of the cluster, what it holds, and which is served next (plugin proportion).

volcano-sh/volcano, pkg/scheduler/plugins/proportion. Queues come from the cluster file with weight and priority; when
it declares none, all jobs are in one queue. A queue that holds what it deserves of a resource waits; one below may take
a whole gang even if that lifts it above [our decision: with volcano's check pod by pod, two queues whose jobs are
larger than their shares wait for ever, volcano-sh/volcano#3725].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from distsim.scheduler.session import amounts
from distsim.scheduler.session.amounts import Amounts
from distsim.scheduler.session.gang import min_available, pending
from distsim.scheduler.session.order import in_order
from distsim.scheduler.types import Job, JobPhase, Task

if TYPE_CHECKING:
    from distsim.scheduler.state import State


@dataclass
class QueueState:
    """A queue in a session. asked : what its pods hold and, of jobs that are Inqueue or Running, wait for.
    inqueue : what the least pods of its Inqueue jobs ask for."""

    name: str
    weight: int = 1
    priority: int = 0
    asked: Amounts = field(default_factory=dict)
    held: Amounts = field(default_factory=dict)
    deserved: Amounts = field(default_factory=dict)
    inqueue: Amounts = field(default_factory=dict)

    @property
    def share(self) -> Fraction:
        """The greatest part that it holds of anything that it deserves."""
        return max((self.held.get(name, Fraction(0)) / most for name, most in self.deserved.items() if most),
                   default=Fraction(0))


class Queues:
    """The queues of a cluster as they stand when it is made; `take` keeps it up to date."""

    def __init__(self, state: State):
        self.state = state
        self.declared = {queue.name: QueueState(queue.name, queue.weight, queue.priority)
                         for queue in state.cluster.queues}
        self._only = QueueState("")
        self.fair = state.settings.has("proportion")
        self._total: Amounts | None = None

    @property
    def total(self) -> Amounts:
        """What the cluster has in all. The sums of all queues are made when this is first asked for."""
        if self._total is None:
            self._total = amounts.total(self.state)
            self._sum_up(self._total)
        return self._total

    def of(self, job: Job) -> QueueState | None:
        """The queue of a job, None for a name that is not declared."""
        return self.declared.get(job.queue) if self.declared else self._only

    def turns(self, jobs: Iterable[Job]) -> Iterator[Job]:
        """Jobs in the order in which they are served: one of the first queue at a time, the queues in order of
        priority and then of the share that they hold by then; without proportion in the order of the file."""
        waiting: dict[str, list[Job]] = {}
        for job in in_order(jobs, self.state):
            queue = self.of(job)
            if queue is not None:
                waiting.setdefault(queue.name, []).append(job)
        for of_queue in waiting.values():
            of_queue.reverse()
        queues = [queue for queue in (*self.declared.values(), self._only) if queue.name in waiting]
        while queues:
            first = min(queues, key=self._rank) if self.fair and len(queues) > 1 else queues[0]
            yield waiting[first.name].pop()
            if not waiting[first.name]:
                queues.remove(first)

    def over(self, job: Job, tasks: Iterable[Task]) -> str:
        """Why a job's queue waits, "" if it is served: it holds what it deserves of something that the pods want."""
        queue = self.of(job)
        if not self.fair or not self.declared or queue is None or not self.total:
            return ""
        for name in amounts.of_tasks(job, tasks):
            held, most = queue.held.get(name, Fraction(0)), queue.deserved.get(name, Fraction(0))
            if held >= most and held:
                return (f"queue {queue.name} (weight {queue.weight} of "
                        f"{sum(one.weight for one in self.declared.values())}) holds {amounts.shown(held)} {name} and "
                        f"deserves {amounts.shown(most)}; job {job.name} waits")
        return ""

    def take(self, job: Job, tasks: Iterable[Task]) -> None:
        """Note that pods of a job have got what they ask for."""
        queue = self.of(job)
        if queue is not None and self._total is not None:
            amounts.add(queue.held, amounts.of_tasks(job, tasks))

    def enter(self, job: Job) -> None:
        """Note that a job has gone to Inqueue."""
        queue = self.of(job)
        if queue is not None and self._total is not None:
            amounts.add(queue.inqueue, least(job))

    def _rank(self, queue: QueueState) -> tuple[int, Fraction]:
        return -queue.priority, queue.share if self.total else Fraction(0)

    def _sum_up(self, total: Amounts) -> None:
        """Count what the queues hold and ask for, and divide the cluster between those that are declared."""
        for job in self.state.jobs.values():
            queue = self.of(job)
            if queue is not None and job.phase not in (JobPhase.COMPLETED, JobPhase.FAILED):
                _count(queue, job)
        for name, amount in total.items() if self.declared else ():
            asked = {queue.name: queue.asked.get(name, Fraction(0)) for queue in self.declared.values()}
            weights = {queue.name: queue.weight for queue in self.declared.values()}
            for queue_name, share in fair_shares(amount, weights, asked).items():
                self.declared[queue_name].deserved[name] = share


def fair_shares(total: Fraction, weights: Mapping[str, int], asked: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Divide an amount by weight, none getting more than it asks for; what that leaves goes to the others by weight.

    10 of weights 1, 1, 2 that ask for 1, 9, 9: 1, 3 and 6."""
    shares = dict.fromkeys(weights, Fraction(0))
    left, open_names = Fraction(total), [name for name in weights if weights[name] > 0]
    while open_names:
        unit = left / sum(weights[name] for name in open_names)
        met = [name for name in open_names if asked[name] <= unit * weights[name]]
        for name in met or open_names:
            shares[name] = asked[name] if met else unit * weights[name]
            left -= shares[name]
        open_names = [name for name in open_names if name not in met] if met else []
    return shares


def least(job: Job) -> Amounts:
    """What the first minAvailable pods of a job ask for, its PodGroup's minResources."""
    return amounts.of_tasks(job, job.tasks[:min_available(job)])


def _count(queue: QueueState, job: Job) -> None:
    held = amounts.of_tasks(job, (task for task in job.tasks if task.node is not None))
    amounts.add(queue.held, held)
    amounts.add(queue.asked, held)
    if job.phase is not JobPhase.PENDING:
        amounts.add(queue.asked, amounts.of_tasks(job, pending(job)))
    if job.phase is JobPhase.INQUEUE:
        amounts.add(queue.inqueue, least(job))
