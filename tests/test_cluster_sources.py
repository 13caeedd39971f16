"""Other descriptions of clusters: basic-tor-node-cm and HyperNodes, by themselves and as the network of a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cluster_cases import fabric, leaf_names, load_text

from distsim.cluster import Rack
from distsim.errors import InputError


def tors() -> dict[str, Any]:
    """Two switches of three places; the second has a free one, and its servers stand in another order."""
    return {"version": "1.0", "tor_count": 3, "server_list": [
        {"tor_id": 1, "tor_ip": "1.0.0.1", "IsSharedTor": 1, "IsHealthy": 1, "server": [
            {"server_ip": "1.1.0.5", "npu_count": 2, "slice_id": 2},
            {"server_ip": "1.1.0.4", "npu_count": 2, "slice_id": 0}]},
        {"tor_id": 0, "tor_ip": "1.0.0.0", "server": [
            {"server_ip": f"1.1.0.{i}", "npu_count": 4, "slice_id": i} for i in range(3)]}]}


def config_map(info: dict[str, Any]) -> str:
    """A ConfigMap whose tor_info begins on line 8."""
    lines = json.dumps(info, indent=1).splitlines()
    return ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: basic-tor-node-cm\ndata:\n  tor_level: single_layer\n"
            "  tor_info: |\n" + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("form", ["json", "tabs", "config map"])
def test_tor_nodes(tmp_path: Path, form: str) -> None:
    text = {"json": json.dumps(tors()), "tabs": json.dumps(tors(), indent="\t"), "config map": config_map(tors())}[form]
    cluster = load_text(tmp_path, text, "tors.json" if form != "config map" else "tors.yaml")
    assert [node.name for node in cluster.nodes] == ["1.1.0.0", "1.1.0.1", "1.1.0.2", "1.1.0.4", "1.1.0.5"]
    assert [(node.gpus, node.nics) for node in cluster.nodes] == [
        (4, (0, 1, 2, 3)), (4, (4, 5, 6, 7)), (4, (8, 9, 10, 11)), (2, (12, 13)), (2, (14, 15))]
    assert cluster.racks[1] == Rack("tor-1", ("1.1.0.4", "1.1.0.5"), ("RackSwitch-1",))
    last = cluster.nodes[4]
    assert last.annotations == {"distsim/tor-id": "1", "distsim/slice-id": "2"}
    assert last.resources == {"huawei.com/Ascend910": 2}
    assert leaf_names(fabric(cluster), last.nics) == ["RackSwitch-1"] * 2
    said = cluster.tor_nodes
    assert said is not None and said.count == 3
    assert said.level == ("single_layer" if form == "config map" else "double_layer")
    assert [(tor.tor_id, tor.IsSharedTor, tor.IsHealthy) for tor in said.tors] == [(0, 0, 0), (1, 1, 1)]


def test_tor_nodes_as_a_network(tmp_path: Path) -> None:
    (tmp_path / "tors.json").write_text(json.dumps(tors()))
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 5, chips: {count: 2}, labels: {mine: "1"}}]
        network: {kind: tor-node, file: tors.json, spines: 2}
        """)
    assert [(node.name, node.nics, node.rack) for node in cluster.nodes][3:] == [
        ("node003", (6, 7), "tor-1"), ("node004", (8, 9), "tor-1")]
    assert cluster.nodes[0].labels["mine"] == "1"
    assert cluster.tor_nodes is not None and cluster.tor_nodes.count == 3
    named = load_text(tmp_path, """\
        pools:
          - {name: a, count: 2, names: "1.1.0.{0}", first: 4, chips: {count: 1}}
          - {name: b, count: 3, names: "1.1.0.{0}", chips: {count: 1}}
        network: {kind: tor-node, file: tors.json}
        """)
    assert [(node.name, node.nics) for node in named.nodes][:3] == [
        ("1.1.0.4", (3,)), ("1.1.0.5", (4,)), ("1.1.0.0", (0,))]


