"""Rescheduling as time goes on: escalation, score of failing nodes, several faults, what the clock says is due."""

from __future__ import annotations

import pytest
import sched_cases as cases
from sched_fault_cases import World, card, fails, node_down, running, state_with

from distsim.scheduler.faults.scope import widened
from distsim.scheduler.policies.blocks.pods import SUPER_POD_KEYS
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import Job, JobPhase


def nodes_of(job: Job) -> list[str | None]:
    return [task.node for task in job.tasks]


def super_pods(sizes: tuple[int, ...]) -> State:
    """SuperPoDs 0, 1, ... of nodes named s<pod>n<number>, 8 chips each; nothing is kept in reserve."""
    nodes = [cases.node(f"s{pod}n{number}", labels={SUPER_POD_KEYS[0]: str(pod)}) for pod, size in enumerate(sizes)
             for number in range(size)]
    return state_of(cases.cluster(nodes), SchedulerSettings(reserve_nodes=0))


def blocks_job(state: State, nodes: list[str]) -> Job:
    """A job with logical SuperPoDs of two nodes."""
    return running(state, nodes, fault_scheduling="force", pod_rescheduling=True, sp_block=16,
                   schedule_policy="chip8-node8-sp")


def test_a_pod_that_finds_a_node_does_not_widen() -> None:
    state = state_with(4)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", pod_rescheduling=True)
    world = World(state, [card("n1", [0], at_s=5)]).run(60)
    assert nodes_of(job) == ["n0", "n3", "n2"] and world.said("escalated") == []
    assert [task.rank for task in job.tasks] == [0, 1, 2] and job.level_up == 0


def test_the_whole_job_goes_after_12_sessions() -> None:
    """No spare node: the pod of n1 stays pending until the others give their nodes back too."""
    state = state_with(3)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", pod_rescheduling=True)
    world = World(state, [card("n1", [0], at_s=5)])
    assert nodes_of(world.run(16.999) and job) == ["n0", None, "n2"]
    world.run(17)
    assert nodes_of(job) == [None] * 3 and job.phase is JobPhase.PENDING
    assert world.said("escalated") == [(17_000, "escalated", "")]
    assert world.message("escalated") == "pending for 12 sessions: 3 of 3 pods"
    assert world.recovery.stops(job)[0].why == "job"


def test_a_repair_in_time_stops_the_widening() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", pod_rescheduling=True)
    world = World(state, [card("n1", [0], at_s=5, for_s=10)]).run(60)
    assert nodes_of(job) == ["n0", "n1", "n2"] and world.said("escalated") == []
    (stop,) = world.recovery.stops(job)
    assert (stop.began_ms, stop.ended_ms, stop.why) == (5000, 15_000, "pod")


def test_the_logical_super_pod_goes_after_6_sessions() -> None:
    """Ranks 2 and 3 form the second block. SuperPoD 0 has no node left for the failed rank 3; a whole block finds two
    nodes in SuperPoD 1 once rank 2 is released as well."""
    state = super_pods((4, 2))
    job = blocks_job(state, ["s0n0", "s0n1", "s0n2", "s0n3"])
    state.nodes["s1n0"].used = 255
    world = World(state, [card("s0n3", [0], at_s=5)]).run(10)
    assert nodes_of(job) == ["s0n0", "s0n1", "s0n2", None] and job.level_up == 0
    world.run(11)
    assert world.said("escalated") == [(11_000, "escalated", "")] and job.level_up == 1
    assert world.message("escalated") == "pending for 6 sessions: 2 of 4 pods"
    assert nodes_of(job) == ["s0n0", "s0n1", None, None]
    state.nodes["s1n0"].used = 0
    world.run(12)
    assert nodes_of(job) == ["s0n0", "s0n1", "s1n0", "s1n1"] and job.level_up == 0


def test_the_group_of_level_1_goes_after_6_sessions() -> None:
    """Racks of two nodes under one spine; groups of two pods in a rack. Rank 3 fails and its rack has no other node, so
    the group of ranks 2 and 3 moves to the free rack after 6 s; the other group stays."""
    nodes = [cases.node(f"r{rack}n{number}", labels={"rack": f"r{rack}", "spine": "s"}) for rack in range(3)
             for number in range(2)]
    state = state_of(cases.cluster(nodes), SchedulerSettings(levels={"default": (("rack", 0), ("spine", 0))}))
    job = running(state, ["r0n0", "r0n1", "r1n0", "r1n1"], fault_scheduling="force", pod_rescheduling=True,
                  schedule_policy="multilevel", affinity_levels=(2, 4))
    world = World(state, [card("r1n1", [0], at_s=5)]).run(10)
    assert nodes_of(job) == ["r0n0", "r0n1", "r1n0", None]
    world.run(11)
    assert nodes_of(job) == ["r0n0", "r0n1", "r2n0", "r2n1"] and [task.rank for task in job.tasks] == [0, 1, 2, 3]


