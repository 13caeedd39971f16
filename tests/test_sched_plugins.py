"""Each of the three actions and of the nine plugins changes an outcome (seed 001, volcano-scheduler-configmap)."""

from __future__ import annotations

import dataclasses

import pytest
from sched_cases import CHIP, node, tor_state
from sched_session_cases import chip_job, cpu_job, fail_node, lab, nodes_of, rounds, settings, start, with_tasks

from distsim.cluster import Queue, Taint
from distsim.scheduler.session import protected
from distsim.scheduler.settings import ACTIONS, PLUGINS
from distsim.scheduler.types import JobPhase, Placement, Task, TaskState


def test_the_tests_below_are_one_for_each_name():
    names = {name.removeprefix("test_").split("_")[0] for name in globals() if name.startswith("test_")}
    assert {name.replace("volcano-npu", "npu") for name in (*ACTIONS, *PLUGINS)} <= names


def test_enqueue_keeps_a_job_pending_until_its_chips_are_idle():
    job = chip_job(3)
    start(lab(2), job)
    assert job.phase is JobPhase.PENDING and list(job.conditions) == ["JobEnqueueFailed"]
    other = chip_job(3)
    start(lab(2, chosen=settings(without=["enqueue"])), other)
    assert other.phase is JobPhase.INQUEUE and list(other.conditions) == ["NodePredicateFailed"]


def test_allocate_gives_nodes():
    job = chip_job(2)
    start(lab(2), job)
    assert nodes_of(job) == ["n0", "n1"]
    other = chip_job(2)
    start(lab(2, chosen=settings(without=["allocate"])), other)
    assert nodes_of(other) == [None, None] and other.phase is JobPhase.INQUEUE


def test_backfill_gives_nodes_to_pods_that_ask_for_nothing():
    job = cpu_job(1, cpu=0)
    start(lab(1), job)
    assert nodes_of(job) == ["n0"] and job.phase is JobPhase.RUNNING
    other = cpu_job(1, cpu=0)
    start(lab(1, chosen=settings(without=["backfill"])), other)
    assert nodes_of(other) == [None]


def test_the_order_of_actions_counts():
    # Allocate before enqueue: a new job is Pending when allocate looks, and gets its node a session later.
    job = chip_job(1)
    scheduler, _ = start(lab(1, chosen=dataclasses.replace(settings(), actions=("allocate", "enqueue"))), job)
    assert nodes_of(job) == [None] and job.phase is JobPhase.INQUEUE
    rounds(scheduler, 1000)
    assert nodes_of(job) == ["n0"]


@pytest.mark.parametrize("on, first", [(True, "high"), (False, "low")])
def test_priority_puts_the_higher_job_first(on, first):
    low, high = chip_job(1, name="low"), chip_job(1, name="high")
    high.priority = 10
    start(lab(1, chosen=settings(without=() if on else ["priority"])), low, high)
    assert [job.name for job in (low, high) if nodes_of(job) == ["n0"]] == [first]


def test_gang_binds_all_or_none():
    whole = chip_job(3)
    start(lab(2, chosen=settings(without=["enqueue"])), whole)
    assert nodes_of(whole) == [None, None, None]
    parts = chip_job(3)
    start(lab(2, chosen=settings(without=["enqueue", "gang"])), parts)
    assert nodes_of(parts) == ["n0", "n1", None] and parts.phase is JobPhase.RUNNING


def test_conformance_protects_jobs_of_the_system():
    system, critical, user = (chip_job(1, namespace="kube-system"), chip_job(1), chip_job(1))
    critical.priority = 2_000_001_000                       # system-node-critical
    user.priority = 1_000_000_000                           # the highest of a user's class
    assert [protected(job, settings()) for job in (system, critical, user)] == [
        "namespace kube-system", "priority 2000001000 of a system class", ""]
    assert [protected(job, settings(without=["conformance"])) for job in (system, critical)] == ["", ""]


class _MovesTheFirst:
    """A policy that puts a lost pod on the first node and moves the one that runs there."""

    name = "tor-affinity"

    def validate(self, job, state):
        return None

    def place(self, request):
        runs = [task.name for task in request.job.tasks if task.node == "n0"]
        names = [one.name for one in request.nodes if one.name != "n0"]
        if runs:
            return Placement(("n2",), (255,), moves=tuple(runs))
        return Placement(tuple(names[:len(request.tasks)]), (255,) * len(request.tasks))