@pytest.mark.parametrize(("change", "message"), [
    (lambda info: info["server_list"][0]["server"][1].update(slice_id=2),
     "server_list.0.server.1.slice_id: 2 is the slice_id of 1.1.0.5 at tor_id 1 already"),
    (lambda info: info["server_list"][0]["server"][0].update(slice_id=3),
     "server_list.0.server.0.slice_id: 3 is out of range; tor_count is 3, valid: 0 to 2"),
    (lambda info: info["server_list"][1].update(tor_id=1),
     "server_list.1.tor_id: 1 is the tor_id of server_list.0 already"),
    (lambda info: info["server_list"][1]["server"][0].update(server_ip="1.1.0.4"),
     "server_list.1.server.0.server_ip: '1.1.0.4' stands at server_list.0.server.1 already"),
    (lambda info: info["server_list"][0]["server"][0].update(npu_count=0),
     "server_list.0.server.0.npu_count: 0 is out of range; valid: 1 to 1024"),
    (lambda info: info.pop("tor_count"), "tor_count: this key is required: Most servers of a switch, 1 to 65536."),
])
def test_tor_nodes_that_are_wrong(tmp_path: Path, change: Any, message: str) -> None:
    info = tors()
    change(info)
    text = config_map(info)
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    place, _, said = str(caught.value).partition(": ")
    assert said == message
    file, _, line = place.rpartition(":")
    assert file == str(tmp_path / "cluster.yaml")
    key = message.partition(":")[0].rpartition(".")[2]
    assert key == "tor_count" or f'"{key}"' in text.splitlines()[int(line) - 1]


def hyper(name: str, tier: int, *members: str, selector: str = "exactMatch: {name: NAME}", kind: str = "Node") -> str:
    """A HyperNode of 7 lines and one for each member."""
    chosen = "".join(f"    - {{type: {kind}, selector: {{{selector.replace('NAME', member)}}}}}\n"
                     for member in members)
    return (f"---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {{name: {name}}}\n"
            f"spec:\n  tier: {tier}\n  members:\n{chosen}")


RACKS = hyper("s0", 1, "n0", "n1") + hyper("s1", 1, "n2", "n3") + hyper("s2", 1, "n4", "n5")
PODS = RACKS + hyper("s4", 2, "s0", "s1", kind="HyperNode") + hyper("s5", 2, "s2", kind="HyperNode")


def test_hypernodes_of_one_tier_are_racks(tmp_path: Path) -> None:
    for text in (RACKS, RACKS + hyper("top", 2, "s0", "s1", "s2", kind="HyperNode"),
                 RACKS + hyper("top", 2, "^s[0-9]$", selector="regexMatch: {pattern: 'NAME'}", kind="HyperNode")):
        cluster = load_text(tmp_path, text)
        assert [node.name for node in cluster.nodes] == [f"n{i}" for i in range(6)]
        assert cluster.fabric == {"kind": "leaf-spine", "racks": 3, "nics_per_rack": 16}
        assert cluster.nodes[5].nics == tuple(range(40, 48))
        assert cluster.nodes[5].labels[cluster.rack_label] == "s2"


def test_hypernodes_of_two_tiers_are_pods(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, PODS + hyper("s6", 3, "s4", "s5", kind="HyperNode"))
    assert cluster.fabric == {"kind": "fat-tree", "pods": 2, "racks_per_pod": 2, "nics_per_rack": 16}
    assert cluster.racks[2] == Rack("s2", ("n4", "n5"), ("RackSwitch-2",))
    assert cluster.by_name["n5"].nics == tuple(range(40, 48))
    built = fabric(cluster)
    assert leaf_names(built, cluster.by_name["n4"].nics) == ["RackSwitch-2"] * 8
    assert built.nodes["pod"][[0, 31, 32]].tolist() == [0, 0, 1]


