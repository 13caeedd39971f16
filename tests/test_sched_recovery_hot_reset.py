"""Hot recovery of a chip while its pod stays: every step, and what becomes of the job."""

from __future__ import annotations

from typing import Any

import pytest
from sched_fault_cases import World, card, node_down, running, state_with

from distsim.scheduler.faults import Times
from distsim.scheduler.faults.hot_reset import HotReset
from distsim.scheduler.types import Job


def fields(world: World, job: Job) -> dict[str, Any]:
    found: dict[str, Any] = world.recovery.reset_json(job)["reset.json"]
    return found


TIMES = Times(error_clean=30_000, self_healing=15_000, reset=100_000, npu_ready=20_000)


def hot(level: str, for_s: int | None, cured: bool = True, until_s: int = 300, **settings: Any) -> tuple[World, Job]:
    """A job of two pods under hotReset; a chip of rank 1 has a fault at 10 s; n2 is free."""
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", **settings)
    job.annotations["distsim/hot-reset"] = "on"
    fault = card("n1", [3], level, at_s=10, for_s=for_s, cured=cured, codes=("80E18005",))
    return World(state, [fault], TIMES).run(until_s), job


@pytest.mark.parametrize(("level", "for_s", "cured", "end_s", "node", "keeps"), [
    ("RestartRequest", 20, True, 30, "n1", True),          # the error goes by itself within 30 s
    ("RestartRequest", None, True, 160, "n1", False),      # 30 s, then 100 s reset and 20 s until the chip is ready
    ("RestartRequest", None, False, 140, "n2", False),     # the reset does not help: isolated, rescheduled
    ("RestartBusiness", 10, True, 25, "n1", False),        # gone when the 15 s of self-healing are over
    ("RestartBusiness", None, True, 145, "n1", False),
    ("RestartBusiness", None, False, 125, "n2", False),
    ("RestartNPU", None, True, 130, "n1", False),
    ("RestartNPU", None, False, 110, "n2", False),
])
def test_hot_resets(level: str, for_s: int | None, cured: bool, end_s: int, node: str, keeps: bool) -> None:
    world, job = hot(level, for_s, cured)
    (stop,) = world.recovery.stops(job)
    assert (job.tasks[1].node, stop.began_ms, stop.ended_ms) == (node, 10_000, end_s * 1000)
    assert stop.keeps == keeps and world.recovery.trains(job)
    assert fields(world, job)["RankList"] == []
    assert (world.state.nodes["n1"].barred != 0) == (node == "n2")


def test_the_list_during_a_hot_reset() -> None:
    """All processes of the pod are listed, as chips of a ring are reset together. 30 s after the fault the policy goes
    from restart_request to reset, 100 s later the reset has not helped."""
    world, job = hot("RestartRequest", None, cured=False, until_s=39)
    document = world.recovery.reset_json(job)
    assert document["restartType"] == "hotReset"
    assert [entry["RankId"] for entry in document["reset.json"]["RankList"]] == list(range(8, 16))

    def state() -> tuple[str, str, str]:
        entry = fields(world, job)["RankList"][0]
        return entry["Policy"], entry["InitialPolicy"], entry["Status"]

    assert state() == ("restart_request", "restart_request", "unrecovered") and not world.recovery.trains(job)
    world.run(139)
    assert state() == ("reset", "restart_request", "unrecovered")
    world.run(140)
    assert job.tasks[1].node == "n2"
    reason = world.recovery.reschedule_reasons()["recent-reschedule-records"]["default/job"]["RescheduleRecords"][0]
    assert reason["ReasonOfTask"][0]["RescheduleReason"] == "CardUnhealthy"


@pytest.mark.parametrize(("level", "node"), [("FreeRestartNPU", "n1"), ("SeparateNPU", "n2")])
def test_levels_that_no_hot_reset_handles(level: str, node: str) -> None:
    """FreeRestartNPU waits until the chip is free: the job goes on, the chip takes no new task."""
    world, job = hot(level, None, until_s=20)
    assert job.tasks[1].node == node and world.state.nodes["n1"].barred == 8 and world.recovery.trains(job)


def test_hot_reset_and_process_recovery_exclude_each_other() -> None:
    """Both on: the whole job is rescheduled."""
    world, job = hot("RestartNPU", None, until_s=20, process_recover=True)
    assert world.recovery.stops(job)[0].why == "job" and len(world.said("evicted")) == 2


def test_a_node_that_dies_in_a_hot_reset() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force")
    job.annotations["distsim/hot-reset"] = "on"
    world = World(state, [card("n1", [3], "RestartNPU", at_s=10), node_down("n1", 50, index=1)], TIMES).run(60)
    assert job.tasks[1].node == "n2" and world.recovery.trains(job)
    assert fields(world, job)["RankList"] == []


def test_steps_of_a_hot_reset_by_themselves() -> None:
    one = HotReset("restart", TIMES, 1000)
    assert not one.advance(15_999, True, True) and one.due_ms == 16_000
    assert one.advance(16_000, True, True) and (one.policy, one.initial, one.due_ms) == ("reset", "restart", 116_000)
    assert one.advance(116_000, True, True) and one.cleans and one.due_ms == 136_000
    assert one.advance(136_000, True, True) and (one.status, one.due_ms) == ("recovered", None)
    assert not one.advance(200_000, True, True)