@pytest.mark.parametrize("on", [True, False])
def test_conformance_keeps_pods_from_being_moved(on, monkeypatch):
    state = lab(4, chosen=settings(without=() if on else ["conformance"]))
    job = chip_job(2, namespace="kube-system")
    scheduler, _ = start(state, job)
    fail_node(state, "n1")
    for where in ("chipped", "validate"):
        monkeypatch.setattr(f"distsim.scheduler.session.{where}.policy", lambda name: _MovesTheFirst())
    monkeypatch.setattr("distsim.scheduler.session.chipped.policy_name", lambda job, state: "tor-affinity")
    rounds(scheduler, 1000)
    assert nodes_of(job) == (["n0", None] if on else ["n3", "n2"])
    if on:
        assert job.conditions["BatchOrderFailed"].message == (
            "job job would have to move job-worker-0, which plugin conformance protects (namespace kube-system)")


def test_npu_brings_chip_rules_topology_and_the_enqueue_check():
    # chip4-node8, two chips of the first ring in use: 3 chips come from the second; any chips without the plugin.
    for on, chips in ((True, 0b01110000), (False, 0b00011100)):
        state = lab(1, chosen=settings(without=() if on else ["volcano-npu"]))
        state.nodes["n0"].used = 0b00000011
        job = chip_job(1, 3, schedule_policy="chip4-node8")
        start(state, job)
        assert job.tasks[0].held == chips
    # Two chips of each ring are free, 3 are wanted.
    for on, where in ((True, [None]), (False, ["n0"])):
        state = lab(1, chosen=settings(without=() if on else ["volcano-npu"]))
        state.nodes["n0"].used = 0b00110011
        job = chip_job(1, 3, schedule_policy="chip4-node8")
        start(state, job)
        assert nodes_of(job) == where
    # A large-model job of four nodes waits where a slice is missing at every switch; plainly it has room.
    for on, phase in ((True, JobPhase.INQUEUE), (False, JobPhase.RUNNING)):
        state = tor_state(busy=[0, 4, 8, 12], settings=settings(without=() if on else ["volcano-npu"]))
        job = chip_job(4, tor_affinity="large-model-schema")
        start(state, job)
        assert job.phase is phase
    # More chips than are idle: Pending with it, Inqueue without (proportion alone counts what the cluster has).
    for on, phase in ((True, JobPhase.PENDING), (False, JobPhase.INQUEUE)):
        state = lab(2, chosen=settings(without=() if on else ["volcano-npu"]))
        state.nodes["n0"].used = 255
        job = chip_job(2)
        start(state, job)
        assert job.phase is phase


@pytest.mark.parametrize("on, served", [(True, "small"), (False, "large")])
def test_drf_serves_the_smaller_share_first(on, served):
    # large runs on n0, n1 and n2, small on n3; n2 is lost, and both want one pod more.
    large, small = chip_job(3, min_available=2, name="large"), chip_job(2, min_available=1, name="small")
    state = lab(4, chosen=settings(without=() if on else ["drf"]))
    scheduler, _ = start(state, large, small)
    assert nodes_of(large) == ["n0", "n1", "n2"] and nodes_of(small) == ["n3", None]
    state.release(large.tasks[2])
    # large holds 16 of 32 chips, small 8.
    rounds(scheduler, 1000)
    got = {"large": nodes_of(large)[2], "small": nodes_of(small)[1]}
    assert got == {"large": None, "small": None} | {served: "n2"}


def test_predicates_check_selectors_taints_cordons_and_resources():
    tainted = {"taints": (Taint("gpu", "", "NoSchedule"),)}
    for fields, change in (({"cordoned": True}, {}), (tainted, {}), ({}, {"node_selector": {"zone": "a"}}),
                           ({}, {"request": {CHIP: 8, "cpu": 10**12}})):
        for on, where in ((True, [None]), (False, ["n0"])):
            job = chip_job(1)
            job.tasks[0] = dataclasses.replace(job.tasks[0], **change)
            state = lab(1, chosen=settings(without=() if on else ["predicates"]), **fields)
            scheduler_run(state, job)
            assert nodes_of(job) == where, (fields, change)


