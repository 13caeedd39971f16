"""Where NICs plug in: host numbers against the links of the fabric that is built, rates, single links."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cluster_cases import fabric, leaf_names, load_text, rates

from distsim.cluster import Cluster, Rack

DATA = Path(__file__).parent / "data"


def check_against_fabric(cluster: Cluster) -> None:
    """Every NIC is one host of the fabric, and hangs off a switch of its node's rack."""
    built = fabric(cluster)
    hosts = [host for node in cluster.nodes for host in node.nics]
    assert len(set(hosts)) == len(hosts) and max(hosts) < built.hosts
    racks = {rack.name: rack for rack in cluster.racks}
    for node in cluster.nodes:
        assert node.name in racks[node.rack].nodes
        assert set(leaf_names(built, node.nics)) <= set(racks[node.rack].switches)


def test_rack(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 5, nics: {count: 2}}]
        network: {kind: rack, nodes_per_rack: 2, oversubscription: 2}
        """)
    assert [node.nics for node in cluster.nodes] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    assert cluster.fabric == {"kind": "leaf-spine", "racks": 3, "nics_per_rack": 4, "oversubscription": 2.0}
    assert cluster.racks[2] == Rack("rack-2", ("node004",), ("RackSwitch-2",))
    built = fabric(cluster)
    assert built.hosts == 12 and "SpineSwitch-1" in built.names and "SpineSwitch-2" not in built.names
    check_against_fabric(cluster)


def test_racks_by_name(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 4, nics: {count: 2}}]
        network:
          kind: rack
          racks:
            - {name: north, nodes: [node003]}
            - nodes: ["node00[0-2]"]
        """)
    assert [node.nics for node in cluster.nodes] == [(6, 7), (8, 9), (10, 11), (0, 1)]
    assert [rack.name for rack in cluster.racks] == ["north", "rack-1"]
    assert [node.labels[cluster.rack_label] for node in cluster.nodes] == ["rack-1"] * 3 + ["north"]
    check_against_fabric(cluster)


def test_rail(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 5, nics: {count: 2}}]
        network: {kind: rail, nodes_per_unit: 2}
        """)
    assert [node.nics for node in cluster.nodes] == [(0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]
    assert cluster.fabric == {"kind": "rail-optimised", "servers": 6, "nics_per_server": 2, "servers_per_unit": 2}
    built = fabric(cluster)
    assert [leaf_names(built, node.nics) for node in cluster.nodes] == [
        ["RackSwitch-0", "RackSwitch-1"]] * 2 + [["RackSwitch-2", "RackSwitch-3"]] * 2 + [
        ["RackSwitch-4", "RackSwitch-5"]]
    assert cluster.racks[1] == Rack("unit-1", ("node002", "node003"), ("RackSwitch-2", "RackSwitch-3"))
    check_against_fabric(cluster)


def test_rail_units_by_name_leave_ports_free(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 3, nics: {count: 2}}, {name: b, count: 1, names: b, nics: {count: 1}}]
        network:
          kind: rail
          units: [{nodes: [node002]}, {nodes: [node000, b, node001]}]
        """)
    assert {node.name: node.nics for node in cluster.nodes} == {
        "node002": (0, 1), "node000": (6, 7), "b": (8,), "node001": (10, 11)}
    check_against_fabric(cluster)


def test_planes(tmp_path: Path) -> None:
    text = """\
        pools: [{name: a, count: 4, nics: {count: 4}}]
        network: {kind: plane, planes: 2, nodes_per_rack: 2, cores: 2, MORE}
        """
    cluster = load_text(tmp_path, text.replace(", MORE", ""))
    assert [node.nics for node in cluster.nodes] == [(0, 1, 8, 9), (2, 3, 10, 11), (4, 5, 12, 13), (6, 7, 14, 15)]
    assert cluster.fabric == {"kind": "fat-tree", "pods": 2, "racks_per_pod": 2, "nics_per_rack": 4,
                              "fabric_per_pod": 4, "spines": 8, "links_per_pair": 1}
    built = fabric(cluster)
    assert leaf_names(built, cluster.nodes[2].nics) == ["RackSwitch-1", "RackSwitch-1", "RackSwitch-3", "RackSwitch-3"]
    check_against_fabric(cluster)
    other = load_text(tmp_path, text.replace("MORE", "plane_of_nic: [0, 1, 0, 1], oversubscription: 2"))
    assert [node.nics for node in other.nodes][:2] == [(0, 8, 1, 9), (2, 10, 3, 11)]
    assert other.fabric["fabric_per_pod"] == 2


def test_slower_nics_by_rack_and_by_name(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools:
          - {name: a, count: 2, nics: {count: 4}}
          - {name: b, count: 3, names: "b{0}", nics: {count: 1, rate: 200Gbps}}
        network: {kind: rack, nodes_per_rack: 3, spines: 1}
        """)
    slow = {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "200Gbps"}}}
    assert cluster.settings["nic_overrides"] == [{"racks": [1], "set": slow}, {"names": ["NIC-8"], "set": slow}]
    found = rates(fabric(cluster))
    assert [found[f"NIC-{host}", "RackSwitch-0"] for host in (0, 7, 8)] == [400, 400, 200]
    assert [found[f"NIC-{host}", "RackSwitch-1"] for host in (9, 10)] == [200, 200]


def test_rates_and_delays(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 4, nics: {count: 2, rate: 200Gbps}}]
        network: {kind: rack, nodes_per_rack: 2, uplink_rate: 400Gbps, nic_delay: 10ns, uplink_delay: 20ns}
        """)
    built = fabric(cluster)
    found = rates(built)
    assert set(found.values()) == {200, 400}
    assert found["RackSwitch-1", "SpineSwitch-1"] == 400
    assert "SpineSwitch-2" not in built.names      # 4 * 200G below are 2 uplinks of 400G
    assert sorted(set(built.links["delay_ps"].tolist())) == [10_000, 20_000]


