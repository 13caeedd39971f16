"""`policies` and maxRetry of a VolcanoJob, and elastic jobs after faults."""

from __future__ import annotations

import pytest
import sched_cases as cases
from sched_fault_cases import World, card, fails, running, state_with

from distsim.scheduler.types import Job, JobPhase


def nodes_of(job: Job) -> list[str | None]:
    return [task.node for task in job.tasks]


def after_failure(policies: tuple[tuple[str, str, int | None], ...], exit_code: int = 1, **settings: object,
                  ) -> tuple[World, Job]:
    """A job of three pods whose rank 1 fails at 5 s."""
    state = state_with(6)
    job = running(state, ["n0", "n1", "n2"], **settings)
    job.policies = policies
    return World(state, [fails("pod", 1, 5, exit_code=exit_code)]).run(6), job


@pytest.mark.parametrize(("event", "code"), [("PodFailed", None), ("*", None), ("", 3)])
@pytest.mark.parametrize(("action", "phase", "moved"), [
    ("RestartJob", JobPhase.RUNNING, 3), ("RestartTask", JobPhase.RUNNING, 1), ("RestartPod", JobPhase.RUNNING, 1),
    ("AbortJob", JobPhase.FAILED, 0), ("TerminateJob", JobPhase.FAILED, 0), ("CompleteJob", JobPhase.COMPLETED, 0),
])
def test_actions_upon_a_failed_pod(event: str, code: int | None, action: str, phase: JobPhase, moved: int) -> None:
    world, job = after_failure(((event, action, code),), exit_code=3)
    assert job.phase is phase
    if phase is JobPhase.RUNNING:
        assert sum(node not in ("n0", "n2") for node in nodes_of(job)) >= 1 and None not in nodes_of(job)
        assert len(world.said("evicted")) == moved - 1                # the failed pod has given its node back itself
    else:
        assert job.reason == f"{action} upon PodFailed" and nodes_of(job) == [None] * 3


def test_a_policy_for_another_event_or_code_does_not_fit() -> None:
    for policy in (("PodEvicted", "RestartJob", None), ("", "RestartJob", 4)):
        _, job = after_failure((policy,), exit_code=3)
        assert job.phase is JobPhase.FAILED and "no policy is for PodFailed" in job.reason


def test_the_first_policy_that_fits_counts_and_the_tasks_own_come_before() -> None:
    _, job = after_failure((("PodFailed", "CompleteJob", None), ("PodFailed", "AbortJob", None)))
    assert job.phase is JobPhase.COMPLETED
    state = state_with(2)
    job = running(state, ["n0"])
    job.policies, job.tasks[0].policies = (("*", "AbortJob", None),), (("PodFailed", "CompleteJob", None),)
    World(state, [fails("pod", 0, 5)]).run(5)
    assert job.phase is JobPhase.COMPLETED


@pytest.mark.parametrize(("action", "phase", "evicted"), [
    ("RestartJob", JobPhase.RUNNING, 3), ("RestartTask", JobPhase.RUNNING, 1), ("AbortJob", JobPhase.FAILED, 0),
    ("TerminateJob", JobPhase.FAILED, 0), ("CompleteJob", JobPhase.COMPLETED, 0), ("", JobPhase.RUNNING, 1),
])
def test_pod_evicted(action: str, phase: JobPhase, evicted: int) -> None:
    """A chip fault under a job with pod-rescheduling: RestartJob makes it the whole job."""
    state = state_with(6)
    job = running(state, ["n0", "n1", "n2"], fault_scheduling="force", pod_rescheduling=True)
    job.policies = (("PodEvicted", action, None),) if action else ()
    world = World(state, [card("n1", [0], at_s=5)]).run(6)
    assert (job.phase, len(world.said("evicted"))) == (phase, evicted)


def test_job_unknown_after_a_session_without_its_gang() -> None:
    state = state_with(2)
    job = running(state, ["n0", "n1"], fault_scheduling="force", pod_rescheduling=True)
    job.policies = (("JobUnknown", "AbortJob", None),)
    world = World(state, [card("n1", [0], at_s=5)]).run(5.999)
    assert job.phase is JobPhase.RUNNING
    world.run(6)
    assert (job.phase, job.reason) == (JobPhase.FAILED, "AbortJob upon JobUnknown")


