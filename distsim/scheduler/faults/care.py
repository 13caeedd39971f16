"""What the recovery knows of a job: why it has stopped, which of its pods are on their way out, its reset.json."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from distsim.scheduler.faults.agent import Agent
from distsim.scheduler.faults.fault import Fault
from distsim.scheduler.faults.health import Health
from distsim.scheduler.faults.hot_reset import HotReset, Times
from distsim.scheduler.faults.levels import ISOLATE, ORDER, POLICIES, RESTART
from distsim.scheduler.faults.options import Options
from distsim.scheduler.faults.reasons import Reasons, TaskReason
from distsim.scheduler.faults.reset_json import RankFault, ResetConfig
from distsim.scheduler.faults.retry import Retries
from distsim.scheduler.state import State
from distsim.scheduler.types import Happening, Job, JobPhase, Task, TaskState

POD_FAILED_REASON, PROCESS_REASON = "pod-failed", "process-exception"      # reasons of mind-cluster's records
FINAL_PHASES = (JobPhase.COMPLETED, JobPhase.FAILED)


class Way(StrEnum):
    """What becomes of the pod of a task that has failed."""

    EVICTED = "evicted"            # it is replaced
    IN_PLACE = "in place"          # it stays, its faulty processes start again
    BY_AGENT = "by agent"          # it is replaced once its agent has ended


@dataclass
class Cause:
    """A task that has failed. node : where it was. ranks : (RankId, chip) of its faulty processes."""

    task: Task
    reason: str
    node: str
    way: Way = Way.EVICTED
    faults: tuple[Fault, ...] = ()
    ranks: tuple[tuple[int, int], ...] = ()
    rank: int = -1

    def record(self) -> TaskReason:
        """For job-reschedule-reason."""
        return TaskReason(self.reason, self.task.name, self.node, self.rank)


@dataclass
class Stop:
    """A time in which a job does not train.

    why : job, pod, process, in-place, hotReset, hotSwitch, joined (the session has given pods other nodes or more), or
    fault (nothing handles it). began_ms, ended_ms : the latter None while it lasts. saved : a checkpoint was saved as
    it began. keeps : only the step in progress is lost, because the other processes hold the state; otherwise training
    goes on from the last checkpoint.
    """

    why: str
    began_ms: int
    ended_ms: int | None = None
    saved: bool = False
    keeps: bool = False


@dataclass
class Switch:
    """A hot switch. backup : the pod that will take over from `task`, ready_ms : when it runs."""

    task: Task
    backup: Task
    faults: tuple[Fault, ...]
    ready_ms: int


@dataclass
class Care:
    """A job that faults have touched.

    agents : by node. causes : by pod, those that have failed and are not back. scope : of the reschedule in progress.
    releasing : pods that end gracefully -> when they have ended, None: never by themselves. forced_ms : when they are
    ended. pending_ms : since when pods wait for nodes. step : how often the scope has been widened. unknown : whether
    JobUnknown has been acted on. flush_ms : until when faults are gathered. listed : whether RankList holds failed
    ranks. restart_all : whether all processes start again when it is cleared. hot, hot_faults : hot resets, and what
    they are for, by pod. in_place : (pod, number) of the faults whose processes have been started again in place.
    gave_up : sub-health faults are ignored from now on. blocked : why the job stands still though nothing is done about
    it. bad : nodes whose score is lowered.
    """

    job: Job
    options: Options
    reset: ResetConfig
    agents: dict[str, Agent] = field(default_factory=dict)
    causes: dict[str, Cause] = field(default_factory=dict)
    scope: str = ""
    releasing: dict[str, int | None] = field(default_factory=dict)
    forced_ms: int | None = None
    pending_ms: int | None = None
    step: int = 0
    unknown: bool = False
    flush_ms: int | None = None
    listed: bool = False
    restart_all: bool = False
    hot: dict[str, HotReset] = field(default_factory=dict)
    hot_faults: dict[str, tuple[Fault, ...]] = field(default_factory=dict)
    in_place: dict[tuple[str, int], None] = field(default_factory=dict)
    switch: Switch | None = None
    gave_up: bool = False
    blocked: str = ""
    stops: list[Stop] = field(default_factory=list)
    bad: list[str] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether the job is in its final phase."""
        return self.job.phase in FINAL_PHASES

    @property
    def stop(self) -> Stop | None:
        """The stop in progress."""
        return self.stops[-1] if self.stops and self.stops[-1].ended_ms is None else None

    def task(self, name: str) -> Task:
        """A pod by its name."""
        return next(task for task in self.job.tasks if task.name == name)

    def evicted(self) -> list[Task]:
        """The failed tasks that are to be replaced, in the order in which they failed."""
        return [cause.task for cause in self.causes.values() if cause.way is Way.EVICTED]


@dataclass
class Ward:
    """What all parts of the recovery share. start_s : the cluster's start, seconds since 1970."""

    state: State
    health: Health
    retries: Retries
    reasons: Reasons
    times: Times
    start_s: int = 0
    now_ms: int = 0
    happenings: list[Happening] = field(default_factory=list)

    def say(self, kind: str, job: Job | None = None, message: str = "", task: Task | None = None,
            node: str = "") -> None:
        """Note what happens now."""
        self.happenings.append(Happening(self.now_ms, kind, job.uid if job else "", task.name if task else "",
                                         node or (task.node if task else None) or "", message))


def processes_of(job: Job) -> dict[str, tuple[int, ...]]:
    """RankIds of the processes of each pod, one a chip, counted through the pods in order of rank."""
    found, first = {}, 0
    for task in sorted(job.npu_tasks, key=lambda task: (task.rank, task.index)):
        found[task.name] = tuple(range(first, first + task.chips))
        first += task.chips
    return found


def faulty_processes(job: Job, task: Task, mask: int) -> tuple[tuple[int, int], ...]:
    """(RankId, chip) of the processes of a task whose chips are in a mask."""
    ranks = processes_of(job).get(task.name, ())
    chips = [chip for chip in range(task.held.bit_length()) if task.held >> chip & 1]
    return tuple((rank, chip) for rank, chip in zip(ranks, chips) if mask >> chip & 1)


def gravest(faults: Iterable[Fault]) -> str:
    """The gravest policy of some faults. A node that fails as a whole is isolated, a failed process starts again."""
    found = [POLICIES[fault.level] if fault.chips else ISOLATE for fault in faults]
    return max(found, key=ORDER.index, default=RESTART)


def entries_of(causes: Iterable[Cause]) -> list[RankFault]:
    """RankList of the failed tasks."""
    found = []
    for cause in causes:
        policy = gravest(cause.faults)
        codes = tuple(dict.fromkeys(code for fault in cause.faults for code in fault.codes))
        found += [RankFault(rank, chip, policy, policy, codes) for rank, chip in cause.ranks]
    return sorted(found, key=lambda entry: entry.rank)


def running(job: Job) -> list[Task]:
    """The pods that run."""
    return [task for task in job.tasks if task.node is not None and task.state is TaskState.RUNNING]