@pytest.mark.parametrize(("link", "ends"), [
    ("{rack: 1, uplink_rate: 100Gbps}", {("RackSwitch-1", f"SpineSwitch-{k}") for k in range(4)}),
    ("{rack: rack-0, spine: 3, uplink_rate: 100Gbps}", {("RackSwitch-0", "SpineSwitch-3")}),
    ("{node: node002, rate: 100Gbps}", {("NIC-4", "RackSwitch-1"), ("NIC-5", "RackSwitch-1")}),
    ("{node: node002, nic: 1, rate: 100Gbps}", {("NIC-5", "RackSwitch-1")}),
])
def test_single_links(tmp_path: Path, link: str, ends: set[tuple[str, str]]) -> None:
    cluster = load_text(tmp_path, f"""\
        pools: [{{name: a, count: 4, nics: {{count: 2}}}}]
        network: {{kind: rack, nodes_per_rack: 2, links: [{link}]}}
        """)
    found = rates(fabric(cluster))
    assert {pair for pair, rate in found.items() if rate == 100} == ends
    assert {rate for pair, rate in found.items() if pair not in ends} == {400}


def test_single_links_of_rails_and_planes(tmp_path: Path) -> None:
    rail = load_text(tmp_path, """\
        pools: [{name: a, count: 4, nics: {count: 2}}]
        network: {kind: rail, nodes_per_unit: 2, links: [{rack: unit-1, leaf: 1, spine: 0, uplink_rate: 50Gbps}]}
        """)
    assert [pair for pair, rate in rates(fabric(rail)).items() if rate == 50] == [("RackSwitch-3", "SpineSwitch-0")]
    plane = load_text(tmp_path, """\
        pools: [{name: a, count: 4, nics: {count: 2}}]
        network: {kind: plane, nodes_per_rack: 2, links: [{rack: 1, spine: 1, uplink_rate: 50Gbps, delay: 2us}]}
        """)
    assert sorted(pair for pair, rate in rates(fabric(plane)).items() if rate == 50) == [
        ("RackSwitch-1", "FabricSwitch-1"), ("RackSwitch-3", "FabricSwitch-3")]


def test_a_topology_file(tmp_path: Path) -> None:
    shutil.copy(DATA / "two_tiers.topo", tmp_path)
    text = """\
        pools: [{name: a, count: 3, nics: {count: 2, rate: 100Gbps}}]
        network: {kind: topo, file: two_tiers.topo, MORE}
        """
    cluster = load_text(tmp_path, text.replace(", MORE", ", links: [{rack: rack-1, uplink_rate: 25Gbps}]"))
    assert [node.nics for node in cluster.nodes] == [(0, 1), (2, 3), (4, 5)]
    assert [node.rack for node in cluster.nodes] == ["rack-0", "rack-0", "rack-1"]
    assert cluster.fabric["file"] == str(tmp_path / "two_tiers.topo")
    slow = {pair for pair, rate in rates(fabric(cluster)).items() if rate == 25}
    assert slow == {("RackSwitch-1", "SpineSwitch-0"), ("RackSwitch-1", "SpineSwitch-1")}
    mapped = load_text(tmp_path, text.replace("MORE", "hosts: {node002: [0, 1], node000: [7, 6], node001: [2, 4]}"))
    assert [node.nics for node in mapped.nodes] == [(7, 6), (2, 4), (0, 1)]
    assert mapped.by_name["node001"].rack == "rack-0"
    check_against_fabric(mapped)


def test_any_fabric(tmp_path: Path) -> None:
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 3, nics: {count: 4}}]
        network: {kind: fabric, fabric: {kind: fat-tree, k: 4}}
        """)
    assert [node.nics for node in cluster.nodes][2] == (8, 9, 10, 11)
    assert cluster.racks[1] == Rack("rack-2", ("node001",), ("RackSwitch-2", "RackSwitch-3"))
    check_against_fabric(cluster)


def test_an_ns3_topology(tmp_path: Path) -> None:
    """Two servers of two NICs; NIC i of each at leaf i, as the file of SimAI's form says."""
    cluster = load_text(tmp_path, """\
        pools: [{name: a, count: 2, nics: {count: 2, rate: 100Gbps}}]
        network: {kind: ns3, file: simai.txt}
        """, simai__txt="""\
        9 2 2 3 10 A100
        4 5 6 7 8
        0 4 2400Gbps 0.000025ms 0
        1 4 2400Gbps 0.000025ms 0
        2 5 2400Gbps 0.000025ms 0
        3 5 2400Gbps 0.000025ms 0
        0 6 100Gbps 0.0005ms 0
        1 7 100Gbps 0.0005ms 0
        2 6 100Gbps 0.0005ms 0
        3 7 100Gbps 0.0005ms 0
        6 8 200Gbps 0.0005ms 0
        7 8 200Gbps 0.0005ms 0
        """)
    assert [node.nics for node in cluster.nodes] == [(0, 1), (2, 3)]
    assert cluster.racks == (Rack("rack-0", ("node000", "node001"), ("RackSwitch-0", "RackSwitch-1")),)
    assert len({name for node in cluster.nodes for name in leaf_names(fabric(cluster), node.nics)}) == 2
    check_against_fabric(cluster)
