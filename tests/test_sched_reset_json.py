"""reset.json: its fields, what each value makes an agent do, and how that changes what becomes of a job."""

from __future__ import annotations

from typing import Any

import pytest
from sched_fault_cases import World, card, fails, node_down, running, state_with

from distsim.scheduler.faults import Times
from distsim.scheduler.faults.agent import Act, Agent
from distsim.scheduler.faults.reset_json import RankFault, ResetConfig
from distsim.scheduler.types import Job, JobPhase

DAY = 1_700_000_000        # seconds since 1970: 2023-11-14T22:13:20Z


def agent(alive: bool = True, training: bool = False) -> Agent:
    """Of a node with the processes 8 to 15."""
    return Agent("n1", tuple(range(8, 16)), alive, training)


def fault(rank: int = 11, policy: str = "isolate", status: str = "unrecovered") -> RankFault:
    return RankFault(rank, rank % 8, policy, policy, ("80E18005",), status)


def test_the_empty_document() -> None:
    assert ResetConfig().document() == {"reset.json": {
        "RankList": [], "UpdateTime": 0, "RetryTime": 0, "FaultFlushing": False, "GracefulExit": 0,
        "RestartFaultProcess": False}, "restartType": "podReschedule"}


def test_an_entry_of_the_rank_list() -> None:
    """80E18005 is 2162262021 in decimal; Disconnected and heartbeatTimeOut have no number."""
    entry = RankFault(11, 3, "reset", "restart", ("0x80E18005", "Disconnected", "heartbeatTimeOut", "1F"), "failed")
    assert entry.document() == {"RankId": 11, "LogicId": 3, "Status": "failed", "Policy": "reset",
                                "InitialPolicy": "restart", "ErrorCode": [0x80E18005, 31],
                                "ErrorCodeHex": "80E18005,1F"}
    assert 0x80E18005 == 2162262021


def test_update_time_counts_from_the_start_given() -> None:
    reset = ResetConfig(DAY)
    reset.flush(10_999)
    assert reset.document()["reset.json"]["UpdateTime"] == DAY + 10


# What each field makes an agent do.

def test_fault_flushing_gates_the_start() -> None:
    reset, one = ResetConfig(flushing=True), agent()
    assert one.read(reset) is None and not one.training
    reset.flushing = False
    assert one.read(reset) is Act.STARTED and one.training


def test_a_fault_of_this_node_gates_the_start_and_one_elsewhere_does_not() -> None:
    new = agent(alive=False)
    assert new.read(ResetConfig(entries=[fault(11)])) is None and not new.training
    assert new.read(ResetConfig(entries=[fault(7)])) is Act.STARTED


def test_restart_fault_process_true_starts_the_faulty_process_only() -> None:
    reset, one = ResetConfig(), agent(training=True)
    reset.report([fault(11)], 0, restart_fault=True)
    assert one.read(reset) is Act.RESTARTED
    assert (one.again, one.alive, one.ended) == ({11: 1}, True, False)
    assert one.read(reset) is None and one.again == {11: 1}                # once for each reset.json
    reset.report([fault(11), fault(12)], 0, restart_fault=True)
    assert one.read(reset) is Act.RESTARTED and one.again == {11: 2, 12: 1}


def test_restart_fault_process_false_ends_the_node() -> None:
    one = agent(training=True)
    assert one.read(ResetConfig(entries=[fault(11)])) is Act.ENDED
    assert (one.alive, one.training, one.ended) == (False, False, True)
    assert one.read(ResetConfig()) is None                                  # it is gone


@pytest.mark.parametrize("restart", [True, False])
def test_restart_fault_process_acts_only_while_the_list_has_a_fault_of_this_node(restart: bool) -> None:
    for entries in ([], [fault(3)], [fault(11, status="recovered")]):
        one = agent()
        assert one.read(ResetConfig(entries=entries, restart_fault=restart)) is Act.STARTED
        assert (one.again, one.ended) == ({}, False)


@pytest.mark.parametrize(("value", "expected"), [(0, Act.STARTED), (1, Act.SAVED)])
def test_graceful_exit(value: int, expected: Act) -> None:
    one = agent()
    assert one.read(ResetConfig(graceful_exit=value)) is expected
    assert one.alive == (value == 0)
    assert one.read(ResetConfig(graceful_exit=value)) is None


