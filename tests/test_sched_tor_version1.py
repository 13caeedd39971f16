"""tor-affinity version 1.0: worked examples of cluster.md section 2, and one hand-worked case for every other rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sched_cases import job, request, run_on, tor_state

from distsim.scheduler.policies import policy
from distsim.scheduler.state import State
from distsim.scheduler.types import ORDER_FAILED, PREDICATE_FAILED, Job, Placement, Refusal

LARGE, NORMAL = "large-model-schema", "normal-schema"


def placed(state: State, wanted: Job) -> Placement:
    """The placement of a job that fits."""
    found = policy("tor-affinity").place(request(state, wanted))
    assert isinstance(found, Placement), found
    return found


def refused(state: State, wanted: Job) -> Refusal:
    """The refusal of one that does not."""
    found = policy("tor-affinity").place(request(state, wanted))
    assert isinstance(found, Refusal), found
    return found


def n(*numbers: int) -> tuple[str, ...]:
    """Names of nodes."""
    return tuple(f"n{number}" for number in numbers)


def others(free: Sequence[int], nodes: int) -> list[int]:
    """The nodes that are busy if these are free."""
    return [number for number in range(nodes) if number not in free]


@pytest.mark.parametrize("busy, label, pods, ranks", [
    ([0], LARGE, 3, n(1, 2, 3)),
    ([0, 1, 2], LARGE, 6, n(4, 5, 6, 7, 8, 9)),
    ([0, 5, 10, 15], LARGE, 12, n(4, 1, 2, 3, 8, 9, 6, 7, 12, 13, 14, 11)),
    ([0, 4, 8, 12], NORMAL, 8, n(1, 2, 3, 5, 6, 7, 9, 10)),
])
def test_worked_examples(busy: list[int], label: str, pods: int, ranks: tuple[str, ...]) -> None:
    found = placed(tor_state(busy=busy), job(pods, tor_affinity=label))
    assert found.nodes == ranks
    assert found.chips == (0xFF,) * pods


@pytest.mark.parametrize("pods, lack", [
    (4, "1 row of one node a slice cannot be made: slice 0 has 0 of 1 usable nodes (lacks 1)"),
    (8, "2 rows of one node a slice cannot be made: slice 0 has 0 of 2 usable nodes (lacks 2)"),
])
def test_a_slice_without_nodes_leaves_large_jobs_pending(pods: int, lack: str) -> None:
    found = refused(tor_state(busy=[0, 4, 8, 12]), job(pods, tor_affinity=LARGE))
    assert (found.condition, found.final) == (ORDER_FAILED, False)
    assert found.message == f"tor-affinity finds no nodes for {pods} pods of job job (large): {lack}"
    assert found.nodes == {"0 of 8 chips free, 8 requested": n(0, 4, 8, 12)}


def with_spanning(label: str | None) -> State:
    """A job on n0 n1 n4 n5, so it spans switches 0 and 1."""
    state = tor_state()
    run_on(state, job(4, name="run", tor_affinity=label), n(0, 1, 4, 5))
    return state


def test_switches_of_a_spanning_job_are_closed_to_others() -> None:
    found = refused(with_spanning(LARGE), job(10, tor_affinity=LARGE))
    assert found.message.endswith(
        "3 rows of one node a slice cannot be made: slice 0 has 2 of 3 usable nodes (lacks 1), slice 1 has 2 of 3 "
        "usable nodes (lacks 1); closed: switch 0 (2 nodes; default/run spans switches there), switch 1 (2 nodes; "
        "default/run spans switches there)")
    assert placed(with_spanning(LARGE), job(2, tor_affinity=LARGE)).nodes == n(6, 7)


def test_normal_jobs_share_switches_that_only_normal_jobs_use() -> None:
    assert placed(with_spanning(NORMAL), job(10, tor_affinity=NORMAL)).nodes == n(*range(8, 16), 2, 3)
    refused(with_spanning(NORMAL), job(10, tor_affinity=LARGE))


def test_a_job_without_the_label_closes_switches_too() -> None:
    refused(with_spanning(None), job(10, tor_affinity=NORMAL))


def test_a_filler_ends_the_sharing_of_normal_jobs() -> None:
    """Switch 0 has a normal job that spans and a filler: closed. Switch 1 has only normal jobs: its 3 nodes and the 8
    of switches 2 and 3 are 11."""
    state = tor_state()
    run_on(state, job(2, name="spans", tor_affinity=NORMAL), n(0, 4))
    run_on(state, job(1, name="fill", tor_affinity=LARGE), n(1))
    assert placed(state, job(11, tor_affinity=NORMAL)).nodes == n(*range(8, 16), 5, 6, 7)
    assert refused(state, job(13, tor_affinity=NORMAL)).message == (
        "tor-affinity finds no nodes for 13 pods of job job (normal): open switches have 11 of 13 usable nodes (lack "
        "2); closed: switch 0 (2 nodes; default/spans spans switches there)")


def test_a_job_at_one_switch_closes_nothing() -> None:
    """n0 n1 are taken: columns 2 and 3 have four nodes, 0 and 1 three; the row of the emptied switch is the last."""
    state = tor_state()
    run_on(state, job(2, name="fill", tor_affinity=LARGE), n(0, 1))
    assert placed(state, job(14, tor_affinity=LARGE)).nodes == n(*range(4, 16), 2, 3)


def test_pods_that_wait_for_a_node_still_make_a_job_span() -> None:
    """The job's pods at switch 1 have lost their nodes; switch 0 stays closed."""
    state = with_spanning(LARGE)
    for task in state.jobs["default/run"].tasks[2:]:
        state.release(task)
    refused(state, job(14, tor_affinity=LARGE))


