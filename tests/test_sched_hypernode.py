"""Policy hypernode: volcano's networkTopology. Placements worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sched_cases import CHIP, cluster, node
from sched_hyper import HYPERNODE, eight, hard, hyper_state, nodes_of, parts, placed, refused, soft, wanted

from distsim.scheduler.policies import policy_name
from distsim.scheduler.state import state_of
from distsim.scheduler.types import INVALID_ARGUMENT, ORDER_FAILED, PREDICATE_FAILED, VALIDATE_FAILED, Task


@pytest.mark.parametrize(("busy", "pods", "topology", "expected"), [
    ([], 2, hard(1), "n0 n1"),                              # all alike: by name
    (["n0"], 2, hard(1), "n2 n3"),
    (["n0"], 1, hard(1), "n1"),                             # the tightest: s0 has one node free
    ([], 2, hard(3), "n0 n1"),                              # the lowest tier that holds the job
    (["n0", "n2", "n4", "n6"], 2, hard(3), "n1 n3"),        # no rack does: s4 and s5 are alike
    (["n0", "n2", "n4", "n6"], 4, hard(3), "n1 n3 n5 n7"),
    (["n4"], 3, hard(2), "n5 n6 n7"),                       # s5 has 3 nodes free, s4 has 4
    ([], 5, hard(3), "n0 n1 n2 n3 n4"),
    ([], 2, soft(), "n0 n1"),
    (["n4"], 3, soft(), "n5 n6 n7"),
    ([], 2, {"highestTierAllowed": 1}, "n0 n1"),            # hard is the default
    ([], 5, {"mode": "hard"}, "n0 n1 n2 n3 n4"),            # without a highest tier it binds nothing, as in volcano
])
def test_lowest_tier_and_best_fit(busy: list[str], pods: int, topology: dict[str, Any], expected: str) -> None:
    assert nodes_of(eight(busy), wanted(pods, topology)) == expected


def test_a_tier_by_its_name() -> None:
    state = eight(names=("rack", "pod", "spine"))
    assert nodes_of(state, wanted(3, {"mode": "hard", "highestTierName": "pod"})) == "n0 n1 n2"
    found = refused(state, wanted(3, {"mode": "hard", "highestTierName": "rack"}))
    assert found.condition == ORDER_FAILED and not found.final
    assert found.message == ("hypernode finds no nodes for 3 pods of job job: no HyperNode of tier 1 or lower takes 3 "
                             "pods; the roomiest, s0 (tier 1), takes 2")


def test_notes_and_chips() -> None:
    found = placed(eight(["n4"]), wanted(3, hard(2)))
    assert found.chips == (0xFF,) * 3
    assert found.notes == {"hypernode": "s5", "tier": 2, "members": {"s2": 1, "s3": 2}}


def test_soft_fills_few_hypernodes() -> None:
    """volcano-sh/volcano#4343: four pods on six nodes of three HyperNodes take two of them."""
    state = hyper_state({"s0": ["n1", "n2"], "s1": ["n3", "n4"], "s2": ["n5", "n6"]}, {"top": ["s0", "s1", "s2"]})
    assert placed(state, wanted(4, soft())).notes["members"] == {"s0": 2, "s1": 2}
    # 2 + 3 + 4 free, 6 wanted: the roomiest is filled, the rest goes where it just fits.
    state = hyper_state({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1", "c2", "c3"]})
    assert nodes_of(state, wanted(6, soft())) == "a0 a1 c0 c1 c2 c3"
    assert nodes_of(state, wanted(7, soft())) == "b0 b1 b2 c0 c1 c2 c3"


def test_ranks_follow_the_topology() -> None:
    """volcano-sh/volcano#4233: five pods on two HyperNodes, whose nodes take turns in the cluster, cross twice."""
    hypers = hyper_state({"s0": ["n0", "n2", "n4"], "s1": ["n1", "n3"]}).cluster.hyper_nodes
    in_turns = state_of(replace(cluster([node(f"n{at}") for at in range(5)]), hyper_nodes=hypers))
    assert nodes_of(in_turns, wanted(5, soft())) == "n0 n2 n4 n1 n3"


def test_without_hypernodes_racks_are_tier_1_and_the_cluster_is_tier_2() -> None:
    nodes = [node(f"n{at}", rack=f"r{at // 4}") for at in range(8)]
    state = state_of(cluster(nodes), busy=["n0"])
    assert nodes_of(state, wanted(3, hard(1))) == "n1 n2 n3"
    assert nodes_of(state, wanted(4, hard(1))) == "n4 n5 n6 n7"
    assert nodes_of(state, wanted(6, hard(2))) == "n1 n2 n4 n5 n6 n7"
    assert "no HyperNode of tier 1 or lower takes 6 pods; the roomiest, r1 (tier 1), takes 4" in refused(
        state, wanted(6, hard(1))).message
    assert nodes_of(state_of(cluster([node("a"), node("b")])), wanted(2, hard(2))) == "a b"       # no racks either


def test_nodes_outside_all_hypernodes_come_last() -> None:
    state = hyper_state({"s0": ["n1"], "s1": ["n2"]})
    loose = state_of(replace(state.cluster, nodes=(node("n0"), *state.cluster.nodes)))
    assert nodes_of(loose, wanted(2, soft())) == "n1 n2"
    assert nodes_of(loose, wanted(3, soft())) == "n1 n2 n0"
    assert placed(loose, wanted(3, soft())).notes["hypernode"] == "<cluster>"
    assert "no HyperNode of tier 1 or lower takes 2 pods" in refused(loose, wanted(2, hard(1))).message


def test_too_few_nodes() -> None:
    found = refused(eight(["n0", "n1"]), wanted(7, soft()))
    assert found.condition == PREDICATE_FAILED
    assert found.message == ("hypernode finds no nodes for 7 pods of job job: no HyperNode takes 7 pods; the roomiest, "
                             "s6 (tier 3), takes 6")
    assert found.nodes == {"0 of 8 chips free, 8 requested": ("n0", "n1")}


def test_several_pods_on_a_node() -> None:
    state = hyper_state({"a": ["a0", "a1"], "b": ["b0"]})
    state.nodes["a0"].used = 0b1111
    # b has room for two pods of 4 chips, a for three.
    assert nodes_of(state, wanted(2, hard(1), chips=4)) == "b0 b0"
    assert placed(state, wanted(2, hard(1), chips=4)).chips == (0b1111, 0b11110000)
    assert nodes_of(state, wanted(3, hard(1), chips=4)) == "a0 a1 a1"
    state.nodes["b0"].used = 0xFF
    assert nodes_of(state, wanted(2, hard(1), chips=4)) == "a1 a1"           # one node, not two
    assert nodes_of(state, wanted(1, hard(1), chips=4)) == "a0"              # the tighter one


def test_other_resources_limit_the_pods_of_a_node() -> None:
    state = hyper_state({"a": ["a0", "a1"]})
    one = wanted(3, hard(1), chips=2)
    for task in one.tasks:
        task.request["cpu"] = 100_000_000                                    # a node has 192 million milli-cpus
    assert "takes 2" in refused(state, one).message
    assert nodes_of(state, wanted(3, hard(1), chips=2)) == "a0 a0 a0"


def test_pods_that_may_not_share_a_node() -> None:
    one = wanted(2, hard(1), chips=2)
    for task in one.tasks:
        task.spread = True
    assert nodes_of(hyper_state({"a": ["a0", "a1"]}), one) == "a0 a1"
    assert "takes 1" in refused(hyper_state({"a": ["a0"]}), one).message


def test_pods_of_different_size() -> None:
    one = wanted(3, hard(1))
    one.tasks.insert(0, Task(one.uid, "job-master-0", "master", 0, 4, {CHIP: 4}))
    state = hyper_state({"a": ["a0", "a1", "a2"], "b": ["b0", "b1", "b2", "b3"]})
    state.nodes["b0"].used = 0b1111
    assert nodes_of(state, one) == "b0 b1 b2 b3"                              # 28 chips; rack a has only 24
    state.nodes["b1"].used = 1
    # a: 24 chips. b: 4, 7, 8 and 8.
    assert refused(state, one).message.endswith(
        "no HyperNode of tier 1 or lower takes 4 pods of 28 chips together; the roomiest, b (tier 1), has 27 chips for "
        "them")
    for name, used in (("b0", 0), ("b1", 0), ("b2", 0b11), ("b3", 0b11)):
        state.nodes[name].used = used
    assert refused(state, one).message.endswith(                              # 28 chips, but not on whole nodes
        "b (tier 1) takes 2 of 3 pods of 8 chips, beside those of partitions and larger ones")


def test_unsound_nodes_come_last_in_their_tier() -> None:
    state = eight()
    state.nodes["n0"].bad_score = 64
    assert nodes_of(state, wanted(2, hard(1))) == "n2 n3"
    assert nodes_of(state, wanted(1, hard(1))) == "n1"                        # ties: s0 by name, and there n1
    for name in ("n2", "n4", "n6"):
        state.nodes[name].sub_healthy = True
    assert nodes_of(state, wanted(2, hard(1))) == "n0 n1"                     # no rack is sound; the tier decides


PARTS = "partitionPolicy of task worker"
WRONG = [
    ({"mode": "firm"}, "networkTopology.mode 'firm' is not valid; valid values: hard, soft"),
    (hard(4), "networkTopology.highestTierAllowed 4 is not valid; tiers of the cluster: 1, 2, 3"),
    (hard(0), "networkTopology.highestTierAllowed 0 is not valid; tiers of the cluster: 1, 2, 3"),
    (soft(highestTierAllowed=9), "networkTopology.highestTierAllowed 9 is not valid; tiers of the cluster: 1, 2, 3"),
    ({"highestTierAllowed": "2"}, "networkTopology.highestTierAllowed '2' is not valid; tiers of the cluster: 1, 2, 3"),
    ({"highestTierName": "racks"},
     "networkTopology.highestTierName 'racks' is not valid; valid values: rack, pod, spine; nearest: rack"),
    (hard(1, highestTierName="rack"),
     "networkTopology: highestTierAllowed and highestTierName stand together; give one of them"),
    (hard(2, partitionPolicy=parts(2, 3)),
     f"{PARTS}: totalPartitions 2 x partitionSize 3 is 6, but the task has 4 replicas"),
    (hard(2, partitionPolicy=parts(0, 3)), f"{PARTS}: totalPartitions 0 is not valid; valid: 1 or more"),
    (hard(2, partitionPolicy=parts(2, 2, least=3)), f"{PARTS}: minPartitions 3 is not valid; valid: 0 to 2"),
    (hard(2, partitionPolicy=parts(2, 2, role="ps")),
     "partitionPolicy of task ps: the job has no such task; its tasks: worker"),
    (soft(partitionPolicy=parts(2, 2, {"highestTierName": "volcano.sh/hypernode"})),
     f"{PARTS}: networkTopology.highestTierName 'volcano.sh/hypernode' is not valid; valid values: rack, pod, spine"),
]


@pytest.mark.parametrize(("topology", "message"), WRONG)
def test_bad_input(topology: dict[str, Any], message: str) -> None:
    """volcano-sh/volcano#5189: an unknown tier name is an error, not "no constraint"."""
    found = HYPERNODE.validate(wanted(4, topology), eight(names=("rack", "pod", "spine")))
    assert found is not None and found.message == f"job job: {message}"
    assert (found.condition, found.reason, found.final) == (VALIDATE_FAILED, INVALID_ARGUMENT, True)


def test_tier_names_of_a_cluster() -> None:
    found = HYPERNODE.validate(wanted(4, {"highestTierName": "rack"}), eight())
    assert found is not None and found.message == (
        "job job: networkTopology.highestTierName 'rack' is not valid; no tier of the cluster has a name, give "
        "highestTierAllowed")
    found = HYPERNODE.validate(wanted(4, {"highestTierName": "x"}), eight(names=("x", "x", "y")))
    assert found is not None and "'x' is the name of tiers 1 and 2; give highestTierAllowed instead" in found.message
    assert HYPERNODE.validate(wanted(4, hard(2)), eight()) is None
    assert refused(eight(), wanted(4, hard(7))).condition == VALIDATE_FAILED


def test_the_policy_of_a_job_with_a_network_topology() -> None:
    assert policy_name(wanted(2, hard(1)), eight()) == "hypernode"
    assert policy_name(wanted(2, {"mode": "hard", "partitionPolicy": parts(1, 2, hard(1))}), eight()) == "hypernode"
