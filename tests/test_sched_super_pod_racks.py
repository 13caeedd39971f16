"""ra-block: logical racks inside racks inside SuperPoDs (schedule_policy chip8-node8-ra64-sp, cluster.md section 4)."""

from __future__ import annotations

from distsim.scheduler.policies.blocks.pods import Where
from distsim.scheduler.settings import SchedulerSettings
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Placement, Refusal
from tests.sched_cases import cluster, node
from tests.super_pod_cases import RA, blocks, lose, place, racks_of, sp_job, start


def names(pod: str, rack: int, first: int, count: int) -> list[str]:
    return [f"{pod}-{rack}-{index}" for index in range(first, first + count)]


def test_a_job_that_fits_a_rack_takes_the_tightest() -> None:
    # Racks of 2, 4, 6 and 8 free nodes, four logical racks of 2 nodes (the documentation's example): the rack of 8.
    state = racks_of({"a": (2, 4, 6, 8)})
    assert blocks(state, sp_job(8, 8, rule=RA, ra_block=16)) == [names("a", 3, 0, 8)]
    assert blocks(state, sp_job(4, 4, rule=RA, ra_block=16)) == [names("a", 1, 0, 4)]
    placed = place(state, sp_job(4, 2, rule=RA, ra_block=16))
    assert isinstance(placed, Placement) and placed.notes["steps"] == ["rack", "rack"]
    assert placed.notes["blocks"] == [names("a", 1, 0, 2), names("a", 1, 2, 2)]


def test_else_the_emptiest_racks_are_filled_up_first() -> None:
    # Racks of 2, 4 and 6: two nodes, then four, then two of six.
    assert blocks(racks_of({"a": (2, 4, 6)}), sp_job(8, 8, rule=RA, ra_block=16)) == [
        names("a", 0, 0, 2) + names("a", 1, 0, 4) + names("a", 2, 0, 2)]


def test_a_logical_rack_is_never_split() -> None:
    # Racks of 3 and 5 hold one and two pairs: six of eight nodes count.
    state = racks_of({"a": (3, 5)})
    found = place(state, sp_job(8, 8, rule=RA, ra_block=16))
    assert isinstance(found, Refusal)
    assert "logical SuperPoDs of 8 nodes in logical racks of 2 (sp-block 64): required 1, total 0" in found.message
    assert "usable nodes by SuperPoD: a: 6" in found.message
    assert blocks(state, sp_job(6, 6, rule=RA, ra_block=16)) == [names("a", 0, 0, 2) + names("a", 1, 0, 4)]
    # ra-block 64 is eight nodes of one rack; ra-block 1 to 8 is a node.
    assert isinstance(place(racks_of({"a": (7, 7)}), sp_job(8, 8, rule=RA, ra_block=64)), Refusal)
    assert len(blocks(racks_of({"a": (7, 7)}), sp_job(8, 8, rule=RA, ra_block=8))[0]) == 8


def test_one_super_pod_before_several() -> None:
    # Two blocks of 4: no rack holds 8; b (4 + 4) holds both, a (4) and c (4) one each.
    state = racks_of({"a": (4,), "b": (4, 4), "c": (4,)})
    assert blocks(state, sp_job(8, 4, rule=RA, ra_block=32)) == [names("b", 0, 0, 4), names("b", 1, 0, 4)]
    # Four blocks are in no one SuperPoD: least remainder and fewest blocks first.
    assert blocks(state, sp_job(16, 4, rule=RA, ra_block=32)) == [
        names("a", 0, 0, 4), names("c", 0, 0, 4), names("b", 0, 0, 4), names("b", 1, 0, 4)]


def test_a_lost_node_is_replaced_in_its_rack() -> None:
    state = racks_of({"a": (3, 4)})
    running = start(state, sp_job(4, 4, rule=RA, ra_block=16), ["a-0-0", "a-0-1", "a-1-0", "a-1-1"])
    placed = place(state, running, lose(state, running, ["a-1-1"]))
    assert isinstance(placed, Placement) and placed.nodes == ("a-1-2",) and placed.moves == ()
    assert placed.notes["steps"] == ["refilled"]


def test_else_its_logical_rack_moves_within_the_super_pod() -> None:
    # Rack 0 has no third node: both nodes of the pair go to rack 1, the running pod too.
    state = racks_of({"a": (2, 4)})
    running = start(state, sp_job(4, 4, rule=RA, ra_block=16), ["a-0-0", "a-0-1", "a-1-0", "a-1-1"])
    placed = place(state, running, lose(state, running, ["a-0-1"]))
    assert isinstance(placed, Placement)
    assert placed.nodes == ("a-1-3",) and placed.moves == ("job-worker-0",)
    assert placed.notes["blocks"] == [["a-1-2", "a-1-3", "a-1-0", "a-1-1"]]


def test_racks_without_ids_are_those_of_the_cluster_file_or_64_nodes() -> None:
    nodes = [node(f"n{index}", rack="" if index < 130 else "north") for index in range(132)]
    state = state_of(cluster(nodes), SchedulerSettings(super_pod_size=128))
    where = Where(state)
    found = [(where.super_pod(one), where.rack(one)) for one in state.nodes.values()]
    assert found[0] == found[63] == ("0", "0") and found[64] == found[127] == ("0", "1")
    assert found[128] == found[129] == ("1", "0") and found[131] == ("1", "north")
