"""Topology files of ns-3: HPCC's, and SimAI's with NVSwitches.

Hosts of the file become NIC-0, NIC-1, ... in the order of their node ids. Switches are sorted by their distance from
the nearest host: 1 are rack switches, the farthest are spines, those between are fabric switches, each kind in the
order of node ids. Rates and delays come from the file; only the NICs' own `DataRate` still counts, because a NIC never
sends faster than it can. NVSwitches are no part of the fabric (ns3_servers.py).

A NIC has one uplink here. Several links of a host to one switch become a link of their summed rate, with a warning; a
host linked to two switches (dual-plane designs) is refused.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from distsim.fabric.clos import FIRST_ADDRESS, assemble, names_of
from distsim.fabric.links import LinkRules, Plan, TopologySpec, apply_overrides, nic_rates
from distsim.fabric.ns3_servers import server_links
from distsim.fabric.ns3_text import HOST, NVSWITCH, Ns3Text, read
from distsim.fabric.types import (
    NIC,
    NODES,
    SWITCH,
    TIER_FABRIC,
    TIER_NIC,
    TIER_RACK,
    TIER_SPINE,
    Fabric,
)


class Ns3Spec(TopologySpec):
    """A fabric from an ns-3 topology file."""

    kind: Literal["ns3"]
    file: str = Field(description="Path of the topology file: HPCC's (nodes switches links) or SimAI's (nodes "
                                  "gpus_per_server nvswitches switches links gpu_type).")


Spec = Ns3Spec


def build(spec: Ns3Spec, rules: LinkRules) -> Fabric:
    """The fabric of the file; InputError with file and line when it is malformed or not to be modelled."""
    topo = read(spec.file)
    servers = server_links(topo)
    rows = _uplinks(topo)
    wiring = _plan(topo, rows)
    rate_bps = _at_nic_rate(topo, topo.rate_bps[rows], nic_rates(wiring, rules))
    delay_ps = topo.delay_ps[rows]
    apply_overrides(wiring, spec.link_overrides, rate_bps, delay_ps)
    fabric = assemble(wiring, rate_bps, delay_ps)
    fabric.warnings += topo.warnings
    fabric.servers = servers
    return fabric


def _uplinks(topo: Ns3Text) -> np.ndarray:
    """Rows of the links of the fabric: one a host, in the order of the hosts, then those between switches.

    Parallel links of a host are summed into its first. Raises InputError for a link between two hosts
    and for a host with links to two switches.
    """
    kind = topo.kinds
    in_fabric = (kind[topo.src] != NVSWITCH) & (kind[topo.dst] != NVSWITCH)
    both = np.flatnonzero(in_fabric & (kind[topo.src] == HOST) & (kind[topo.dst] == HOST))
    if len(both):
        topo.fail(int(topo.lines[both[0]]), f"nodes {topo.src[both[0]]} and {topo.dst[both[0]]} are both hosts; a host "
                                            "hangs off a switch")
    first: dict[int, int] = {}
    keep, summed = in_fabric.copy(), []
    from_host = in_fabric & ((kind[topo.src] == HOST) | (kind[topo.dst] == HOST))
    for row in np.flatnonzero(from_host).tolist():
        host, switch = (int(topo.src[row]), int(topo.dst[row]))
        if kind[host] != HOST:
            host, switch = switch, host
        other = first.setdefault(host, row)
        if other == row:
            continue
        if switch not in (topo.src[other], topo.dst[other]):
            topo.fail(int(topo.lines[row]), f"host {host} is linked to a second switch (the first in line "
                                            f"{topo.lines[other]}); a NIC has one uplink, dual-plane hosts are not "
                                            "modelled")
        topo.rate_bps[other] += topo.rate_bps[row]
        keep[row] = False
        summed.append(row)
    if summed:
        topo.warnings.append(f"{topo.file}:{topo.lines[summed[0]]}: parallel links of a host to one switch are one "
                             f"link of their summed rate ({len(summed)} links in all)")
    rows = np.flatnonzero(keep)
    end = np.where(kind[topo.src[rows]] == HOST, topo.src[rows], topo.dst[rows])
    return rows[np.argsort(np.where(kind[end] == HOST, end, len(kind)), kind="stable")]


def _distances(topo: Ns3Text, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
    """Links to the nearest host of every node, i8[nodes]; -1 when there is no way."""
    distance = np.where(topo.kinds == HOST, 0, -1)
    a, b = np.concatenate([src, dst]), np.concatenate([dst, src])
    step = 0
    while True:
        new = b[(distance[a] == step) & (distance[b] < 0)]
        if not len(new):
            return distance
        step += 1
        distance[new] = step


def _plan(topo: Ns3Text, rows: np.ndarray) -> Plan:
    """The wiring of the links `rows`; InputError for a node that no host can reach."""
    src, dst = topo.src[rows], topo.dst[rows]
    distance = _distances(topo, src, dst)
    inside = np.flatnonzero(topo.kinds != NVSWITCH)
    linked = np.bincount(np.concatenate([src, dst]), minlength=len(distance)) > 0
    lost = inside[(distance[inside] < 0) | ~linked[inside]]
    if len(lost):
        topo.fail(None, f"node {lost[0]} is linked to no host" if linked[lost[0]]
                  else f"node {lost[0]} has no link of the fabric")
    tier = np.full(len(distance), TIER_FABRIC)
    tier[distance == distance.max()] = TIER_SPINE
    tier[distance == 1] = TIER_RACK
    tier[distance == 0] = TIER_NIC
    order = inside[np.lexsort([inside, -tier[inside]])]
    number = np.zeros(len(distance), "i8")
    number[order] = np.arange(len(order))
    one, two, depth = number[src], number[dst], distance[order]
    upwards = (depth[one] < depth[two]) | ((depth[one] == depth[two]) & (one < two))
    low, high = np.where(upwards, one, two).astype("i4"), np.where(upwards, two, one).astype("i4")
    nodes = _nodes(tier[order], low, high)
    return Plan(nodes, names_of(nodes["tier"]), low, high)


def _nodes(tier: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """NODES of nodes with these tiers, ascending; a pod is what hangs together without the spines."""
    hosts, racks = (int(np.count_nonzero(tier == one)) for one in (TIER_NIC, TIER_RACK))
    nodes = np.zeros(len(tier), NODES)
    nodes["kind"], nodes["tier"], nodes["rack"] = np.where(tier == TIER_NIC, NIC, SWITCH), tier, -1
    nodes["rack"][hosts:hosts + racks] = np.arange(racks)
    from_nic = low < hosts
    nodes["rack"][low[from_nic]] = high[from_nic] - hosts
    nodes["ipv4"][:hosts] = FIRST_ADDRESS + np.arange(hosts)
    nodes["pod"] = -1
    below = tier != TIER_SPINE
    if not (tier == TIER_FABRIC).any():
        nodes["pod"][below] = 0
        return nodes
    kept = below[low] & below[high]
    part = _parts(len(tier), low[kept], high[kept])
    _, nodes["pod"][below] = np.unique(part[below], return_inverse=True)
    return nodes


def _parts(count: int, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """The lowest node that each node hangs together with over the edges one-two, i8[count]."""
    part = np.arange(count)
    while True:
        before = part.copy()
        np.minimum.at(part, one, part[two])
        np.minimum.at(part, two, part[one])
        if np.array_equal(part, before):
            return part


def _at_nic_rate(topo: Ns3Text, rate_bps: np.ndarray, nic_bps: np.ndarray) -> np.ndarray:
    """The links of the hosts, which come first, at no more than the NICs' `DataRate`; a warning where they differ."""
    hosts = len(nic_bps)
    other = np.flatnonzero(nic_bps != rate_bps[:hosts])
    if len(other):
        nic = other[0]
        topo.warnings.append(f"{topo.file}: the link of NIC-{nic} runs at {rate_bps[nic] / 1e9:g} Gbps, but its "
                             f"DataRate is {nic_bps[nic] / 1e9:g} Gbps ({len(other)} of {hosts} NICs differ); these "
                             "links run at the lower rate")
    return np.concatenate([np.minimum(nic_bps, rate_bps[:hosts]), rate_bps[hosts:]])