def test_hypernodes_choose_nodes_of_pools(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools:
          - {name: a, count: 2, labels: {leaf: x}, chips: {count: 2}}
          - {name: b, count: 2, first: 2, labels: {leaf: "y"}, chips: {count: 2}}
          - {name: c, count: 1, names: odd, chips: {count: 2}}
        network: {kind: hypernodes, file: h.yaml, oversubscription: 4}
        """, h__yaml=hyper("right", 1, "y", selector="labelMatch: {matchLabels: {leaf: NAME}}")
        + hyper("left", 1, "x", selector="labelMatch: {matchExpressions: [{key: leaf, operator: In, values: [NAME]}]}")
        + hyper("lone", 1, "^odd$", selector="regexMatch: {pattern: NAME}"))
    assert {node.name: node.rack for node in cluster.nodes} == {
        "node000": "left", "node001": "left", "node002": "right", "node003": "right", "odd": "lone"}
    assert [node.nics for node in cluster.nodes] == [(4, 5), (6, 7), (0, 1), (2, 3), (8, 9)]
    assert cluster.fabric["oversubscription"] == 4


def test_lists_of_hypernodes(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        apiVersion: v1
        kind: List
        items:
          - apiVersion: topology.volcano.sh/v1alpha1
            kind: HyperNode
            metadata: {name: s0, uid: x}
            spec: {tier: "1", members: [{type: Node, selector: {exactMatch: {name: a}}}]}
            status: {nodeCount: 1}
        """)
    assert [node.name for node in cluster.nodes] == ["a"]


@pytest.mark.parametrize(("text", "line", "message"), [
    (RACKS + hyper("s3", 1, "n5"), 35, "spec.members.0: node 'n5' is in HyperNode s2 already"),
    (RACKS + hyper("s2", 1, "n7"), 31, "metadata.name: HyperNode 's2' stands there twice"),
    (RACKS + hyper("t", 2, "s0", "spine", kind="HyperNode"), 36,
     "spec.members.1: no HyperNode is called 'spine'"),
    (RACKS + hyper("t", 1, "s0", kind="HyperNode"), 33, "spec.tier: tier 1 is not above tier 1 of its member 's0'"),
    (PODS + hyper("t", 3, "s4", "s0", kind="HyperNode"), 51,
     "spec.members: HyperNode 's0' is a member of s4 already"),
    (hyper("a", 1, "x", selector="regexMatch: {pattern: NAME}"), 8,
     "spec.members.0: only exactMatch tells which nodes there are; give the nodes as pools of a cluster file with "
     "network: {kind: hypernodes, file: ...}"),
    (RACKS + hyper("t", 2, "s0", kind="HyperNode"), 14,
     "spec: is a rack in no HyperNode of tier 2, but other racks are in one; a fabric has the same tiers everywhere"),
    (hyper("a", 1, "x", selector="exactMatch: {name: NAME}, regexMatch: {pattern: NAME}"), 8,
     "spec.members.0.selector: a selector needs exactly one of exactMatch, regexMatch and labelMatch"),
    (hyper("a", 0, "x"), 6, "spec.tier: 0 is out of range; valid: 1 to 64"),
    (hyper("a", 1, "x", kind="Nod"), 8, "spec.members.0.type: 'Nod' is not valid; valid values: Node, HyperNode; "
                                        "nearest: Node"),
])
def test_hypernodes_that_are_wrong(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, text)
    assert str(caught.value) == f"{tmp_path / 'cluster.yaml'}:{line}: {message}"


def test_four_tiers_are_too_many(tmp_path: Path) -> None:
    deep = hyper("a", 1, "x") + hyper("b", 2, "a", kind="HyperNode") + hyper("c", 3, "b", kind="HyperNode")
    with pytest.raises(InputError, match="at most three tiers of switches"):
        load_text(tmp_path, deep + hyper("d", 4, "c", kind="HyperNode"))
