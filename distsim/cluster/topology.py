"""Networks that exist already: a topology file or a section `fabric`, and which of its hosts are whose NICs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from distsim.cluster.network_spec import FabricNetwork, TopoNetwork
from distsim.cluster.nodes import Draft
from distsim.cluster.problems import Problems
from distsim.cluster.wiring import Group, Wiring
from distsim.config.names import nearest
from distsim.config.yaml_reader import Place
from distsim.fabric.types import TIER_FABRIC, TIER_RACK, Fabric

PLACE: Place = ("network", "hosts")


def section_of(network: TopoNetwork | FabricNetwork) -> dict[str, Any]:
    """The section `fabric` that the network means."""
    if isinstance(network, FabricNetwork):
        return dict(network.fabric)
    return {"kind": network.kind, "file": network.file}


def hosts_of(network: TopoNetwork | FabricNetwork, nodes: Sequence[Draft], problems: Problems) -> list[tuple[int, ...]]:
    """Host numbers of every node: as the file says, or consecutive."""
    if not network.hosts:
        hosts, at = [], 0
        for draft in nodes:
            hosts.append(tuple(range(at, at + draft.nics)))
            at += draft.nics
        return hosts
    by_name = {draft.name: draft for draft in nodes}
    owner: dict[int, str] = {}
    for name, numbers in network.hosts.items():
        if name not in by_name:
            near = nearest(name, list(by_name))
            problems.add((*PLACE, name), f"no node is called {name!r}" + (f"; nearest: {near}" if near else ""))
        elif len(numbers) != by_name[name].nics:
            problems.add((*PLACE, name), f"names {len(numbers)} hosts, but {name} has {by_name[name].nics} NICs")
        for number in numbers:
            if number in owner:
                problems.add((*PLACE, name), f"host {number} is a NIC of {owner[number]} already")
            owner.setdefault(number, name)
    for draft in nodes:
        if draft.nics and draft.name not in network.hosts:
            problems.add(PLACE, f"node {draft.name!r} is missing")
            break
    return [tuple(network.hosts.get(draft.name, ())) for draft in nodes]


def wiring_of(section: dict[str, Any], fabric: Fabric, hosts: list[tuple[int, ...]], nodes: Sequence[Draft],
              problems: Problems) -> Wiring:
    """The wiring in a built fabric: a node is in the rack that its first NIC is in."""
    rack_of = fabric.nodes["rack"]
    _check_numbers(fabric, hosts, nodes, problems)
    problems.stop()
    racks: dict[int, list[int]] = {}
    switches: dict[int, dict[int, None]] = {}
    for index, numbers in enumerate(hosts):
        if not numbers:
            continue
        first = int(rack_of[numbers[0]])
        racks.setdefault(first, []).append(index)
        switches.setdefault(first, {}).update({int(rack_of[number]): None for number in numbers})
    tiers = fabric.nodes["tier"]
    names = {int(rack_of[i]): fabric.names[i] for i in range(fabric.hosts, len(tiers)) if tiers[i] == TIER_RACK}
    order = sorted(racks)
    above = ("fabric", "spine") if (tiers == TIER_FABRIC).any() else ("spine",)
    return Wiring(section, hosts, [Group(f"rack-{rack}", tuple(racks[rack])) for rack in order],
                  [tuple(names.get(rack, f"RackSwitch-{rack}") for rack in sorted(switches[rack])) for rack in order],
                  above, rack_of.tolist())


def _check_numbers(fabric: Fabric, hosts: list[tuple[int, ...]], nodes: Sequence[Draft], problems: Problems) -> None:
    total = sum(len(numbers) for numbers in hosts)
    if total > fabric.hosts:
        problems.add(("network",), f"the nodes have {total} NICs, but the fabric has {fabric.hosts} hosts")
    for draft, numbers in zip(nodes, hosts):
        wrong = next((number for number in numbers if number >= fabric.hosts), None)
        if wrong is not None and total <= fabric.hosts:
            problems.add((*PLACE, draft.name), f"host {wrong} is out of range; valid: 0 to {fabric.hosts - 1}")
