"""Where NICs plug in: host numbers of the generated fabric, its section, and the switches of each rack.

Ports that a smaller rack or a node with fewer NICs leaves free are hosts of the fabric that no node has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from distsim.cluster.network_spec import HyperNodesNetwork, PlaneNetwork, RailNetwork, TreeNetwork
from distsim.cluster.nodes import Draft
from distsim.errors import InputError
from distsim.fabric.oversubscription import uplinks_for, whole_share


@dataclass(frozen=True)
class Group:
    """A rack or scalable unit: name and indices of its nodes."""

    name: str
    nodes: tuple[int, ...]


@dataclass
class Wiring:
    """A network in terms of a configuration.

    fabric : the section. hosts : of every node its host numbers. racks : in order. switches : of every rack the names
    of its switches, in order of rail or plane. tiers : kinds of switches above the racks' own, as `switch_overrides`
    names them. leaf_of_host : number of the rack switch of each host, None for the fabrics that are generated here.
    """

    fabric: dict[str, Any]
    hosts: list[tuple[int, ...]]
    racks: list[Group]
    switches: list[tuple[str, ...]]
    tiers: tuple[str, ...] = ("spine",)
    leaf_of_host: Sequence[int] | None = None

    def leaf(self, host: int) -> int:
        """Number of the rack switch that a host hangs off."""
        if self.leaf_of_host is not None:
            return int(self.leaf_of_host[host])
        if self.fabric["kind"] == "rail-optimised":
            rails, unit = self.fabric["nics_per_server"], self.fabric["servers_per_unit"]
            return int(host // (rails * unit) * rails + host % rails)
        return int(host // self.fabric["nics_per_rack"])

    def over(self, switch: str, spine: int | None) -> str:
        """Name pattern of the switches over a rack switch, or of one of them. Spine k of a plane is a fabric switch."""
        if spine is None:
            return "*Switch-*"
        per_pod = self.fabric.get("fabric_per_pod")
        if self.fabric["kind"] != "fat-tree" or per_pod is None:
            return f"SpineSwitch-{spine}"
        pod = int(switch.rpartition("-")[2]) // self.fabric["racks_per_pod"]
        return f"FabricSwitch-{pod * per_pod + spine}"


def by_rack(network: TreeNetwork, racks: list[Group], nodes: Sequence[Draft]) -> Wiring:
    """All NICs of a node at the switch of its rack: host numbers run through a rack in order of its nodes."""
    per_rack = max(sum(nodes[i].nics for i in rack.nodes) for rack in racks)
    hosts = _numbered(racks, nodes, per_rack)
    section = {"kind": "leaf-spine", "racks": len(racks), "nics_per_rack": per_rack, **_uplinks(network)}
    return Wiring(section, hosts, racks, [(f"RackSwitch-{r}",) for r in range(len(racks))])


def by_rail(network: RailNetwork, units: list[Group], nodes: Sequence[Draft]) -> Wiring:
    """NIC i of a node at leaf i of its unit: server s of unit u has hosts (u * servers_per_unit + s) * rails + i."""
    rails = max(draft.nics for draft in nodes)
    wired = [[index for index in unit.nodes if nodes[index].nics] for unit in units]
    per_unit = max(map(len, wired))
    hosts: list[tuple[int, ...]] = [()] * len(nodes)
    for number, members in enumerate(wired):
        for place, index in enumerate(members):
            first = (number * per_unit + place) * rails
            hosts[index] = tuple(range(first, first + nodes[index].nics))
    section = {"kind": "rail-optimised", "servers": len(units) * per_unit, "nics_per_server": rails,
               "servers_per_unit": per_unit, **_uplinks(network)}
    switches = [tuple(f"RackSwitch-{u * rails + i}" for i in range(rails)) for u in range(len(units))]
    return Wiring(section, hosts, units, switches)


def by_plane(network: PlaneNetwork, racks: list[Group], nodes: Sequence[Draft]) -> Wiring:
    """A rack switch for each rack and plane: pod p of a three-tier tree is plane p, rack r its switch p * racks + r."""
    sides = {index: _planes_of(network, nodes[index]) for rack in racks for index in rack.nodes}
    counts = [[0] * len(racks) for _ in range(network.planes)]
    places: dict[int, list[tuple[int, int, int]]] = {}
    for r, rack in enumerate(racks):
        for index in rack.nodes:
            for plane in sides[index]:
                places.setdefault(index, []).append((plane, r, counts[plane][r]))
                counts[plane][r] += 1
    per_switch = max(max(plane) for plane in counts)
    hosts = [tuple((p * len(racks) + r) * per_switch + k for p, r, k in places.get(index, []))
             for index in range(len(nodes))]
    spines, links = _spines_of_plane(network, per_switch, max(draft.nic_rate_bps for draft in nodes))
    section = {"kind": "fat-tree", "pods": network.planes, "racks_per_pod": len(racks), "nics_per_rack": per_switch,
               "fabric_per_pod": spines, "spines": spines * network.cores, "links_per_pair": links}
    switches = [tuple(f"RackSwitch-{p * len(racks) + r}" for p in range(network.planes)) for r in range(len(racks))]
    return Wiring(section, hosts, racks, switches, ("fabric", "spine"))


def by_pods(network: HyperNodesNetwork, pods: list[list[Group]], nodes: Sequence[Draft]) -> Wiring:
    """Racks in pods of a three-tier tree; with one pod as `by_rack`. A pod with fewer racks leaves switches unused."""
    if len(pods) == 1:
        return by_rack(network, pods[0], nodes)
    per_pod = max(len(pod) for pod in pods)
    racks = [rack for pod in pods for rack in pod]
    number = [p * per_pod + k for p, pod in enumerate(pods) for k in range(len(pod))]
    per_rack = max(sum(nodes[i].nics for i in rack.nodes) for rack in racks)
    hosts = _numbered(racks, nodes, per_rack, number)
    wanted = {"oversubscription": network.oversubscription, "spine_oversubscription": network.spine_oversubscription,
              "links_per_pair": network.links_per_pair}
    section = {"kind": "fat-tree", "pods": len(pods), "racks_per_pod": per_pod, "nics_per_rack": per_rack,
               **{key: value for key, value in wanted.items() if value is not None}}
    return Wiring(section, hosts, racks, [(f"RackSwitch-{r}",) for r in number], ("fabric", "spine"))


def _numbered(racks: list[Group], nodes: Sequence[Draft], per_rack: int, number: list[int] | None = None,
              ) -> list[tuple[int, ...]]:
    hosts: list[tuple[int, ...]] = [()] * len(nodes)
    for r, rack in enumerate(racks):
        at = (number[r] if number is not None else r) * per_rack
        for index in rack.nodes:
            hosts[index] = tuple(range(at, at + nodes[index].nics))
            at += nodes[index].nics
    return hosts


def _uplinks(network: TreeNetwork) -> dict[str, Any]:
    wanted = {key: getattr(network, key) for key in ("spines", "links_per_pair", "oversubscription")}
    return {key: value for key, value in wanted.items() if value is not None}


def _planes_of(network: PlaneNetwork, node: Draft) -> tuple[int, ...]:
    """The plane of each NIC of a node."""
    if network.plane_of_nic:
        if len(network.plane_of_nic) < node.nics:
            raise InputError(f"names {len(network.plane_of_nic)} NICs, but {node.name} has {node.nics}",
                             where="network.plane_of_nic")
        return network.plane_of_nic[:node.nics]
    if node.nics % network.planes:
        raise InputError(f"{node.nics} NICs of {node.name} cannot be shared evenly by {network.planes} planes; give "
                         "plane_of_nic", where="network.planes")
    share = node.nics // network.planes
    return tuple(i // share for i in range(node.nics))


def _spines_of_plane(network: PlaneNetwork, nics: int, nic_bps: int) -> tuple[int, int]:
    """(spines of a plane, parallel links to each)."""
    spines, links = network.spines, network.links_per_pair or 1
    if spines is not None and network.oversubscription is None:
        return spines, links
    where = "network.oversubscription"
    uplinks = uplinks_for(network.oversubscription or 1.0, nics * nic_bps, network.uplink_rate or nic_bps, where)
    if spines is None:
        return whole_share(uplinks, links, "links_per_pair", where), links
    return spines, whole_share(uplinks, spines, "spines", where)
