"""Action enqueue: which Pending jobs go to Inqueue, and which Inqueue jobs leave it again.

cluster.md section 5; Ascend/mind-cluster, component/ascend-for-volcano/npu.go (jobEnqueueable, jobDequeueForTimeout,
getNpuNum); volcano-sh/volcano, plugin proportion (JobEnqueueable). A job of chips needs as many idle healthy ones as
its first minAvailable pods ask for. With forceEnqueue that is all; otherwise proportion is asked too: what the queue
holds, what its Inqueue jobs ask for and this job must fit into the cluster together.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from distsim.scheduler.chips import rule_of, sharing
from distsim.scheduler.elastic import current_size
from distsim.scheduler.session import amounts, counters
from distsim.scheduler.session.gang import min_available
from distsim.scheduler.session.queues import Queues, least
from distsim.scheduler.session.resizing import sizes_to_try
from distsim.scheduler.session.round import Round
from distsim.scheduler.session.words import counted
from distsim.scheduler.types import ENQUEUE_FAILED, Job, JobPhase, Refusal

if TYPE_CHECKING:
    from distsim.scheduler.state import State

DEQUEUE_AGE_MS = 300_000        # a job must be older than that


def enqueue(round_: Round) -> None:
    """Consider every Pending job once, in the order of queues and jobs."""
    state = round_.state
    queues = Queues(state)
    waiting = [job for job in state.jobs.values() if job.phase is JobPhase.PENDING]
    chips = IdleChips(state)
    dequeued: set[str] = set()
    for job in queues.turns(waiting):
        if state.settings.has("volcano-npu") and job.queue not in dequeued:
            dequeued.add(job.queue)
            _dequeue(round_, job)
        refusal = _chips_missing(job, chips) or _quota_missing(job, queues)
        round_.consider(job, refusal)
        if refusal is None:
            queues.enter(job)
            to_inqueue(round_, job)


def to_inqueue(round_: Round, job: Job) -> None:
    """Let a job go to Inqueue."""
    job.phase = JobPhase.INQUEUE
    counters.note_enqueued(job, round_.state.now_ms)
    round_.happen("enqueued", job, f"queue {job.queue}")


class IdleChips:
    """How many chips of a kind are idle and healthy, counted once while no pod moves."""

    def __init__(self, state: State):
        self.state = state
        self._found: dict[tuple[str, bool, bool], tuple[int, int]] = {}

    def count(self, job: Job) -> tuple[int, int]:
        """(chips, nodes that have them) for a job. Jobs of several pods get none that a fault has cut off the network;
        a job that shares chips may get those that are shared."""
        shared = sharing(rule_of(job)) is not None
        key = job.resource, job.several, shared
        if key not in self._found:
            self._found[key] = self._count(*key)
        return self._found[key]

    def _count(self, resource: str, several: bool, shared: bool) -> tuple[int, int]:
        chips = nodes = 0
        for node in self.state.nodes.values():
            if node.healthy and node.enabled and node.node.resources.get(resource):
                mask = node.idle(several)
                if shared:
                    for chip in node.shares:
                        mask |= 1 << chip
                chips += mask.bit_count()
                nodes += bool(mask)
        return chips, nodes


def _chips_missing(job: Job, chips: IdleChips) -> Refusal | None:
    if not job.resource or job.settings.skip_ascend or not chips.state.settings.has("volcano-npu"):
        return None
    pods, wanted = _asked(job)
    idle, nodes = chips.count(job)
    if idle >= wanted:
        return None
    of_all = f"{nodes} of {counted(len(chips.state.nodes), 'node')}"
    return Refusal(ENQUEUE_FAILED, f"job {job.name} requires {wanted} {job.resource} for {counted(pods, 'pod')}, "
                                   f"{idle} are idle and healthy on {of_all}{_unknown_kind(job, chips.state)}")


def _unknown_kind(job: Job, state: State) -> str:
    """That no node has chips of the job's kind at all, as the end of a sentence."""
    have = any(node.node.resources.get(job.resource) for node in state.nodes.values())
    return "" if have else f"; no node of cluster {state.cluster.name} has {job.resource}"


def _asked(job: Job) -> tuple[int, int]:
    """(pods, chips) without which a job cannot run: its first minAvailable pods, or its smallest size."""
    smallest = sizes_to_try(job)[-1]
    if smallest != current_size(job):
        return smallest.replicas, smallest.replicas * smallest.chips
    pods = job.tasks[:min_available(job)]
    return len(pods), sum(task.chips for task in pods)


def _quota_missing(job: Job, queues: Queues) -> Refusal | None:
    settings, queue = queues.state.settings, queues.of(job)
    forced = settings.force_enqueue and settings.has("volcano-npu") and job.resource and not job.settings.skip_ascend
    if forced or not queues.fair or queue is None:
        return None
    total = queues.total
    for name, amount in least(job).items():
        most, held = total.get(name), queue.held.get(name, Fraction(0))
        before = queue.inqueue.get(name, Fraction(0))
        if most is not None and held + before + amount > most:
            return Refusal(ENQUEUE_FAILED, f"job {job.name} requires {amounts.shown(amount)} {name}; queue {job.queue} "
                                           f"holds {amounts.shown(held)}, {amounts.shown(before)} are asked for by "
                                           f"Inqueue jobs, the cluster has {amounts.shown(most)}")
    return None


def _dequeue(round_: Round, considered: Job) -> None:
    """Send the Inqueue jobs of a queue that allow it and are older than 5 minutes back to Pending."""
    for job in list(_old(round_.state, considered.queue)):
        job.phase = JobPhase.PENDING
        counters.note_dequeued(job)
        round_.happen("dequeued", job, f"Inqueue for more than {DEQUEUE_AGE_MS // 1000} s, job {considered.name} is "
                                       f"considered; {counters.DEQUEUE_FREQUENCY} is "
                                       f"{job.annotations[counters.DEQUEUE_FREQUENCY]}")


def _old(state: State, queue: str) -> Iterable[Job]:
    for job in state.jobs.values():
        since = counters.enqueue_time(job)
        if (job.queue == queue and job.phase is JobPhase.INQUEUE and job.settings.enable_dequeue and since is not None
                and state.now_ms - since > DEQUEUE_AGE_MS):
            yield job
