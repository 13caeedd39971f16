"""Policy multilevel after a fault: own group first, then one tree level up per step (cluster.md section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sched_cases import run_on
from sched_levels import (
    RACK,
    SPINE,
    break_node,
    cluster,
    fail,
    groups,
    levels,
    numbered,
    placed,
    rack,
    refused,
    two_spines,
    wanted,
)

from distsim.scheduler.state import State, state_of
from distsim.scheduler.types import ORDER_FAILED, Job, Placement, Task


def running(state: State, *names: str, sizes: Sequence[int] = (2, 4)) -> Job:
    """A job that runs on these nodes, rank by rank."""
    return run_on(state, wanted(len(names), *sizes), names)


def follow(state: State, one: Job, tasks: Sequence[Task]) -> list[str]:
    """Do what the policy says, request after request, as the allocate action does; the job's nodes by rank."""
    todo = list(tasks)
    while todo:
        found = placed(state, one, todo)
        assert isinstance(found, Placement), found
        moved = [task for task in one.tasks if task.name in found.moves]
        for task in moved:
            state.release(task)
        for task, name, mask in zip(todo, found.nodes, found.chips, strict=True):
            state.assign(task, name, mask)
        todo = moved
    return [task.node or "" for task in one.tasks]


def test_a_pod_is_replaced_in_the_domain_of_its_group() -> None:
    state = two_spines()
    one = running(state, "a0", "a1", "a4", "a5")
    lost = fail(state, one, 1)
    found = placed(state, one, lost)
    assert isinstance(found, Placement) and found.nodes == ("a2",) and found.moves == ()
    assert found.notes["groups"] == [["a0", "a2"], ["a4", "a5"]]
    # a2, a3; a6, a7; b0-b7: no spine has nodes left over.
    assert found.notes["fragment"] == 0 and found.notes["tree"] == "default"


def test_a_pod_goes_back_to_its_node_if_that_is_sound() -> None:
    state = two_spines()
    one = running(state, "a2", "a3")
    (lost,) = fail(state, one, 1)
    state.nodes["a3"].barred = 0
    assert follow(state, one, [lost]) == ["a2", "a3"]
    state.release(lost)
    state.nodes["a3"].bad_score = 64
    assert follow(state, one, [lost]) == ["a2", "a0"]
    state.release(lost)
    state.nodes["a0"].bad_score = 64
    state.settings = replace(state.settings, prefer_previous_node=False)
    assert follow(state, one, [lost]) == ["a2", "a1"]


def full_rack() -> tuple[State, Job, list[Task]]:
    """Rank 1 of a job on a0 a1, a4 a5 fails; in its rack r0 no node is free, in r1 a6 and a7 are."""
    state = two_spines(["a2", "a3"])
    one = running(state, "a0", "a1", "a4", "a5")
    return state, one, fail(state, one, 1)


def test_without_a_step_a_group_stays_in_its_domain() -> None:
    state, one, lost = full_rack()
    found = refused(state, one, lost)
    assert found.condition == ORDER_FAILED
    assert found.message == (
        "multilevel finds no nodes for 1 pod of job job (level1=2, level2=4): a pod finds no room in r0 (level1), "
        "which has 0 usable nodes, while groups above level0 stay in their domains; pods to place: job-worker-1 (was "
        "on a1)")


def test_at_step_1_a_group_of_level1_moves_within_the_domain_of_level2() -> None:
    state, one, lost = full_rack()
    one.level_up = 1
    found = placed(state, one, lost)
    assert isinstance(found, Placement)
    assert found.nodes == ("a7",) and found.moves == ("job-worker-0",)         # its group is on a6 a7 from now on
    assert follow(state, one, lost) == ["a6", "a7", "a4", "a5"]


def test_at_step_2_a_group_of_level2_moves_within_the_tree() -> None:
    state, one, lost = full_rack()
    break_node(state, "a6")
    one.level_up = 1
    assert "the group of level1 that begins at rank 0 finds no room in A (level2), which has 1 usable node" in refused(
        state, one, lost).message
    one.level_up = 2
    assert placed(state, one, lost).moves == ("job-worker-0", "job-worker-2", "job-worker-3")   # type: ignore[union-attr]
    assert follow(state, one, lost) == ["b0", "b1", "b2", "b3"]


def test_at_step_3_the_whole_job_leaves_its_tree() -> None:
    nodes = [*rack("r0", "A", ["a0", "a1"]), *rack("r1", "A", ["a2"]), *rack("o", "B", numbered("o", 0, 1), "other")]
    state = state_of(cluster(nodes), levels(other=((RACK, 0), (SPINE, 0))))
    one = running(state, "a0", "a1", sizes=(2, 2))
    lost = fail(state, one, 0)
    one.level_up = 2
    assert refused(state, one, lost).message.endswith(
        "the group of level2 that begins at rank 0 finds no room in the tree, which has 1 usable node, while groups "
        "above level2 stay in their domains; pods to place: job-worker-0 (was on a0)")
    one.level_up = 3
    assert follow(state, one, lost) == ["o0", "o1"]


