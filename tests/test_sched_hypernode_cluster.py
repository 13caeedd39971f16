"""HyperNodes of a cluster's file as policy hypernode sees them; files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_cases import load_text
from sched_hyper import hard, nodes_of, wanted
from test_cluster_sources import PODS, RACKS, hyper

from distsim.cluster.hyper_tree import circle_of
from distsim.cluster.types import HyperNodeInfo
from distsim.errors import InputError
from distsim.scheduler.state import state_of
from distsim.scheduler.types import Job


def gpus(pods: int, tier: int) -> Job:
    """A job of pods with the chips that a file of HyperNodes gives its nodes."""
    return wanted(pods, hard(tier), chips=8)


def test_the_tree_of_a_file(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, PODS.replace("tier: 2", "tier: 2\n  tierName: pod"))
    assert cluster.hyper_nodes == {
        "s0": HyperNodeInfo(1, "", "s4", ("n0", "n1")), "s1": HyperNodeInfo(1, "", "s4", ("n2", "n3")),
        "s2": HyperNodeInfo(1, "", "s5", ("n4", "n5")),
        "s4": HyperNodeInfo(2, "pod", "", ("n0", "n1", "n2", "n3")), "s5": HyperNodeInfo(2, "pod", "", ("n4", "n5"))}
    state = state_of(cluster)
    assert nodes_of(state, gpus(2, 2)) == "n0 n1"
    assert nodes_of(state, gpus(3, 2)) == "n0 n1 n2"


def test_other_networks_have_no_hypernodes(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, "pools: [{name: a, count: 8}]\nnetwork: {kind: rack, nodes_per_rack: 4}\n")
    assert cluster.hyper_nodes == {}
    assert nodes_of(state_of(cluster), gpus(3, 1)) == "node000 node001 node002"


@pytest.mark.parametrize(("text", "line", "circle"), [
    (RACKS + hyper("a", 2, "b", kind="HyperNode") + hyper("b", 3, "a", kind="HyperNode"), 34, "a -> b -> a"),
    (RACKS + hyper("a", 2, "a", kind="HyperNode"), 34, "a -> a"),
    (RACKS + hyper("top", 4, "a", kind="HyperNode") + hyper("a", 3, "s0", "b", kind="HyperNode")
     + hyper("b", 2, "s1", "a", kind="HyperNode"), 42, "a -> b -> a"),
    (hyper("a", 2, "b", kind="HyperNode") + hyper("b", 1, "^[ab]$", selector="regexMatch: {pattern: 'NAME'}",
                                                  kind="HyperNode"), 7, "a -> b -> a"),
])
def test_hypernodes_in_a_circle(tmp_path: Path, text: str, line: int, circle: str) -> None:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    assert str(caught.value) == (f"{tmp_path / 'cluster.yaml'}:{line}: spec.members: HyperNodes are members of each "
                                 f"other in a cycle: {circle}")


def test_circles() -> None:
    assert circle_of({"a": ["b", "c"], "b": ["c"], "c": []}) == []
    assert circle_of({"x": ["a"], "a": ["b"], "b": ["c"], "c": ["a"]}) == ["a", "b", "c"]
    deep = {str(at): [str(at + 1)] for at in range(5000)} | {"5000": []}
    assert circle_of(deep) == []
