"""tor-affinity version 2.0 and single layer: the worked example of cluster.md, and a hand-worked case a rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from sched_cases import job, request, run_on, tor_state

from distsim.cluster.tor_node import Server, Tor, TorNodes
from distsim.scheduler.policies import policy
from distsim.scheduler.policies.tor.states import NOTE, SwitchState, switch_states
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State
from distsim.scheduler.types import INVALID_REQUEST, Job, Placement, Refusal

LARGE, NORMAL = "large-model-schema", "normal-schema"
SHARED, UNHEALTHY, EXCLUSIVE = (1, 0), (1, 1), (2, 0)          # IsSharedTor, IsHealthy
POLICY = policy("tor-affinity")


def v2(most: int = 2, tors: int = 4, busy: Iterable[int] = (), **file: tuple[int, int]) -> State:
    """A cluster under version 2.0. most : shared-tor-num. file : T1=SHARED and the like, for the basic-tor-node-cm."""
    state = tor_state(tors, settings=SchedulerSettings(nslb_version="2.0", shared_tor_num=most), busy=busy)
    return of_file(state, tors, "double_layer", {int(name[1:]): kind for name, kind in file.items()})


def of_file(state: State, tors: int, level: str, kinds: dict[int, tuple[int, int]] | None = None) -> State:
    """The state with what a basic-tor-node-cm says."""
    switches = []
    for tor in range(tors):
        shared, healthy = (kinds or {}).get(tor, (0, 0))
        servers = tuple(Server(server_ip=f"n{4 * tor + s}", npu_count=8, slice_id=s) for s in range(4))
        switches.append(Tor(tor_id=tor, IsSharedTor=shared, IsHealthy=healthy, server=servers))
    state.cluster = replace(state.cluster, tor_nodes=TorNodes(level, switches, 4))
    return state


def placed(state: State, wanted: Job) -> Placement:
    """The placement of a job that fits."""
    found = POLICY.place(request(state, wanted))
    assert isinstance(found, Placement), found
    return found


def start(state: State, wanted: Job) -> Placement:
    """Place a job and let it run."""
    found = placed(state, wanted)
    wanted.notes = dict(found.notes)
    run_on(state, wanted, found.nodes)
    return found


def lack(state: State, wanted: Job) -> str:
    """Why a job is refused, after the words that name it."""
    found = POLICY.place(request(state, wanted))
    assert isinstance(found, Refusal), found
    return found.message.split("): ", 1)[1]


def n(*numbers: int) -> tuple[str, ...]:
    """Names of nodes."""
    return tuple(f"n{number}" for number in numbers)


def test_the_worked_example() -> None:
    state = v2()
    first = start(state, job(6, name="a", tor_affinity=LARGE))
    assert first.nodes == n(0, 1, 2, 3, 4, 5)
    assert dict(first.notes) == {"slices": {0: 2, 1: 2, 2: 1, 3: 1}, "switches": 2, "rows": 2, "class": "large",
                                 "form": "idle and shared switches", "states": {0: "exclusive", 1: "shared"}}
    assert start(state, job(6, name="b", tor_affinity=LARGE)).nodes == n(8, 9, 10, 11, 6, 7)
    assert switch_states(state) == {0: SwitchState.EXCLUSIVE, 1: SwitchState.SHARED, 2: SwitchState.EXCLUSIVE}
    assert lack(state, job(5, name="c", tor_affinity=LARGE)) == "4 of 5 nodes needed can be used (lack 1)"
    assert start(state, job(4, name="d", tor_affinity=LARGE)).notes["states"] == {}


@pytest.mark.parametrize("busy, ranks", [
    ((), n(12, 13)), (range(12, 16), n(8, 9)), (range(8, 16), n(4, 5)), (range(4, 16), n(0, 1))])
def test_a_job_at_one_switch_tries_exclusive_unhealthy_shared_idle(busy: Iterable[int], ranks: tuple[str, ...]) -> None:
    state = v2(busy=busy, T1=SHARED, T2=UNHEALTHY, T3=EXCLUSIVE)
    found = placed(state, job(2, tor_affinity=LARGE))
    assert (found.nodes, found.notes["states"]) == (ranks, {})


def test_a_job_at_one_switch_takes_the_tightest_of_a_state() -> None:
    state = v2(busy=[12], T1=EXCLUSIVE, T2=EXCLUSIVE, T3=EXCLUSIVE)
    assert placed(state, job(3, tor_affinity=NORMAL)).nodes == n(13, 14, 15)
    assert placed(state, job(2, tor_affinity=LARGE)).nodes == n(13, 14)
    assert placed(v2(T1=EXCLUSIVE, T2=EXCLUSIVE), job(2, tor_affinity=LARGE)).nodes == n(4, 5)


def test_a_filler_does_not_span() -> None:
    state = v2(busy=[0, 1, 4, 5, 8, 9, 12, 13])
    assert lack(state, job(3, tor_affinity=LARGE)) == ("no switch has 3 usable nodes: switch 0 has the most, 2 "
                                                       "(lacks 1)")
    assert placed(state, job(3, tor_affinity=NORMAL)).nodes == n(2, 3, 6)


def test_the_emptiest_idle_switches_are_filled_first() -> None:
    """Three nodes at switch 0, four at switch 1: 1 becomes exclusive, 0 shared."""
    found = placed(v2(tors=2, busy=[0]), job(6, tor_affinity=LARGE))
    assert (found.nodes, found.notes["states"]) == (n(4, 5, 6, 7, 1, 2), {0: "shared", 1: "exclusive"})


# Switch 0 is idle; shared ones have 3 (n5 n6 n7), 2 (n10 n11) and 1 (n15) usable nodes.
THREE_SHARED: dict[str, tuple[int, int]] = {"T1": SHARED, "T2": SHARED, "T3": SHARED}
THREE_BUSY = [4, 8, 9, 12, 13, 14]


@pytest.mark.parametrize("most, pods, remainder", [
    (1, 5, n(15)), (1, 6, n(10, 11)), (1, 7, n(5, 6, 7)),
    (2, 5, n(15)), (2, 6, n(10, 11)), (2, 7, n(15, 10, 11)), (2, 8, n(15, 5, 6, 7)), (2, 9, n(10, 11, 5, 6, 7)),
])
def test_the_remainder_goes_where_it_leaves_least(most: int, pods: int, remainder: tuple[str, ...]) -> None:
    """Two nodes left: one switch with two. Three left: one with three, or 1 + 2, and two go before one. Four: 1 + 3."""
    found = placed(v2(most, busy=THREE_BUSY, **THREE_SHARED), job(pods, tor_affinity=LARGE))
    assert found.nodes == n(0, 1, 2, 3) + remainder


@pytest.mark.parametrize("most, pods, missing", [(1, 8, 1), (2, 10, 1)])
def test_at_most_shared_tor_num_switches_are_shared(most: int, pods: int, missing: int) -> None:
    best = {1: 3, 2: 5}[most]
    assert lack(v2(most, busy=THREE_BUSY, **THREE_SHARED), job(pods, tor_affinity=LARGE)) == (
        f"idle switches have 4 usable nodes and the best {most} healthy shared ones (shared-tor-num) {best}, {pods} "
        f"needed (lack {missing}); not idle: switch 1 (shared, 3 nodes), switch 2 (shared, 2 nodes), switch 3 (shared, "
        f"1 node)")


def test_shared_switches_that_cannot_hold_the_remainder_are_left_alone() -> None:
    """Three nodes are left after switch 0, the shared switch has two: the next idle one turns shared."""
    found = placed(v2(1, tors=3, busy=[8, 9], T2=SHARED), job(7, tor_affinity=LARGE))
    assert (found.nodes, found.notes["states"]) == (n(0, 1, 2, 3, 4, 5, 6), {0: "exclusive", 1: "shared"})


def test_large_jobs_use_no_unhealthy_and_no_exclusive_switch() -> None:
    state = v2(T1=UNHEALTHY, T2=EXCLUSIVE, T3=EXCLUSIVE)
    assert lack(state, job(5, tor_affinity=LARGE)).endswith(
        "not idle: switch 1 (shared unhealthy, 4 nodes), switch 2 (exclusive, 4 nodes), switch 3 (exclusive, 4 nodes)")


def test_normal_jobs_overflow_into_unhealthy_switches() -> None:
    state = v2(T1=UNHEALTHY, T2=EXCLUSIVE, T3=EXCLUSIVE)
    found = placed(state, job(6, tor_affinity=NORMAL))
    assert found.nodes == n(0, 1, 2, 3, 4, 5)
    assert found.notes["states"] == {0: "exclusive", 1: "shared unhealthy"}
    assert lack(state, job(9, tor_affinity=NORMAL)) == (
        "idle switches, unhealthy shared ones and those that no large job spans have 8 of 9 usable nodes (lack 1); not "
        "idle: switch 1 (shared unhealthy, 4 nodes), switch 2 (exclusive, 4 nodes), switch 3 (exclusive, 4 nodes)")


def test_normal_jobs_overflow_into_switches_that_no_large_job_spans() -> None:
    """Switch 0 idle, 1 unhealthy; at 2 a normal job that spans (n8), at 3 a large one (n12 n13); 4 is full. Large
    rules hold 4 + 3 nodes; so 9 go to 0, then 1, then 2, which becomes unhealthy; switch 3 stays closed to 12."""
    state = v2(1, tors=5, busy=[19], T1=UNHEALTHY)
    run_on(state, job(2, name="a", tor_affinity=NORMAL), n(8, 16)).notes = {NOTE: {2: "shared", 4: "exclusive"}}
    run_on(state, job(4, name="b", tor_affinity=LARGE), n(12, 13, 17, 18)).notes = {NOTE: {3: "shared", 4: "exclusive"}}
    found = placed(state, job(9, tor_affinity=NORMAL))
    assert found.nodes == n(*range(8), 9)
    assert found.notes["states"] == {0: "exclusive", 1: "shared unhealthy", 2: "shared unhealthy"}
    assert placed(state, job(7, tor_affinity=NORMAL)).nodes == n(0, 1, 2, 3, 9, 10, 11)       # as a large one
    assert "have 11 of 12 usable nodes (lack 1)" in lack(state, job(12, tor_affinity=NORMAL))


def test_what_a_job_made_of_a_switch_ends_with_it() -> None:
    state = v2()
    wanted = job(6, name="a", tor_affinity=LARGE)
    start(state, wanted)
    for task in wanted.tasks[4:]:
        state.release(task)
    assert switch_states(state) == {0: SwitchState.EXCLUSIVE}
    for task in wanted.tasks[:4]:
        state.release(task)
    assert switch_states(state) == {}


def test_a_filler_that_ends_leaves_an_exclusive_switch_exclusive() -> None:
    """n0 is a filler's; the job takes 3 nodes of switch 0 and 4 of switch 1. n0 is free later, for a filler."""
    state = v2(tors=2)
    filler = run_on(state, job(1, name="fill", tor_affinity=LARGE), n(0))
    assert start(state, job(7, name="a", tor_affinity=LARGE)).notes["states"] == {0: "exclusive", 1: "exclusive"}
    state.release(filler.tasks[0])
    assert placed(state, job(1, name="small", tor_affinity=LARGE)).nodes == n(0)
    assert switch_states(state)[0] is SwitchState.EXCLUSIVE


