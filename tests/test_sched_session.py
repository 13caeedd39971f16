"""The scheduler's class, enqueue with forceEnqueue, dequeue and its annotations, what a session records."""

from __future__ import annotations

import dataclasses

import pytest
from sched_cases import CHIP
from sched_session_cases import chip_job, cpu_job, fail_node, lab, nodes_of, rounds, settings, start

from distsim.scheduler.session import Scheduler, allocate
from distsim.scheduler.types import JobPhase, TaskState

TIME, COUNT = "huawei.com/schedule_enqueue_time", "huawei.com/schedule_dequeue_frequency"


def test_a_job_goes_through_its_phases():
    state = lab(2)
    job = chip_job(2)
    scheduler = Scheduler(state)
    scheduler.submit(job, 500)
    assert job.phase is JobPhase.PENDING and job.created_ms == 500 and state.jobs == {"default/job": job}
    happened = scheduler.session(1000)
    assert [(one.kind, one.time_ms, one.job, one.message) for one in happened] == [
        ("enqueued", 1000, "default/job", "queue default"),
        ("scheduled", 1000, "default/job", "2 pods on 2 nodes: n0, n1")]
    assert job.phase is JobPhase.RUNNING and all(task.state is TaskState.RUNNING for task in job.tasks)
    ended = scheduler.finish(job, JobPhase.COMPLETED, "all steps done", 9000)
    assert (ended.kind, ended.time_ms, ended.message) == ("completed", 9000, "all steps done")
    assert job.phase is JobPhase.COMPLETED and job.reason == "all steps done" and nodes_of(job) == [None, None]
    assert all(task.state is TaskState.SUCCEEDED for task in job.tasks)
    assert all(node.used == 0 and not node.tasks for node in state.nodes.values())
    assert scheduler.session(10_000) == []


def test_a_failed_job_keeps_its_reason():
    job = chip_job(1)
    scheduler, _ = start(lab(1), job)
    ended = scheduler.finish(job, JobPhase.FAILED, "no retries left", 2000)
    assert ended.kind == "failed" and job.reason == "no retries left"
    assert job.tasks[0].state is TaskState.FAILED and rounds(scheduler, 2000) == []


def test_a_single_pod_is_named_in_what_happened():
    _, happened = start(lab(1), chip_job(1))
    assert (happened[-1].pod, happened[-1].node) == ("job-worker-0", "n0")


def test_enqueue_counts_idle_and_healthy_chips():
    # 4 nodes of 8: one unhealthy, one disabled, 2 chips of a third in use, 1 isolated and 1 cut off the network.
    state = lab(4)
    state.nodes["n0"].healthy = False
    state.nodes["n1"].enabled = False
    state.nodes["n2"].used, state.nodes["n2"].barred, state.nodes["n2"].cut = 0b11, 0b100, 0b1000
    several, alone = chip_job(2, name="several"), chip_job(1, 16, name="alone")
    start(state, several, alone)
    assert several.conditions["JobEnqueueFailed"].message == (
        f"job several requires 16 {CHIP} for 2 pods, 12 are idle and healthy on 2 of 4 nodes")
    assert alone.conditions["JobEnqueueFailed"].message == (
        f"job alone requires 16 {CHIP} for 1 pod, 13 are idle and healthy on 2 of 4 nodes")


def test_enqueue_asks_for_the_first_min_available_pods_only():
    job = chip_job(3, min_available=2)
    start(lab(2), job)
    assert job.phase is JobPhase.RUNNING and nodes_of(job) == ["n0", "n1", None]


def test_enqueue_counts_chips_of_the_jobs_kind():
    job = chip_job(1)
    job.resource = "nvidia.com/gpu"
    job.tasks[0].request = {"nvidia.com/gpu": 8}
    start(lab(1), job)
    assert job.conditions["JobEnqueueFailed"].message == (
        "job job requires 8 nvidia.com/gpu for 1 pod, 0 are idle and healthy on 0 of 1 node; no node of cluster lab "
        "has nvidia.com/gpu")


@pytest.mark.parametrize("force, phases", [(True, ["Inqueue", "Inqueue"]), (False, ["Inqueue", "Pending"])])
def test_force_enqueue(force, phases):
    # Each of two jobs of 3 pods finds the 4 nodes idle; together they ask for 48 of 32 chips. With forceEnqueue the
    # chips alone count, without it proportion counts what is Inqueue (npu.go: permit or abstain).
    jobs = [chip_job(3, name=name) for name in ("a", "b")]
    start(lab(4, chosen=settings(without=["allocate"], force_enqueue=force)), *jobs)
    assert [job.phase.value for job in jobs] == phases
    if not force:
        assert jobs[1].conditions["JobEnqueueFailed"].message == (
            f"job b requires 24 {CHIP}; queue default holds 0, 24 are asked for by Inqueue jobs, the cluster has 32")


def test_without_force_a_job_without_chips_waits_for_its_quota():
    jobs = [cpu_job(1, 100_000, name=name) for name in ("a", "b")]
    start(lab(1, chosen=settings(without=["allocate"]), resources={CHIP: 8, "cpu": 192}), *jobs)
    assert [job.phase.value for job in jobs] == ["Inqueue", "Pending"]


def waiting_job(name, **fields):
    """A job that is enqueued on two idle nodes and finds no place: its pods ask for a label that none has."""
    job = chip_job(1, name=name, **fields)
    job.tasks[0].node_selector = {"zone": "nowhere"}
    return job


