"""Two tiers: rack switches, each wired to every spine."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from distsim.fabric.clos import Shape, assemble, plan
from distsim.fabric.links import LinkRules, TopologySpec, apply_overrides, rates_by_rule
from distsim.fabric.oversubscription import uplinks_for, whole_share
from distsim.fabric.types import TIER_RACK, TIER_SPINE, Fabric

Count = Annotated[int, Field(ge=1, le=65536, strict=True)]


class LeafSpineSpec(TopologySpec):
    """A leaf-spine fabric by counts; without `spines` and `oversubscription` it is non-blocking."""

    kind: Literal["leaf-spine"]
    racks: Count = Field(default=8, description="Rack switches, 1 to 65536.")
    nics_per_rack: Count = Field(default=8, description="NICs at each rack switch, 1 to 65536.")
    spines: Annotated[int, Field(ge=0, le=65536, strict=True)] | None = Field(
        default=None, description="Spine switches, 0 to 65536. Default: what `oversubscription` asks for.")
    links_per_pair: Count | None = Field(
        default=None, description="Parallel cables between a rack switch and each spine, 1 to 65536. Default 1, or "
                                  "what `oversubscription` asks for when `spines` is given.")
    oversubscription: Annotated[float, Field(gt=0, le=1024)] | None = Field(
        default=None, description="Rate of a rack's NIC links over the rate of its uplinks, above 0 to 1024; 1 is "
                                  "non-blocking. Sets `spines` or `links_per_pair`, whichever is left out.")

    @model_validator(mode="after")
    def _not_twice(self) -> LeafSpineSpec:
        if self.oversubscription is not None and self.spines is not None and self.links_per_pair is not None:
            raise ValueError("spines, links_per_pair and oversubscription together say the same thing twice; "
                             "leave one of them out")
        if self.oversubscription is not None and self.spines == 0:
            raise ValueError("oversubscription needs at least one spine")
        return self


Spec = LeafSpineSpec


def build(spec: LeafSpineSpec, rules: LinkRules) -> Fabric:
    """The fabric of `spec`; InputError when the oversubscription asks for a broken number of links."""
    wiring = plan(_shape(spec, rules))
    rate_bps, delay_ps = rates_by_rule(wiring, rules)
    apply_overrides(wiring, spec.link_overrides, rate_bps, delay_ps)
    return assemble(wiring, rate_bps, delay_ps)


def _shape(spec: LeafSpineSpec, rules: LinkRules) -> Shape:
    spines, links = spec.spines, spec.links_per_pair or 1
    if spines is None or spec.oversubscription is not None:
        down_bps = spec.nics_per_rack * _nic_link_bps(rules)
        uplinks = uplinks_for(spec.oversubscription or 1.0, down_bps, _uplink_bps(rules), "fabric.oversubscription")
        if spines is None:
            spines = whole_share(uplinks, links, "links_per_pair", "fabric.oversubscription")
        else:
            links = whole_share(uplinks, spines, "spines", "fabric.oversubscription")
    return Shape(pods=1, racks_per_pod=spec.racks, nics_per_rack=spec.nics_per_rack, fabric_per_pod=0,
                 spines=spines, rack_links=links)


def _nic_link_bps(rules: LinkRules) -> int:
    return min(rules.nic(0, "NIC-0", 0).rate_bps, rules.switch(TIER_RACK, "RackSwitch-0").downlink_bps)


def _uplink_bps(rules: LinkRules) -> int:
    return min(rules.switch(TIER_RACK, "RackSwitch-0").uplink_bps,
               rules.switch(TIER_SPINE, "SpineSwitch-0").downlink_bps)
