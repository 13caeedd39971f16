"""Where the chips' NICs hang in the fabric of a cluster: host numbers, component names, leaf and pod."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distsim.cluster import Cluster, Node
    from distsim.fabric.types import Fabric

# How far up the shortest path between two NICs goes: to their leaf, to the switches of their pod, to the spines.
LEAF, POD, SPINE = "leaf", "fabric", "spine"
HEIGHT = {LEAF: 0, POD: 1, SPINE: 2}


def chips_of(mask: int) -> list[int]:
    """The numbers of a mask's bits, ascending: 0b1011 gives 0, 1, 3."""
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def nics_of_chips(node: Node, mask: int) -> list[int]:
    """Host numbers of the NICs that belong to chips of a node, each once, ascending by chip.

    Chip c has NIC c. A node with fewer NICs than chips shares them evenly in order: of 16 chips and 8 NICs chips 2i
    and 2i + 1 have NIC i. A node without NICs gives none.
    """
    count = len(node.nics)
    if not count:
        return []
    share = [chip if node.gpus <= count else chip * count // node.gpus for chip in chips_of(mask)]
    return [node.nics[nic] for nic in dict.fromkeys(share)]


class Wires:
    """The NICs of a cluster in its fabric, which is built when it is first asked for."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster

    @cached_property
    def fabric(self) -> Fabric | None:
        """The built fabric, None for a cluster that describes none."""
        if not self.cluster.fabric:
            return None
        from distsim.cluster.build import configuration, fabric_of
        from distsim.config.yaml_reader import Document

        nowhere = Document({}, {}, None)
        return fabric_of(configuration(self.cluster.fabric, self.cluster.settings, nowhere), nowhere)

    def name(self, host: int) -> str:
        """Component name of a NIC, as records have it: NIC-17."""
        return f"NIC-{host}" if self.fabric is None else self.fabric.names[host]

    def between(self, a: int, b: int) -> str:
        """LEAF, POD or SPINE: the highest tier that the shortest path of two NICs passes. AssertionError without a
        fabric."""
        leaf, pod, three_tiers = self._places
        if leaf[a] == leaf[b]:
            return LEAF
        return POD if three_tiers and pod[a] == pod[b] else SPINE

    def farthest(self, one: Sequence[int], other: Sequence[int]) -> tuple[str, dict[str, int]] | None:
        """(the highest tier on the way between two ranks, number of NIC pairs by tier); None when that cannot be told.

        The NICs are paired in order, those of the shorter list again and again, as rings of a collective pair them.
        """
        if self.fabric is None or not one or not other:
            return None
        pairs = dict.fromkeys(HEIGHT, 0)
        for index in range(max(len(one), len(other))):
            pairs[self.between(one[index % len(one)], other[index % len(other)])] += 1
        return max((tier for tier in HEIGHT if pairs[tier]), key=HEIGHT.__getitem__), pairs

    @cached_property
    def _places(self) -> tuple[list[int], list[int], bool]:
        """(leaf of each host, pod of each host, whether there is a tier between leaves and spines)."""
        from distsim.fabric.types import TIER_FABRIC

        assert self.fabric is not None
        nodes, hosts = self.fabric.nodes, self.fabric.hosts
        return (nodes["rack"][:hosts].tolist(), nodes["pod"][:hosts].tolist(),
                bool((nodes["tier"] == TIER_FABRIC).any()))
