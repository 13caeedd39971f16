"""Gangs: all of minAvailable or none, no deadlock of two, whole again after a fault; ranks."""

from __future__ import annotations

import dataclasses

import pytest
from sched_cases import CHIP, tor_state
from sched_hyper import eight, hard, wanted
from sched_session_cases import (
    chip_job,
    cpu_job,
    fail_node,
    lab,
    nodes_of,
    rounds,
    settings,
    start,
    with_tasks,
)

from distsim.scheduler.session import min_available, ready
from distsim.scheduler.types import JobPhase, Placement, Refusal, Task, TaskState


def test_two_gangs_that_each_need_the_cluster_do_not_deadlock():
    # volcano-sh/volcano#3373: both were enqueued, each got a part. Here the first has all, the second waits.
    first, second = chip_job(8, name="first"), chip_job(8, name="second")
    scheduler, _ = start(lab(8), first, second)
    assert None not in nodes_of(first) and nodes_of(second) == [None] * 8
    assert second.phase is JobPhase.INQUEUE and "NodePredicateFailed" in second.conditions
    scheduler.finish(first, JobPhase.COMPLETED, "done", 1500)
    rounds(scheduler, 1500)
    assert None not in nodes_of(second)


def test_two_gangs_that_share_a_part_of_the_cluster_do_not_deadlock():
    # 3 pods of 8 and 2 of 4 chips each, 5 nodes: 32 chips of 40; the second could have its two small pods.
    jobs = []
    for name in ("a", "b"):
        small = [Task(f"default/{name}", f"{name}-ps-{index}", "ps", index, 4, {CHIP: 4}) for index in (3, 4)]
        jobs.append(with_tasks(chip_job(3, name=name), *small))
    start(lab(5), *jobs)
    assert [job.phase for job in jobs] == [JobPhase.RUNNING, JobPhase.INQUEUE]
    assert nodes_of(jobs[0]) == ["n0", "n1", "n2", "n3", "n3"] and nodes_of(jobs[1]) == [None] * 5


def test_a_gang_that_lost_a_pod_gets_the_repaired_node_before_a_new_job():
    # volcano-sh/volcano#5805: a filler of equal priority took the capacity that came back, for good.
    state = lab(2)
    gang = chip_job(2, name="gang")
    scheduler, _ = start(state, gang)
    lost = fail_node(state, "n1")
    filler = chip_job(1, name="filler")
    filler.created_ms = 0
    scheduler.submit(filler, 1001)
    rounds(scheduler, 1001)
    assert ready(gang) == 1 and gang.phase is JobPhase.RUNNING and filler.phase is JobPhase.PENDING
    assert "NodePredicateFailed" in gang.conditions
    state.nodes["n1"].healthy = True
    rounds(scheduler, 2001)
    assert nodes_of(gang) == ["n0", "n1"] and gang.conditions == {}
    assert [task.rank for task in lost] == [1] and nodes_of(filler) == [None]


def test_without_plugin_gang_the_filler_takes_the_node():
    state = lab(2, chosen=settings(without=["gang", "drf"]))
    gang, filler = chip_job(2, name="gang"), chip_job(1, name="filler")
    scheduler, _ = start(state, gang)
    fail_node(state, "n1")
    filler.priority = 1
    scheduler.submit(filler, 1001)
    rounds(scheduler, 1001)
    state.nodes["n1"].healthy = True
    rounds(scheduler, 2001)
    assert nodes_of(filler) == ["n1"]


def test_min_available_below_the_number_of_pods_binds_what_fits():
    # 5 pods, 3 needed, 4 nodes: 4 run, the fifth waits without a condition; it follows when there is a node.
    state = lab(4)
    job = chip_job(5, min_available=3)
    _, happened = start(state, job)
    assert nodes_of(job) == ["n0", "n1", "n2", "n3", None] and job.conditions == {}
    assert happened[-1].message == "4 pods on 4 nodes: n0, n1, n2, n3"
    fewer = chip_job(5, min_available=5)
    start(lab(4, chosen=settings(without=["enqueue"])), fewer)
    assert nodes_of(fewer) == [None] * 5


@pytest.mark.parametrize("pods", range(1, 9))
def test_the_most_pods_that_fit_are_bound(pods):
    # 7 nodes, 1 needed: min(pods, 7).
    job = chip_job(pods, min_available=1)
    start(lab(7), job)
    assert ready(job) == min(pods, 7)


