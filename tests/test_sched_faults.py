"""The keys of a job that say how it recovers, value by value (seed 001, PodGroup Table 1; distsim/scheduler/keys)."""

from __future__ import annotations

from typing import Any

import pytest
from sched_fault_cases import World, card, fails, node_down, running, state_with

from distsim.scheduler.types import Job, JobPhase, TaskState


def nodes_of(job: Job) -> list[str | None]:
    return [task.node for task in job.tasks]


@pytest.mark.parametrize("value", ["off", "force", "grace"])
def test_fault_scheduling(value: str) -> None:
    """A fault of n1 from 10 s on: off never moves a pod; force does at once; grace lets pods end by themselves (here
    within 7 s) and places them then."""
    state = state_with(4)
    job = running(state, ["n0", "n1"], fault_scheduling=value)
    job.annotations["distsim/graceful-end"] = "7s"
    world = World(state, [card("n1", [3], at_s=10)]).run(12)
    if value == "off":
        assert nodes_of(job) == ["n0", "n1"] and not world.recovery.trains(job)
        assert world.recovery.stuck(job) == ("CardUnhealthy on n1 (CardUnhealthy SeparateNPU of Ascend910-3 on n1), "
                                             "fault-scheduling is off")
        assert world.run(3600).said("evicted", "releasing") == []
        return
    if value == "force":
        assert world.said("evicted") == [(10_000, "evicted", "job-worker-0"), (10_000, "evicted", "job-worker-1")]
        assert "n1" not in nodes_of(job) and world.recovery.trains(job)
        return
    assert [task.state for task in job.tasks] == [TaskState.RELEASING] * 2
    assert nodes_of(job) == ["n0", "n1"] and not world.recovery.trains(job)         # they hold their chips
    world.run(17)
    assert world.said("released") == [(17_000, "released", "job-worker-0"), (17_000, "released", "job-worker-1")]
    assert "n1" not in nodes_of(job) and world.recovery.trains(job)
    assert world.recovery.stops(job)[0].ended_ms == 17_000


def test_off_trains_again_when_the_fault_has_gone() -> None:
    state = state_with(1)
    job = running(state, ["n0"], fault_scheduling="off")
    world = World(state, [card("n0", [0], at_s=10, for_s=30)]).run(60)
    (stop,) = world.recovery.stops(job)
    assert (stop.why, stop.began_ms, stop.ended_ms) == ("fault", 10_000, 40_000)
    assert world.recovery.trains(job) and world.recovery.stuck(job) == ""


@pytest.mark.parametrize(("over_s", "expected"), [(900, 910_000), (2, 12_000), (3600, 3_610_000)])
def test_grace_over_time(over_s: int, expected: int) -> None:
    """A pod on a node whose status is lost cannot end by itself: it is ended after grace-over-time."""
    state = state_with(3, grace_over_time_s=over_s)
    job = running(state, ["n0", "n1"], fault_scheduling="grace", pod_rescheduling=True)
    world = World(state, [node_down("n1", 10, codes=("heartbeatTimeOut",))]).run(3700)
    assert world.said("evicted", "released") == [(expected, "evicted", "job-worker-1")]
    assert world.message("evicted") == f"forced after {over_s} s"
    assert nodes_of(job) == ["n0", "n2"]


def test_a_pod_that_takes_too_long_is_ended() -> None:
    state = state_with(2, grace_over_time_s=30)
    job = running(state, ["n0"], fault_scheduling="grace")
    job.annotations["distsim/graceful-end"] = "31s"
    assert World(state, [card("n0", [0], at_s=10)]).run(60).said("evicted", "released") == [
        (40_000, "evicted", "job-worker-0")]


def test_a_lost_node_that_answers_again_lets_its_pod_end() -> None:
    state = state_with(2)
    running(state, ["n0"], fault_scheduling="grace")
    world = World(state, [node_down("n0", 10, 50, codes=("heartbeatTimeOut",))]).run(100)
    assert world.said("evicted", "released") == [(60_000, "released", "job-worker-0")]


@pytest.mark.parametrize("times", [0, 1, 3, 100])
def test_fault_retry_times(times: int) -> None:
    """A pod fails once more than there are retries: each failure takes one, the last one fails the job."""
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force", fault_retry_times=times)
    world = World(state, [fails("pod", at_s=10 * number, index=number) for number in range(1, times + 2)])
    for number in range(1, times + 1):
        world.run(10 * number)
        assert job.phase is JobPhase.RUNNING
        assert world.recovery.remain_retry_times()["default/job"]["Times"] == times - number
    world.run(10 * (times + 1))
    assert job.phase is JobPhase.FAILED and state.nodes["n0"].used == state.nodes["n1"].used == 0
    assert job.reason == (f"pod job-worker-0 failed with exit code 1; no retry is left of fault-retry-times {times}"
                          if times else "pod job-worker-0 failed with exit code 1; nothing restarts it: "
                                        "fault-scheduling is on without fault-retry-times, no policy is for PodFailed")


def test_hardware_takes_no_retry() -> None:
    state = state_with(4)
    job = running(state, ["n0"], fault_scheduling="force", fault_retry_times=1)
    faults = [card(f"n{number}", [0], at_s=10 + number, index=number) for number in range(3)]
    world = World(state, [*faults, fails("pod", at_s=50, index=3)]).run(49)
    assert nodes_of(job) == ["n3"] and world.recovery.remain_retry_times()["default/job"]["Times"] == 1
    world.run(51)
    assert nodes_of(job) == ["n3"] and job.phase is JobPhase.RUNNING
    assert world.recovery.remain_retry_times()["default/job"]["Times"] == 0