def test_one_switch_with_the_fewest_nodes_that_fits() -> None:
    """Of equal ones that with the greatest tor_id, as in the example with n6 n7."""
    assert placed(tor_state(busy=[0, 4]), job(3, tor_affinity=LARGE)).nodes == n(5, 6, 7)
    assert placed(tor_state(busy=[0, 4, 5]), job(2, tor_affinity=NORMAL)).nodes == n(6, 7)
    assert placed(tor_state(busy=[0, 4, 5]), job(3, tor_affinity=NORMAL)).nodes == n(1, 2, 3)


def test_a_filler_that_fits_no_switch_is_pending() -> None:
    found = refused(tor_state(busy=[0, 1, 4, 5, 8, 9, 12, 13]), job(3, tor_affinity=LARGE))
    assert found.message.endswith("job (filler): no switch has 3 usable nodes: switch 0 has the most, 2 (lacks 1)")
    full = refused(tor_state(busy=[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 13, 14]), job(3, tor_affinity=LARGE))
    assert full.message.endswith("no switch has 3 usable nodes: switch 1 has the most, 1 (lacks 2)")


def test_a_filler_as_large_as_a_switch_stays_at_one() -> None:
    assert placed(tor_state(3, 3, busy=[0]), job(3, tor_affinity=LARGE)).nodes == n(6, 7, 8)
    refused(tor_state(3, 3, busy=[0, 4, 8]), job(3, tor_affinity=LARGE))


def test_a_normal_job_that_fits_no_switch_takes_what_there_is() -> None:
    """Slices 0 and 1 have no node, three are needed; the emptiest switches are all alike, so by tor_id."""
    found = placed(tor_state(busy=[0, 1, 4, 5, 8, 9, 12, 13]), job(3, tor_affinity=NORMAL))
    assert found.nodes == n(2, 3, 6)
    assert dict(found.notes) == {"slices": {2: 2, 3: 1}, "switches": 2, "rows": 2, "class": "normal",
                                 "form": "any nodes"}


def test_whole_switches_come_first() -> None:
    assert placed(tor_state(busy=[1]), job(4, tor_affinity=LARGE)).nodes == n(4, 5, 6, 7)
    assert placed(tor_state(busy=[1, 8]), job(5, tor_affinity=NORMAL)).nodes == n(4, 5, 6, 7, 12)


def test_logical_switches_when_whole_ones_do_not_suffice() -> None:
    """Columns 0 and 2 have three nodes, 1 and 3 two. Nine nodes: the last row goes to the first of the longest
    columns. Switches by usable nodes: 2 and 3 (four), 0 and 1 (one each)."""
    state = tor_state(busy=others([0, 6, *range(8, 16)], 16))
    found = placed(state, job(9, tor_affinity=LARGE))
    assert found.nodes == n(8, 9, 10, 11, 12, 13, 14, 15, 0)
    assert dict(found.notes) == {"slices": {0: 3, 1: 2, 2: 2, 3: 2}, "switches": 3, "rows": 3, "class": "large",
                                 "form": "logical switches"}
    assert placed(state, job(10, tor_affinity=LARGE)).nodes[8:] == n(0, 6)