def scheduler_run(state, job):
    """One session without the invariants: without predicates a pod may be given more cpu than there is."""
    from distsim.scheduler.session import Scheduler

    scheduler = Scheduler(state)
    scheduler.submit(job, 0)
    scheduler.session(1000)


def test_proportion_makes_a_queue_over_its_share_wait():
    # Weights 1 and 1: each deserves two of the four nodes; a wants three of one node, all older than b's.
    queues = [Queue("a"), Queue("b")]
    for on, running in ((True, ["a0", "a1", "b0", "b1"]), (False, ["a0", "a1", "a2", "b0"])):
        jobs = [chip_job(1, name=name) for name in ("a0", "a1", "a2", "b0", "b1")]
        for job in jobs:
            job.queue = job.name[0]
        start(lab(4, chosen=settings(without=() if on else ["proportion"]), queues=queues), *jobs)
        assert [job.name for job in jobs if job.phase is JobPhase.RUNNING] == running


def test_nodeorder_knows_preferences_and_soft_taints():
    prefers = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}}]}}
    for on, where in ((True, "n1"), (False, "n0")):
        job = chip_job(1)
        job.tasks[0].affinity = prefers
        start(lab(2, chosen=settings(without=() if on else ["nodeorder"])), job)
        assert nodes_of(job) == [where]
    for on, where in ((True, "n1"), (False, "n0")):
        state = lab(2, chosen=settings(without=() if on else ["nodeorder"]))
        soft = dataclasses.replace(state.nodes["n0"].node, taints=(Taint("old", "", "PreferNoSchedule"),))
        state.nodes["n0"].node = soft
        job = chip_job(1)
        start(state, job)
        assert nodes_of(job) == [where]


def test_nodeorder_weights_choose_between_full_and_empty_nodes():
    for arguments, where in (({}, "n1"), ({"leastrequested.weight": 5}, "n0"), ({"mostrequested.weight": 5}, "n1")):
        state = lab(2, chosen=settings(plugins={"nodeorder": arguments}))
        state.nodes["n1"].used = 0b1111
        job = chip_job(1, 2)
        start(state, job)
        assert nodes_of(job) == [where], arguments


def test_binpack_fills_nodes():
    for on, where in ((True, "n1"), (False, "n0")):
        state = lab(2, chosen=settings(without=() if on else ["binpack"]))
        state.nodes["n1"].used = 0b1111
        job = chip_job(1, 2)
        start(state, job)
        assert nodes_of(job) == [where]
    # A weight of 0 is as good as off.
    state = lab(2, chosen=settings(plugins={"binpack": {"binpack.weight": "0"}}))
    state.nodes["n1"].used = 0b1111
    job = chip_job(1, 2)
    start(state, job)
    assert nodes_of(job) == ["n0"]


def test_binpack_and_nodeorder_rank_nodes_for_pods_without_chips():
    # n1 has 100 of its 192 cpus in use: binpack goes there, leastrequested to n0.
    for without, where in ((["nodeorder"], "n1"), (["binpack"], "n0")):
        state = lab(2, chosen=settings(without=without), resources={CHIP: 8, "cpu": 192})
        scheduler, _ = start(state, other := cpu_job(1, 100_000, name="other"))
        there = other.tasks[0].node
        job = cpu_job(1, 1000)
        scheduler.submit(job, 1001)
        rounds(scheduler, 1000)
        assert (nodes_of(job)[0] == there) == (where == "n1")


def test_backfill_completes_a_gang_of_chips_and_light_pods():
    job = with_tasks(chip_job(2), Task("default/job", "job-master-0", "master", 2, 0))
    start(lab(2), job)
    assert [task.state for task in job.tasks] == [TaskState.RUNNING] * 3
    assert [task.rank for task in job.tasks] == [0, 1, -1]
    other = with_tasks(chip_job(2), Task("default/job", "job-master-0", "master", 2, 0))
    start(lab(2, chosen=settings(without=["backfill"])), other)
    assert nodes_of(other) == [None, None, None]
    assert other.conditions["NodePredicateFailed"].message == (
        "2 of minAvailable 3 pods of job job find a node; 1 ask for nothing, and no action backfill runs")


def test_node_builder_is_what_these_tests_think():
    assert node("n0").resources == {CHIP: 8, "cpu": 192_000, "memory": 2**41}