def test_the_block_of_rank_0_takes_the_whole_job_along() -> None:
    state = super_pods((4,))
    job = blocks_job(state, ["s0n0", "s0n1", "s0n2", "s0n3"])
    world = World(state, [card("s0n1", [0], at_s=5)]).run(11)
    assert nodes_of(job) == [None] * 4
    assert world.message("escalated") == "pending for 6 sessions: 4 of 4 pods"


def test_after_the_block_the_whole_job() -> None:
    state = super_pods((4,))
    job = blocks_job(state, ["s0n0", "s0n1", "s0n2", "s0n3"])
    world = World(state, [card("s0n3", [0], at_s=5)]).run(17)
    assert [one[0] for one in world.said("escalated")] == [11_000, 17_000] and nodes_of(job) == [None] * 4


@pytest.mark.parametrize(("failed", "expected"), [([3], [2, 3]), ([5], [4, 5, 6, 7]), ([2, 7], [2, 3, 4, 5, 6, 7])])
def test_one_step_wider_is_the_group(failed: list[int], expected: list[int]) -> None:
    """sp-block of two pods for the first case; affinity-config level1=4 gives groups 0..3 and 4..7."""
    multilevel = expected == [4, 5, 6, 7]
    job = cases.job(8, schedule_policy="multilevel" if multilevel else "chip8-node8-sp",
                    sp_block=None if multilevel else 16, affinity_levels=(4, 8) if multilevel else None)
    for rank, task in enumerate(job.tasks):
        task.rank = rank
    if failed == [2, 7]:
        expected = [2, 3, 6, 7]
    found = widened(job, [job.tasks[rank] for rank in failed], 8)
    assert found is not None and [task.rank for task in found] == expected


def test_a_job_without_groups_has_no_step_between() -> None:
    assert widened(cases.job(4), [], 8) is None


def test_failing_nodes_lose_64_until_the_job_runs_again() -> None:
    state = state_with(2)
    running(state, ["n0", "n1"], fault_scheduling="force")
    world = World(state, [card("n1", [0], at_s=5, for_s=10)]).run(5)
    assert (state.nodes["n0"].bad_score, state.nodes["n1"].bad_score) == (0, 64)
    world.run(15)
    assert state.nodes["n1"].bad_score == 0


def test_a_pod_prefers_another_node_to_the_one_where_it_failed() -> None:
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force", fault_retry_times=2)
    World(state, [fails("pod", at_s=5)]).run(6)
    assert nodes_of(job) == ["n1"]


def test_a_second_fault_while_the_first_is_dealt_with() -> None:
    state = state_with(4)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", pod_rescheduling=True)
    state.nodes["n3"].used = 255
    world = World(state, [card("n1", [0], at_s=5), node_down("n2", 7, index=1)]).run(8)
    assert nodes_of(job) == ["n0", None, None]
    records = world.recovery.reschedule_reasons()["recent-reschedule-records"]["default/job"]
    assert records["TotalRescheduleTimes"] == 2
    assert [record["ReasonOfTask"][0]["RescheduleReason"] for record in records["RescheduleRecords"]] == [
        "NodeUnhealthy", "CardUnhealthy"]


def test_a_node_that_dies_while_its_pod_ends_gracefully() -> None:
    state = state_with(2, grace_over_time_s=100)
    job = running(state, ["n0"], fault_scheduling="grace")
    job.annotations["distsim/graceful-end"] = "30s"
    faults = [card("n0", [0], at_s=10), node_down("n0", 20, index=1, codes=("heartbeatTimeOut",))]
    assert World(state, faults).run(200).said("evicted", "released") == [(110_000, "evicted", "job-worker-0")]


def test_a_job_that_may_run_with_fewer_pods_goes_on_at_once() -> None:
    """minAvailable 1 of 2: the pod that has a node goes on, the other one comes back when it can."""
    state = state_with(2)
    job = cases.job(2, min_available=1, fault_scheduling="force", pod_rescheduling=True)
    cases.run_on(state, job, ["n0", "n1"])
    world = World(state, [card("n1", [0], at_s=5, for_s=60)]).run(30)
    assert nodes_of(job) == ["n0", None] and world.recovery.trains(job) and world.said("escalated") == []
    assert world.recovery.stops(job)[0].ended_ms == 6000                    # FaultFlushing ends after 1 s
    world.run(65)
    assert nodes_of(job) == ["n0", "n1"]
    assert [stop.why for stop in world.recovery.stops(job)] == ["pod", "joined"]


