"""Devices of a cluster's fabric by their names: whose NIC one is, and which NICs lose their link with another."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from distsim.cluster import Cluster
from distsim.cluster.build import configuration, fabric_of
from distsim.config.yaml_reader import Document
from distsim.errors import InputError
from distsim.fabric.links import matching
from distsim.fabric.types import SWITCH, Fabric


class Devices:
    """Looks names up; the fabric is built once, when a link or switch is asked for."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster

    @cached_property
    def owners(self) -> dict[int, tuple[str, int]]:
        """Host number of every NIC -> (node, number on the node). NIC i of a node belongs to its chip i."""
        return {host: (node.name, index) for node in self.cluster.nodes for index, host in enumerate(node.nics)}

    @cached_property
    def fabric(self) -> Fabric:
        """The fabric of the cluster."""
        if not self.cluster.fabric:
            raise InputError("the cluster has no fabric, so no links and switches")
        document = Document({}, {}, None)
        return fabric_of(configuration(self.cluster.fabric, self.cluster.settings, document), document)

    def nics(self, pattern: str) -> list[int]:
        """Host numbers of the NICs that a name or glob means; InputError when it means none."""
        names = [f"NIC-{host}" for host in sorted(self.owners)]
        if pattern in names:
            return [int(pattern.removeprefix("NIC-"))]
        hit = matching(names, pattern, "name")
        return [int(name.removeprefix("NIC-")) for name, found in zip(names, hit) if found]

    def nic_of(self, node: str, index: int) -> int:
        """Host number of a NIC of a node; InputError with the numbers that there are."""
        nics = self.cluster.by_name[node].nics
        if index >= len(nics):
            has = f"NICs 0 to {len(nics) - 1}" if nics else "no NIC"
            raise InputError(f"node {node} has {has}, not {index}")
        return nics[index]

    def switches(self, pattern: str) -> tuple[list[str], list[int]]:
        """(names of the switches that a name or glob means, host numbers of the NICs at them)."""
        fabric = self.fabric
        hit = matching(fabric.names, pattern, "name") & (fabric.nodes["kind"] == SWITCH)
        if not hit.any():
            raise InputError(f"{pattern!r} is no switch; valid: e.g. {fabric.names[-1]}")
        names = [fabric.names[node] for node in np.flatnonzero(hit)]
        return names, self._hosts(fabric.links["src"][hit[fabric.links["dst"]]])

    def link(self, ends: tuple[str, str]) -> list[int]:
        """Host numbers of the NICs at the ends of the cables between two devices; InputError when there is no cable."""
        fabric = self.fabric
        one, two = (matching(fabric.names, name, "between") for name in ends)
        src, dst = fabric.links["src"], fabric.links["dst"]
        hit = (one[src] & two[dst]) | (two[src] & one[dst])
        if not hit.any():
            raise InputError(f"no cable runs between {ends[0]!r} and {ends[1]!r}")
        return self._hosts(np.concatenate([src[hit], dst[hit]]))

    def cuts(self, hosts: list[int]) -> tuple[tuple[str, int], ...]:
        """(node, mask of chips) of these NICs, by node in cluster order. A NIC beyond the chips has none."""
        masks: dict[str, int] = {}
        for host in hosts:
            if host in self.owners:
                node, index = self.owners[host]
                masks[node] = masks.get(node, 0) | (1 << index)
        found = [(node.name, masks[node.name] & ((1 << node.gpus) - 1)) for node in self.cluster.nodes
                 if node.name in masks]
        return tuple((name, mask) for name, mask in found if mask)

    def _hosts(self, nodes: np.ndarray) -> list[int]:
        return sorted({int(node) for node in nodes if node < self.fabric.hosts})