@pytest.mark.parametrize(("status", "expected"), [
    ("unrecovered", None), ("recovered", Act.STARTED), ("failed", Act.ENDED)])
def test_status_in_a_hot_reset(status: str, expected: Act | None) -> None:
    one, reset = agent(), ResetConfig()
    reset.hot_reset([fault(11, "reset", status)], 0)
    assert one.read(reset) is expected and one.training == (status == "recovered")


@pytest.mark.parametrize(("policy", "expected"), [
    ("empty", Act.STARTED), ("ignore", Act.STARTED), ("free_reset", Act.STARTED), ("restart_request", Act.ENDED),
    ("restart", Act.ENDED), ("reset", Act.ENDED), ("isolate", Act.ENDED)])
def test_policies_of_a_reschedule(policy: str, expected: Act) -> None:
    assert agent().read(ResetConfig(entries=[fault(11, policy)])) is expected


@pytest.mark.parametrize(("policy", "alive", "act"), [
    ("empty", True, Act.STARTED), ("ignore", True, Act.STARTED), ("free_reset", True, Act.STARTED),
    ("restart_request", True, None), ("restart", False, None), ("reset", False, None), ("isolate", False, Act.ENDED)])
def test_policies_of_a_hot_reset(policy: str, alive: bool, act: Act | None) -> None:
    """A request is executed again by the process that is there; for restart and reset it ends and waits."""
    one, reset = agent(), ResetConfig()
    reset.hot_reset([fault(11, policy)], 0)
    assert (one.read(reset), one.alive) == (act, alive)


def test_restart_type_decides_what_a_fault_does() -> None:
    hot, pod = ResetConfig(), ResetConfig()
    hot.hot_reset([fault(11, "restart")], 0)
    pod.report([fault(11, "restart")], 0)
    assert (hot.restart_type, pod.restart_type) == ("hotReset", "podReschedule")
    assert agent().read(hot) is None and agent().read(pod) is Act.ENDED


def test_retry_time_starts_all_processes_again() -> None:
    reset, one = ResetConfig(), agent(training=True)
    reset.clear(0)
    assert one.read(reset) is None and one.again == {}
    reset.clear(0, restart_all=True)
    assert one.read(reset) is Act.STARTED and one.again == dict.fromkeys(range(8, 16), 1)


# How the fields change what becomes of jobs.

def fields(world: World, job: Job) -> dict[str, Any]:
    found: dict[str, Any] = world.recovery.reset_json(job)["reset.json"]
    return found


@pytest.mark.parametrize("flush", [0, 1_000, 10_000])
def test_training_starts_when_flushing_is_over(flush: int) -> None:
    """The pod has a new node at once; its processes and the others' wait for FaultFlushing to be false."""
    state = state_with(4)
    job = running(state, ["n0", "n1"], fault_scheduling="force", pod_rescheduling=True)
    world = World(state, [card("n1", [3], at_s=10, codes=("80E18005",))], Times(flush=flush)).run(10)
    assert fields(world, job)["FaultFlushing"] == (flush > 0)
    world.run(30)
    (stop,) = world.recovery.stops(job)
    assert stop.ended_ms == 10_000 + flush and not fields(world, job)["FaultFlushing"]


def test_the_list_holds_the_failed_ranks_until_the_pod_is_back() -> None:
    state = state_with(2)
    job = running(state, ["n0", "n1"], fault_scheduling="force", pod_rescheduling=True)
    world = World(state, [card("n1", [3, 5], at_s=10, for_s=10, level="RestartNPU", codes=("80E18005",))]).run(11)
    entry = {"Status": "unrecovered", "Policy": "reset", "InitialPolicy": "reset", "ErrorCode": [0x80E18005],
             "ErrorCodeHex": "80E18005"}
    assert fields(world, job) == {
        "RankList": [{"RankId": 11, "LogicId": 3} | entry, {"RankId": 13, "LogicId": 5} | entry], "UpdateTime": 11,
        "RetryTime": 0, "FaultFlushing": False, "GracefulExit": 0, "RestartFaultProcess": False}
    assert not world.recovery.trains(job)
    world.run(20)
    assert fields(world, job)["RankList"] == [] and fields(world, job)["RetryTime"] == 1
    assert fields(world, job)["UpdateTime"] == 20 and world.recovery.trains(job)


