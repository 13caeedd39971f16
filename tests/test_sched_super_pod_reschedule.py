"""Logical SuperPoDs after a fault: whole blocks stay, damaged ones are refilled or move (cluster.md section 4)."""

from __future__ import annotations

from dataclasses import replace

from distsim.scheduler.state import State
from distsim.scheduler.types import Job, Placement, Refusal
from tests.super_pod_cases import lose, place, pods_of, sp_job, start


def running_job(state: State, **fields: object) -> Job:
    """Two blocks of two nodes: a0, a1 and b0, b1."""
    return start(state, sp_job(4, 2, **fields), ["a0", "a1", "b0", "b1"])


def test_a_damaged_block_is_refilled_from_its_super_pod() -> None:
    state = pods_of({"a": 4, "b": 4})
    running = running_job(state)
    placed = place(state, running, lose(state, running, ["a1"]))
    assert isinstance(placed, Placement)
    assert (placed.nodes, placed.moves) == (("a2",), ())
    assert placed.notes["blocks"] == [["a0", "a2"], ["b0", "b1"]]
    assert placed.notes["steps"] == ["refilled", "kept"]


def test_the_reserve_is_there_for_that() -> None:
    # Two free nodes are the reserve; another SuperPoD has many more.
    state = pods_of({"a": 3, "b": 40})
    running = running_job(state)
    placed = place(state, running, lose(state, running, ["a0"]))
    assert isinstance(placed, Placement) and placed.nodes == ("a2",)


def test_else_the_whole_block_moves() -> None:
    state = pods_of({"a": 2, "b": 4, "c": 3})
    running = running_job(state)
    first = place(state, running, lose(state, running, ["a1"]))
    assert isinstance(first, Placement)
    # c (3 free) and b (2 free) would both dip into the reserve: the one with most free nodes.
    assert (first.nodes, first.moves) == (("c1",), ("job-worker-0",))
    assert first.notes["steps"] == ["moved", "kept"] and first.notes["blocks"] == [["c0", "c1"], ["b0", "b1"]]
    # What SESSION does then: release what has to move, give the nodes, ask again for what stands pending.
    state.release(running.tasks[0])
    state.assign(running.tasks[1], "c1", first.chips[0])
    second = place(state, running, [running.tasks[0]])
    assert isinstance(second, Placement)
    assert (second.nodes, second.moves) == (("c0",), ())


def test_pending_if_no_super_pod_takes_the_block() -> None:
    state = pods_of({"a": 2, "b": 3, "c": 1})
    running = running_job(state, super_pod_affinity="soft")
    found = place(state, running, lose(state, running, ["a1"]))
    assert isinstance(found, Refusal) and found.condition == "BatchOrderFailed"
    assert "required 1, total 0; usable nodes by SuperPoD: b: 1, c: 1" in found.message


def test_two_damaged_blocks() -> None:
    # a has one spare node for the first block; the second block of a moves to b.
    state = pods_of({"a": 5, "b": 4})
    running = start(state, sp_job(4, 2), ["a0", "a1", "a2", "a3"])
    placed = place(state, running, lose(state, running, ["a1", "a3"]))
    assert isinstance(placed, Placement)
    assert placed.nodes == ("a4", "b1") and placed.moves == ("job-worker-2",)
    assert placed.notes["blocks"] == [["a0", "a4"], ["b0", "b1"]]


def test_a_restarted_job_keeps_its_whole_blocks() -> None:
    # All pods are released; a1 is broken. The block in b returns, a0 returns, a2 replaces a1.
    state = pods_of({"a": 4, "b": 4, "c": 4})
    running = running_job(state)
    gone = lose(state, running, ["a1"]) and running.tasks
    for task in running.tasks:
        if task.node is not None:
            state.release(task)
    placed = place(state, running, gone)
    assert isinstance(placed, Placement)
    assert placed.nodes == ("a0", "a2", "b0", "b1") and placed.notes["steps"] == ["refilled", "kept"]


def test_a_restarted_job_finds_new_blocks_if_its_own_are_gone() -> None:
    state = pods_of({"a": 2, "b": 2, "c": 6})
    running = running_job(state)
    lose(state, running, ["a0", "a1", "b0", "b1"])
    placed = place(state, running, running.tasks)
    assert isinstance(placed, Placement) and placed.nodes == ("c0", "c1", "c2", "c3")


def test_a_node_where_a_pod_failed_is_the_last_choice() -> None:
    state = pods_of({"a": 3, "b": 4})
    running = running_job(state)
    gone = lose(state, running, ["a1"], keep_node=True)
    state.nodes["a1"].bad_score = 64
    placed = place(state, running, gone)
    assert isinstance(placed, Placement) and placed.nodes == ("a2",)
    state.nodes["a2"].used = 255
    placed = place(state, running, gone)
    assert isinstance(placed, Placement) and placed.nodes == ("a1",)


def test_a_pod_returns_to_a_node_that_is_well() -> None:
    state = pods_of({"a": 4, "b": 4})
    running = running_job(state)
    placed = place(state, running, lose(state, running, ["b1"], keep_node=True))
    assert isinstance(placed, Placement) and placed.nodes == ("b1",) and placed.notes["steps"] == ["kept", "kept"]


def test_the_backup_pod_of_a_hot_switch_stands_in_the_same_super_pod() -> None:
    state = pods_of({"a": 3, "b": 9})
    running = running_job(state)
    backup = replace(running.tasks[1], name="job-worker-1-backup", node=None, held=0, rank=1)
    placed = place(state, running, [backup])
    assert isinstance(placed, Placement) and placed.nodes == ("a2",) and placed.moves == ()
    # If there is none free the switch waits; no running pod moves for it.
    state.nodes["a2"].used = 255
    found = place(state, running, [backup])
    assert isinstance(found, Refusal) and "required 1, total 3" in found.message


def test_fragments_of_the_last_placement_are_known() -> None:
    # A soft job of a block of 2 and two fragments of 1, as the notes of its placement say.
    state = pods_of({"a": 3, "b": 3})
    running = start(state, sp_job(4, 2, super_pod_affinity="soft"), ["a0", "a1", "a2", "b0"])
    running.notes = {"blocks": [["a0", "a1"], ["a2"], ["b0"]]}
    placed = place(state, running, lose(state, running, ["b0"]))
    assert isinstance(placed, Placement)
    assert placed.nodes == ("b1",) and placed.notes["blocks"] == [["a0", "a1"], ["a2"], ["b1"]]
    # a has no node left for a2: that fragment moves as a block of its own.
    state = pods_of({"a": 3, "b": 3})
    running = start(state, sp_job(4, 2, super_pod_affinity="soft"), ["a0", "a1", "a2", "b0"])
    running.notes = {"blocks": [["a0", "a1"], ["a2"], ["b0"]]}
    placed = place(state, running, lose(state, running, ["a2"]))
    assert isinstance(placed, Placement) and placed.nodes == ("b1",) and placed.moves == ()
