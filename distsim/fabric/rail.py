"""Rail-optimised leaf-spine: NIC i of every server of a scalable unit hangs off leaf i of that unit.

Source of the design: NVIDIA DGX SuperPOD, reference architecture (a scalable unit of 32 servers under 8 leaves).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from distsim.fabric.clos import Shape, assemble, plan
from distsim.fabric.links import LinkRules, TopologySpec, apply_overrides, rates_by_rule
from distsim.fabric.oversubscription import uplinks_for, whole_share
from distsim.fabric.types import TIER_RACK, TIER_SPINE, Fabric, ServerLinks

Count = Annotated[int, Field(ge=1, le=65536, strict=True)]


class RailSpec(TopologySpec):
    """A rail-optimised fabric by counts; without `spines` and `oversubscription` it is non-blocking."""

    kind: Literal["rail-optimised"]
    servers: Count = Field(default=32, description="Servers, 1 to 65536.")
    nics_per_server: Count = Field(default=8, description="NICs of a server, which are the rails, 1 to 65536. NIC i of "
                                                          "server s is host s * nics_per_server + i.")
    servers_per_unit: Count | None = Field(
        default=None, description="Servers of a scalable unit, which shares one leaf a rail, 1 to 65536; divides "
                                  "`servers`. Default: all of them.")
    spines: Annotated[int, Field(ge=1, le=65536, strict=True)] | None = Field(
        default=None, description="Spine switches, each wired to every leaf, 1 to 65536. Default: what "
                                  "`oversubscription` asks for.")
    links_per_pair: Count | None = Field(
        default=None, description="Parallel cables between a leaf and each spine, 1 to 65536. Default 1, or what "
                                  "`oversubscription` asks for when `spines` is given.")
    oversubscription: Annotated[float, Field(gt=0, le=1024)] | None = Field(
        default=None, description="Rate of a leaf's NIC links over the rate of its uplinks, above 0 to 1024; 1 is "
                                  "non-blocking. Sets `spines` or `links_per_pair`, whichever is left out.")

    @model_validator(mode="after")
    def _whole(self) -> RailSpec:
        if self.oversubscription is not None and self.spines is not None and self.links_per_pair is not None:
            raise ValueError("spines, links_per_pair and oversubscription together say the same thing twice; "
                             "leave one of them out")
        if self.servers % (self.servers_per_unit or self.servers):
            raise ValueError(f"servers_per_unit {self.servers_per_unit} does not divide servers {self.servers}")
        return self


Spec = RailSpec


def build(spec: RailSpec, rules: LinkRules) -> Fabric:
    """The fabric of `spec`; leaf i of unit u is RackSwitch-(u * nics_per_server + i).

    Raises InputError when the oversubscription asks for a broken number of links.
    """
    rails, unit = spec.nics_per_server, spec.servers_per_unit or spec.servers
    spines, links = _uplinks(spec, unit, rules)
    wiring = plan(Shape(pods=1, racks_per_pod=spec.servers // unit * rails, nics_per_rack=unit, fabric_per_pod=0,
                        spines=spines, rack_links=links))
    hosts = np.arange(spec.servers * rails)
    leaf = hosts // (rails * unit) * rails + hosts % rails
    wiring.nodes["rack"][hosts] = leaf
    wiring.high[hosts] = len(hosts) + leaf
    rate_bps, delay_ps = rates_by_rule(wiring, rules)
    apply_overrides(wiring, spec.link_overrides, rate_bps, delay_ps)
    fabric = assemble(wiring, rate_bps, delay_ps)
    fabric.servers = ServerLinks(rails)
    return fabric


def _uplinks(spec: RailSpec, unit: int, rules: LinkRules) -> tuple[int, int]:
    """(spines, cables between a leaf and each spine)."""
    spines, links = spec.spines, spec.links_per_pair or 1
    if spines is not None and spec.oversubscription is None:
        return spines, links
    leaf, spine = rules.switch(TIER_RACK, "RackSwitch-0"), rules.switch(TIER_SPINE, "SpineSwitch-0")
    nic_bps = min(rules.nic(0, "NIC-0", 0).rate_bps, leaf.downlink_bps)
    where = "fabric.oversubscription"
    uplinks = uplinks_for(spec.oversubscription or 1.0, unit * nic_bps, min(leaf.uplink_bps, spine.downlink_bps), where)
    if spines is None:
        return whole_share(uplinks, links, "links_per_pair", where), links
    return spines, whole_share(uplinks, spines, "spines", where)
