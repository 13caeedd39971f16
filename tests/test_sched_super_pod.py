"""policies/super_pod: from which SuperPoDs blocks are taken (cluster.md section 4).

The SuperPoDs A to E with 47, 16, 31, 31 and 15 free nodes, blocks of 14 nodes and 2 reserve nodes are the example in
mind-cluster's superpod/frame.go; beyond the reserve they hold 3, 1, 2, 2 and 0 blocks with 3, 0, 1, 1 and 13 over.
"""

from __future__ import annotations

import pytest

from distsim.scheduler.policies import policy, policy_name
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Placement, Refusal
from tests.sched_cases import cluster, job, node, request
from tests.super_pod_cases import RA, blocks, counts, place, pods_of, racks_of, sp_job

FIVE = {"A": 47, "B": 16, "C": 31, "D": 31, "E": 15}


@pytest.mark.parametrize(("needed", "expected"), [
    # Least remainder first: B (0 over) holds one.
    (1, [("B", "smaller")]),
    # Then C and D hold two, more than the one that is missing: of the bigger ones C has fewest blocks.
    (2, [("B", "smaller"), ("C", "bigger")]),
    (3, [("B", "smaller"), ("C", "smaller"), ("C", "smaller")]),
    (4, [("B", "smaller"), ("C", "smaller"), ("C", "smaller"), ("D", "bigger")]),
    (8, [("B", "smaller")] + [("C", "smaller")] * 2 + [("D", "smaller")] * 2 + [("A", "smaller")] * 3),
    # The ninth dips into the reserve: of 15, 5, 2, 3 and 3 free nodes only E's 15 hold a block.
    (9, [("B", "smaller")] + [("C", "smaller")] * 2 + [("D", "smaller")] * 2 + [("A", "smaller")] * 3
     + [("E", "reserve")]),
])
def test_order_of_super_pods(needed: int, expected: list[tuple[str, str]]) -> None:
    assert counts(pods_of(FIVE), sp_job(14 * needed, 14)) == expected


def test_required_and_total() -> None:
    found = place(pods_of(FIVE), sp_job(140, 14))
    assert isinstance(found, Refusal) and found.condition == "BatchOrderFailed" and not found.final
    assert found.message == ("job job finds too few logical SuperPoDs of 14 nodes (sp-block 112): required 10, "
                             "total 9; usable nodes by SuperPoD: A: 47, B: 16, C: 31, D: 31, E: 15")


def test_ranks_go_block_by_block_and_by_name_within() -> None:
    # Two blocks of 11 in one SuperPoD of 24: by name means n2 before n10.
    state = pods_of({"n": 24})
    state.nodes["n3"].used = 1
    found = blocks(state, sp_job(22, 11))
    assert found == [["n0", "n1", "n2"] + [f"n{index}" for index in range(4, 12)],
                     [f"n{index}" for index in range(12, 23)]]


def test_notes() -> None:
    placed = place(pods_of({"a": 4, "b": 5}), sp_job(4, 2))
    assert isinstance(placed, Placement)
    # Beyond the reserve a holds 1 block with 0 over, b 1 with 1 over.
    assert placed.notes == {"blocks": [["a0", "a1"], ["b0", "b1"]], "super_pods": {"a": 2, "b": 2},
                            "steps": ["smaller", "smaller"], "free": {"a": 2, "b": 3}}
    assert placed.chips == (255,) * 4 and placed.moves == ()


def test_sp_block() -> None:
    # Two blocks of three pods may be in two SuperPoDs.
    assert blocks(pods_of({"a": 5, "b": 7}), sp_job(6, 3)) == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]
    # Without sp-block the job is one block.
    # Six pods have to be in one SuperPoD: a has 5 nodes, b 7.
    assert blocks(pods_of({"a": 5, "b": 7}), sp_job(6)) == [[f"b{index}" for index in range(6)]]


def test_the_reserve_is_the_last_resort() -> None:
    # One block of 2: a (3 free) would leave one node, b (4) and c (5) keep two; b has less over.
    assert blocks(pods_of({"a": 3, "b": 4, "c": 5}), sp_job(2)) == [["b0", "b1"]]
    assert counts(pods_of({"a": 3, "b": 4, "c": 5}), sp_job(8, 2)) == [
        ("b", "smaller"), ("c", "smaller"), ("a", "reserve"), ("c", "reserve")]
    # Without a reserve the exact fit: a 1 block and 1 over, b 2 and 0 over.
    assert counts(pods_of({"a": 3, "b": 4, "c": 5}, reserve=0), sp_job(4, 2)) == [("b", "smaller")] * 2


def test_sp_fit() -> None:
    pods = {"x": 6, "y": 4, "z": 10}
    # idlest: z has 10, 8, 6 nodes before each block; x with as many as z at the third is first by name.
    assert counts(pods_of(pods, reserve=0), sp_job(6, 2, sp_fit="idlest")) == [
        ("z", "idlest"), ("z", "idlest"), ("x", "idlest")]
    # Any other value: fill up.
    assert counts(pods_of(pods, reserve=0), sp_job(6, 2, sp_fit="busiest")) == [
        ("y", "fill"), ("y", "fill"), ("x", "fill")]
    # With two reserve nodes y keeps them once, then x twice; z keeps them too and comes before y's last block.
    assert counts(pods_of(pods), sp_job(8, 2, sp_fit="busiest")) == [
        ("y", "fill"), ("x", "fill"), ("x", "fill"), ("z", "fill")]


