"""The table of levels: every level, type and state of a fault, on chips in use and idle ones."""

from __future__ import annotations

import pytest
import sched_cases as cases
from sched_fault_cases import World, card, node_down, running, state_with

from distsim.errors import InputError
from distsim.scheduler.faults import Fault
from distsim.scheduler.faults.fault import LEVELS
from distsim.scheduler.faults.health import LINK_IGNORED_MS, SPARED_MS
from distsim.scheduler.faults.levels import POLICIES

ISOLATING = ("RestartRequest", "RestartBusiness", "FreeRestartNPU", "RestartNPU", "SeparateNPU")
S = 10**12


def barred(level: str, kind: str = "CardUnhealthy") -> tuple[int, int, bool]:
    """(barred, cut, sub-healthy) of a node whose chip 3 is idle and has a fault."""
    world = World(state_with(1), [card("n0", [3], level, kind)]).run(0)
    node = world.state.nodes["n0"]
    return node.barred, node.cut, node.sub_healthy


@pytest.mark.parametrize(("level", "expected"), [
    ("NotHandleFault", (0, 0, False)),
    *[(level, (8, 0, False)) for level in ISOLATING],
    ("PreSeparateNPU", (8, 0, False)),
    ("SubHealthFault", (0, 0, True)),
])
def test_a_chip_fault_on_an_idle_chip(level: str, expected: tuple[int, int, bool]) -> None:
    assert barred(level) == expected


@pytest.mark.parametrize(("level", "expected"), [
    ("NotHandleFault", (0, 0, False)),
    *[(level, (0, 8, False)) for level in ISOLATING],
    ("PreSeparateNPU", (0, 8, False)),
    ("SubHealthFault", (0, 0, True)),
])
def test_a_network_fault_takes_the_chip_from_jobs_of_several_pods_only(level: str,
                                                                       expected: tuple[int, int, bool]) -> None:
    assert barred(level, "CardNetworkUnhealthy") == expected


def test_every_level_has_its_row() -> None:
    assert set(LEVELS) == {"NotHandleFault", *ISOLATING, "PreSeparateNPU", "SubHealthFault"}


@pytest.mark.parametrize(("level", "moved"), [
    ("NotHandleFault", False), *[(level, True) for level in ISOLATING], ("PreSeparateNPU", False),
    ("SubHealthFault", False),
])
def test_a_chip_fault_on_a_chip_in_use(level: str, moved: bool) -> None:
    """The job has subHealthyStrategy ignore."""
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force")
    world = World(state, [card("n0", [3], level, at_s=5)]).run(6)
    assert job.tasks[0].node == ("n1" if moved else "n0")
    assert (world.said("evicted") == [(5000, "evicted", "job-worker-0")]) == moved
    assert world.recovery.trains(job)


@pytest.mark.parametrize("level", LEVELS)
def test_a_network_fault_evicts_nobody(level: str) -> None:
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force", sub_healthy="ignore")
    world = World(state, [card("n0", range(8), level, "CardNetworkUnhealthy")]).run(60)
    assert job.tasks[0].node == "n0" and world.recovery.stops(job) == []


def test_a_fault_of_a_chip_that_the_job_does_not_hold() -> None:
    state = state_with(1)
    job = running(state, ["n0"], 4, fault_scheduling="force")            # chips 0 to 3
    World(state, [card("n0", [4, 5])]).run(1)
    assert job.tasks[0].node == "n0" and state.nodes["n0"].idle() == 0b11000000


def test_chips_come_back_when_the_fault_ends_unless_another_holds_them() -> None:
    state = state_with(1)
    state.nodes["n0"].barred = 128                                        # barred before
    world = World(state, [card("n0", [0, 1], at_s=1, for_s=4), card("n0", [1], at_s=2, for_s=8, index=1)])
    seen = [world.run(time).state.nodes["n0"].barred for time in (0, 1, 4, 5, 10)]
    assert seen == [128, 131, 131, 130, 128]


@pytest.mark.parametrize(("fault", "healthy", "sub", "moved"), [
    (node_down("n0"), False, False, True),
    (node_down("n0", state="PreSeparate", kind=""), False, False, False),
    (node_down("n0", state="SubHealthy", kind=""), True, True, False),
    (node_down("n0", state="Healthy", kind=""), True, False, False),
    (node_down("n0", detection=False), True, False, False),
    (node_down("n0", detection=False, codes=("heartbeatTimeOut",)), True, False, False),
    (node_down("n0", codes=("heartbeatTimeOut",)), False, False, True),
], ids=["UnHealthy", "PreSeparate", "SubHealthy", "Healthy", "NodeDEnable false", "heartbeat unseen", "heartbeat"])
def test_states_of_a_node(fault: Fault, healthy: bool, sub: bool, moved: bool) -> None:
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force")
    World(state, [fault]).run(1)
    node = state.nodes["n0"]
    assert (node.healthy, node.sub_healthy, job.tasks[0].node) == (healthy, sub, "n1" if moved else "n0")


