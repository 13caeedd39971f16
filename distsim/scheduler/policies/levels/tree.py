"""The trees that resource-level-config and the labels of nodes make of the usable nodes.

cluster.md section 3; Ascend/mind-cluster, component/ascend-for-volcano/plugin/supernode.go (getResourceTree,
removeRedundantLayers) and multilevelscheduling/frame.go (CheckNodeNPUByTask).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

TREE_LABEL, DEFAULT_TREE = "huawei.com/topotree", "default"
Path = tuple[str, ...]                       # values of a node's level labels, the highest level first


@dataclass
class Domain:
    """A part of a tree: what shares the labels of a level and of those above.

    level : 1 for the lowest domains, which alone have `nodes` (usable and not taken, by name); the root has the job's
    number of levels + 1. path : its labels, () for the root. capacity, fragment : see measure.py.
    """

    level: int
    path: Path
    children: list[Domain] = field(default_factory=list)
    nodes: list[NodeState] = field(default_factory=list)
    capacity: int = 0
    fragment: int = 0

    @property
    def order(self) -> tuple[str, Path]:
        """What ties are broken by: the name, then where it is."""
        return (self.path[-1] if self.path else "", self.path)

    def leaves(self) -> Iterable[Domain]:
        """The domains of level 1 in it."""
        if self.level == 1:
            yield self
        for child in self.children:
            yield from child.leaves()


@dataclass
class Tree:
    """A tree of resource-level-config. labels : of level 1, 2, ... reserve : nodes of a level-1 domain kept for others.
    racks : usable nodes of each level-1 domain by its path, in cluster order."""

    name: str
    labels: tuple[str, ...]
    reserve: int
    racks: dict[Path, list[NodeState]] = field(default_factory=dict)

    @property
    def depth(self) -> int:
        """How many levels it has."""
        return len(self.labels)

    def path(self, node: NodeState) -> Path | None:
        """Where a node is in this tree; None if it lacks a label."""
        found = tuple(node.labels.get(label) for label in reversed(self.labels))
        return None if None in found else tuple(str(value) for value in found)


@dataclass
class Ground:
    """Trees by name, in the order of the names. refused : reason -> names of nodes that are in no tree."""

    trees: dict[str, Tree]
    refused: dict[str, list[str]] = field(default_factory=dict)

    @property
    def usable(self) -> int:
        """How many nodes are in the trees."""
        return sum(len(nodes) for tree in self.trees.values() for nodes in tree.racks.values())

    def tree_of(self, node: NodeState) -> Tree | None:
        """The tree that a node belongs to."""
        return self.trees.get(node.labels.get(TREE_LABEL, DEFAULT_TREE))


def ground_of(nodes: Iterable[NodeState], levels: Mapping[str, tuple[tuple[str, int], ...]]) -> Ground:
    """Sort usable nodes into the trees of resource-level-config (settings.levels). A node without its tree, or without
    a label of any level of it, is left out."""
    ground = Ground({name: Tree(name, tuple(label for label, _ in levels[name]), levels[name][0][1])
                     for name in sorted(levels) if levels[name]})
    for node in nodes:
        tree = ground.tree_of(node)
        path = tree.path(node) if tree is not None else None
        if tree is None or path is None:
            ground.refused.setdefault(_why_not(node, tree), []).append(node.name)
        else:
            tree.racks.setdefault(path, []).append(node)
    return ground


def root_of(tree: Tree, levels: int) -> tuple[Domain, dict[Path, Domain]]:
    """A fresh root for a job of `levels` levels (at most the tree's depth), and every domain below it by path.

    The tree's levels above the job's collapse into the root: all domains of the job's highest level are siblings."""
    root = Domain(levels + 1, ())
    domains: dict[Path, Domain] = {(): root}
    above = tree.depth - levels
    for path, nodes in tree.racks.items():
        parent = root
        for length in range(above + 1, tree.depth + 1):
            part = path[:length]
            domain = domains.get(part)
            if domain is None:
                domain = domains[part] = Domain(tree.depth + 1 - length, part)
                parent.children.append(domain)
            parent = domain
        parent.nodes = sorted(nodes, key=lambda node: node.name)
    return root, domains


def _why_not(node: NodeState, tree: Tree | None) -> str:
    if tree is None:
        return (f"tree {node.labels.get(TREE_LABEL, DEFAULT_TREE)!r} (label {TREE_LABEL}) is not in "
                "resource-level-config")
    missing = next((level, label) for level, label in enumerate(tree.labels, 1) if label not in node.labels)
    return f"no label {missing[1]} (level{missing[0]} of tree {tree.name})"