def test_super_pod_affinity() -> None:
    pods = {"a": 3, "b": 1, "c": 1}
    found = place(pods_of(pods), sp_job(4, 2, super_pod_affinity="hard"))
    assert isinstance(found, Refusal) and "required 2, total 1" in found.message
    # One block dips into a's reserve; what is left is one node each.
    assert blocks(pods_of(pods), sp_job(4, 2, super_pod_affinity="soft")) == [["a0", "a1"], ["a2"], ["b0"]]
    assert counts(pods_of(pods), sp_job(4, 2, super_pod_affinity="soft")) == [
        ("a", "reserve"), ("a", "fragment"), ("b", "fragment")]
    found = place(pods_of(pods), sp_job(6, 2, super_pod_affinity="soft"))
    assert isinstance(found, Refusal) and "required 3, total 1" in found.message


def test_ra_block() -> None:
    # Racks of three and of two nodes: pairs of one rack (ra-block 16) fit once each, so the block of four is in both.
    state = racks_of({"a": (3, 2)})
    assert blocks(state, sp_job(4, 4, rule=RA, ra_block=16)) == [["a-1-0", "a-1-1", "a-0-0", "a-0-1"]]
    assert isinstance(place(state, sp_job(4, 4, rule=RA, ra_block=32)), Refusal)
    # The other policies do not look at racks.
    assert blocks(state, sp_job(4, 4, ra_block=32)) == [["a-0-0", "a-0-1", "a-0-2", "a-1-0"]]


def test_one_pod_takes_the_node_that_it_fills_best() -> None:
    state = pods_of({"a": 4, "b": 4})
    state.nodes["b2"].used = 0b1111
    asks = job(1, 2, schedule_policy="chip2-node8-sp")
    assert blocks(state, asks) == [["b2"]]
    placed = place(state, asks)
    assert isinstance(placed, Placement) and placed.chips == (0b110000,)


def test_sub_healthy_and_failing_nodes_come_last() -> None:
    state = pods_of({"a": 5}, reserve=0)
    state.nodes["a0"].sub_healthy = True
    state.nodes["a1"].bad_score = 64
    assert blocks(state, sp_job(3)) == [["a2", "a3", "a4"]]
    assert blocks(state, sp_job(4)) == [["a0", "a2", "a3", "a4"]]


def test_without_ids_nodes_are_numbered_into_super_pods() -> None:
    state = state_of(cluster([node(f"n{index}") for index in range(10)]),
                     SchedulerSettings(super_pod_size=4, reserve_nodes=0))
    # SuperPoDs 0: n0-n3, 1: n4-n7, 2: n8, n9.
    state.nodes["n1"].used = 1
    assert blocks(state, sp_job(6, 3)) == [["n0", "n2", "n3"], ["n4", "n5", "n6"]]
    found = place(state, sp_job(9, 3))
    assert isinstance(found, Refusal) and found.message.endswith(
        "required 3, total 2; usable nodes by SuperPoD: 0: 3, 1: 4, 2: 2")


def test_nodes_without_chips_are_not_numbered() -> None:
    nodes = [node("login", 0), *(node(f"n{index}") for index in range(4))]
    state = state_of(cluster(nodes), SchedulerSettings(super_pod_size=2, reserve_nodes=0))
    assert blocks(state, sp_job(2)) == [["n0", "n1"]]


def test_a_node_in_no_super_pod() -> None:
    state = state_of(cluster([node("n0"), node("n1", annotations={"superPodID": "-1"}),
                              node("n2", labels={"superPodID": "7"})]))
    assert blocks(state, sp_job(1)) == [["n2"]]
    state.nodes["n2"].used = 1
    found = place(state, sp_job(1))
    assert isinstance(found, Refusal) and found.condition == "NodePredicateFailed"
    assert found.nodes["in no SuperPoD (label huawei.com/topotree.superpodid or annotation superPodID)"] == ("n0", "n1")
    assert found.nodes["7 of 8 chips free, 8 requested"] == ("n2",)


def test_which_jobs_go_to_this_policy() -> None:
    state = pods_of({"a": 2})
    for rule in ("chip2-node8-sp", "chip2-node16-sp", "chip8-node8-sp", "chip8-node8-ra64-sp"):
        assert policy_name(job(2, 8, schedule_policy=rule), state) == "super-pod"
    assert policy_name(job(2, 8, sp_block=16), state) == "super-pod"
    assert policy_name(job(2, 8, schedule_policy="chip8-node8", sp_block=16), state) != "super-pod"


def test_sp_block_idlest_by_itself_asks_for_this_policy_too() -> None:
    """The value of the seed's table: the default block, in the SuperPoD with most free nodes."""
    wanted = job(2, sp_fit="idlest")
    wanted.annotations["sp-block"] = "idlest"
    assert policy_name(wanted, state_of(cluster([node("n0")]))) == "super-pod"


def test_sp_block_without_a_schedule_policy() -> None:
    # The chips of a node are those of the cluster's nodes.
    state = pods_of({"a": 3, "b": 2}, reserve=0, chips=4)
    placed = policy("super-pod").place(request(state, job(4, 4, sp_block=8)))
    assert isinstance(placed, Placement) and placed.notes["blocks"] == [["b0", "b1"], ["a0", "a1"]]


@pytest.mark.parametrize("fields", [{}, {"sp_fit": "idlest"}, {"super_pod_affinity": "soft"}])
def test_ten_thousand_nodes(fields: dict[str, object]) -> None:
    state = pods_of({f"s{index}-": 48 for index in range(208)})
    for at in list(state.nodes.values())[::7]:
        at.used = 1
    asks = request(state, sp_job(4096, 16, **fields))
    placed = policy("super-pod").place(asks)
    assert isinstance(placed, Placement)