@pytest.mark.parametrize("in_place", [True, False])
def test_restart_fault_process_keeps_or_replaces_the_pod(in_place: bool) -> None:
    """Process 11 (chip 3 of rank 1) fails at 10 s. recover-in-place: its pod stays; else the node's processes end."""
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", process_recover=True, fault_retry_times=2)
    if in_place:
        job.annotations["recover-strategy"] = "retry,recover-in-place"
    world = World(state, [fails("process", 11, 10)], Times(flush=2_000)).run(11)
    assert job.tasks[1].node == "n1" and fields(world, job)["FaultFlushing"]
    world.run(20)
    assert job.tasks[1].node == ("n1" if in_place else "n2")
    (stop,) = world.recovery.stops(job)
    assert (stop.why, stop.ended_ms, stop.keeps) == (("in-place", 12_000, True) if in_place
                                                     else ("process", 12_000, True))
    assert len(world.said("restarted")) == in_place and len(world.said("evicted")) == (not in_place)
    assert world.recovery.remain_retry_times()["default/job"]["Times"] == 1


@pytest.mark.parametrize(("level", "stays"), [
    ("RestartRequest", True), ("RestartBusiness", True), ("RestartNPU", False), ("SeparateNPU", False)])
def test_chip_faults_that_are_dealt_with_in_place(level: str, stays: bool) -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", process_recover=True)
    job.annotations["recover-strategy"] = "recover-in-place"
    world = World(state, [card("n1", [3], level, at_s=10)]).run(40)
    assert job.tasks[1].node == ("n1" if stays else "n2")
    assert len(world.said("restarted")) == stays and world.recovery.trains(job)


def test_rank_0_may_recover_in_place() -> None:
    state = state_with(2)
    job = running(state, ["n0", "n1"], fault_scheduling="force", process_recover=True, fault_retry_times=1)
    job.annotations["recover-strategy"] = "recover-in-place"
    world = World(state, [fails("process", 0, 10)]).run(20)
    assert [task.node for task in job.tasks] == ["n0", "n1"] and world.said("evicted") == []


def test_a_node_that_dies_undoes_what_is_done_in_place() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", process_recover=True, fault_retry_times=1)
    job.annotations["recover-strategy"] = "recover-in-place"
    faults = [fails("process", 9, 10), node_down("n1", 11, index=1)]
    world = World(state, faults, Times(flush=5_000)).run(30)
    assert job.tasks[1].node == "n2" and world.said("restarted") == [] and world.recovery.trains(job)


def test_the_process_of_a_job_without_agents_takes_its_pod_along() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", fault_retry_times=1)
    world = World(state, [fails("process", 9, 10)]).run(10)
    assert world.recovery.stops(job)[0].why == "job" and world.recovery.trains(job)


def test_no_retry_left_for_a_process() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="force", process_recover=True, fault_retry_times=1)
    World(state, [fails("process", 9, 10), fails("process", 9, 20, index=1)]).run(30)
    assert job.phase is JobPhase.FAILED and "no retry is left" in job.reason


@pytest.mark.parametrize("strategy", ["graceExit", "forceExit"])
def test_graceful_exit_saves_a_checkpoint(strategy: str) -> None:
    state = state_with(3)
    job = running(state, ["n0"], fault_scheduling="grace", sub_healthy=strategy)
    job.annotations["distsim/graceful-end"] = "5s"
    world = World(state, [card("n0", [0], "SubHealthFault", at_s=10)]).run(12)
    graceful = strategy == "graceExit"
    assert fields(world, job)["GracefulExit"] == graceful
    world.run(20)
    assert fields(world, job)["GracefulExit"] == 0
    assert world.recovery.stops(job)[0].saved == graceful
    assert world.recovery.stops(job)[0].ended_ms == (15_000 if graceful else 10_000)


def test_process_recovery_does_without_graceful_exit() -> None:
    state = state_with(3)
    job = running(state, ["n0", "n1"], fault_scheduling="grace", sub_healthy="graceExit", process_recover=True)
    world = World(state, [card("n1", [0], "SubHealthFault", at_s=10)]).run(20)
    assert job.tasks[1].node == "n2" and world.said("saved") == []
    assert fields(world, job)["RankList"] == [] and world.recovery.trains(job)
