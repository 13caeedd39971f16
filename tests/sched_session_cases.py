"""Settings, jobs, rounds and the invariants of a state, for the tests of sessions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sched_cases import CHIP, cluster, node
from sched_cases import job as chip_job

from distsim.cluster import Queue
from distsim.scheduler.session import Scheduler, min_available, ready
from distsim.scheduler.settings import ACTIONS, PLUGINS, SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Happening, Job, JobPhase, JobSettings, Task, TaskState

WAITING = (JobPhase.PENDING, JobPhase.INQUEUE)


def settings(without: Sequence[str] = (), plugins: dict | None = None, **fields: object) -> SchedulerSettings:
    """The default settings without some plugins and actions. plugins : arguments, by name."""
    given = plugins or {}
    return SchedulerSettings(actions=tuple(name for name in ACTIONS if name not in without),
                             plugins={name: given.get(name, {}) for name in PLUGINS if name not in without}, **fields)


def lab(nodes: int = 2, chips: int = 8, chosen: SchedulerSettings | None = None, queues: Sequence[Queue] = (),
        **fields: object) -> State:
    """Nodes n0, n1, ... without a topology. fields : of each node (cordoned, taints, labels, resources)."""
    made = [dataclasses.replace(node(f"n{number}", chips, number=number), **fields) for number in range(nodes)]
    return state_of(dataclasses.replace(cluster(made), queues=tuple(queues)), chosen)


def cpu_job(pods: int, cpu: int = 1000, name: str = "cpu", min_available: int | None = None) -> Job:
    """A job of pods without chips, of so many milli-cpus each; 0: they ask for nothing."""
    uid = f"default/{name}"
    tasks = [Task(uid, f"{name}-{index}", "worker", index, 0, {"cpu": cpu} if cpu else {}) for index in range(pods)]
    return Job(name, "default", "VolcanoJob", tasks, JobSettings(),
               min_available=pods if min_available is None else min_available)


def with_tasks(job: Job, *more: Task) -> Job:
    """A job with further tasks, all of which its gang needs."""
    job.tasks += more
    job.min_available = len(job.tasks)
    return job


def start(state: State, *jobs: Job, at_ms: int = 0, sessions: int = 1) -> tuple[Scheduler, list[Happening]]:
    """Hand jobs in, one millisecond apart, and run sessions a second apart."""
    scheduler = Scheduler(state)
    for number, job in enumerate(jobs):
        scheduler.submit(job, at_ms + number)
    return scheduler, rounds(scheduler, at_ms, sessions)


def rounds(scheduler: Scheduler, after_ms: int, count: int = 1) -> list[Happening]:
    """Sessions at each of the following seconds, and the invariants after each."""
    found: list[Happening] = []
    for number in range(1, count + 1):
        found += scheduler.session(after_ms + 1000 * number)
        verify(scheduler.state)
    return found


def nodes_of(job: Job) -> list[str | None]:
    """Where its pods are, in order of the job."""
    return [task.node for task in job.tasks]


def fail_node(state: State, name: str) -> list[Task]:
    """Break a node and take its pods off it, as the recovery from faults does."""
    state.nodes[name].healthy = False
    lost = list(state.nodes[name].tasks.values())
    for task in lost:
        state.release(task)
    return lost


def verify(state: State) -> None:
    """Everything that holds after any session: chips are held once, sums are right, gangs are whole or have lost pods,
    ranks are told apart, every job is final with a reason, runs, or waits with a condition."""
    for at in state.nodes.values():
        held = 0
        for task in at.tasks.values():
            assert task.node == at.name and task.held & ~at.all_chips == 0
            if not any(task.held >> chip & 1 for chip in at.shares):
                assert not held & task.held, f"{at.name}: a chip is given twice"
            held |= task.held
        assert held & ~at.used == 0
        for name, left in at.free.items():
            total = at.node.resources[name] * (1000 if name == "cpu" else 1)
            assert left == total - sum(task.request.get(name, 0) for task in at.tasks.values())
            assert left >= 0, f"{at.name}: {name} is given twice"
    for job in state.jobs.values():
        _verify_job(job, state)


def _verify_job(job: Job, state: State) -> None:
    placed = [task for task in job.tasks if task.node is not None]
    for task in job.tasks:
        assert (task.node is None) == (task.state not in (TaskState.RUNNING, TaskState.RELEASING))
        assert task.node is None or any(one is task for one in state.nodes[task.node].tasks.values())
        if task.spread:
            assert [one.node for one in placed].count(task.node) <= 1
    ranks = [task.rank for task in placed if task.chips or not job.npu_tasks]
    assert len(set(ranks)) == len(ranks) and all(0 <= rank < len(job.tasks) for rank in ranks)
    if job.phase in (JobPhase.COMPLETED, JobPhase.FAILED):
        assert job.reason and not placed
    elif job.phase in WAITING:
        assert not placed and job.conditions
    elif state.settings.has("gang") and ready(job) < min_available(job):
        # A gang that runs with less has lost pods, and says so.
        assert job.conditions and any(task.last_node is not None for task in job.tasks)


__all__ = ["CHIP", "WAITING", "chip_job", "cpu_job", "fail_node", "lab", "nodes_of", "rounds", "settings", "start",
           "verify", "with_tasks"]
