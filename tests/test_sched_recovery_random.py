"""Any faults at any time: no chip is held twice, what faults took is given back, a job that stands has a reason."""

from __future__ import annotations

from typing import Any

import sched_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st
from sched_fault_cases import PS_PER_S, World, card, fails, node_down

from distsim.scheduler.faults import Fault, Times
from distsim.scheduler.faults.fault import FAULT_TYPES, LEVELS, NODE_STATES
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State
from distsim.scheduler.types import Job, JobPhase, TaskState

NODES = [f"n{number}" for number in range(8)]
WHEN = st.integers(0, 40)
LAST = st.one_of(st.none(), st.integers(1, 40))


@st.composite
def a_fault(draw: st.DrawFn, index: int) -> Fault:
    what = draw(st.sampled_from(["chip", "chip", "node", "nic", "pod", "process"]))
    node, at, duration = draw(st.sampled_from(NODES)), draw(WHEN), draw(LAST)
    if what == "chip":
        level, kind = draw(st.sampled_from(LEVELS)), draw(st.sampled_from(FAULT_TYPES[:2]))
        return card(node, [draw(st.integers(0, 7))], level, kind, at, duration, index, cured=draw(st.booleans()))
    if what == "node":
        return node_down(node, at, duration, index, draw(st.sampled_from(NODE_STATES)),
                         codes=("heartbeatTimeOut",) if draw(st.booleans()) else ())
    if what == "nic":
        return Fault(index, "nic", at * PS_PER_S, None if duration is None else duration * PS_PER_S, cuts=((node, 1),))
    return fails(what, draw(st.integers(0, 3)), at, index, job=draw(st.sampled_from(["job0", "job1", "job2"])))


@st.composite
def job_settings(draw: st.DrawFn) -> dict[str, Any]:
    return {"fault_scheduling": draw(st.sampled_from(["off", "force", "grace"])),
            "fault_retry_times": draw(st.sampled_from([None, 0, 2])), "pod_rescheduling": draw(st.booleans()),
            "process_recover": draw(st.booleans()), "recover_pod_only": draw(st.booleans()),
            "sub_healthy": draw(st.sampled_from(["ignore", "graceExit", "forceExit", "hotSwitch"])),
            "elastic": draw(st.booleans()), "distributed": draw(st.booleans())}


@st.composite
def a_world(draw: st.DrawFn) -> World:
    state = cases.tor_state(2, 4, settings=SchedulerSettings(grace_over_time_s=10))
    faults = [draw(a_fault(index)) for index in range(draw(st.integers(1, 6)))]
    world = World(state, faults, Times(error_clean=5_000, self_healing=3_000, reset=8_000, npu_ready=2_000,
                                       backup=draw(st.sampled_from([0, 3_000]))))
    actions = st.sampled_from(["RestartJob", "RestartTask", "AbortJob"])
    for number in range(3):
        job = cases.job(draw(st.integers(1, 4)), draw(st.sampled_from([4, 8])), f"job{number}", **draw(job_settings()))
        for key in ("distsim/hot-reset", "distsim/subscribe-faults"):
            job.annotations[key] = draw(st.sampled_from(["on", "off"]))
        job.annotations["recover-strategy"] = draw(st.sampled_from(["", "recover-in-place"]))
        job.annotations["distsim/graceful-end"] = draw(st.sampled_from(["0s", "4s", "20s"]))
        if draw(st.booleans()):
            event = draw(st.sampled_from(["PodFailed", "PodEvicted", "JobUnknown", "*"]))
            job.policies = ((event, draw(actions), None),)
        world.scheduler.submit(job, 0)
    return world


def check(state: State) -> None:
    """Every chip has the holders that the tasks say, and no other."""
    for node in state.nodes.values():
        held = 0
        for task in node.tasks.values():
            assert task.node == node.name and not held & task.held
            held |= task.held
        assert held == node.used
    for job in state.jobs.values():
        for task in job.tasks:
            assert (task.node is None) == (task.state not in (TaskState.RUNNING, TaskState.RELEASING))
            assert task.node is None or state.nodes[task.node].tasks[f"{job.uid}/{task.name}"] is task


def starved(state: State, job: Job) -> bool:
    """Whether others hold the nodes that pods of a job wait for (recover_policy_path pod and processes never widen)."""
    waiting = [task.chips for task in job.tasks if task.node is None]
    free = [8 - node.used.bit_count() for node in state.nodes.values()]
    return bool(waiting) and sum(chips >= min(waiting) for chips in free) < len(waiting)


@settings(max_examples=150, deadline=None)
@given(a_world())
def test_any_faults(world: World) -> None:
    for until in range(0, 140, 7):
        check(world.run(until).state)
    state, recovery = world.state, world.recovery
    for job in state.jobs.values():
        if job.phase in (JobPhase.COMPLETED, JobPhase.FAILED):
            assert job.reason and not any(task.node for task in job.tasks)
        if job.phase is JobPhase.RUNNING and not any(task.node is None for task in job.tasks):
            assert recovery.trains(job) or recovery.stuck(job) or recovery.next_ms() is not None
    for fault in world.faults:
        if fault.end_ms is None and fault.target not in ("pod", "process"):
            recovery.end(fault, world.now_ms)
    world.run(world.now_ms // 1000 + 60)
    check(state)
    assert all((node.barred, node.cut, node.healthy, node.sub_healthy) == (0, 0, True, False)
               for node in state.nodes.values())
    assert all(recovery.trains(job) or starved(state, job) for job in state.jobs.values()
               if job.phase is JobPhase.RUNNING)