def test_remain_retry_times_have_the_uid_of_the_job() -> None:
    state = state_with(3)
    for name in ("one", "two"):
        running(state, ["n0" if name == "one" else "n1"], name=name, fault_scheduling="force", fault_retry_times=2)
    document = World(state, [card("n0", [0]), card("n1", [0], index=1)]).run(0).recovery.remain_retry_times()
    assert list(document) == ["default/one", "default/two"] and document["default/one"]["Times"] == 2
    uids = [entry["UUID"] for entry in document.values()]
    assert len(set(uids)) == 2 and all(len(str(uid)) == 36 for uid in uids)


def test_fault_scheduling_off_uses_no_retry() -> None:
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="off", fault_retry_times=3)
    World(state, [fails("pod", at_s=1, exit_code=137)]).run(2)
    assert job.phase is JobPhase.FAILED
    assert job.reason == ("pod job-worker-0 failed with exit code 137; nothing restarts it: fault-scheduling is off, "
                          "no policy is for PodFailed")


def evicted(rank: int = 1, **settings: Any) -> list[str]:
    """Pods that a chip fault of a job of four takes off their nodes at once."""
    state = state_with(6)
    running(state, ["n0", "n1", "n2", "n3"], fault_scheduling="force", **settings)
    world = World(state, [card(f"n{rank}", [0], at_s=5)]).run(5)
    return [name.removeprefix("job-worker-") for _, _, name in world.said("evicted")]


@pytest.mark.parametrize("value", ["on", "off"])
def test_pod_rescheduling(value: str) -> None:
    """on: the failed pod only, unless it is rank 0; off: the whole job."""
    assert evicted(pod_rescheduling=value == "on") == (["1"] if value == "on" else ["0", "1", "2", "3"])
    assert evicted(0, pod_rescheduling=value == "on") == ["0", "1", "2", "3"]


@pytest.mark.parametrize("value", ["on", "off"])
def test_process_recover(value: str) -> None:
    """on: the failed tasks only, and the others keep the state: only the step in progress is lost."""
    state = state_with(5)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", process_recover=value == "on")
    world = World(state, [card("n1", [0], at_s=5)]).run(10)
    (stop,) = world.recovery.stops(job)
    assert [name for _, _, name in world.said("evicted")] == [
        f"job-worker-{index}" for index in ([1] if value == "on" else [0, 1, 2])]
    assert (stop.why, stop.keeps) == (("process", True) if value == "on" else ("job", False))


def test_process_recover_does_not_widen() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", process_recover=True, pod_rescheduling=True)
    world = World(state, [card("n1", [0], at_s=5)]).run(100)
    assert world.said("escalated") == [] and nodes_of(job) == ["n0", None, "n2"]


@pytest.mark.parametrize("value", ["pod", None])
def test_recover_policy_path(value: str | None) -> None:
    """pod: the failed pod only, rank 0 too, and it stays so however long it is pending."""
    only = value == "pod"
    assert evicted(0, recover_pod_only=only, pod_rescheduling=True) == (["0"] if only else ["0", "1", "2", "3"])
    state = state_with(3)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", pod_rescheduling=True, recover_pod_only=only)
    world = World(state, [card("n1", [0], at_s=5)]).run(100)
    assert world.said("escalated") == ([] if only else [(17_000, "escalated", "")])
    assert nodes_of(job) == (["n0", None, "n2"] if only else [None, None, None])


@pytest.mark.parametrize("strategy", ["ignore", "graceExit", "forceExit", "hotSwitch"])
def test_sub_healthy_strategy(strategy: str) -> None:
    """A SubHealthFault under pod 1 of 2 at 10 s, with two nodes free; graceful ends take 5 s."""
    state = state_with(4)
    job = running(state, ["n0", "n1"], fault_scheduling="force", sub_healthy=strategy)
    job.annotations["distsim/graceful-end"] = "5s"
    world = World(state, [card("n1", [0], "SubHealthFault", at_s=10)]).run(20)
    assert state.nodes["n1"].sub_healthy and world.recovery.trains(job)
    stops = world.recovery.stops(job)
    if strategy == "ignore":
        assert nodes_of(job) == ["n0", "n1"] and stops == []
        return
    (stop,) = stops
    assert "n1" not in nodes_of(job)
    expected = {"graceExit": ("job", 15_000, True, False), "forceExit": ("job", 10_000, False, False),
                "hotSwitch": ("hotSwitch", 10_000, False, True)}
    assert (stop.why, stop.ended_ms, stop.saved, stop.keeps) == expected[strategy]
    if strategy == "hotSwitch":
        assert nodes_of(job)[0] == "n0" and world.said("evicted", "released") == []


def test_sub_health_needs_fault_scheduling() -> None:
    for strategy in ("graceExit", "forceExit", "hotSwitch"):
        state = state_with(3)
        job = running(state, ["n0"], fault_scheduling="off", sub_healthy=strategy)
        World(state, [card("n0", [0], "SubHealthFault", at_s=10)]).run(20)
        assert nodes_of(job) == ["n0"]
