"""A job on its way: the scheduler's job, its progress, and where on the fabric its ranks are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.errors import InputError
from distsim.scheduler.chips.soft_share import slowdown
from distsim.scheduler.explain.wires import nics_of_chips
from distsim.scheduler.state import task_key
from distsim.scheduler.types import Happening, JobPhase, TaskState

from .ledger import PS_PER_MS
from .progress import Progress, Standing
from .steptimes import Member
from .work import Work

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.scheduler.elastic import Size
    from distsim.scheduler.faults import Recovery
    from distsim.scheduler.faults.care import Stop
    from distsim.scheduler.state import State
    from distsim.scheduler.types import Job, Task

FINAL = (JobPhase.COMPLETED, JobPhase.FAILED)
Place = tuple[str, str, int]            # pod, node, mask of chips


@dataclass
class Track:
    """job, work, progress : of one job. member : its ranks while it runs. places : of the pods that its processes run
    in, by rank; nodes : of the last such pods. seen : how many stops of it the recovery has told. since : those of the
    interruption in progress; torn : a pod was taken without one. stands : no step of it can end.
    """

    job: Job
    work: Work
    progress: Progress
    member: Member | None = None
    places: tuple[Place, ...] = ()
    seen: int = 0
    since: list[Stop] = field(default_factory=list)
    torn: bool = False
    stands: bool = False
    first_ms: int | None = None
    end_ms: int | None = None

    @classmethod
    def of(cls, job: Job, work: Work, now_ms: int) -> Track:
        """A job that is handed in now."""
        return cls(job, work, Progress(work.plan, now_ms * PS_PER_MS, wanted_chips(job)))

    @property
    def running(self) -> bool:
        """Whether its processes run."""
        return self.progress.standing is Standing.RUNNING

    @property
    def kept(self) -> bool:
        """Whether the interruption in progress leaves the steps since the last checkpoint: they were saved, or other
        processes hold them."""
        return bool(self.since) and not self.torn and all(stop.saved or stop.keeps for stop in self.since)

    def follow(self, state: State, recovery: Recovery, now_ms: int) -> tuple[str, str] | None:
        """Let its processes stop or start as scheduler and recovery have decided. (kind, message) for the timeline when
        they start."""
        places = places_of(self.job)
        self._stop(recovery, places, now_ms)
        said = None
        if not self.running and places and recovery.trains(self.job):
            said = self._start(now_ms, places)
        if self.running:
            self.places, self.progress.chips = places, held_chips(self.job)
            self.member = member_of(self.job, state)
        return said

    def standstills(self) -> Iterator[Happening]:
        """When no step of it could end, and when steps went on."""
        goes_on = {span.from_ps for span in self.progress.spans}
        for from_ps, to_ps in self.progress.stalls:
            yield Happening(-(-from_ps // PS_PER_MS), "standing", self.job.uid, message="no step can end")
            if to_ps in goes_on:
                yield Happening(-(-to_ps // PS_PER_MS), "going", self.job.uid, message="steps end again")

    def _stop(self, recovery: Recovery, places: tuple[Place, ...], now_ms: int) -> None:
        """Interrupt it for stops that the recovery tells of (one may be over already), and for pods that are gone."""
        stops = recovery.stops(self.job)[self.seen:]
        self.seen += len(stops)
        gone = bool(set(self.places) - set(places)) or not recovery.trains(self.job)
        if self.running and (stops or gone):
            self.progress.interrupt(now_ms * PS_PER_MS)
            self.since, self.torn, self.member = [], not stops, None
        self.since += stops

    def _start(self, now_ms: int, places: tuple[Place, ...]) -> tuple[str, str]:
        first = self.progress.standing is Standing.QUEUED
        lost = self.progress.start(now_ms * PS_PER_MS, held_chips(self.job), self.kept)
        self.since, self.torn = [], False
        if first:
            self.first_ms = now_ms
            return "running", f"{count_of(len(places), 'pod')}, {count_of(self.progress.plan.steps, 'step')} to do"
        at = f"at step {self.progress.done + 1} of {self.progress.plan.steps}"
        return "resumed", f"{at}, {count_of(lost, 'step')} lost"


def places_of(job: Job) -> tuple[Place, ...]:
    """Where the pods of a job run that hold chips (all of its pods, if it asks for none), by rank."""
    return tuple((task.name, task.node or "", task.held) for task in ranked(job))


def ranked(job: Job) -> list[Task]:
    """The running pods that have ranks on the fabric, by rank."""
    wanted = job.npu_tasks or job.tasks
    found = [task for task in wanted if task.node is not None and task.state is TaskState.RUNNING]
    return sorted(found, key=lambda task: (task.rank < 0, task.rank, task.index))


def member_of(job: Job, state: State) -> Member:
    """The ranks of a job: pod by pod in rank order, for each chip its NIC, every NIC once. A pod without chips has its
    node's first NIC. InputError for a node without NICs."""
    hosts: dict[int, str] = {}
    factor = 1.0
    for task in ranked(job):
        node = state.nodes[task.node or ""]
        if not node.node.nics:
            raise InputError(f"job {job.uid}: node {node.name} has no NIC on the fabric, so no rank of a job can run "
                             "on it", where="pools.nics")
        for host in nics_of_chips(node.node, task.held) if task.chips else node.node.nics[:1]:
            hosts.setdefault(host, node.name)
        for shares in node.shares.values():
            if any(share.task == task_key(task) for share in shares):
                factor = max(factor, slowdown(shares, task_key(task)))
    return _member(job, hosts, factor)


def _member(job: Job, hosts: dict[int, str], factor: float) -> Member:
    counts: dict[str, int] = {}
    for node in hosts.values():
        counts[node] = counts.get(node, 0) + 1
    sizes = set(counts.values())
    alone = list(dict.fromkeys(hosts.values()))
    in_order = [node for node in alone for _ in range(counts[node])] == list(hosts.values())
    return Member(job.uid, tuple(hosts), len(counts), sizes.pop() if len(sizes) == 1 and in_order else 1, factor)


def wanted_chips(job: Job) -> int:
    """How many chips a job asks for; 1 if none, so that its time still counts."""
    return sum(task.chips for task in job.tasks) or 1


def held_chips(job: Job) -> int:
    """How many chips the pods of a job hold; 1 if it asks for none."""
    return sum(task.held.bit_count() for task in ranked(job)) or 1


def count_of(number: int, what: str) -> str:
    """1 step, 2 steps."""
    return f"{number} {what}{'s' * (number != 1)}"


def provisional(job: Job, cluster: Cluster, size: Size | None = None) -> Member | None:
    """Ranks as the job would have them, at this size, on the first nodes that are large enough, for a look at its
    workload before anything runs; None where the cluster is too small."""
    tasks, hosts = job.npu_tasks or job.tasks, dict[int, str]()
    nodes = iter(node for node in cluster.nodes if node.nics)
    for task in tasks if size is None else tasks[:size.replicas]:
        chips = task.chips if size is None else min(task.chips, size.chips)
        node = next((node for node in nodes if node.gpus >= chips), None)
        if node is None:
            return None
        found = nics_of_chips(node, (1 << chips) - 1) if chips else list(node.nics[:1])
        hosts |= dict.fromkeys(found, node.name)
    return _member(job, hosts, 1.0)
