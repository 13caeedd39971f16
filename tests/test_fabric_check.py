"""Validation of fabrics, and the figures that `distsim topology` shows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.fabric import TOPOLOGIES, build
from distsim.fabric.check import validate
from distsim.fabric.links import LinkRules, NicLink, SwitchLink, uniform_rules
from distsim.fabric.summary import measure, summary
from distsim.fabric.types import TIER_FABRIC, TIER_NIC, TIER_RACK, TIER_SPINE, Fabric

GBPS, NS = 10**9, 1000
RULES = uniform_rules(400 * GBPS, 100 * NS, 500 * NS)


def make(**fields: object) -> Fabric:
    return build(TOPOLOGIES[str(fields["kind"])].Spec(**fields), RULES)


def refused(fabric: Fabric, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        validate(fabric)
    assert caught.value.where == "fabric"


def test_disconnected_fabric_names_a_pair() -> None:
    spec = TOPOLOGIES["leaf-spine"].Spec(kind="leaf-spine", racks=2, nics_per_rack=4, spines=0)
    with pytest.raises(InputError, match=r"NIC-0 cannot reach NIC-4 \(5 of 10 devices"):
        build(spec, RULES)


def test_one_rack_needs_no_spine() -> None:
    fabric = make(kind="leaf-spine", racks=1, nics_per_rack=4, spines=0)
    assert len(fabric.nodes) == 5 and len(fabric.links) == 8


def test_zero_rate_is_named() -> None:
    rules = LinkRules(nic=lambda host, name, rack: NicLink(0 if host == 3 else 400 * GBPS, 0),
                      switch=lambda tier, name: SwitchLink(400 * GBPS, 400 * GBPS, 0))
    spec = TOPOLOGIES["leaf-spine"].Spec(kind="leaf-spine", racks=2, nics_per_rack=2, spines=1)
    with pytest.raises(InputError, match=r"link NIC-3 -> RackSwitch-1 has data rate 0 bps.*\(2 links in all\)"):
        build(spec, rules)


def test_negative_delay_is_named() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=2, spines=1)
    fabric.links["delay_ps"][3] = -1
    refused(fabric, "RackSwitch-0 -> NIC-1 has delay -1 ps")


def test_a_nic_has_exactly_one_uplink() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=2, spines=1)
    fabric.links["src"][fabric.links["src"] == 1] = 0
    refused(fabric, "NIC-0 has 2 uplinks")
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=2, spines=1)
    refused(dataclasses.replace(fabric, links=fabric.links[2:]), "NIC-0 has 0 uplinks")


def test_a_nic_hangs_off_a_switch() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=2, spines=1)
    fabric.links["dst"][0] = 1
    refused(fabric, "NIC-0 -> NIC-1 joins two NICs")


def test_measures_of_an_oversubscribed_tree() -> None:
    # 2 pods * 4 racks * 8 NICs = 64 NICs; 4 uplinks a rack; 8 fabric switches with 1 uplink each.
    fabric = make(kind="fat-tree", pods=2, racks_per_pod=4, nics_per_rack=8, oversubscription=2,
                  spine_oversubscription=4,
                  link_overrides=[{"between": ["FabricSwitch-0", "SpineSwitch-0"], "rate": "200Gbps", "delay": "1us"}])
    figures = measure(fabric)
    assert figures.tiers == ((TIER_NIC, 64), (TIER_RACK, 8), (TIER_FABRIC, 8), (TIER_SPINE, 4))
    assert [(p.cables, p.total_bps // GBPS) for p in figures.pairs] == [(64, 25600), (32, 12800), (8, 3000)]
    assert figures.pairs[2].rates_bps == (200 * GBPS, 400 * GBPS)
    assert figures.pairs[2].delays_ps == (500 * NS, 1000 * NS)
    assert figures.bisection_bps == 1500 * GBPS
    rows = dict(summary(fabric))
    assert rows["FabricSwitch"] == "8"
    assert rows["RackSwitch - FabricSwitch"] == "32 links, 400 Gbps, delay 500 ns, oversubscription 2:1"
    assert rows["FabricSwitch - SpineSwitch"] == (
        "8 links, 200 Gbps to 400 Gbps, delay 500 ns to 1 us, oversubscription 4.26667:1")
    assert rows["bisection"] == "1.5 Tbps in each direction"


def test_non_blocking_bisection_is_half_of_the_nics() -> None:
    assert measure(make(kind="fat-tree", k=4)).bisection_bps == 8 * 400 * GBPS
    assert measure(make(kind="leaf-spine", racks=1, nics_per_rack=4, spines=0)).bisection_bps == 800 * GBPS


def test_links_are_where_the_tables_say() -> None:
    fabric = make(kind="fat-tree", k=4)
    up = fabric.links[fabric.links["uplink"] == 1]
    assert (fabric.nodes["tier"][up["dst"]] < fabric.nodes["tier"][up["src"]]).all()
    assert np.bincount(fabric.links["src"]).tolist() == [1] * 16 + [4] * 20
