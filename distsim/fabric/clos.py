"""Wiring of two and three tiers of switches, and the tables made from it.

Every kind of tree here is one `Shape`. Three tiers: the spines fall into as many planes as a pod has fabric switches,
and fabric switch j of each pod is wired to the spines s with s mod planes = j, which is htsim's order too
(ultraethernet/uet-htsim, datacenter/fat_tree_topology.cpp), so a fabric and its .topo file give equal tables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distsim.errors import InputError
from distsim.fabric.address import FIRST
from distsim.fabric.links import Plan
from distsim.fabric.types import (
    LINKS,
    NIC,
    NODES,
    SWITCH,
    TIER_FABRIC,
    TIER_NIC,
    TIER_RACK,
    TIER_SPINE,
    Fabric,
)

FIRST_ADDRESS = int(FIRST) + 1      # of NIC-0
_NAMES = {TIER_NIC: "NIC", TIER_RACK: "RackSwitch", TIER_FABRIC: "FabricSwitch", TIER_SPINE: "SpineSwitch"}
MAX_HOSTS = 1 << 20
MAX_CABLES = 1 << 24


@dataclass(frozen=True)
class Shape:
    """Counts of a tree. Two tiers: pods 1 and fabric_per_pod 0, every rack switch is wired to every spine.

    rack_links : parallel cables between a rack switch and each switch above it.
    spine_links : parallel cables between a fabric switch and each of its spines (three tiers only).
    """

    pods: int
    racks_per_pod: int
    nics_per_rack: int
    fabric_per_pod: int
    spines: int
    rack_links: int = 1
    spine_links: int = 1

    @property
    def racks(self) -> int:
        """Number of rack switches."""
        return self.pods * self.racks_per_pod

    @property
    def hosts(self) -> int:
        """Number of NICs."""
        return self.racks * self.nics_per_rack

    @property
    def cables(self) -> int:
        """Number of cables of the whole fabric."""
        if not self.fabric_per_pod:
            return self.hosts + self.racks * self.spines * self.rack_links
        return (self.hosts + self.racks * self.fabric_per_pod * self.rack_links
                + self.pods * self.spines * self.spine_links)


def plan(shape: Shape) -> Plan:
    """Nodes, names and cables of a tree: cables of NICs first, then of racks, then of fabric switches.

    Raises InputError when the tree is larger than the tables allow.
    """
    if shape.hosts > MAX_HOSTS or shape.cables > MAX_CABLES:
        raise InputError(f"a fabric of {shape.hosts} NICs and {shape.cables} cables is too large; "
                         f"at most {MAX_HOSTS} NICs and {MAX_CABLES} cables", where="fabric")
    nodes, names = _nodes(shape)
    first_rack = shape.hosts
    first_fabric = first_rack + shape.racks
    first_spine = first_fabric + shape.pods * shape.fabric_per_pod
    racks = np.arange(shape.racks)
    pairs = [(np.arange(shape.hosts), first_rack + np.repeat(racks, shape.nics_per_rack))]
    if shape.fabric_per_pod:
        above = racks[:, None] // shape.racks_per_pod * shape.fabric_per_pod + np.arange(shape.fabric_per_pod)
        pairs.append(_mesh(first_rack + racks, first_fabric + above, shape.rack_links))
        fabrics = np.arange(shape.pods * shape.fabric_per_pod)
        steps = np.arange(shape.spines // shape.fabric_per_pod) * shape.fabric_per_pod
        spines = fabrics[:, None] % shape.fabric_per_pod + steps
        pairs.append(_mesh(first_fabric + fabrics, first_spine + spines, shape.spine_links))
    else:
        above = np.broadcast_to(np.arange(shape.spines), (shape.racks, shape.spines))
        pairs.append(_mesh(first_rack + racks, first_spine + above, shape.rack_links))
    low, high = (np.concatenate(ends).astype("i4") for ends in zip(*pairs, strict=True))
    return Plan(nodes, names, low, high)


def assemble(plan: Plan, rate_bps: np.ndarray, delay_ps: np.ndarray, latency_ps: np.ndarray | None = None) -> Fabric:
    """The fabric's tables. Cable c becomes link rows 2c (upwards) and 2c + 1 (downwards).

    rate_bps, delay_ps : i8[cables]; latency_ps : i8[nodes], fixed latency of a device, added to every link into it.
    Ports of a node: its downlinks in the order of the cables, then its uplinks.
    """
    count, low, high = len(plan.low), plan.low, plan.high
    latency = np.zeros(len(plan.nodes), "i8") if latency_ps is None else latency_ps
    high_port = _place_in_group(high)
    low_port = _place_in_group(low) + np.bincount(high, minlength=len(plan.nodes))[low]
    links = np.zeros(2 * count, LINKS)
    up, down = links[0::2], links[1::2]
    up["src"], up["dst"], up["src_port"], up["dst_port"], up["uplink"] = low, high, low_port, high_port, 1
    down["src"], down["dst"], down["src_port"], down["dst_port"] = high, low, high_port, low_port
    up["rate_bps"] = down["rate_bps"] = rate_bps
    up["delay_ps"], down["delay_ps"] = delay_ps + latency[high], delay_ps + latency[low]
    links["reverse"] = np.arange(2 * count) ^ 1
    return Fabric(plan.nodes, plan.names, links)


def _nodes(shape: Shape) -> tuple[np.ndarray, list[str]]:
    fabrics = shape.pods * shape.fabric_per_pod
    counts = (shape.hosts, shape.racks, fabrics, shape.spines)
    nodes = np.zeros(sum(counts), NODES)
    nics, racks, fabric, spines = np.split(nodes, np.cumsum(counts)[:-1])
    nics["kind"], nodes["kind"][shape.hosts:] = NIC, SWITCH
    nics["tier"], racks["tier"], fabric["tier"], spines["tier"] = TIER_NIC, TIER_RACK, TIER_FABRIC, TIER_SPINE
    nics["rack"] = np.arange(shape.hosts) // shape.nics_per_rack
    racks["rack"], fabric["rack"], spines["rack"] = np.arange(shape.racks), -1, -1
    nics["pod"], racks["pod"] = nics["rack"] // shape.racks_per_pod, racks["rack"] // shape.racks_per_pod
    fabric["pod"], spines["pod"] = np.arange(fabrics) // max(shape.fabric_per_pod, 1), -1
    nics["ipv4"] = FIRST_ADDRESS + np.arange(shape.hosts)
    return nodes, names_of(nodes["tier"])


def names_of(tier: np.ndarray) -> list[str]:
    """The names of nodes that come in the order NICs, rack, fabric and spine switches; tier : i1[nodes]."""
    return [f"{name}-{i}" for number, name in _NAMES.items() for i in range(np.count_nonzero(tier == number))]


def _mesh(low: np.ndarray, high: np.ndarray, parallel: int) -> tuple[np.ndarray, np.ndarray]:
    """Cables from each low[i] to all of high[i, :], `parallel` of them side by side."""
    ends = np.broadcast_to(low[:, None], high.shape)
    return np.repeat(ends.ravel(), parallel), np.repeat(high.ravel(), parallel)


def _place_in_group(keys: np.ndarray) -> np.ndarray:
    """How many earlier entries have the same key, for each entry."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered, side="left")
    place = np.empty(len(keys), "i8")
    place[order] = np.arange(len(keys)) - first
    return place