@pytest.mark.parametrize("free, ranks", [
    ([0, 1, 2, 3, 12, 13, 14, 16, 17], n(0, 1, 2, 3, 12)),
    ([0, 1, 2, 3, 8, 9, 10, 12, 19, 20, 21], n(8, 9, 10, 19, 20)),
])
def test_less_than_a_switch_over_several(free: list[int], ranks: tuple[str, ...]) -> None:
    """M = 8, node 8t+s. Five nodes, no switch has five. First: the row 0, of columns 0 (n0 n16), 1 (n1 n17), 2, 3, 4
    (n12). Second: columns 0 to 4 have two nodes each, and the row 1 is the last that is long enough: it takes n8 n9
    n10 of switch 1 and n19 n20 of switch 2, the fullest."""
    found = placed(tor_state(3, 8, busy=others(free, 24)), job(5, tor_affinity=LARGE))
    assert found.nodes == ranks
    assert found.notes["rows"] == 1


def test_a_normal_job_is_pending_without_nodes() -> None:
    found = refused(tor_state(busy=range(10)), job(7, tor_affinity=NORMAL))
    assert found.condition == PREDICATE_FAILED
    assert found.message == ("tor-affinity finds no nodes for 7 pods of job job (normal): 6 of 7 nodes needed can be "
                             "used (lack 1)")


def test_a_job_without_the_label_is_placed_as_a_normal_one() -> None:
    """Where the user forces the policy on it."""
    assert placed(tor_state(busy=[0, 4, 8, 12]), job(8)).notes["class"] == "normal"


def test_sound_nodes_before_others() -> None:
    """n1 is sub-healthy: switch 0 has two sound nodes, the others four. With all else busy it is taken."""
    state = tor_state(busy=[0])
    state.nodes["n1"].sub_healthy = True
    assert placed(state, job(3, tor_affinity=LARGE)).nodes == n(12, 13, 14)
    state = tor_state(busy=[0, *range(4, 16)])
    state.nodes["n1"].bad_score = 64
    assert placed(state, job(3, tor_affinity=LARGE)).nodes == n(1, 2, 3)


def test_the_rules_of_large_jobs_come_before_sound_nodes() -> None:
    """n0 is sub-healthy. Eight nodes of two rows need it (all others of slice 0 are busy but n4); a normal job takes it
    rather than nodes of any slices."""
    state = tor_state(busy=[8, 12])
    state.nodes["n0"].sub_healthy = True
    assert placed(state, job(8, tor_affinity=NORMAL)).nodes == n(0, 1, 2, 3, 4, 5, 6, 7)


def test_every_pod_gets_a_node_of_its_own() -> None:
    found = placed(tor_state(), job(3, chips=2, tor_affinity=LARGE))
    assert (found.nodes, found.chips) == (n(12, 13, 14), (0b11,) * 3)


def test_pods_that_differ_get_nodes_that_fit_all_of_them() -> None:
    """n12 has 4 chips left: enough for the first pod, not for the second."""
    state = tor_state()
    run_on(state, job(1, chips=4, name="half"), n(12))
    wanted = job(2, tor_affinity=LARGE)
    wanted.tasks[0].chips = 4
    found = placed(state, wanted)
    assert (found.nodes, found.chips) == (n(13, 14), (0xF, 0xFF))
    wanted = job(16, tor_affinity=LARGE)
    wanted.tasks[0].chips = 4
    lacking = refused(state, wanted)
    assert lacking.nodes == {"node has no chips for every pod of the job": n(12)}


def test_nodes_at_no_switch_are_left_out() -> None:
    state = tor_state()
    state.nodes["n0"].tor = -1
    assert placed(state, job(3, tor_affinity=LARGE)).nodes == n(1, 2, 3)
    wanted: dict[str, Any] = dict(refused(state, job(16, tor_affinity=NORMAL)).nodes)
    assert wanted == {"node is at no switch of the basic-tor-node-cm": n(0)}