def test_all_of_a_job_with_a_topology_is_placed_or_nothing():
    job = chip_job(6, min_available=1, tor_affinity="large-model-schema")
    start(tor_state(tors=1), job)
    assert nodes_of(job) == [None] * 6 and job.conditions


def test_a_policy_that_can_places_a_part_of_a_gang_that_needs_not_all():
    # volcano's tree of eight nodes: a HyperNode of tier 2 holds 4 of the 6 pods, at least 2 are needed.
    some, all_or_none = wanted(6, hard(2), least=2), wanted(6, hard(2))
    start(eight(), some)
    assert sorted(name for name in nodes_of(some) if name) == ["n0", "n1", "n2", "n3"]
    start(eight(), all_or_none)
    assert nodes_of(all_or_none) == [None] * 6


def test_schedule_min_available_counts_only_where_the_group_says_one():
    assert min_available(chip_job(4, min_available=1)) == 1
    one, four = chip_job(8, min_available=1), chip_job(8, min_available=4)
    one.settings = four.settings = dataclasses.replace(one.settings, min_available=6)
    assert (min_available(one), min_available(four)) == (6, 4)


def test_more_min_available_than_pods_fails():
    job = chip_job(2, min_available=3)
    start(lab(4), job)
    assert job.phase is JobPhase.FAILED
    assert job.reason == "JobValidateFailed: NotEnoughPod: job job has 2 pods, its minAvailable is 3"
    other = chip_job(2, min_available=3)
    start(lab(4, chosen=settings(without=["gang"])), other)
    assert other.phase is JobPhase.RUNNING


def test_ranks_follow_the_placement_and_replaced_pods_keep_the_free_ones():
    state = lab(5)
    job = chip_job(4)
    scheduler, _ = start(state, job)
    assert [task.rank for task in job.tasks] == [0, 1, 2, 3]
    fail_node(state, "n1")
    fail_node(state, "n3")
    state.nodes["n3"].healthy = True
    rounds(scheduler, 1000)
    # n3 is whole again: its pod goes back (prefer-previous-node), the other takes the node that is left.
    assert nodes_of(job) == ["n0", "n4", "n2", "n3"] and [task.rank for task in job.tasks] == [0, 1, 2, 3]


def test_without_prefer_previous_node_the_best_node_is_taken():
    state = lab(5, chosen=settings(prefer_previous_node=False))
    job = chip_job(4)
    scheduler, _ = start(state, job)
    fail_node(state, "n1")
    fail_node(state, "n3")
    state.nodes["n3"].healthy = True
    rounds(scheduler, 1000)
    assert nodes_of(job) == ["n0", "n3", "n2", "n4"]


def test_a_pod_does_not_go_back_where_pods_failed():
    state = lab(3)
    job = chip_job(1)
    scheduler, _ = start(state, job)
    state.release(job.tasks[0])
    state.nodes["n0"].bad_score = 64
    rounds(scheduler, 1000)
    assert nodes_of(job) == ["n1"]


def test_pods_without_chips_have_ranks_only_among_themselves():
    job = with_tasks(chip_job(2), Task("default/job", "job-master-0", "master", 2, 0, {"cpu": 1000}))
    start(lab(2), job)
    assert [task.rank for task in job.tasks] == [0, 1, -1]
    light = cpu_job(3)
    start(lab(2), light)
    assert [task.rank for task in light.tasks] == [0, 1, 2]


def test_a_gang_with_a_light_pod_that_fits_nowhere_takes_no_chips():
    job = with_tasks(chip_job(2), Task("default/job", "job-master-0", "master", 2, 0, {"cpu": 10**12}))
    state = lab(2)
    start(state, job)
    assert nodes_of(job) == [None] * 3 and all(node.used == 0 for node in state.nodes.values())
    assert all(task.last_node is None for task in job.tasks)
    assert job.conditions["NodePredicateFailed"].message == (
        "0 of 1 pods without chips of job job find a node, job-master-0 does not; cpu: 192000000 free, 1000000000000 "
        "requested: 2 nodes, n0, n1")


