"""Jobs that a scheduler takes in: names, what is impossible, which policy places them."""

from __future__ import annotations

import pytest
from sched_session_cases import chip_job, cpu_job, lab, nodes_of, rounds, settings, start
from super_pod_cases import pods_of, sp_job

from distsim.errors import InputError
from distsim.scheduler.session import Scheduler
from distsim.scheduler.types import JobPhase, Refusal


def test_a_name_is_taken_once():
    job = chip_job(1)
    job.file, job.line = "a.yaml", 3
    scheduler, _ = start(lab(1), job)
    again = chip_job(1)
    again.file, again.line = "b.yaml", 7
    with pytest.raises(InputError) as caught:
        scheduler.submit(again, 5)
    assert str(caught.value) == ("b.yaml:7: job default/job is there already, from a.yaml:3; a name is taken once in a "
                                 "namespace")
    scheduler.submit(chip_job(1, namespace="other"), 5)


def test_a_name_may_come_again_once_its_job_is_gone():
    # The new job of the name is impossible, the old one waited in vain: nothing of the old one is remembered.
    state = lab(1)
    scheduler, _ = start(state, chip_job(2), sessions=2)
    del state.jobs["default/job"]
    scheduler.submit(again := chip_job(2, min_available=3), 2500)
    rounds(scheduler, 2500)
    assert again.phase is JobPhase.FAILED
    del state.jobs["default/job"]
    scheduler.submit(fits := chip_job(1), 4000)
    rounds(scheduler, 4000)
    assert nodes_of(fits) == ["n0"]


class _Never:
    """A policy that finds out at placement that a job can never be placed."""

    name = "tor-affinity"

    def validate(self, job, state):
        return None

    def place(self, request):
        return Refusal("NodePredicateFailed", "no two switches are joined", final=True)


def test_a_job_fails_when_a_policy_says_that_waiting_cannot_help(monkeypatch):
    monkeypatch.setattr("distsim.scheduler.session.chipped.policy_name", lambda job, state: "tor-affinity")
    for where in ("chipped", "validate"):
        monkeypatch.setattr(f"distsim.scheduler.session.{where}.policy", lambda name: _Never())
    job = chip_job(1)
    _, happened = start(lab(1), job)
    assert job.phase is JobPhase.FAILED and job.reason == "NodePredicateFailed: no two switches are joined"
    assert [one.kind for one in happened] == ["enqueued", "failed"]


def test_what_was_wrong_when_it_was_read_fails_the_job():
    job = chip_job(1)
    job.refusal = Refusal("JobValidateFailed", "sp-block 12 does not divide 16", "InvalidArgument", final=True)
    _, happened = start(lab(1), job)
    assert job.phase is JobPhase.FAILED
    assert job.reason == "JobValidateFailed: InvalidArgument: sp-block 12 does not divide 16"
    assert job.conditions["JobValidateFailed"].message == "InvalidArgument: sp-block 12 does not divide 16"
    assert [(one.kind, one.message) for one in happened] == [("failed", job.reason)]


def test_rules_and_policies_validate():
    chips = chip_job(1, 9, name="chips", schedule_policy="chip4-node8")
    tor = chip_job(1, name="tor", tor_affinity="normal-schema")
    start(lab(2), chips, tor)
    assert chips.phase is JobPhase.FAILED and chips.reason.startswith("JobValidateFailed: InvalidResourceRequest: ")
    assert tor.phase is JobPhase.FAILED and tor.reason.startswith("JobValidateFailed: ")


def test_a_job_without_pods_fails():
    job = chip_job(1)
    job.tasks.clear()
    start(lab(1), job)
    assert job.reason == "JobValidateFailed: NotEnoughPod: job job has no pods"


def test_jobs_that_skip_the_plugin_pass_its_rules_by():
    # 3 chips where chip4-node8 finds two in each ring; no enqueue check either.
    state = lab(1)
    state.nodes["n0"].used = 0b00110011
    job = chip_job(1, 3, schedule_policy="chip4-node8", skip_ascend=True)
    start(state, job)
    assert job.tasks[0].held == 0b01001100


def test_jobs_without_chips_are_placed():
    job = cpu_job(2)
    start(lab(1), job)
    assert nodes_of(job) == ["n0", "n0"] and job.phase is JobPhase.RUNNING and job.notes == {}


def test_the_policy_stands_in_the_notes():
    job = chip_job(1)
    start(lab(1), job)
    assert job.notes == {"policy": "binpack"}


def test_a_forced_policy_gives_way_where_the_job_cannot_have_it():
    # Without a topology tor-affinity is impossible; the job is placed as it asks.
    job = chip_job(1)
    start(lab(1, chosen=settings(policy="tor-affinity")), job)
    assert job.notes == {"policy": "binpack"} and nodes_of(job) == ["n0"]
    other = chip_job(1)
    start(lab(1, chosen=settings(policy="spread")), other)
    assert other.notes == {"policy": "spread"}


def test_soft_share_pods_of_a_gang_share_chips():
    # 60 percent each: two pods do not fit on one chip; three pods need three of the four chips of a node.
    job = chip_job(3, 1, schedule_policy="chip1-softShareDev", aicore_quota=60, hbm_quota_mb=1000,
                   share_policy="fixed-share")
    small = chip_job(2, 1, name="small", schedule_policy="chip1-softShareDev", aicore_quota=20, hbm_quota_mb=1000,
                     share_policy="fixed-share")
    for one in (job, small):
        for task in one.tasks:
            task.request.clear()
    state = lab(1, chips=4)
    start(state, job, small)
    assert [task.held for task in job.tasks] == [0b001, 0b010, 0b100]
    assert [task.held for task in small.tasks] == [0b001, 0b001]          # 60 + 20 + 20 of the fullest chip
    assert state.nodes["n0"].used == 0b111


def test_a_block_that_moves_keeps_its_ranks() -> None:
    # Two SuperPoDs of two nodes, a block of two: worker 1 loses its node, no third one is in that SuperPoD, so the
    # whole block moves: the lost pod is bound first, and ranks 0 and 1 stay with their pods.
    state = pods_of({"a": 2, "b": 2}, reserve=0)
    scheduler = Scheduler(state)
    one = sp_job(2, 2)
    scheduler.submit(one, 0)
    scheduler.session(0)
    names = [task.node for task in one.tasks]
    state.release(one.tasks[1])
    state.nodes[str(names[1])].healthy = False
    scheduler.session(1000)
    scheduler.session(2000)
    assert [task.rank for task in one.tasks] == [0, 1]
    assert not {task.node for task in one.tasks} & set(names)