def test_job_unknown_may_restart_the_job() -> None:
    state = state_with(2)
    job = running(state, ["n0", "n1"], fault_scheduling="force", pod_rescheduling=True)
    job.policies = (("JobUnknown", "RestartJob", None),)
    world = World(state, [card("n1", [0], at_s=5)]).run(6)
    assert nodes_of(job) == [None, None] and world.message("escalated") == "RestartJob upon JobUnknown: 2 of 2 pods"


@pytest.mark.parametrize("most", [1, 3])
def test_max_retry(most: int) -> None:
    """The maxRetry-th RestartJob fails the job (volcano: RetryCount >= maxRetry)."""
    state = state_with(2)
    job = running(state, ["n0"])
    job.policies, job.max_retry = (("PodFailed", "RestartJob", None),), most
    world = World(state, [fails("pod", at_s=number, index=number) for number in range(1, most + 1)])
    world.run(most - 0.001)
    assert job.phase is JobPhase.RUNNING
    world.run(most)
    assert job.phase is JobPhase.FAILED
    assert job.reason == f"RestartJob upon PodFailed for the {most}. time, maxRetry is {most}"


def test_the_reference_job_restarts_as_a_whole_and_fails_at_its_max_retry() -> None:
    """fault-scheduling grace with PodEvicted -> RestartJob and maxRetry 3, as mind-cluster's sample job has it."""
    state = state_with(4)
    job = running(state, ["n0"], fault_scheduling="grace")
    job.policies = (("PodEvicted", "RestartJob", None),)
    World(state, [card(f"n{number}", [0], at_s=10 * number + 10, index=number) for number in range(3)]).run(40)
    assert job.phase is JobPhase.FAILED and "maxRetry is 3" in job.reason


def test_retries_and_policies_together() -> None:
    """Both must allow a restart: with one retry the second failure ends the job whatever the policy says."""
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", fault_retry_times=1, recover_pod_only=True)
    job.policies = (("PodFailed", "RestartTask", None),)
    world = World(state, [fails("pod", 1, 5), fails("pod", 1, 20, index=1)]).run(10)
    assert nodes_of(job) == ["n0", "n2"]
    world.run(20)
    assert job.phase is JobPhase.FAILED and "no retry is left of fault-retry-times 1" in job.reason


def test_an_elastic_job_runs_with_half_and_grows_again() -> None:
    state = state_with(4)
    job = cases.job(4, fault_scheduling="grace", elastic=True, distributed=True)
    cases.run_on(state, job, ["n0", "n1", "n2", "n3"])
    world = World(state, [card("n3", [0], at_s=10, for_s=60)]).run(30)
    assert len(job.tasks) == 2 and None not in nodes_of(job) and world.recovery.trains(job)
    world.run(71)
    assert len(job.tasks) == 4 and None not in nodes_of(job) and world.recovery.trains(job)
    assert [(stop.why, stop.began_ms) for stop in world.recovery.stops(job)] == [("job", 10_000), ("joined", 70_000)]


def test_pods_of_the_system_are_not_moved_for_sub_health() -> None:
    for plugins, expected in (({"conformance": {}, "volcano-npu": {}, "gang": {}}, "n0"),
                              ({"volcano-npu": {}, "gang": {}}, "n1")):
        state = state_with(2, plugins=plugins)
        job = cases.job(1, namespace="kube-system", fault_scheduling="force", sub_healthy="forceExit")
        cases.run_on(state, job, ["n0"])
        world = World(state, [card("n0", [0], "SubHealthFault", at_s=1)]).run(3)
        assert nodes_of(job) == [expected]
    assert world.said("ignored") == []


def test_a_broken_chip_moves_pods_of_the_system_too() -> None:
    state = state_with(2)
    job = cases.job(1, namespace="kube-system", fault_scheduling="force")
    cases.run_on(state, job, ["n0"])
    World(state, [card("n0", [0], at_s=1)]).run(2)
    assert nodes_of(job) == ["n1"]
