"""Elastic jobs in sessions: half the pods or chips after a fault, all again once there is enough."""

from __future__ import annotations

from sched_cases import CHIP
from sched_session_cases import chip_job, fail_node, lab, nodes_of, rounds, start

from distsim.scheduler.types import JobPhase


def elastic_job(pods=4):
    return chip_job(pods, elastic=True, distributed=True, fault_scheduling="grace")


def test_an_elastic_job_runs_with_half_after_a_fault_and_with_all_once_the_node_is_back():
    state = lab(4)
    job = elastic_job()
    scheduler, _ = start(state, job)
    fail_node(state, "n1")
    for task in job.tasks:
        state.release(task)                       # the whole job is rescheduled
    happened = rounds(scheduler, 1000)
    assert nodes_of(job) == ["n0", "n2"] and [task.rank for task in job.tasks] == [0, 1]
    assert [one.message for one in happened if one.kind == "resized"] == ["from 4 pods of 8 chips to 2 of 8"]
    assert job.phase is JobPhase.RUNNING and job.conditions == {}
    rounds(scheduler, 2000)
    assert nodes_of(job) == ["n0", "n2"]
    state.nodes["n1"].healthy = True
    happened = rounds(scheduler, 3000)
    assert nodes_of(job) == ["n0", "n2", "n1", "n3"] and job.full is None
    assert [one.message for one in happened if one.kind == "resized"] == ["from 2 pods of 8 chips to 4 of 8"]


def test_an_elastic_job_of_the_system_is_not_started_anew():
    state = lab(4)
    job = elastic_job()
    job.priority = 2_000_000_000
    scheduler, _ = start(state, job)
    fail_node(state, "n1")
    for task in job.tasks:
        state.release(task)
    rounds(scheduler, 1000)
    state.nodes["n1"].healthy = True
    rounds(scheduler, 2000)
    assert nodes_of(job) == ["n0", "n2"]


def test_an_elastic_job_that_never_ran_waits_for_its_size():
    job = elastic_job()
    start(lab(3), job)
    assert nodes_of(job) == [None] * 4 and job.phase is JobPhase.PENDING


def test_an_elastic_job_without_any_size_waits_with_what_it_asked_for():
    state = lab(2)
    job = elastic_job(2)
    scheduler, _ = start(state, job)
    fail_node(state, "n0")
    fail_node(state, "n1")
    rounds(scheduler, 1000)
    assert len(job.tasks) == 2 and nodes_of(job) == [None, None] and job.full is None
    assert job.conditions["JobEnqueueFailed"].message == (
        f"job job requires 8 {CHIP} for 1 pod, 0 are idle and healthy on 0 of 2 nodes")


def test_an_elastic_pod_halves_its_chips():
    state = lab(1)
    job = chip_job(1, 8, elastic=True, fault_scheduling="grace")
    scheduler, _ = start(state, job)
    state.release(job.tasks[0])
    state.nodes["n0"].barred = 1
    rounds(scheduler, 1000)
    assert job.tasks[0].held == 0b00011110
