"""Which nodes a run may use, in what order they are left out, and what is said of it."""

from __future__ import annotations

import pytest
from workloadrun_clusters import A100, GB200, H100, changed, node, nodes, tainted

from distsim.errors import InputError
from distsim.workloadrun.discovery import eligible, majority, targeted, with_capacity

GPUS = {"nodeSelector": {"nvidia.com/gpu.present": "true"}}


def names(found):
    return found.names


def test_the_default_target_is_every_node_labelled_as_having_a_gpu():
    cpu = changed(node("cpu", gpus=0), labels={"nvidia.com/gpu.present": None})
    for target in (None, {}, GPUS):
        assert names(targeted([cpu, *nodes(2)], target)) == ["node00", "node01"]


def test_nodes_come_sorted_by_name():
    assert names(targeted([node("b"), node("c"), node("a")], None)) == ["a", "b", "c"]


@pytest.mark.parametrize(("expression", "wanted"), [
    ({"key": "zone", "operator": "In", "values": ["x", "y"]}, ["a", "b"]),
    ({"key": "zone", "operator": "NotIn", "values": ["x"]}, ["b", "c"]),          # a missing label is not in any list
    ({"key": "zone", "operator": "Exists"}, ["a", "b"]),
    ({"key": "zone", "operator": "DoesNotExist"}, ["c"]),
])
def test_match_expressions(expression, wanted):
    fleet = [node("a", zone="x"), node("b", zone="y"), node("c")]
    assert names(targeted(fleet, {**GPUS, "matchExpressions": [expression]})) == wanted


def test_all_parts_of_a_target_must_hold():
    fleet = [node("a", zone="x", kind="new"), node("b", zone="x"), node("c", kind="new")]
    expressions = [{"key": "zone", "operator": "Exists"}, {"key": "kind", "operator": "In", "values": ["new"]}]
    assert names(targeted(fleet, {"matchExpressions": expressions})) == ["a"]
    assert names(targeted(fleet, {"nodeSelector": {"zone": "x"}, "matchExpressions": expressions[1:]})) == ["a"]


def test_an_unknown_operator_is_refused():
    with pytest.raises(InputError, match="'Near' is not valid; valid values: In, NotIn, Exists, DoesNotExist"):
        targeted(nodes(1), {"matchExpressions": [{"key": "zone", "operator": "Near"}]})


