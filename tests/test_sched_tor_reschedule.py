"""tor-affinity when some pods of a running job need new nodes: a hand-worked case for every rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from sched_cases import job, request, run_on, tor_state

from distsim.cluster.tor_node import Server, Tor, TorNodes
from distsim.scheduler.policies import policy
from distsim.scheduler.policies.tor.states import NOTE
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import State
from distsim.scheduler.types import PREDICATE_FAILED, Job, Placement, Refusal

LARGE, NORMAL = "large-model-schema", "normal-schema"


def n(*numbers: int) -> tuple[str, ...]:
    """Names of nodes."""
    return tuple(f"n{number}" for number in numbers)


def running(label: str, names: Sequence[str], version: str = "1.0", most: int = 2, busy: Iterable[int] = (),
            notes: dict[int, str] | None = None) -> tuple[State, Job]:
    """A job on these nodes of four switches of four."""
    state = tor_state(settings=SchedulerSettings(nslb_version=version, shared_tor_num=most), busy=busy)
    wanted = run_on(state, job(len(names), tor_affinity=label), names)
    wanted.notes = {} if notes is None else {NOTE: notes}
    return state, wanted


def lose(state: State, wanted: Job, names: Iterable[str], broken: bool = True) -> None:
    """The pods on these nodes fail; broken : so do the nodes."""
    for task in wanted.tasks:
        if task.node in names:
            state.release(task)
    for name in names if broken else ():
        state.nodes[name].barred = state.nodes[name].all_chips


def again(state: State, wanted: Job) -> Placement:
    """Where the lost pods go."""
    found = policy("tor-affinity").place(request(state, wanted))
    assert isinstance(found, Placement), found
    return found


def lack(state: State, wanted: Job) -> str:
    """Why they go nowhere, after the words that name the job."""
    found = policy("tor-affinity").place(request(state, wanted))
    assert isinstance(found, Refusal) and found.condition == PREDICATE_FAILED, found
    return found.message.split("): ", 1)[1]


def test_a_replacement_has_the_slice_that_was_vacated() -> None:
    """Eight nodes of switches 0 and 1; n5 was slice 1. Switches 2 and 3 are alike: n9."""
    state, wanted = running(LARGE, n(*range(8)))
    lose(state, wanted, n(5))
    found = again(state, wanted)
    assert found.nodes == n(9)
    assert dict(found.notes) == {"slices": {0: 2, 1: 2, 2: 2, 3: 2}, "switches": 3, "rows": 1, "class": "large",
                                 "form": "vacated slices"}
    lose(state, wanted, n(2, 0))
    assert again(state, wanted).nodes == n(8, 10, 9)                     # pods 0, 2 and 5


def test_the_fullest_other_switch_gives_the_node() -> None:
    state, wanted = running(LARGE, n(*range(8)), busy=[12])
    lose(state, wanted, n(5))
    assert again(state, wanted).nodes == n(13)


def test_switches_that_the_job_uses_come_first() -> None:
    state, wanted = running(NORMAL, n(0, 1, 2, 4))
    lose(state, wanted, n(1))
    assert again(state, wanted).nodes == n(5)


def test_switches_that_another_job_spans_are_closed() -> None:
    state, wanted = running(LARGE, n(*range(8)))
    run_on(state, job(4, name="other", tor_affinity=LARGE), n(8, 9, 12, 13))
    lose(state, wanted, n(5, 6))
    assert lack(state, wanted) == (
        "slice 1 has 0 of 1 node for job-worker-5 (was on n5) (lacks 1), slice 2 has 0 of 1 node for job-worker-6 (was "
        "on n6) (lacks 1); closed: switch 2 (2 nodes; default/other spans switches there), switch 3 (2 nodes; "
        "default/other spans switches there)")


def test_a_pod_goes_back_to_its_own_node_when_that_is_sound() -> None:
    """Also where another normal job spans: the switch stays what it is. After a failure (bad_score) only without any
    other node."""
    state, wanted = running(NORMAL, n(0, 1, 4, 5))
    run_on(state, job(2, name="other", tor_affinity=NORMAL), n(2, 6))
    lose(state, wanted, n(5), broken=False)
    assert again(state, wanted).nodes == n(5)
    state.nodes["n5"].bad_score = 64
    assert again(state, wanted).nodes == n(9)
    for name in n(9, 13):
        state.nodes[name].barred = state.nodes[name].all_chips
    assert again(state, wanted).nodes == n(5)


def test_a_switch_that_the_job_has_left_is_judged_anew() -> None:
    """n4 is as good as before, but meanwhile a job spans at switch 1; slice 0 of switch 2 is n8."""
    state, wanted = running(LARGE, n(0, 1, 2, 3, 4))
    lose(state, wanted, n(4), broken=False)
    run_on(state, job(2, name="other", tor_affinity=NORMAL), n(5, 13))
    assert again(state, wanted).nodes == n(8)


def test_fillers_cannot_move() -> None:
    state, wanted = running(LARGE, n(0, 1))
    lose(state, wanted, n(1), broken=False)
    assert again(state, wanted).nodes == n(1)
    lose(state, wanted, n(1))
    state.nodes["n1"].barred = 0xFF
    assert lack(state, wanted) == ("a filler cannot move, its pods can only go back where they were: job-worker-1 (was "
                                   "on n1)")


def test_a_job_at_one_switch_may_begin_to_span_but_not_beside_another() -> None:
    state, wanted = running(NORMAL, n(0, 1))
    lose(state, wanted, n(1))
    assert again(state, wanted).nodes == n(5)
    run_on(state, job(2, name="other", tor_affinity=NORMAL), n(2, 12))
    assert again(state, wanted).nodes == n(5)                    # normal jobs share switch 0
    run_on(state, job(4, name="large", tor_affinity=LARGE), n(3, 13, 14, 15))
    assert lack(state, wanted).startswith("slice 1 has 0 of 1 node for job-worker-1 (was on n1) (lacks 1); closed: ")


def test_a_pod_that_never_ran_takes_the_slice_with_the_fewest_nodes() -> None:
    """The others hold slices 0 (n0 n4), 1 (n1) and 2 (n2 n6): 3 of a used switch, then 1 of a new one."""
    state, wanted = running(LARGE, n(0, 1, 2, 4, 6, 7, 5))
    for task in wanted.tasks[5:]:
        state.release(task)
        task.last_node = None
    wanted.tasks[5].last_node = None
    assert again(state, wanted).nodes == n(3, 5)
    lose(state, wanted, n(3, 5, 7))
    for name in n(3, 5, 7, 11, 15):
        state.nodes[name].barred = 0xFF
    assert lack(state, wanted) == "slice 3 has 0 of 1 node for job-worker-5 (never ran) (lacks 1)"


def test_no_node_at_all() -> None:
    state, wanted = running(LARGE, n(*range(8)), busy=range(8, 16))
    lose(state, wanted, n(5))
    assert lack(state, wanted) == "0 of 1 node needed can be used (lack 1)"


def test_a_node_serves_one_pod_of_a_job() -> None:
    """Pods of 4 chips on nodes of 8: n0 has room for another pod, but not of this job."""
    state = tor_state(busy=range(4, 16))
    wanted = run_on(state, job(4, chips=4, tor_affinity=NORMAL), n(0, 1, 2, 3))
    lose(state, wanted, n(1))
    found = policy("tor-affinity").place(request(state, wanted))
    assert isinstance(found, Refusal)
    assert found.nodes["node runs another pod of the job"] == n(0, 2, 3)


# ---- version 2.0

def test_version_2_takes_own_exclusive_switches_then_own_shared_ones() -> None:
    """n3 is free at the exclusive switch 0, n6 n7 at the shared switch 1."""
    notes = {0: "exclusive", 1: "shared"}
    state, wanted = running(LARGE, n(0, 1, 2, 4, 5), "2.0", notes=notes)
    lose(state, wanted, n(5))
    found = again(state, wanted)
    assert (found.nodes, found.notes["states"]) == (n(3), notes)
    lose(state, wanted, n(1))
    assert again(state, wanted).nodes == n(3, 6)                 # each pod at its old switch
    lose(state, wanted, n(2))
    assert again(state, wanted).nodes == n(3, 7, 6)              # pod 2 takes what pod 4 leaves at switch 1


@pytest.mark.parametrize("most, notes, node, states", [
    (2, {0: "exclusive", 1: "exclusive"}, "n8", {0: "exclusive", 1: "exclusive", 2: "shared"}),
    (1, {0: "exclusive", 1: "shared"}, "n12", {0: "exclusive", 1: "shared", 3: "exclusive"}),
    (2, {0: "exclusive", 1: "shared"}, "n8", {0: "exclusive", 1: "shared", 2: "shared"}),
])
def test_version_2_goes_to_switches_that_are_new(most: int, notes: dict[int, str], node: str,
                                                 states: dict[int, str]) -> None:
    """Switches 0 and 1 are full. 2 is shared (the file says), 3 idle: a single pod fills no idle switch, so it goes to
    2 while the job may share one more, else to 3, which becomes exclusive."""
    state, wanted = running(LARGE, n(*range(8)), "2.0", most, notes=notes)
    of_file(state, "double_layer", {2: 1})
    lose(state, wanted, n(5))
    found = again(state, wanted)
    assert (found.nodes, found.notes["states"]) == ((node,), states)


def test_version_2_fills_idle_switches_fullest_first() -> None:
    """Five pods lost, n4 to n8; n9 to n11 are busy with nothing left at 2, 3 has four nodes: and one pod is one too
    many."""
    state, wanted = running(LARGE, n(*range(9)), "2.0", busy=[9, 10, 11],
                            notes={0: "exclusive", 1: "exclusive", 2: "shared"})
    lose(state, wanted, n(4, 5, 6, 7))
    found = again(state, wanted)
    assert (found.nodes, found.notes["states"]) == (n(12, 13, 14, 15), {0: "exclusive", 2: "shared", 3: "exclusive"})
    lose(state, wanted, n(8))
    assert lack(state, wanted) == "4 of 5 nodes needed can be used (lack 1)"


def test_version_2_lacks_switches_that_the_job_may_share() -> None:
    state, wanted = running(LARGE, n(*range(8)), "2.0", 1, notes={0: "exclusive", 1: "shared"})
    of_file(state, "double_layer", {2: 1, 3: 2})
    lose(state, wanted, n(5))
    assert lack(state, wanted) == (
        "1 node more needed than the job's switches have; other idle switches have 0 and the best 0 shared ones that "
        "the job may still use (shared-tor-num 1) 0 (lack 1)")


def test_version_2_keeps_a_job_at_its_one_switch() -> None:
    state, wanted = running(NORMAL, n(0, 1, 2), "2.0", notes={})
    lose(state, wanted, n(1))
    found = again(state, wanted)
    assert (found.nodes, found.notes["states"]) == (n(3), {})
    state.nodes["n3"].barred = 0xFF
    assert lack(state, wanted) == "a job at one switch stays there: switch 0 has 0 of 1 node needed (lacks 1)"


# ---- single layer

def of_file(state: State, level: str, shared: dict[int, int] | None = None) -> None:
    """What a basic-tor-node-cm says: tor_level, and IsSharedTor by tor_id."""
    tors = [Tor(tor_id=tor, IsSharedTor=(shared or {}).get(tor, 0), server=tuple(
        Server(server_ip=f"n{4 * tor + s}", npu_count=8, slice_id=s) for s in range(4))) for tor in range(4)]
    state.cluster = replace(state.cluster, tor_nodes=TorNodes(level, tors, 4))


def test_single_layer_stays_at_the_switch() -> None:
    state, wanted = running(NORMAL, n(4, 5, 6))
    of_file(state, "single_layer")
    lose(state, wanted, n(4))
    assert again(state, wanted).nodes == n(7)
    lose(state, wanted, n(5))
    assert lack(state, wanted) == "switch 1, where the others run, has 1 of 2 nodes needed (lacks 1)"
