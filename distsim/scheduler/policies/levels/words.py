"""Why a job finds no groups of nodes, in words with names and figures."""

from __future__ import annotations

from collections.abc import Sequence

from distsim.scheduler.policies.levels.measure import Chooser
from distsim.scheduler.policies.levels.repair import Repair
from distsim.scheduler.policies.levels.tree import Domain, Ground, Tree, root_of

MOST_SHOWN = 20


def no_tree(ground: Ground, levels: Sequence[int], pods: int) -> str:
    """Why no tree holds a job of so many pods, tree by tree."""
    return "; ".join(_in_tree(tree, levels, pods) for tree in ground.trees.values()) or "there is no tree"


def _in_tree(tree: Tree, levels: Sequence[int], pods: int) -> str:
    if tree.depth < len(levels):
        return f"tree {tree.name} has {tree.depth} of the job's {len(levels)} levels"
    chooser = Chooser((1, *levels, pods), tree.reserve)
    chooser.keep = 0
    root, _ = root_of(tree, len(levels))
    chooser.measure(root)
    counts = _capacities(root)
    have = ", ".join(f"level{level}={size}: {counts[level]} of {-(-pods // size)}"
                     for level, size in enumerate(levels, 1))
    roomiest = max(root.leaves(), key=lambda domain: len(domain.nodes), default=None)
    most = f"; the most in one domain of level1 are {len(roomiest.nodes)}, in {roomiest.path[-1]}" if roomiest else ""
    usable = sum(map(len, tree.racks.values()))
    return f"tree {tree.name} has {usable} usable nodes, reserved ones included, which make groups of {have}{most}"


def _capacities(root: Domain) -> dict[int, int]:
    """Level -> groups of it that the tree holds."""
    found: dict[int, int] = {}
    waiting = [root]
    while waiting:
        domain = waiting.pop()
        found[domain.level] = found.get(domain.level, 0) + domain.capacity
        waiting += domain.children
    return {level: found.get(level, 0) for level in range(1, root.level + 1)}


def no_room(repair: Repair, names: Sequence[str], step: int) -> str:
    """Why lost pods find no nodes beside those of their groups. names : of the pods, with the node each was on."""
    assert repair.stuck is not None
    stuck, domain = repair.stuck, repair.stuck.domain
    what = f"the group of level{stuck.level} that begins at rank {stuck.first}" if stuck.level else "a pod"
    where = f"{domain.path[-1]} (level{domain.level})" if domain.path else "the tree"
    left = f"{stuck.usable} usable node" + ("" if stuck.usable == 1 else "s")
    shown = ", ".join(names[:MOST_SHOWN]) + (", ..." if len(names) > MOST_SHOWN else "")
    return (f"{what} finds no room in {where}, which has {left}, while groups above level{step} stay in "
            f"their domains; pods to place: {shown}")