def test_disconnected_cuts_the_chip_whatever_else_it_has() -> None:
    state = state_with(1)
    World(state, [card("n0", [2], "NotHandleFault", codes=("Disconnected", "80E18005"))]).run(0)
    assert (state.nodes["n0"].barred, state.nodes["n0"].cut) == (0, 4)


def test_a_node_that_comes_back_is_usable_again() -> None:
    world = World(state_with(1), [node_down("n0", 1, 5)])
    assert not world.run(5).state.nodes["n0"].healthy and world.run(6).state.nodes["n0"].healthy


@pytest.mark.parametrize("target", ["nic", "link", "switch"])
def test_a_link_that_is_down_for_up_to_20_seconds_is_no_fault(target: str) -> None:
    fault = Fault(0, target, 0, None, cuts=(("n0", 0b11),), names=("NIC-0",))
    world = World(state_with(1), [fault])
    world.run(LINK_IGNORED_MS / 1000)
    assert world.state.nodes["n0"].cut == 0
    world.run(LINK_IGNORED_MS / 1000 + 0.001)
    assert (world.state.nodes["n0"].cut, world.state.nodes["n0"].barred) == (0b11, 0)


def test_a_short_link_fault_is_over_before_it_counts() -> None:
    world = World(state_with(1), [Fault(0, "nic", 0, 20 * S, cuts=(("n0", 1),), names=("NIC-0",))]).run(40)
    assert world.state.nodes["n0"].cut == 0
    assert [(one.time_ms, one.kind) for one in world.log] == [(0, "fault"), (20_000, "recovered")]


def subscribed(for_s: int | None, annotation: str = "on") -> tuple[World, str | None]:
    """The world after 2 minutes, and the node, of a job that has subscribed and whose chip has a RestartRequest."""
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force")
    job.annotations["distsim/subscribe-faults"] = annotation
    world = World(state, [card("n0", [0], "RestartRequest", at_s=10, for_s=for_s)]).run(120)
    return world, job.tasks[0].node


def test_restart_request_of_a_subscribed_inference_job_waits_60_seconds() -> None:
    assert SPARED_MS == 60_000
    world, node = subscribed(60)
    assert node == "n0" and world.said("evicted") == []                   # exactly 60 s do not exceed them
    world, node = subscribed(None)
    assert node == "n1" and world.said("evicted") == [(70_001, "evicted", "job-worker-0")]
    assert world.state.nodes["n0"].barred == 1
    world, node = subscribed(None, "off")
    assert node == "n1" and world.said("evicted") == [(10_000, "evicted", "job-worker-0")]


def test_a_spared_chip_is_isolated_once_the_job_has_gone() -> None:
    state = state_with(1)
    job = running(state, ["n0"], 4, fault_scheduling="force")
    job.annotations["distsim/subscribe-faults"] = "on"
    world = World(state, [card("n0", [0, 6], "RestartRequest", at_s=1)]).run(2)
    assert state.nodes["n0"].barred == 64                                 # chip 6 is nobody's
    state.release(job.tasks[0])
    world.run(3)
    assert state.nodes["n0"].barred == 65


def test_pre_separate_moves_the_job_only_when_it_really_fails() -> None:
    state = state_with(2)
    job = running(state, ["n0"], fault_scheduling="force", fault_retry_times=1)
    world = World(state, [card("n0", [0], "PreSeparateNPU", at_s=1), Fault(1, "pod", 30 * S, job="job")]).run(29)
    assert job.tasks[0].node == "n0" and world.recovery.trains(job)
    world.run(30)
    assert job.tasks[0].node == "n1"


@pytest.mark.parametrize(("level", "policy"), [
    ("", "empty"), ("NotHandleFault", "ignore"), ("SubHealthFault", "ignore"), ("RestartRequest", "restart_request"),
    ("RestartBusiness", "restart"), ("FreeRestartNPU", "free_reset"), ("RestartNPU", "reset"),
    ("SeparateNPU", "isolate"), ("PreSeparateNPU", "isolate"),
])
def test_policies_of_the_levels(level: str, policy: str) -> None:
    assert POLICIES[level] == policy


def test_a_new_job_shuns_a_sub_healthy_node_as_its_strategy_says() -> None:
    for strategy, nodes in (("ignore", ["n1", "n0"]), ("graceExit", ["n1"]), ("forceExit", ["n1"]),
                            ("hotSwitch", ["n1"])):
        state = state_with(2)
        world = World(state, [card("n0", [0], "SubHealthFault")]).run(0)
        found = []
        for number in range(2):
            job = cases.job(1, 8, f"job{number}", fault_scheduling="force", sub_healthy=strategy)
            world.scheduler.submit(job, world.now_ms)
            world.run(number + 1)
            found.append(job.tasks[0].node)
        assert [node for node in found if node] == nodes, strategy          # ignore: the node comes last


def test_bad_options_of_a_job_are_named() -> None:
    state = state_with(1)
    job = running(state, ["n0"], fault_scheduling="force")
    job.annotations["distsim/subscribe-faults"] = "yes"
    with pytest.raises(InputError, match="distsim/subscribe-faults: 'yes' is not valid; valid values: on, off"):
        World(state, [card("n0", [0], "RestartRequest")]).run(0)
