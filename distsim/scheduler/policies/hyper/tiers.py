"""The HyperNodes of a cluster as a tree over its nodes, and the tiers that a job may name.

volcano-sh/volcano, docs/design/Network Topology Aware Scheduling.md: tier 1 is the tightest; above all HyperNodes
stands one that holds the whole cluster. Without HyperNodes racks are tier 1 and the cluster is tier 2 [our decision].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from distsim.cluster.types import Cluster, HyperNodeInfo

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

CLUSTER = "<cluster>"              # name of the HyperNode that holds everything


@dataclass
class Hyper:
    """A HyperNode and what is usable in it.

    tier : its own; of the whole cluster one more than the highest. parent, children : in the tree. nodes : usable ones
    that are its direct members, in cluster order. Set by room.py: slots, further pods that they and those below take;
    sound, those of them on nodes that nothing speaks against; chips, the free ones on nodes with slots.
    """

    name: str
    tier: int
    parent: Hyper | None = None
    children: list[Hyper] = field(default_factory=list)
    nodes: list[NodeState] = field(default_factory=list)
    slots: int = 0
    sound: int = 0
    chips: int = 0

    @property
    def up(self) -> Iterator[Hyper]:
        """This one and those that hold it, from the inside out."""
        at: Hyper | None = self
        while at is not None:
            yield at
            at = at.parent

    @property
    def all(self) -> Iterator[Hyper]:
        """This one and all below it, in the order of the tree."""
        yield self
        for child in self.children:
            yield from child.all

    def holds(self, other: Hyper) -> bool:
        """Whether another one is this one or below it."""
        return any(one is self for one in other.up)


def hyper_nodes(cluster: Cluster) -> Mapping[str, HyperNodeInfo]:
    """The HyperNodes of a cluster; of one without any, its racks and itself."""
    if cluster.hyper_nodes:
        return cluster.hyper_nodes
    racks: dict[str, list[str]] = {}
    for node in cluster.nodes:
        if node.rack:
            racks.setdefault(node.rack, []).append(node.name)
    found = {name: HyperNodeInfo(1, "", CLUSTER, tuple(nodes)) for name, nodes in racks.items()}
    return found | {CLUSTER: HyperNodeInfo(2, "", "", tuple(node.name for node in cluster.nodes))}


class Tiers:
    """The tiers of a cluster. numbers : ascending. top : of the whole cluster, above all that a job can name, unless
    there are no HyperNodes."""

    def __init__(self, cluster: Cluster):
        infos = hyper_nodes(cluster)
        self.numbers = sorted({info.tier for info in infos.values()})
        self._names: dict[str, set[int]] = {}
        for info in infos.values():
            if info.tier_name:
                self._names.setdefault(info.tier_name, set()).add(info.tier)
        self.top = self.numbers[-1] if CLUSTER in infos else self.numbers[-1] + 1

    @property
    def names(self) -> list[str]:
        """Names of tiers, from the lowest tier up."""
        return sorted(self._names, key=lambda name: (min(self._names[name]), name))

    def named(self, name: str) -> list[int]:
        """The tiers of a name: one, unless the HyperNodes disagree; none if it is unknown."""
        return sorted(self._names.get(name, ()))


def tree_of(cluster: Cluster, usable: Sequence[NodeState]) -> tuple[Hyper, dict[str, Hyper]]:
    """The whole cluster as a HyperNode, siblings in the order of their first nodes, and the innermost HyperNode of
    every node of the cluster. Nodes in none are members of the whole cluster."""
    infos = hyper_nodes(cluster)
    made = {name: Hyper(name, info.tier) for name, info in infos.items()}
    root = made.get(CLUSTER) or Hyper(CLUSTER, Tiers(cluster).top)
    place = {node.name: at for at, node in enumerate(cluster.nodes)}
    for name in sorted(infos, key=lambda name: place[infos[name].nodes[0]] if infos[name].nodes else len(place)):
        if made[name] is not root:
            made[name].parent = parent = made.get(infos[name].parent, root)
            parent.children.append(made[name])
    home = {node.name: root for node in cluster.nodes}
    for name in sorted(infos, key=lambda name: -infos[name].tier):
        home.update(dict.fromkeys(infos[name].nodes, made[name]))
    for node in usable:
        home[node.name].nodes.append(node)
    return root, home
