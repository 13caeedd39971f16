"""Rail-optimised fabrics: NIC i of a server at leaf i of its unit, worked out by hand."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.fabric import TOPOLOGIES, build
from distsim.fabric.links import uniform_rules
from distsim.fabric.routing import build_routes
from distsim.fabric.types import Fabric, ServerLinks

RULES = uniform_rules(400 * 10**9, 100_000, 500_000)


def make(**fields: object) -> Fabric:
    return build(TOPOLOGIES["rail-optimised"].Spec(kind="rail-optimised", **fields), RULES)


def test_rails_of_two_units() -> None:
    fabric = make(servers=4, nics_per_server=2, servers_per_unit=2, spines=1)
    # Unit 0: servers 0, 1 (NICs 0 to 3); unit 1: servers 2, 3 (NICs 4 to 7). Leaves 0, 1 and 2, 3.
    assert fabric.names[8:] == ["RackSwitch-0", "RackSwitch-1", "RackSwitch-2", "RackSwitch-3", "SpineSwitch-0"]
    assert fabric.nodes["rack"][:8].tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    leaf_of_host = build_routes(fabric).leaf_of_host - 8
    assert leaf_of_host.tolist() == [0, 1, 0, 1, 2, 3, 2, 3]
    assert fabric.servers == ServerLinks(2)
    # Ports of RackSwitch-0: NIC-0, NIC-2, then the spine.
    down = fabric.links[(fabric.links["src"] == 8) & (fabric.links["uplink"] == 0)]
    assert down[["dst", "src_port"]].tolist() == [(0, 0), (2, 1)]
    up = fabric.links[(fabric.links["src"] == 8) & (fabric.links["uplink"] == 1)]
    assert up[["dst", "src_port", "rate_bps", "delay_ps"]].tolist() == [(12, 2, 400 * 10**9, 500_000)]


def test_the_default_is_a_scalable_unit_without_oversubscription() -> None:
    fabric = make()
    # 32 servers of 8 NICs, 8 leaves with 32 down and so 32 spines up.
    assert fabric.hosts == 256 and len(fabric.nodes) == 256 + 8 + 32
    assert len(fabric.links) == 2 * (256 + 8 * 32)


def test_oversubscription_and_parallel_cables() -> None:
    assert len(make(servers=8, nics_per_server=2, oversubscription=2).nodes) == 16 + 2 + 4
    fabric = make(servers=8, nics_per_server=2, spines=2, oversubscription=2)
    assert len(fabric.nodes) == 16 + 2 + 2 and len(fabric.links) == 2 * (16 + 2 * 2 * 2)
    assert len(make(servers=8, nics_per_server=2, spines=2, links_per_pair=3).links) == 2 * (16 + 2 * 2 * 3)


@pytest.mark.parametrize(("fields", "message"), [
    ({"servers": 8, "servers_per_unit": 3}, "servers_per_unit 3 does not divide servers 8"),
    ({"spines": 1, "links_per_pair": 1, "oversubscription": 1.0}, "say the same thing twice"),
    ({"servers": 0}, "greater than or equal to 1"),
    ({"rails": 8}, "Extra inputs are not permitted"),
])
def test_refused_sections(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make(**fields)


def test_a_ratio_that_does_not_come_out_whole() -> None:
    with pytest.raises(InputError, match="not a whole number"):
        make(servers=8, nics_per_server=2, oversubscription=3)
    with pytest.raises(InputError, match="cannot be divided evenly by spines: 3"):
        make(servers=8, nics_per_server=2, spines=3, oversubscription=2)


def test_link_overrides() -> None:
    override = {"between": ("NIC-1", "RackSwitch-*"), "rate": "100Gbps"}
    fabric = make(servers=2, nics_per_server=2, spines=1, link_overrides=(override,))
    assert fabric.links["rate_bps"][2:4].tolist() == [100 * 10**9] * 2
    assert fabric.names[fabric.links["dst"][2]] == "RackSwitch-1"
