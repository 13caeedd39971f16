""".topo files of htsim: the fixtures in tests/data worked out by hand, and every error with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.fabric import TOPOLOGIES, build
from distsim.fabric.links import uniform_rules
from distsim.fabric.types import Fabric

DATA = Path(__file__).parent / "data"
GBPS, NS = 10**9, 1000
RULES = uniform_rules(100 * GBPS, 77 * NS, 88 * NS)


def read(path: Path, nic_gbps: int = 100, **fields: object) -> Fabric:
    rules = uniform_rules(nic_gbps * GBPS, 77 * NS, 88 * NS)
    return build(TOPOLOGIES["topo"].Spec(kind="topo", file=str(path), **fields), rules)


def rate_and_delay(fabric: Fabric, src: str, dst: str) -> set[tuple[float, float]]:
    """(Gbps, ns) of all links from `src` to `dst`."""
    return {(row["rate_bps"] / GBPS, row["delay_ps"] / NS) for row in fabric.links
            if (fabric.names[row["src"]], fabric.names[row["dst"]]) == (src, dst)}


def test_two_tiers() -> None:
    fabric = read(DATA / "two_tiers.topo")
    assert fabric.hosts == 8 and fabric.names[8:] == ["RackSwitch-0", "RackSwitch-1", "SpineSwitch-0", "SpineSwitch-1"]
    assert len(fabric.links) == 2 * (8 + 2 * 2 * 2)
    assert fabric.warnings == []
    # The latency of the switch that receives is part of the link's delay.
    assert rate_and_delay(fabric, "NIC-4", "RackSwitch-1") == {(100, 1300)}
    assert rate_and_delay(fabric, "RackSwitch-1", "NIC-4") == {(100, 1000)}
    assert rate_and_delay(fabric, "RackSwitch-0", "SpineSwitch-1") == {(100, 700)}
    assert rate_and_delay(fabric, "SpineSwitch-1", "RackSwitch-0") == {(100, 800)}


def test_two_tiers_is_wired_as_the_generator_does() -> None:
    mine = build(TOPOLOGIES["leaf-spine"].Spec(kind="leaf-spine", racks=2, nics_per_rack=4, spines=2, links_per_pair=2),
                 RULES)
    fabric = read(DATA / "two_tiers.topo")
    assert fabric.names == mine.names and (fabric.nodes == mine.nodes).all()
    for column in ("src", "dst", "src_port", "dst_port", "reverse", "uplink"):
        assert (fabric.links[column] == mine.links[column]).all()


def test_three_tiers_with_bundle_and_speeds() -> None:
    fabric = read(DATA / "three_tiers.topo")
    # 4 pods of 2 racks of 2 NICs; 2 fabric switches a pod; each has 4 uplinks in bundles of 2, so 2 * 2 spines.
    assert np.bincount(fabric.nodes["tier"]).tolist() == [4, 8, 8, 16]
    assert len(fabric.links) == 2 * (16 + 8 * 2 + 8 * 4)
    up = fabric.links[fabric.links["uplink"] == 1]
    spines = [fabric.names[row["dst"]] for row in up if fabric.names[row["src"]] == "FabricSwitch-3"]
    assert spines == ["SpineSwitch-1", "SpineSwitch-1", "SpineSwitch-3", "SpineSwitch-3"]
    assert rate_and_delay(fabric, "FabricSwitch-3", "SpineSwitch-3") == {(50, 3000.5)}
    assert rate_and_delay(fabric, "FabricSwitch-3", "RackSwitch-2") == {(100, 2000)}
    assert len(fabric.warnings) == 1
    assert "three_tiers.topo:9: Queue_Up and Queue_Down are not used" in fabric.warnings[0]


@pytest.mark.parametrize(("nic_gbps", "link_gbps"), [(400, 100), (40, 40)])
def test_nic_rate_and_file_differ(nic_gbps: int, link_gbps: int) -> None:
    fabric = read(DATA / "two_tiers.topo", nic_gbps)
    assert rate_and_delay(fabric, "NIC-0", "RackSwitch-0") == {(link_gbps, 1300)}
    assert rate_and_delay(fabric, "RackSwitch-0", "NIC-0") == {(link_gbps, 1000)}
    assert rate_and_delay(fabric, "RackSwitch-0", "SpineSwitch-0") == {(100, 700)}
    assert len(fabric.warnings) == 1
    assert f"tier 0 runs at 100 Gbps, but DataRate is {nic_gbps} Gbps at NIC-0 (8 of 8" in fabric.warnings[0]


def test_override_keeps_the_latency_of_the_switch() -> None:
    fabric = read(DATA / "two_tiers.topo", link_overrides=[{"between": ["NIC-0", "RackSwitch-0"], "delay": "10ns"}])
    assert rate_and_delay(fabric, "NIC-0", "RackSwitch-0") == {(100, 310)}
    assert rate_and_delay(fabric, "RackSwitch-0", "NIC-0") == {(100, 10)}


def test_what_the_file_may_hold_without_use(tmp_path: Path) -> None:
    path = tmp_path / "a.topo"
    path.write_text((DATA / "two_tiers.topo").read_text() + "Radix_Up 3\n\nTier 2\nRadix_Down 9\n")
    assert [line.split(": ", 1)[1] for line in read(path).warnings] == [
        "Radix_Up of the top tier is not used", "Tier 2 is not used, Tiers is 2"]


TWO = (DATA / "two_tiers.topo").read_text()
THREE = (DATA / "three_tiers.topo").read_text()


@pytest.mark.parametrize(("text", "old", "new", "line", "message"), [
    (TWO, "Nodes 8\n", "", None, "Nodes is missing from the header"),
    (TWO, "Tiers 2", "Tiers 4", 3, "Tiers 4 is not 2 or 3"),
    (TWO, "Tiers 2", "Tiers 3", None, "there is no block Tier 2"),
    (TWO, "Tiers 2", "Tears 2", 3, "unknown key 'Tears' here; did you mean Tiers"),
    (TWO, "Podsize 8", "Podsize 4", 4, "two tiers are one pod, so it is Nodes, 8"),
    (TWO, "Podsize 8", "Podsize 3", 4, "Podsize 3 does not divide Nodes 8"),
    (TWO, "Podsize 8", "Podsize 8\nPodsize 8", 5, "Podsize stands in line 4 already"),
    (TWO, "Podsize 8", "Podsize", 4, "'Podsize' is not a key and one value"),
    (TWO, "Oversubscribed 1", "Oversubscribed 2", 7, "400 Gbps down over 400 Gbps up, 1"),
    (TWO, "Radix_Down 4\nRadix_Up", "Radix_Down 3\nRadix_Up", 9, "Radix_Down 3 of tier 0 does not divide Podsize 8"),
    (TWO, "Radix_Up 4", "Radix_Up 3", 10, "Radix_Up 3 of tier 0 is not a multiple of Bundle 2 of tier 1"),
    (TWO, "Radix_Down 4\nBundle", "Radix_Down 2\nBundle", 16, "2 rack switches with Bundle 2 need 4"),
    (TWO, "Bundle 2", "Bundel 2", 17, "unknown key 'Bundel' here; did you mean Bundle"),
    (TWO, "Downlink_speed_Gbps 100\nRadix_Down 4\nBundle", "Downlink_speed_Gbps 0\nRadix_Down 4\nBundle", 15,
     "Downlink_speed_Gbps 0 is out of range"),
    (TWO, "Downlink_Latency_ns 500", "Downlink_Latency_ns -5", 18, "out of range"),
    (TWO, "Downlink_Latency_ns 500", "Downlink_Latency_ns 1e999999", 18, "1e999999 is out of range"),
    (TWO, "Downlink_Latency_ns 500", "Downlink_Latency_ns 0.0001", 18, "not a whole number of 1/1000"),
    (TWO, "Downlink_Latency_ns 500", "Downlink_Latency_ns fast", 18, "not a number"),
    (TWO, "Downlink_Latency_ns 500\n", "", 14, "tier 1 has no Downlink_Latency_ns"),
    (TWO, "Radix_Up 4\n", "", 6, "tier 0 has no Radix_Up"),
    (TWO, "Tier 1", "Tier 0", 14, "Tier 0 stands in line 6 already"),
    (TWO, "Tier 1", "Tier 5", 14, "Tier 5 is not one of 0, 1, 2"),
    (TWO, "Switch_Latency_ns 300", "Bundle 2", 12, "a NIC has one cable"),
    (THREE, "Radix_Down 8", "Radix_Down 4", 21, "4 pods with Bundle 2 need 8"),
    (THREE, "Downlink_speed_Gbps 50", "Downlink_speed_Gbps 100", 13, "200 Gbps down over 400 Gbps up, 1/2"),
])
def test_errors_name_file_and_line(tmp_path: Path, text: str, old: str, new: str, line: int | None,
                                   message: str) -> None:
    assert text.count(old) == 1
    path = tmp_path / "bad.topo"
    path.write_text(text.replace(old, new))
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.file == str(path)
    assert caught.value.line == line
    assert message in caught.value.message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.topo")
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path)
    (tmp_path / "binary.topo").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="not a text file"):
        read(tmp_path / "binary.topo")
