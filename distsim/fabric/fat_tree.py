"""Three tiers: pods of rack and fabric switches under spines, k-ary or by counts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from distsim.errors import InputError
from distsim.fabric.clos import Shape, assemble, plan
from distsim.fabric.links import LinkRules, TopologySpec, apply_overrides, rates_by_rule
from distsim.fabric.oversubscription import uplinks_for, whole_share
from distsim.fabric.types import TIER_FABRIC, TIER_RACK, TIER_SPINE, Fabric

Count = Annotated[int, Field(ge=1, le=65536, strict=True)]
Ratio = Annotated[float, Field(gt=0, le=1024)]
_BY_COUNTS = ("pods", "racks_per_pod", "nics_per_rack", "fabric_per_pod", "spines", "links_per_pair",
              "spine_links_per_pair", "oversubscription", "spine_oversubscription")


class FatTreeSpec(TopologySpec):
    """A three-tier tree: either `k` alone, or counts; what the counts leave out is chosen to be non-blocking."""

    kind: Literal["fat-tree"]
    k: Annotated[int, Field(ge=2, le=128, strict=True)] | None = Field(
        default=None, description="Even radix of every switch, 2 to 128: k pods, k*k*k/4 NICs, 5*k*k/4 switches. "
                                  "Not together with the counts.")
    pods: Count | None = Field(default=None, description="Pods, 1 to 65536.")
    racks_per_pod: Count | None = Field(default=None, description="Rack switches in a pod, 1 to 65536.")
    nics_per_rack: Count | None = Field(default=None, description="NICs at each rack switch, 1 to 65536.")
    fabric_per_pod: Count | None = Field(
        default=None, description="Fabric switches in a pod, each wired to all its rack switches, 1 to 65536. "
                                  "Default: what `oversubscription` asks for.")
    spines: Annotated[int, Field(ge=0, le=65536, strict=True)] | None = Field(
        default=None, description="Spine switches, a multiple of fabric_per_pod: fabric switch j of a pod is wired to "
                                  "the spines s with s mod fabric_per_pod = j. Default: what "
                                  "`spine_oversubscription` asks for.")
    links_per_pair: Count | None = Field(
        default=None, description="Parallel cables between a rack switch and each fabric switch. Default 1.")
    spine_links_per_pair: Count | None = Field(
        default=None, description="Parallel cables between a fabric switch and each of its spines. Default 1.")
    oversubscription: Ratio | None = Field(
        default=None, description="Rate of a rack's NIC links over the rate of its uplinks, above 0 to 1024. Sets "
                                  "fabric_per_pod. Default 1.")
    spine_oversubscription: Ratio | None = Field(
        default=None, description="Rate of a fabric switch's downlinks over the rate of its uplinks, above 0 to 1024. "
                                  "Sets spines. Default 1.")

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> FatTreeSpec:
        given = [name for name in _BY_COUNTS if getattr(self, name) is not None]
        if self.k is not None:
            if given:
                raise ValueError(f"k sets the whole tree; leave out {', '.join(given)}")
            if self.k % 2:
                raise ValueError(f"k: {self.k} is odd; a k-ary fat tree needs an even k")
            return self
        missing = [name for name in _BY_COUNTS[:3] if name not in given]
        if missing:
            raise ValueError(f"give k, or pods, racks_per_pod and nics_per_rack ({', '.join(missing)} missing)")
        for count, ratio in (("fabric_per_pod", "oversubscription"), ("spines", "spine_oversubscription")):
            if count in given and ratio in given:
                raise ValueError(f"{count} and {ratio} say the same thing twice; leave one of them out")
        return self


Spec = FatTreeSpec


def build(spec: FatTreeSpec, rules: LinkRules) -> Fabric:
    """The fabric of `spec`; InputError when counts or oversubscription do not come out whole."""
    wiring = plan(_k_ary(spec.k) if spec.k is not None else _by_counts(spec, rules))
    rate_bps, delay_ps = rates_by_rule(wiring, rules)
    apply_overrides(wiring, spec.link_overrides, rate_bps, delay_ps)
    return assemble(wiring, rate_bps, delay_ps)


def _k_ary(k: int) -> Shape:
    """The k-ary fat tree: k pods of k/2 rack and k/2 fabric switches, k/2 NICs a rack, (k/2)**2 spines."""
    half = k // 2
    return Shape(pods=k, racks_per_pod=half, nics_per_rack=half, fabric_per_pod=half, spines=half * half)


def _by_counts(spec: FatTreeSpec, rules: LinkRules) -> Shape:
    assert spec.pods is not None and spec.racks_per_pod is not None and spec.nics_per_rack is not None
    rack = rules.switch(TIER_RACK, "RackSwitch-0")
    fabric = rules.switch(TIER_FABRIC, "FabricSwitch-0")
    spine = rules.switch(TIER_SPINE, "SpineSwitch-0")
    nic_bps = min(rules.nic(0, "NIC-0", 0).rate_bps, rack.downlink_bps)
    rack_bps, fabric_bps = min(rack.uplink_bps, fabric.downlink_bps), min(fabric.uplink_bps, spine.downlink_bps)
    rack_links, spine_links = spec.links_per_pair or 1, spec.spine_links_per_pair or 1
    fabric_per_pod, spines = spec.fabric_per_pod, spec.spines
    if fabric_per_pod is None:
        where = "fabric.oversubscription"
        uplinks = uplinks_for(spec.oversubscription or 1.0, spec.nics_per_rack * nic_bps, rack_bps, where)
        fabric_per_pod = whole_share(uplinks, rack_links, "links_per_pair", where)
    if spines is None:
        where = "fabric.spine_oversubscription"
        down_bps = spec.racks_per_pod * rack_links * rack_bps
        uplinks = uplinks_for(spec.spine_oversubscription or 1.0, down_bps, fabric_bps, where)
        spines = fabric_per_pod * whole_share(uplinks, spine_links, "spine_links_per_pair", where)
    elif spines % fabric_per_pod:
        raise InputError(f"{spines} is not a multiple of fabric_per_pod: {fabric_per_pod}", where="fabric.spines")
    return Shape(spec.pods, spec.racks_per_pod, spec.nics_per_rack, fabric_per_pod, spines, rack_links, spine_links)