def dequeue_after(age_ms, **fields):
    """A job that waits as Inqueue from 1000 ms on, and another of its queue that comes when it is `age_ms` old."""
    old, new = waiting_job("old", enable_dequeue=True, **fields), chip_job(3, name="new")
    scheduler, _ = start(lab(2), old)
    assert old.annotations == {TIME: "1000"}
    scheduler.submit(new, 1000 + age_ms)
    happened = scheduler.session(1000 + age_ms)
    return old, scheduler, happened


def test_dequeue():
    # Strictly older than 300,000 ms, and only when another job of the queue is considered.
    old, _, happened = dequeue_after(300_000)
    assert old.phase is JobPhase.INQUEUE and old.annotations == {TIME: "1000"}
    old, scheduler, happened = dequeue_after(300_001)
    assert old.phase is JobPhase.PENDING and old.annotations == {COUNT: "1"}
    assert [one.message for one in happened if one.kind == "dequeued"] == [
        f"Inqueue for more than 300 s, job new is considered; {COUNT} is 1"]
    # The next session enqueues it again.
    scheduler.session(302_001)
    assert old.phase is JobPhase.INQUEUE and old.annotations == {COUNT: "1", TIME: "302001"}


def test_dequeue_needs_the_annotation_another_job_and_the_queue():
    alone = waiting_job("alone", enable_dequeue=True)
    scheduler, _ = start(lab(2), alone)
    scheduler.session(400_000)
    assert alone.phase is JobPhase.INQUEUE
    for change in ({"enable_dequeue": False}, {}):
        job = waiting_job("job", **{"enable_dequeue": True, **change})
        other = chip_job(3, name="other")
        other.queue = "default" if change else "second"
        scheduler, _ = start(lab(2), job)
        scheduler.submit(other, 400_000)
        scheduler.session(400_000)
        assert job.phase is JobPhase.INQUEUE and job.annotations == {TIME: "1000"}


def test_dequeue_frequency():
    for before, after in (("2", "3"), ("many", "1")):
        old = waiting_job("old", enable_dequeue=True)
        old.annotations[COUNT] = before
        scheduler, _ = start(lab(2), old)
        scheduler.submit(chip_job(3, name="new"), 400_000)
        scheduler.session(400_000)
        assert old.annotations == {COUNT: after}


def test_dequeue_frequency_orders_jobs():
    # One node, two jobs of one time: the one that was dequeued less often goes first, whatever its name.
    often, seldom = chip_job(1, name="a-often"), chip_job(1, name="b-seldom")
    often.annotations[COUNT], seldom.annotations[COUNT] = "2", "1"
    start(lab(1), often, seldom)
    assert nodes_of(seldom) == ["n0"] and nodes_of(often) == [None]


def test_enqueue_time():
    # Kept while Inqueue, gone with the counter once the job runs.
    job = waiting_job("job")
    job.annotations[COUNT] = "4"
    scheduler, _ = start(lab(2), job, sessions=3)
    assert job.annotations == {TIME: "1000", COUNT: "4"}
    job.tasks[0].node_selector = {}
    scheduler = Scheduler(scheduler.state)
    scheduler.session(5000)
    assert job.phase is JobPhase.RUNNING and job.annotations == {}


def test_an_enqueue_time_that_is_no_number_never_comes():
    old = waiting_job("old", enable_dequeue=True)
    scheduler, _ = start(lab(2), old)
    old.annotations[TIME] = "yesterday"
    scheduler.submit(chip_job(3, name="new"), 400_000)
    scheduler.session(400_000)
    assert old.phase is JobPhase.INQUEUE


def test_schedule_min_available():
    # The group says 1, the annotation 3: three nodes or none; with 2 in the group the annotation does not count.
    for group, where in ((1, [None] * 3), (2, ["n0", "n1", None])):
        job = chip_job(3, min_available=group)
        job.settings = dataclasses.replace(job.settings, min_available=3)
        start(lab(2), job)
        assert nodes_of(job) == where


def test_a_job_that_lost_all_its_pods_is_pending_again():
    state = lab(2)
    job = chip_job(2)
    scheduler, _ = start(state, job)
    fail_node(state, "n0")
    fail_node(state, "n1")
    rounds(scheduler, 1000)
    assert job.phase is JobPhase.PENDING and "JobEnqueueFailed" in job.conditions
    state.nodes["n0"].healthy = state.nodes["n1"].healthy = True
    happened = rounds(scheduler, 2000)
    assert nodes_of(job) == ["n0", "n1"] and [one.kind for one in happened] == ["enqueued", "scheduled"]


def test_the_same_input_gives_the_same_output():
    def once():
        jobs = [chip_job(1 + number % 3, 1 + number % 8, name=f"job{number}", min_available=1) for number in range(20)]
        for number, job in enumerate(jobs):
            job.priority = number % 4
        scheduler, happened = start(lab(4), *jobs, sessions=3)
        scheduler.finish(jobs[5], JobPhase.COMPLETED, "done", 3500)
        happened += rounds(scheduler, 3500, 2)
        return happened, [(job.phase, nodes_of(job), job.conditions) for job in jobs]

    assert once() == once()


def test_a_quiet_session_tries_nothing_again(monkeypatch):
    tried = []
    real = allocate.attempt
    monkeypatch.setattr(allocate, "attempt", lambda round_, job: tried.append(job.name) or real(round_, job))
    state = lab(2)
    job = waiting_job("job")
    scheduler, _ = start(state, job, sessions=3)
    assert tried == ["job"] and job.conditions["NodePredicateFailed"].time_ms == 1000
    state.nodes["n0"].barred = 1
    rounds(scheduler, 3000, 2)
    assert tried == ["job", "job"]
