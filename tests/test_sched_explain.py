"""What `distsim schedule --explain` says of a state: NICs, crossings, slices, capacity. Figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import sched_cases as cases
from cluster_cases import load_text

from distsim.cluster import Cluster
from distsim.scheduler.explain import Wires, capacity, chips_of, explained, job_entry, nics_of_chips, outcome, reason_of
from distsim.scheduler.explain.job import histogram, plain
from distsim.scheduler.explain.ring import crossings
from distsim.scheduler.state import Share, state_of
from distsim.scheduler.types import Condition, JobPhase, TaskState

RACKS = "pools: [{name: a, count: 8, chips: {count: 4}, nics: {count: 4}}]\nnetwork: {kind: rack, nodes_per_rack: 2}\n"


def ring(cluster: Cluster, names: list[str], masks: list[int] | None = None) -> dict[str, object]:
    """Crossings of the ring of nodes, each with all its chips unless masks say otherwise."""
    nodes = [cluster.by_name[name] for name in names]
    held = masks or [(1 << node.gpus) - 1 for node in nodes]
    return crossings(nodes, [nics_of_chips(node, mask) for node, mask in zip(nodes, held)], Wires(cluster))


def test_chips_and_their_nics() -> None:
    assert chips_of(0b1011) == [0, 1, 3] and chips_of(0) == []
    node = cases.node("n", chips=8, number=2)
    assert nics_of_chips(node, 0b10000101) == [16, 18, 23]


def test_chips_share_nics_where_there_are_fewer(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, "pools: [{name: a, count: 2, chips: {count: 16}, nics: {count: 8}}]\n")
    first, second = cluster.nodes
    assert nics_of_chips(second, 0b11) == [8]                       # chips 0 and 1 have NIC 0
    assert nics_of_chips(second, 0b111 << 13) == [8 + 6, 8 + 7]     # chip 13: NIC 6, chips 14 and 15: NIC 7
    assert nics_of_chips(first, 0xFFFF) == list(range(8))


def test_a_node_without_nics_gives_none(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, "pools: [{name: a, count: 1}, {name: b, count: 1, nics: null, names: 'b{0}'}]\n")
    assert nics_of_chips(cluster.by_name["b0"], 0xFF) == []


def test_ring_in_two_tiers(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, RACKS)
    names = [node.name for node in cluster.nodes]
    # Racks (0 1)(2 3)(4 5)(6 7): 0-1 stays, 1-2 leaves, 2-3 stays, 3-0 leaves. Four NIC pairs an edge.
    assert ring(cluster, names[:4]) == {
        "edges": 4, "inNode": 0, "inRack": 2, "crossRack": 2, "crossLeaf": 2, "crossSpine": 2,
        "nicPairs": {"leaf": 8, "fabric": 0, "spine": 8}}
    # The same nodes in an order that alternates racks: every edge leaves.
    assert ring(cluster, [names[at] for at in (0, 2, 1, 3)])["crossSpine"] == 4


def test_ring_of_one_and_of_two(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, RACKS)
    names = [node.name for node in cluster.nodes]
    assert ring(cluster, names[:1])["edges"] == 0
    two = ring(cluster, [names[0], names[0]], [0b0011, 0b1100])
    assert (two["edges"], two["inNode"], two["crossLeaf"]) == (2, 2, 0)


def test_ring_in_three_tiers(tmp_path: Path) -> None:
    """HyperNodes of tier 2 are pods: s0 = racks r0 (n0 n1), r1 (n2 n3); s1 = r2 (n4 n5), r3 (n6 n7)."""
    parts = [(f"r{rack}", 1, [f"n{2 * rack}", f"n{2 * rack + 1}"]) for rack in range(4)]
    parts += [("s0", 2, ["r0", "r1"]), ("s1", 2, ["r2", "r3"])]
    text = "---\n".join(
        f"apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {{name: {name}}}\nspec:\n"
        f"  tier: {tier}\n  members:\n" + "".join(
            f"    - {{type: {'Node' if tier == 1 else 'HyperNode'}, selector: {{exactMatch: {{name: {member}}}}}}}\n"
            for member in members) for name, tier, members in parts)
    cluster = load_text(tmp_path, text)
    found = ring(cluster, [f"n{index}" for index in range(8)])
    # 0-1 2-3 4-5 6-7 in a rack; 1-2 and 5-6 within a pod; 3-4 and 7-0 over a spine; 8 NICs a node.
    assert found == {"edges": 8, "inNode": 0, "inRack": 4, "crossRack": 4, "crossLeaf": 4, "crossSpine": 2,
                     "nicPairs": {"leaf": 32, "fabric": 16, "spine": 16}}


def test_ring_by_rails(tmp_path: Path) -> None:
    """NIC i of every node of a unit hangs off leaf i: equal chips stay at a leaf, others do not."""
    cluster = load_text(tmp_path, "pools: [{name: a, count: 4, chips: {count: 4}, nics: {count: 4}}]\n"
                                  "network: {kind: rail, nodes_per_unit: 2, spines: 2}\n")
    names = [node.name for node in cluster.nodes]
    same = ring(cluster, names[:2])
    assert (same["inRack"], same["crossLeaf"], same["nicPairs"]) == (2, 0, {"leaf": 8, "fabric": 0, "spine": 0})
    shifted = ring(cluster, names[:2], [0b0011, 0b1100])
    assert (shifted["inRack"], shifted["crossLeaf"], shifted["crossSpine"]) == (2, 2, 2)
    assert ring(cluster, [names[1], names[2]])["crossSpine"] == 2


def test_unequal_lists_of_nics_are_paired_in_turn(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, RACKS)
    found = ring(cluster, [cluster.nodes[0].name, cluster.nodes[1].name], [0b1, 0b1111])
    assert found["nicPairs"] == {"leaf": 8, "fabric": 0, "spine": 0}          # two edges of max(1, 4) pairs


def test_ring_without_a_fabric_goes_by_racks() -> None:
    state = cases.tor_state(2, 2)
    found = ring(state.cluster, ["n0", "n1", "n2"])
    assert found == {"edges": 3, "inNode": 0, "inRack": 1, "crossRack": 2, "crossLeaf": 2, "crossSpine": 2,
                     "nicPairs": {"leaf": 0, "fabric": 0, "spine": 0}}


def test_slice_histogram() -> None:
    """cluster.md section 2, third example: n0 n5 n10 n15 busy, twelve ranks on each slice three times."""
    state = cases.tor_state()
    order = [4, 1, 2, 3, 8, 9, 6, 7, 12, 13, 14, 11]
    nodes = [state.nodes[f"n{index}"] for index in order]
    assert histogram(nodes) == {"0": 3, "1": 3, "2": 3, "3": 3}
    state.nodes["n4"].slice = -1
    assert histogram(nodes[:2]) == {"1": 1}


def test_a_scheduled_job() -> None:
    state = cases.tor_state()
    done = cases.run_on(state, cases.job(3, chips=4), ["n1", "n1", "n4"])
    done.notes = {"fragment": 3, "blocks": (("n1", "n4"),), 7: {2, 1}}
    entry = job_entry(done, state)
    assert list(entry)[:4] == ["name", "state", "ranks", "reason"]
    assert (entry["state"], entry["ranks"], entry["reason"]) == ("scheduled", ["n1", "n1", "n4"], "")
    assert entry["chips"] == [[0, 1, 2, 3], [4, 5, 6, 7], [0, 1, 2, 3]]
    assert entry["nics"] == [[8, 9, 10, 11], [12, 13, 14, 15], [32, 33, 34, 35]]
    assert (entry["pods"], entry["placed"], entry["minAvailable"]) == (3, 3, 3)
    found = explained(done, state, Wires(state.cluster), {"0 of 8 chips free": ("n0",)})
    assert (found["nodeCount"], found["racks"], found["rackOfRank"]) == (2, ["tor-0", "tor-1"],
                                                                        ["tor-0", "tor-0", "tor-1"])
    assert found["slices"] == {"0": 1, "1": 1}                # by node, not by rank
    assert found["nicNames"][2] == ["NIC-32", "NIC-33", "NIC-34", "NIC-35"]
    assert found["crossings"]["inNode"] == 1 and found["crossings"]["crossLeaf"] == 2
    assert found["refused"] == {"0 of 8 chips free": ["n0"]} and found["switches"] == []
    assert found["notes"] == {"fragment": 3, "blocks": [["n1", "n4"]], "7": [1, 2]}


def test_ranks_follow_the_rank_and_leave_out_pods_without_chips() -> None:
    state = cases.tor_state()
    done = cases.job(2)
    launcher = cases.job(1, chips=0).tasks[0]
    launcher.name, launcher.role, launcher.index = "job-launcher-0", "launcher", 2
    done.tasks.append(launcher)
    cases.run_on(state, done, ["n5", "n2", "n9"])
    done.tasks[0].rank, done.tasks[1].rank, launcher.rank = 1, 0, -1
    entry = job_entry(done, state)
    assert entry["ranks"] == ["n2", "n5"] and entry["podNames"] == ["job-worker-1", "job-worker-0"]
    assert entry["placed"] == 3


def test_shares_of_a_chip() -> None:
    state = cases.tor_state(1, 1)
    done = cases.job(1, chips=1)
    state.jobs[done.uid] = done
    state.share(done.tasks[0], "n0", 2, Share(f"{done.uid}/job-worker-0", 30, 4096, "elastic"))
    done.tasks[0].rank, done.phase = 0, JobPhase.RUNNING
    assert job_entry(done, state)["chips"] == [[2]]
    assert explained(done, state, Wires(state.cluster), {})["shares"] == [
        {"pod": "job-worker-0", "node": "n0", "chip": 2, "aicoreQuota": 30, "hbmQuotaMB": 4096, "policy": "elastic"}]


def test_the_reason_is_that_of_the_latest_condition() -> None:
    state, waiting = cases.tor_state(), cases.job(2)
    assert reason_of(waiting, state) == ("the job is Pending, and no action has looked at it (actions: enqueue, "
                                         "allocate, backfill)")
    waiting.conditions = {"NodePredicateFailed": Condition("NodePredicateFailed", "no node", 2000),
                          "JobEnqueueFailed": Condition("JobEnqueueFailed", "8 of 16 chips", 1000)}
    assert (outcome(waiting), reason_of(waiting, state)) == ("pending", "NodePredicateFailed: no node")
    entry = job_entry(waiting, state)
    assert entry["ranks"] is None and entry["chips"] == [] and len(entry["conditions"]) == 2
    waiting.phase, waiting.reason = JobPhase.FAILED, "JobValidateFailed: InvalidArgument: sp-block 3"
    assert (outcome(waiting), reason_of(waiting, state)) == ("failed", "JobValidateFailed: InvalidArgument: sp-block 3")
    waiting.reason = ""
    assert reason_of(waiting, state) == "NodePredicateFailed: no node"


def test_a_gang_that_lost_its_pods_has_no_ranks() -> None:
    state = cases.tor_state()
    job = cases.run_on(state, cases.job(2), ["n0", "n1"])
    for task in job.tasks:
        state.release(task, TaskState.FAILED)
    job.phase = JobPhase.PENDING
    assert job_entry(job, state)["ranks"] is None


def test_capacity_by_rack_and_fragmentation() -> None:
    """Two racks of two nodes of 8 chips. n0: 3 chips used, n1 busy, n2: 6 of 8, n3 free: 5 + 2 + 8 = 15 free, 7 of them
    on partly used nodes."""
    state = cases.tor_state(2, 2, busy=[1])
    cases.run_on(state, cases.job(1, chips=3, name="a"), ["n0"])
    cases.run_on(state, cases.job(1, chips=6, name="b"), ["n2"])
    found = capacity(state)
    racks = found.pop("racks")
    assert found == {"name": "lab", "nodes": 4, "wholeNodes": 1, "chips": 32, "used": 17, "free": 15,
                     "partlyUsedFree": 7, "unavailable": 0, "fragmentation": round(7 / 15, 6)}
    assert [(rack["name"], rack["free"], rack["wholeNodes"]) for rack in racks] == [("tor-0", 5, 0), ("tor-1", 10, 1)]


def test_chips_that_nobody_can_have_are_not_free() -> None:
    state = cases.tor_state(1, 3)
    state.nodes["n0"].barred, state.nodes["n1"].healthy = 0b11, False
    found = capacity(state)
    assert (found["free"], found["unavailable"], found["wholeNodes"], found["fragmentation"]) == (14, 10, 1, 0)
    for node in state.nodes.values():
        node.used = node.all_chips
    assert capacity(state)["fragmentation"] == 0


def test_nics_are_named_as_records_name_them(tmp_path: Path) -> None:
    wires = Wires(load_text(tmp_path, RACKS))
    assert wires.name(31) == "NIC-31" and wires.fabric is not None and wires.fabric.hosts == 32


def test_switches_come_from_the_routes(tmp_path: Path) -> None:
    from distsim.fabric.routing import build_routes
    from distsim.workloadrun.touched import Paths

    cluster = load_text(tmp_path, RACKS)
    state, wires = state_of(cluster), Wires(cluster)
    assert wires.fabric is not None
    paths = Paths(wires.fabric, build_routes(wires.fabric))
    done = cases.run_on(state, cases.job(2, chips=4), [cluster.nodes[2].name, cluster.nodes[3].name])
    assert explained(done, state, wires, {}, paths)["switches"] == ["RackSwitch-1"]


@pytest.mark.parametrize(("value", "wanted"), [
    ({"a": (1, 2.5)}, {"a": [1, 2.5]}), (frozenset({"b", "a"}), ["a", "b"]), (JobPhase.RUNNING, "Running"),
    (Path("x"), "x"), (None, None), (True, True)])
def test_notes_become_plain_data(value: object, wanted: object) -> None:
    assert plain(value) == wanted and type(plain(value)) is type(wanted)