def test_two_pods_on_a_node_fail_together() -> None:
    state = state_with(2)
    job = running(state, ["n0", "n0"], 4, fault_scheduling="force", pod_rescheduling=True, recover_pod_only=True)
    world = World(state, [node_down("n0", 5)]).run(5)
    assert nodes_of(job) == ["n1", "n1"] and len(world.said("evicted")) == 2


def test_a_failure_of_a_pod_that_does_not_run_does_nothing() -> None:
    state = state_with(1)
    job = cases.job(1)
    state.jobs[job.uid] = job
    state.nodes["n0"].used = 255
    world = World(state, [fails("pod", at_s=1), fails("pod", at_s=1, index=1, job="nobody")]).run(2)
    said = [one.message for one in world.log if one.kind == "fault"]
    assert said == ["pod of rank 0 of job job fails with exit code 1: no pod of that rank runs, nothing happens",
                    "pod of rank 0 of job nobody fails with exit code 1: no such job runs, nothing happens"]
    assert job.phase is not JobPhase.FAILED


def test_a_job_that_has_ended_is_left_alone() -> None:
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force")
    world = World(state, [card("n0", [0], at_s=5, for_s=10), fails("pod", at_s=20, index=1)])
    world.run(3)
    world.scheduler.finish(job, JobPhase.COMPLETED, "done", world.now_ms)
    world.run(30)
    assert job.phase is JobPhase.COMPLETED and world.recovery.stops(job) == [] and not world.recovery.trains(job)


def test_a_job_that_ends_while_it_waits() -> None:
    state = state_with(1)
    job = running(state, ["n0"], fault_scheduling="force")
    world = World(state, [card("n0", [0], at_s=5)]).run(8)
    assert world.recovery.stops(job)[0].ended_ms is None
    world.scheduler.finish(job, JobPhase.FAILED, "cancelled", world.now_ms)
    world.run(9)
    assert world.recovery.stops(job)[0].ended_ms == 9000 and state.nodes["n0"].bad_score == 0
    assert world.recovery.next_ms() is None


def test_next_ms_says_when_something_is_due() -> None:
    state = state_with(1, grace_over_time_s=50)
    running(state, ["n0"], fault_scheduling="grace").annotations["distsim/graceful-end"] = "20s"
    world = World(state, [])
    assert world.recovery.next_ms() is None
    world.recovery.begin(fails("pod", job="nobody"), 500)
    assert world.recovery.next_ms() == 500
    world.recovery.tick(500)
    assert world.recovery.next_ms() is None
    world.recovery.begin(card("n0", [0]), 1000)
    world.recovery.tick(1000)
    assert world.recovery.next_ms() == 21_000
    with pytest.raises(AssertionError, match="the clock is at 1000 ms and does not go back to 999 ms"):
        world.recovery.tick(999)


def test_the_same_twice() -> None:
    def log() -> list[object]:
        state = super_pods((4, 2, 4))
        blocks_job(state, ["s0n0", "s0n1", "s0n2", "s0n3"])
        faults = [card("s0n3", [0], at_s=5), node_down("s0n2", 7, 40, index=1), card("s2n0", [1], at_s=9, index=2)]
        return list(World(state, faults).run(80).log)

    assert log() == log()


def test_pods_without_chips_leave_a_broken_node_too() -> None:
    state = state_with(3)
    job = cases.job(2, fault_scheduling="force", pod_rescheduling=True, recover_pod_only=True)
    job.tasks[1].chips, job.tasks[1].request = 0, {"cpu": 1000}
    cases.run_on(state, job, ["n0", "n1"])
    World(state, [card("n1", range(8), at_s=5), node_down("n1", 10, index=1)]).run(12)
    assert job.tasks[1].node in ("n0", "n2") and job.tasks[0].node == "n0"


def test_a_thousand_faults_on_ten_thousand_nodes() -> None:
    """A tick looks at the nodes with faults only; the bound is far above what it takes (a few milliseconds)."""
    state = cases.tor_state(100, 100)
    for number in range(250):
        running(state, [f"n{4 * number + pod}" for pod in range(4)], name=f"job{number}", fault_scheduling="force",
                pod_rescheduling=True)
    world = World(state)
    for number in range(1000):
        world.recovery.begin(card(f"n{number}", [number % 8], "PreSeparateNPU", index=number), 0)
    world.recovery.tick(0)
    world.recovery.tick(1000)
    assert sum(node.barred != 0 for node in state.nodes.values()) == 1000