def test_a_gang_waits_for_a_best_effort_pod_that_may_stand_nowhere():
    master = Task("default/job", "job-master-0", "master", 2, 0, node_selector={"zone": "a"})
    job = with_tasks(chip_job(2), master)
    start(lab(2), job)
    assert nodes_of(job) == [None] * 3
    assert job.conditions["NodePredicateFailed"].message == (
        "2 of minAvailable 3 pods of job job find a node; job-master-0, which asks for nothing, does not; nodeSelector "
        "zone=a, the node has no such label: 2 nodes, n0, n1")


def test_several_pods_on_a_node_share_its_cpu():
    # 192 cpus a node, 2 chips and 80 cpus a pod: two on a node, not four.
    job = chip_job(4, 2)
    for task in job.tasks:
        task.request["cpu"] = 80_000
    start(lab(2, resources={CHIP: 8, "cpu": 192}), job)
    assert nodes_of(job) == ["n0", "n0", "n1", "n1"]


def test_pods_without_chips_share_a_nodes_cpu():
    # 3 pods of 80 of 192 cpus: two on the first node, binpack.
    job = cpu_job(3, 80_000)
    start(lab(2, chosen=settings(without=["nodeorder"]), resources={CHIP: 8, "cpu": 192}), job)
    assert sorted(nodes_of(job)) == ["n0", "n0", "n1"]


def test_spread_pods_take_a_node_each():
    job = chip_job(3, 2)
    for task in job.tasks:
        task.spread = True
    start(lab(2, chosen=settings(without=["enqueue"])), job)
    assert nodes_of(job) == [None] * 3
    other = chip_job(3, 2, name="other")
    for task in other.tasks:
        task.spread = True
    start(lab(3), other)
    assert nodes_of(other) == ["n0", "n1", "n2"]
    light = cpu_job(3)
    for task in light.tasks:
        task.spread = True
    start(lab(3), light)
    assert sorted(nodes_of(light)) == ["n0", "n1", "n2"]


class _MovesOnce:
    """Puts pods on the last nodes offered; a lost pod takes the one that runs with it to new nodes."""

    name = "super-pod"

    def __init__(self, second: bool):
        self.second = second

    def validate(self, job, state):
        return None

    def place(self, request):
        runs = [task.name for task in request.job.tasks if task.node == "n0"]
        if not self.second and not runs:
            return Refusal("BatchOrderFailed", "no block")
        names = [node.name for node in request.nodes][-len(request.tasks):]
        return Placement(tuple(names), (255,) * len(names), {"moved": len(runs)}, tuple(runs))


@pytest.mark.parametrize("second", [True, False])
def test_pods_that_a_placement_moves_are_placed_again_or_nothing_is(second, monkeypatch):
    state = lab(4)
    job = chip_job(2)
    scheduler, _ = start(state, job)
    assert nodes_of(job) == ["n0", "n1"]
    fail_node(state, "n1")
    monkeypatch.setattr("distsim.scheduler.session.chipped.policy_name", lambda job, state: "super-pod")
    monkeypatch.setattr("distsim.scheduler.session.chipped.policy", lambda name: _MovesOnce(second))
    rounds(scheduler, 1000)
    if second:
        assert nodes_of(job) == ["n2", "n3"]
        assert job.notes == {"policy": "super-pod", "moved": 0}
    else:
        assert nodes_of(job) == ["n0", None] and job.tasks[0].held == 255 and job.tasks[0].last_node is None
        assert job.conditions["BatchOrderFailed"].message == "no block"


def test_a_job_with_pods_that_are_still_ending_waits():
    state = lab(4)
    job = chip_job(2)
    scheduler, _ = start(state, job)
    fail_node(state, "n1")
    job.tasks[0].state = TaskState.RELEASING
    rounds(scheduler, 1000)
    assert nodes_of(job) == ["n0", None]
    assert job.conditions["NodePredicateFailed"].message == "pods of job job are still Releasing: job-worker-0"
    state.release(job.tasks[0])
    rounds(scheduler, 2000)
    assert None not in nodes_of(job)


def test_a_gang_with_a_pod_that_has_failed_for_good_waits():
    job = chip_job(3)
    job.tasks[2].state = TaskState.FAILED
    start(lab(3), job)
    assert nodes_of(job) == [None] * 3
    assert job.conditions["NodePredicateFailed"].message == (
        "2 of minAvailable 3 pods of job job find a node; job-worker-2 is Failed")