def test_a_group_that_is_lost_as_a_whole_tries_its_own_domain_first() -> None:
    state = two_spines(["a7"])
    one = running(state, "a0", "a1", "a4", "a5")
    lost = fail(state, one, 0, 1)
    one.level_up = 1
    assert groups(state, one, lost) == "a2a3 a4a5"
    for name in ("a2", "a3"):
        break_node(state, name)
    assert "finds no room in A (level2), which has 1 usable node," in refused(state, one, lost).message


def test_a_lost_group_may_leave_only_at_its_step() -> None:
    state = two_spines(["a2", "a3"])
    one = running(state, "a0", "a1", "a4", "a5")
    lost = fail(state, one, 0, 1)
    assert "a pod finds no room in r0 (level1)" in refused(state, one, lost).message
    one.level_up = 1
    assert groups(state, one, lost) == "a6a7 a4a5"


def test_damage_in_several_groups() -> None:
    state = two_spines(["b2"])
    one = running(state, "a0", "a1", "a4", "a5", "b0", "b1", "b4", "b5")
    lost = fail(state, one, 1, 2, 4)
    assert follow(state, one, lost) == ["a0", "a2", "a6", "a5", "b3", "b1", "b4", "b5"]


def test_nothing_changes_when_only_one_of_two_damaged_groups_finds_room() -> None:
    state = two_spines(["a2", "a3"])
    one = running(state, "a0", "a1", "a4", "a5")
    lost = fail(state, one, 1, 3)
    assert "in r0" in refused(state, one, lost).message
    one.level_up = 1
    # Rank 3 takes a6 in its own rack; then r1 has only a7 left for the group that must leave r0.
    assert "finds no room in A (level2), which has 1 usable node" in refused(state, one, lost).message
    one.level_up = 2
    assert follow(state, one, lost) == ["b0", "b1", "b2", "b3"]


@pytest.mark.parametrize(("broken", "expected"), [([], "a3"), (["a3"], "a2")])
def test_reserved_nodes_come_last_in_a_repair_too(broken: list[str], expected: str) -> None:
    state = two_spines(reserve=1)
    one = running(state, "a0", "a1", "a4", "a5")
    lost = fail(state, one, 1, nodes=broken)
    found = placed(state, one, lost)
    assert isinstance(found, Placement) and found.nodes == (expected,)         # a2, the first of r0, is reserved
    assert found.notes["reserved"] == (["a2"] if broken else [])


def test_level1_alone_moves_within_level2_if_it_can() -> None:
    state = two_spines(["a2", "a3"])
    one = running(state, "a0", "a1", "a4", "a5", sizes=(2,))
    lost = fail(state, one, 1)
    one.level_up = 1
    assert follow(state, one, lost) == ["a6", "a7", "a4", "a5"]
    state, one, lost = full_rack()
    one = replace(one, settings=wanted(4, 2).settings, level_up=1)
    break_node(state, "a6")
    assert follow(state, one, lost) == ["b0", "b1", "a4", "a5"]                 # nothing binds its groups together


def evict(state: State, one: Job) -> None:
    for task in one.tasks:
        if task.node is not None:
            state.release(task)


def test_a_whole_job_comes_back_to_its_nodes() -> None:
    state = two_spines()
    one = running(state, "b4", "b5", "b0", "b1")
    evict(state, one)
    assert groups(state, one) == "b4b5 b0b1"
    break_node(state, "b5")
    assert groups(state, one) == "b4b6 b0b1"                                    # the others stay where they were
    for name in ("b6", "b7"):
        break_node(state, name)
    assert groups(state, one) == "b2b3 b0b1"                                    # its group leaves r3
    for name in ("b2", "b3"):
        break_node(state, name)
    assert groups(state, one) == "a0a1 a2a3"


def test_a_whole_job_may_be_placed_anew() -> None:
    state = two_spines()
    one = running(state, "a0", "a1", "a4", "a5")
    fail(state, one, 1)
    evict(state, one)
    assert groups(state, one) == "a0a2 a4a5"
    state.settings = replace(state.settings, prefer_previous_node=False)
    # r0 has 3 nodes, one of them left over; r1 holds both groups and leaves none (as the example with a0 busy).
    assert groups(state, one) == "a4a5 a6a7"


def test_nodes_whose_labels_have_changed_do_not_count_as_a_group() -> None:
    state = two_spines()
    one = running(state, "a0", "a4", "b0", "b4")                                # no groups of level 1 or 2 at all
    evict(state, one)
    assert groups(state, one) == "a0a1 a2a3"
