"""Topology files of htsim (.topo), read as they are.

Format and wiring: ultraethernet/uet-htsim, datacenter/fat_tree_topology.cpp. Rates and latencies come from the file;
only the NICs' own `DataRate` still counts, because a NIC never sends faster than it can. What the file says twice
(radix, bundle, pod size, oversubscription) must agree.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from pydantic import Field

from distsim.errors import InputError
from distsim.fabric.clos import Shape, assemble, plan
from distsim.fabric.links import LinkRules, Plan, TopologySpec, apply_overrides, nic_rates
from distsim.fabric.topo_text import Entry, TopoText, parse
from distsim.fabric.types import TIER_FABRIC, TIER_NIC, TIER_RACK, TIER_SPINE, Fabric
from distsim.textfile import read_lines


class TopoSpec(TopologySpec):
    """A two- or three-tier tree from a file."""

    kind: Literal["topo"]
    file: str = Field(description="Path of the .topo file.")


Spec = TopoSpec


def build(spec: TopoSpec, rules: LinkRules) -> Fabric:
    """The fabric of the file; InputError with file and line when it is malformed or contradicts itself."""
    topo = parse(spec.file, read_lines(spec.file, "htsim topology"))
    shape = _shape(topo)
    _check_oversubscription(topo)
    wiring = plan(shape)
    rate_bps, delay_ps, warnings = _rates(topo, wiring, nic_rates(wiring, rules))
    apply_overrides(wiring, spec.link_overrides, rate_bps, delay_ps)
    fabric = assemble(wiring, rate_bps, delay_ps, _latencies(topo, wiring))
    fabric.warnings += topo.warnings + warnings
    return fabric


def _shape(topo: TopoText) -> Shape:
    """Counts of the tree, after every radix and bundle in the file has been checked against the others."""
    nodes, pod = topo.header["nodes"], topo.header["podsize"]
    top = topo.tiers - 1
    down = [topo.get(tier, "radix_down") for tier in range(topo.tiers)]
    up = [topo.get(tier, "radix_up") for tier in range(top)]
    bundle = [topo.get(tier, "bundle", 1) for tier in range(topo.tiers)]
    _need(topo, bundle[0].value == 1, bundle[0], f"Bundle {bundle[0].value} of tier 0: a NIC has one cable, so it is 1")
    _need(topo, nodes.value % pod.value == 0, pod, f"Podsize {pod.value} does not divide Nodes {nodes.value}")
    _need(topo, topo.tiers == 3 or pod.value == nodes.value, pod,
          f"Podsize {pod.value}: two tiers are one pod, so it is Nodes, {nodes.value}")
    _need(topo, pod.value % down[0].value == 0, down[0],
          f"Radix_Down {down[0].value} of tier 0 does not divide Podsize {pod.value}")
    for tier in range(top):
        _need(topo, up[tier].value % bundle[tier + 1].value == 0, up[tier],
              f"Radix_Up {up[tier].value} of tier {tier} is not a multiple of Bundle {bundle[tier + 1].value} "
              f"of tier {tier + 1}")
    pods, racks_per_pod = nodes.value // pod.value, pod.value // down[0].value
    for tier, below, noun in ((1, racks_per_pod, "rack switches"), (2, pods, "pods"))[:top]:
        wanted = below * bundle[tier].value
        _need(topo, down[tier].value == wanted, down[tier],
              f"Radix_Down {down[tier].value} of tier {tier}: {below} {noun} with Bundle {bundle[tier].value} "
              f"need {wanted}")
    above = [up[tier].value // bundle[tier + 1].value for tier in range(top)]
    if topo.tiers == 2:
        return Shape(1, racks_per_pod, down[0].value, 0, above[0], bundle[1].value)
    return Shape(pods, racks_per_pod, down[0].value, above[0], above[0] * above[1], bundle[1].value, bundle[2].value)


def _check_oversubscription(topo: TopoText) -> None:
    """Oversubscribed of a tier is the rate of its downlinks over the rate of its uplinks."""
    for tier in range(topo.tiers - 1):
        entry = topo.find(tier, "oversubscribed")
        if entry is None:
            continue
        below = topo.get(tier, "radix_down").value * topo.get(tier, "downlink_speed_gbps").value
        above = topo.get(tier, "radix_up").value * topo.get(tier + 1, "downlink_speed_gbps").value
        ratio = Fraction(below, above)
        _need(topo, ratio == entry.value, entry,
              f"Oversubscribed {entry.value} of tier {tier}: its radix and speeds give {below / 1e9:g} Gbps down over "
              f"{above / 1e9:g} Gbps up, {ratio}")


def _rates(topo: TopoText, wiring: Plan, nic_bps: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(rate in bit/s, delay in ps, warnings): i8[cables] by the tier of the cable's upper end."""
    level = _level_of_node(topo, wiring)[wiring.high]
    speed = np.array([topo.get(tier, "downlink_speed_gbps").value for tier in range(topo.tiers)], "i8")
    delay = np.array([topo.get(tier, "downlink_latency_ns").value for tier in range(topo.tiers)], "i8")
    rate_bps = speed[level]
    hosts = len(nic_bps)
    rate_bps[:hosts] = np.minimum(nic_bps, speed[0])
    warnings = []
    other = np.flatnonzero(nic_bps != speed[0])
    if len(other):
        warnings.append(f"{topo.file}: tier 0 runs at {speed[0] / 1e9:g} Gbps, but DataRate is "
                        f"{nic_bps[other[0]] / 1e9:g} Gbps at {wiring.names[other[0]]} ({len(other)} of {hosts} NICs "
                        "differ); these links run at the lower rate")
    return rate_bps, delay[level], warnings


def _latencies(topo: TopoText, wiring: Plan) -> np.ndarray:
    """Switch_Latency of every node in ps, i8[nodes]; 0 at NICs."""
    by_level = np.array([topo.get(tier, "switch_latency_ns", 0).value for tier in range(topo.tiers)] + [0], "i8")
    return by_level[_level_of_node(topo, wiring)]


def _level_of_node(topo: TopoText, wiring: Plan) -> np.ndarray:
    """The file's tier number of every node (racks are 0), and -1 for NICs."""
    level = np.zeros(4, "i8")
    level[[TIER_NIC, TIER_RACK, TIER_FABRIC, TIER_SPINE]] = (-1, 0, 1, topo.tiers - 1)
    return level[wiring.nodes["tier"]]


def _need(topo: TopoText, condition: bool, entry: Entry, message: str) -> None:
    if not condition:
        raise InputError(message, file=topo.file, line=entry.line)