def test_states_of_jobs_placed_by_other_rules() -> None:
    """A job that spans fills switch 0 and leaves room at switch 1; one that uses three shared ones is one too many."""
    state = v2(tors=5)
    run_on(state, job(5, name="a"), n(0, 1, 2, 3, 4))
    assert switch_states(state) == {0: SwitchState.EXCLUSIVE, 1: SwitchState.SHARED}
    run_on(state, job(3, name="b"), n(8, 12, 16))
    assert switch_states(state) == {0: SwitchState.EXCLUSIVE, 1: SwitchState.SHARED, **dict.fromkeys(
        (2, 3, 4), SwitchState.UNHEALTHY)}


def test_the_file_stands_and_unhealthy_wins_over_shared() -> None:
    state = v2(T1=SHARED, T2=EXCLUSIVE, T3=UNHEALTHY)
    run_on(state, job(3, name="a"), n(4, 8, 12)).notes = {NOTE: {1: "shared unhealthy", 2: "shared", 3: "shared"}}
    assert switch_states(state) == {1: SwitchState.UNHEALTHY, 2: SwitchState.EXCLUSIVE, 3: SwitchState.UNHEALTHY}


def test_single_layer_keeps_jobs_at_one_switch() -> None:
    """Version 2.0 or 1.0, large or normal: the tightest switch, of equal ones the last."""
    for version in ("1.0", "2.0"):
        state = of_file(tor_state(settings=SchedulerSettings(nslb_version=version), busy=[4, 8]), 4, "single_layer")
        assert placed(state, job(3, tor_affinity=NORMAL)).nodes == n(9, 10, 11)
        found = placed(state, job(4, tor_affinity=LARGE))
        assert (found.nodes, found.notes["form"]) == (n(12, 13, 14, 15), "one switch")
    state = of_file(tor_state(busy=[0, 4, 8, 12]), 4, "single_layer")
    assert lack(state, job(4, tor_affinity=NORMAL)) == ("no switch has 4 usable nodes: switch 0 has the most, 3 "
                                                        "(lacks 1)")
    invalid = POLICY.validate(job(5, tor_affinity=NORMAL), state)
    assert invalid is not None and (invalid.reason, invalid.final) == (INVALID_REQUEST, True)
    assert invalid.message == ("job job has 5 pods and stays at one switch (tor_level is single_layer); a switch has 4 "
                               "nodes")