def test_node_names_take_the_place_of_the_selector_but_not_of_the_rest():
    bare = changed(node("bare"), labels={"nvidia.com/gpu.present": None})
    fleet = [bare, node("a", zone="x"), node("b")]
    assert names(targeted(fleet, {**GPUS, "nodeNames": ["bare", "a"]})) == ["a", "bare"]
    only = {"nodeNames": ["bare", "a"], "matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    assert names(targeted(fleet, only)) == ["a"]


def test_taint_selectors_choose_nodes_that_have_all_of_the_taints():
    both = tainted(tainted(node("both"), "pool", "gpu"), "spare")
    one, other = tainted(node("one"), "pool", "gpu"), tainted(node("other"), "pool", "cpu", "NoExecute")
    fleet = [both, one, other, node("none")]
    assert names(targeted(fleet, {"taintSelectors": [{"key": "pool"}]})) == ["both", "one", "other"]
    assert names(targeted(fleet, {"taintSelectors": [{"key": "pool", "value": "gpu"}]})) == ["both", "one"]
    assert names(targeted(fleet, {"taintSelectors": [{"key": "pool", "effect": "NoExecute"}]})) == ["other"]
    assert names(targeted(fleet, {"taintSelectors": [{"key": "pool"}, {"key": "spare"}]})) == ["both"]


def test_cordoned_nodes_go_first_and_are_named():
    fleet = [changed(node("a", product=A100), cordoned=True), node("b")]
    found = targeted(fleet, None)
    assert (names(found), found.cordoned, found.gpu_architecture) == (["b"], ("a",), "h100")
    assert found.exclusion_reason() == "1 node(s) matched the target but were unschedulable (cordoned): a"
    assert found.excluded() == [{"node": "a", "reason": "cordoned"}]


def test_a_cordoned_node_without_gpus_is_no_loss():
    cpu = changed(node("cpu", gpus=0), labels={"nvidia.com/gpu.present": None, "all": "1"}, cordoned=True)
    found = targeted([cpu, node("a", all="1")], {"nodeSelector": {"all": "1"}})
    assert (found.names, found.cordoned) == (["a"], ())


def test_nothing_found():
    with pytest.raises(InputError, match=r"No target nodes found matching orchestration target$"):
        targeted(nodes(2), {"nodeSelector": {"zone": "x"}})
    with pytest.raises(InputError, match=r"orchestration target; 1 node\(s\) matched but are cordoned: node00"):
        targeted([changed(node("node00"), cordoned=True)], None)


def test_one_architecture_by_majority():
    fleet = [node("a", product=A100), node("b"), node("c")]
    found = targeted(fleet, None)
    assert (found.gpu_architecture, found.names, found.other_architecture) == ("h100", ["b", "c"], ("a",))
    assert found.exclusion_reason() == "target set has more than one GPU architecture; certified h100 only"
    assert found.gpu_products == [H100]


def test_a_tie_goes_to_the_earliest_name_and_unlabelled_nodes_do_not_vote():
    tie = targeted([node("b"), node("a", product=A100)], None)
    assert (tie.gpu_architecture, tie.names) == ("a100", ["a"])
    silent = targeted([node("a", product=""), node("b", product=""), node("c", product=GB200)], None)
    assert (silent.gpu_architecture, silent.names, silent.other_architecture) == ("gb200", ["c"], ("a", "b"))
    none = targeted([node("a", product=""), node("b", product="")], None)
    assert (none.gpu_architecture, none.names) == ("unknown", ["a", "b"])
    assert majority([]) == "unknown"


def test_products_of_one_architecture_are_all_kept():
    found = targeted([node("a", product="NVIDIA-H100-NVL"), node("b")], None)
    assert found.gpu_products == [H100, "NVIDIA-H100-NVL"]


def test_mixed_platforms_fail():
    fleet = [changed(node("a"), platform="aws"), changed(node("b"), platform="gcp"), changed(node("c"), platform="aws")]
    with pytest.raises(InputError, match=r"heterogeneous platforms detected: map\[aws:2 gcp:1\]"):
        targeted(fleet, None)


def test_a_cordoned_node_of_another_platform_does_no_harm():
    fleet = [changed(node("a"), platform="aws"), changed(node("b"), platform="gcp", cordoned=True)]
    assert targeted(fleet, None).platform == "aws"


def test_nodes_with_too_few_gpus_go_last():
    found = eligible([node("a", gpus=4), node("b"), node("c", gpus=1, product=A100)], None, 8)
    assert (found.names, found.short_of_gpus, found.other_architecture) == (["b"], (("a", 4),), ("c",))
    assert found.excluded() == [{"node": "c", "reason": "not GPU architecture h100"},
                                {"node": "a", "reason": "has 4 of 8 nvidia.com/gpu"}]


def test_the_documented_text_of_all_three_causes():
    fleet = [changed(node("node001"), cordoned=True), node("node004", gpus=4), node("node007", product=A100),
             node("node002"), node("node003")]
    assert eligible(fleet, None, 8).exclusion_reason() == (
        "1 node(s) matched the target but were unschedulable (cordoned): node001. target set has more than one GPU "
        "architecture; certified h100 only. 1 node(s) matched the target but have insufficient GPU capacity, the "
        "workload requests 8 nvidia.com/gpu per node: node004 has 4")


def test_no_node_has_enough_gpus():
    with pytest.raises(InputError, match=r"No node can supply the 8 nvidia\.com/gpu the workload requests per node; "
                                         r"best available is 4"):
        with_capacity(targeted([node("a", gpus=2), node("b", gpus=4)], None), 8)


def test_the_documented_texts_of_a_shortage():
    two = [node("node001"), node("node003")]
    assert eligible(two, None, 2).shortage(4) == "Not enough schedulable nodes: need 4, found 2"
    short = eligible([*two, node("node002", gpus=1)], None, 2)
    opening = ("Not enough schedulable nodes: need 4, found 2. 1 node(s) matched the target but were excluded for "
               "having fewer than the 2 allocatable nvidia.com/gpu the workload requests per node: node002 has 1")
    assert short.shortage(4) == opening + ". Set numNodes to 2, or lower gpusPerNode"
    assert short.shortage(4, "Unpinned") == opening
    mixed = eligible([*two, node("node002", product=A100)], None, 2)
    assert mixed.shortage(4) == (
        "Not enough schedulable nodes: need 4, found 2. 1 node(s) matched the target but were excluded for not being "
        "GPU architecture h100: node002. Set numNodes to 2, or narrow the target to one architecture")
    both = eligible([node("node001"), node("node004"), node("node002", gpus=1), node("node003", product=A100)], None, 2)
    assert both.shortage(4) == (
        "Not enough schedulable nodes: need 4, found 2. 1 node(s) matched the target but were excluded for not being "
        "GPU architecture h100: node003. 1 node(s) matched the target but were excluded for having fewer than the 2 "
        "allocatable nvidia.com/gpu the workload requests per node: node002 has 1. Set numNodes to 2, or narrow the "
        "target to one architecture, or lower gpusPerNode")
