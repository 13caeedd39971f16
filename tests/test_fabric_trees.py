"""Generated leaf-spine and fat-tree fabrics: counts, wiring, ports, rates and delays worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.fabric import TOPOLOGIES, build
from distsim.fabric.links import LinkRules, NicLink, SwitchLink, uniform_rules
from distsim.fabric.types import NIC, TIER_FABRIC, TIER_NIC, TIER_RACK, TIER_SPINE, Fabric

GBPS, NS = 10**9, 1000
RULES = uniform_rules(400 * GBPS, 100 * NS, 500 * NS)


def make(rules: LinkRules = RULES, **fields: object) -> Fabric:
    return build(TOPOLOGIES[str(fields["kind"])].Spec(**fields), rules)


def far_ends(fabric: Fabric, name: str) -> list[str]:
    """Names at the far end of each port of a device, by port number."""
    mine = fabric.links[fabric.links["src"] == fabric.names.index(name)]
    assert sorted(mine["src_port"]) == list(range(len(mine)))
    return [fabric.names[link["dst"]] for link in np.sort(mine, order="src_port")]


def link(fabric: Fabric, src: str, dst: str) -> np.void:
    rows = [row for row in fabric.links if fabric.names[row["src"]] == src and fabric.names[row["dst"]] == dst]
    assert len(rows) == 1
    return rows[0]


def check_tables(fabric: Fabric) -> None:
    """What must hold of the link table of any fabric."""
    links = fabric.links
    back = links[links["reverse"]]
    assert (links["reverse"][links["reverse"]] == np.arange(len(links))).all()
    for here, there in (("src", "dst"), ("src_port", "dst_port"), ("dst", "src"), ("dst_port", "src_port")):
        assert (links[here] == back[there]).all()
    assert (links["uplink"] + back["uplink"] == 1).all()
    ends = np.stack([links["src"], links["src_port"]], axis=1)
    assert len(np.unique(ends, axis=0)) == len(links)


def test_k4_fat_tree_has_16_hosts_20_switches_48_cables() -> None:
    fabric = make(kind="fat-tree", k=4)
    check_tables(fabric)
    assert fabric.hosts == 16
    assert len(fabric.nodes) == 36
    assert len(fabric.links) == 2 * 48
    tiers = fabric.nodes["tier"].tolist()
    assert [tiers.count(t) for t in (TIER_NIC, TIER_RACK, TIER_FABRIC, TIER_SPINE)] == [16, 8, 8, 4]
    assert [fabric.names[i] for i in (0, 15, 16, 23, 24, 31, 32, 35)] == [
        "NIC-0", "NIC-15", "RackSwitch-0", "RackSwitch-7", "FabricSwitch-0", "FabricSwitch-7", "SpineSwitch-0",
        "SpineSwitch-3"]


def test_k4_fat_tree_wiring_and_ports() -> None:
    fabric = make(kind="fat-tree", k=4)
    assert far_ends(fabric, "NIC-5") == ["RackSwitch-2"]
    assert far_ends(fabric, "RackSwitch-2") == ["NIC-4", "NIC-5", "FabricSwitch-2", "FabricSwitch-3"]
    assert far_ends(fabric, "FabricSwitch-2") == ["RackSwitch-2", "RackSwitch-3", "SpineSwitch-0", "SpineSwitch-2"]
    assert far_ends(fabric, "FabricSwitch-3") == ["RackSwitch-2", "RackSwitch-3", "SpineSwitch-1", "SpineSwitch-3"]
    assert far_ends(fabric, "SpineSwitch-1") == [f"FabricSwitch-{i}" for i in (1, 3, 5, 7)]


def test_k4_fat_tree_racks_pods_and_addresses() -> None:
    nodes = make(kind="fat-tree", k=4).nodes
    assert nodes["rack"][[0, 1, 2, 15]].tolist() == [0, 0, 1, 7]
    assert nodes["pod"][[0, 3, 4, 15]].tolist() == [0, 0, 1, 3]
    assert (nodes["rack"][16:24] == np.arange(8)).all()
    assert nodes["pod"][16:24].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert nodes["pod"][24:32].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (nodes["rack"][24:] == -1).all() and (nodes["pod"][32:] == -1).all()
    assert (nodes["kind"][:16] == NIC).all() and (nodes["kind"][16:] != NIC).all()
    assert nodes["ipv4"][0] == 32 * 2**24 + 1 and nodes["ipv4"][15] == 32 * 2**24 + 16      # 32.0.0.1, 32.0.0.16
    assert (nodes["ipv4"][16:] == 0).all()


@pytest.mark.parametrize(("k", "hosts", "switches", "cables"), [(2, 2, 5, 6), (6, 54, 45, 162), (16, 1024, 320, 3072)])
def test_k_ary_counts(k: int, hosts: int, switches: int, cables: int) -> None:
    fabric = make(kind="fat-tree", k=k)
    check_tables(fabric)
    assert (fabric.hosts, len(fabric.nodes) - fabric.hosts, len(fabric.links) // 2) == (hosts, switches, cables)


def test_leaf_spine_by_counts_with_parallel_links() -> None:
    fabric = make(kind="leaf-spine", racks=3, nics_per_rack=4, spines=2, links_per_pair=2)
    check_tables(fabric)
    assert fabric.hosts == 12 and len(fabric.nodes) == 17
    assert len(fabric.links) == 2 * (12 + 3 * 2 * 2)
    assert far_ends(fabric, "RackSwitch-1") == [
        "NIC-4", "NIC-5", "NIC-6", "NIC-7", "SpineSwitch-0", "SpineSwitch-0", "SpineSwitch-1", "SpineSwitch-1"]
    assert far_ends(fabric, "SpineSwitch-0") == [f"RackSwitch-{i}" for i in (0, 0, 1, 1, 2, 2)]
    assert fabric.nodes["pod"].tolist() == [0] * 15 + [-1] * 2
    assert set(fabric.nodes["tier"].tolist()) == {TIER_NIC, TIER_RACK, TIER_SPINE}


def counts(fabric: Fabric) -> tuple[int, int, int]:
    """(fabric switches, spines, cables above the NICs)."""
    tier = fabric.nodes["tier"]
    return (int((tier == TIER_FABRIC).sum()), int((tier == TIER_SPINE).sum()), len(fabric.links) // 2 - fabric.hosts)


def test_leaf_spine_oversubscription() -> None:
    # 8 NICs a rack at 400 Gbps: 3200 Gbps down. 4:1 leaves 800 Gbps up = 2 uplinks.
    assert counts(make(kind="leaf-spine", racks=2, nics_per_rack=8, oversubscription=4)) == (0, 2, 4)
    assert counts(make(kind="leaf-spine", racks=2, nics_per_rack=8, oversubscription=2, links_per_pair=2)) == (0, 2, 8)
    assert counts(make(kind="leaf-spine", racks=2, nics_per_rack=8, oversubscription=2, spines=1)) == (0, 1, 8)
    assert counts(make(kind="leaf-spine", racks=2, nics_per_rack=8)) == (0, 8, 16)              # non-blocking
    assert counts(make(kind="leaf-spine", racks=2, nics_per_rack=6, oversubscription=1.5)) == (0, 4, 8)


def test_oversubscription_is_a_ratio_of_rates_not_of_ports() -> None:
    # 8 * 200 Gbps down, uplinks of 400 Gbps: 4 of them are non-blocking.
    rules = LinkRules(nic=lambda host, name, rack: NicLink(200 * GBPS, 0),
                      switch=lambda tier, name: SwitchLink(400 * GBPS, 400 * GBPS, 0))
    assert counts(make(rules, kind="leaf-spine", racks=2, nics_per_rack=8, oversubscription=1)) == (0, 4, 8)


def test_fat_tree_by_counts() -> None:
    fabric = make(kind="fat-tree", pods=2, racks_per_pod=3, nics_per_rack=4, fabric_per_pod=2, spines=4,
                  links_per_pair=2, spine_links_per_pair=3)
    check_tables(fabric)
    # 6 racks * 2 fabric switches * 2 cables + 4 fabric switches * 2 spines * 3 cables
    assert counts(fabric) == (4, 4, 24 + 24)
    assert far_ends(fabric, "FabricSwitch-3") == (
        ["RackSwitch-3"] * 2 + ["RackSwitch-4"] * 2 + ["RackSwitch-5"] * 2
        + ["SpineSwitch-1"] * 3 + ["SpineSwitch-3"] * 3)


def test_fat_tree_oversubscription() -> None:
    # A rack of 8 at 2:1 has 4 uplinks, so 4 fabric switches; each has 4 downlinks, at 4:1 one uplink: 4 * 1 spines.
    fabric = make(kind="fat-tree", pods=2, racks_per_pod=4, nics_per_rack=8, oversubscription=2,
                  spine_oversubscription=4)
    assert counts(fabric) == (8, 4, 2 * 4 * 4 + 8 * 1)
    full = make(kind="fat-tree", pods=2, racks_per_pod=2, nics_per_rack=2)
    assert counts(full) == (4, 4, 8 + 8)


def test_rate_is_the_lower_of_both_ends_and_delay_that_of_the_lower_end() -> None:
    switches = {TIER_RACK: SwitchLink(300 * GBPS, 350 * GBPS, 11 * NS),
                TIER_FABRIC: SwitchLink(700 * GBPS, 200 * GBPS, 12 * NS),
                TIER_SPINE: SwitchLink(999 * GBPS, 600 * GBPS, 13 * NS)}
    rules = LinkRules(nic=lambda host, name, rack: NicLink((400 if rack == 0 else 100) * GBPS, (host + 1) * NS),
                      switch=lambda tier, name: switches[tier])
    fabric = make(rules, kind="fat-tree", k=4)
    expected = {("NIC-0", "RackSwitch-0"): (350, 1), ("NIC-2", "RackSwitch-1"): (100, 3),
                ("RackSwitch-0", "FabricSwitch-0"): (200, 11), ("FabricSwitch-0", "SpineSwitch-0"): (600, 12)}
    for (low, high), (rate, delay) in expected.items():
        for row in (link(fabric, low, high), link(fabric, high, low)):
            assert (row["rate_bps"], row["delay_ps"]) == (rate * GBPS, delay * NS)


def test_rules_are_asked_by_name() -> None:
    rules = LinkRules(nic=lambda host, name, rack: NicLink(400 * GBPS, 50 * NS if name == "NIC-3" else 100 * NS),
                      switch=lambda tier, name: SwitchLink(400 * GBPS, 400 * GBPS,
                                                           700 * NS if name == "RackSwitch-1" else 500 * NS))
    fabric = make(rules, kind="leaf-spine", racks=2, nics_per_rack=2, spines=1)
    assert link(fabric, "RackSwitch-1", "NIC-3")["delay_ps"] == 50 * NS
    assert link(fabric, "SpineSwitch-0", "RackSwitch-1")["delay_ps"] == 700 * NS
    assert link(fabric, "SpineSwitch-0", "RackSwitch-0")["delay_ps"] == 500 * NS


def test_link_overrides() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=2, spines=2, link_overrides=[
        {"between": ["RackSwitch-*", "SpineSwitch-1"], "rate": "100Gbps"},
        {"between": ["SpineSwitch-?", "RackSwitch-1"], "delay": "2us"},
        {"between": ["NIC-0", "*"], "rate": "50Gbps", "delay": 0}])
    found = {(a, b): (link(fabric, a, b)["rate_bps"] // GBPS, link(fabric, b, a)["delay_ps"] // NS)
             for a, b in [("NIC-0", "RackSwitch-0"), ("NIC-1", "RackSwitch-0"), ("RackSwitch-0", "SpineSwitch-0"),
                          ("RackSwitch-0", "SpineSwitch-1"), ("RackSwitch-1", "SpineSwitch-1")]}
    assert list(found.values()) == [(50, 0), (400, 100), (400, 500), (100, 500), (100, 2000)]
    assert link(fabric, "SpineSwitch-1", "RackSwitch-1")["rate_bps"] == 100 * GBPS


@pytest.mark.parametrize(("between", "message"), [
    (["NIC-0", "RackSwitch-1"], "no cable runs between 'NIC-0' and 'RackSwitch-1'"),
    (["RackSwich-0", "NIC-0"], "nearest name is 'RackSwitch-0'")])
def test_link_override_that_fits_nothing(between: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(kind="leaf-spine", racks=2, nics_per_rack=2, link_overrides=[{"between": between, "delay": "1us"}])
    assert caught.value.where == "fabric.link_overrides.0.between"


@pytest.mark.parametrize(("fields", "message"), [
    ({"kind": "leaf-spine", "link_overrides": [{"between": ["NIC-0", "*"], "rate": "0Gbps"}]}, "greater than 0"),
    ({"kind": "leaf-spine", "link_overrides": [{"between": ["NIC-0", "*"], "delay": "-1ns"}]}, "negative"),
    ({"kind": "leaf-spine", "link_overrides": [{"between": ["NIC-0", "*"]}]}, "sets neither rate nor delay"),
    ({"kind": "leaf-spine", "link_overrides": [{"between": ["NIC-0"], "delay": "1ns"}]}, "between"),
    ({"kind": "leaf-spine", "spines": 2, "links_per_pair": 2, "oversubscription": 2}, "leave one of them out"),
    ({"kind": "leaf-spine", "spines": 0, "oversubscription": 2}, "at least one spine"),
    ({"kind": "leaf-spine", "rack": 4}, "Extra inputs"),
    ({"kind": "leaf-spine", "racks": 0}, "greater than or equal to 1"),
    ({"kind": "fat-tree", "k": 5}, "5 is odd"),
    ({"kind": "fat-tree", "k": 4, "pods": 2}, "leave out pods"),
    ({"kind": "fat-tree", "pods": 2, "racks_per_pod": 2}, "nics_per_rack missing"),
    ({"kind": "fat-tree", "pods": 2, "racks_per_pod": 2, "nics_per_rack": 2, "spines": 4, "spine_oversubscription": 2},
     "say the same thing twice")])
def test_specifications_that_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        TOPOLOGIES[str(fields["kind"])].Spec(**fields)


@pytest.mark.parametrize(("fields", "where", "message"), [
    ({"kind": "leaf-spine", "racks": 2, "nics_per_rack": 8, "oversubscription": 3}, "fabric.oversubscription",
     "3 needs 2.66667 uplinks of 400 Gbps under 3200 Gbps"),
    ({"kind": "leaf-spine", "racks": 2, "nics_per_rack": 8, "spines": 3, "oversubscription": 1},
     "fabric.oversubscription", "8 uplinks a switch cannot be divided evenly by spines: 3"),
    ({"kind": "leaf-spine", "racks": 2, "nics_per_rack": 1, "oversubscription": 2}, "fabric.oversubscription",
     "not a whole number"),
    ({"kind": "fat-tree", "pods": 2, "racks_per_pod": 2, "nics_per_rack": 2, "fabric_per_pod": 2, "spines": 3},
     "fabric.spines", "3 is not a multiple of fabric_per_pod: 2"),
    ({"kind": "leaf-spine", "racks": 65536, "nics_per_rack": 65536, "spines": 1}, "fabric", "too large")])
def test_counts_that_do_not_come_out(fields: dict[str, object], where: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(**fields)
    assert caught.value.where == where
