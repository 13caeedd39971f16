"""New nodes for the pods of a job that lost theirs, the groups of all levels staying whole.

cluster.md section 3, "Fault": retry in the failed node's own group, then one tree level up per step; Ascend/
mind-cluster, component/ascend-for-volcano/internal/npu/policy/multilevelscheduling/rescheduling.go (findLargestFault
SubTree, rescheduleSubTask) and frame.go (expandFaultLevel). A step n lets a damaged group of level n leave its domain,
as a whole, for another one in the domain of the group above it. Groups of level 0 are the pods, which may always.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distsim.scheduler.policies.levels.measure import Chooser
from distsim.scheduler.policies.levels.tree import Domain, Tree, root_of

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


@dataclass(frozen=True)
class Damage:
    """What is left of a job, by place in its rank order.

    kept : nodes of the pods that keep theirs. lost : for every pod to place, the node that it was on, None if it never
    ran or the node is gone. step : `Job.level_up`. back : whether a pod goes back to its node if that is free again.
    """

    kept: Mapping[int, NodeState]
    lost: Mapping[int, NodeState | None]
    step: int
    back: bool = True

    def __post_init__(self) -> None:
        assert not self.kept.keys() & self.lost.keys()


@dataclass(frozen=True)
class Stuck:
    """A group without room. level, first : which group. domain : where it was looked for. usable : nodes left there."""

    level: int
    first: int
    domain: Domain
    usable: int


class Repair:
    """A repair in the making, in the tree of a job.

    nodes : what was found, by place; a place of a kept pod is among them if its group leaves its domain. stuck : the
    last group that found no room.
    """

    def __init__(self, tree: Tree, chooser: Chooser, damage: Damage):
        self.nodes: dict[int, NodeState] = {}
        self.stuck: Stuck | None = None
        self.tree, self.chooser = tree, chooser
        self._damage = damage
        self._lost = sorted(damage.lost)
        self._root, self._domains = root_of(tree, len(chooser.sizes) - 2)
        for node in damage.kept.values():
            self._take_out(node)
        chooser.measure(self._root)
        self.fragment = self._root.fragment                  # before anything is placed, as for a fresh job

    def run(self) -> bool:
        """Find the nodes; False if there is no room at this step."""
        return self._group(self._root.level, 0, self._root)

    def _group(self, level: int, first: int, domain: Domain) -> bool:
        """Repair the group of `level` that begins at a place, in its domain."""
        leaving = []
        for child in self._damaged(level, first):
            if self._stays(level - 1, child, domain):
                continue
            if level - 1 > self._damage.step and self._home(level - 1, child, domain) is not None:
                return False
            leaving.append(child)
        return not leaving or self._settle(level - 1, leaving, domain)

    def _damaged(self, level: int, first: int) -> list[int]:
        """First places of the groups of the level below that have lost pods."""
        size = self.chooser.sizes[level - 1]
        begin, end = bisect_left(self._lost, first), bisect_left(self._lost, first + self.chooser.sizes[level])
        return list(dict.fromkeys(place - (place - first) % size for place in self._lost[begin:end]))

    def _stays(self, level: int, first: int, parent: Domain) -> bool:
        """Repair a group where it is; False, with nothing changed, if it cannot be."""
        if level == 0:
            return self._back(first, parent)
        home = self._home(level, first, parent)
        if home is None:
            return False
        mark, found = self.chooser.mark(), len(self.nodes)
        if self._group(level, first, home):
            return True
        self.chooser.undo(mark)
        while len(self.nodes) > found:
            self.nodes.popitem()
        return False

    def _back(self, place: int, domain: Domain) -> bool:
        """Give a pod the node back that it was on, if that is free, sound and in the domain of its group."""
        old = self._damage.lost[place]
        if not self._damage.back or old is None or not sound(old) or all(node is not old for node in domain.nodes):
            return False
        self.chooser.take(domain, [old])
        self.nodes[place] = old
        return True

    def _settle(self, level: int, firsts: list[int], domain: Domain) -> bool:
        """Place whole groups of a level in the domain of the group above them; False if there is no room."""
        chooser, count = self.chooser, len(firsts)
        if not self._has_room(level, count, domain):
            self.stuck = Stuck(level, firsts[0], domain, sum(len(leaf.nodes) for leaf in domain.leaves()))
            return False
        found = chooser.pick(domain, count) if level == 0 else chooser.share(domain.children, count)
        size = chooser.sizes[level]
        for at, first in enumerate(firsts):
            self.nodes.update(zip(range(first, first + size), found[at * size:(at + 1) * size], strict=True))
        return True

    def _has_room(self, level: int, count: int, domain: Domain) -> bool:
        """Whether a domain holds so many groups of the level below its own; the chooser stands at the first pass that
        makes room."""
        chooser = self.chooser
        for keep in chooser.passes:
            chooser.keep = keep
            if level == 0:
                room = len(domain.nodes) - keep
            else:
                room = sum(map(chooser.measure, domain.children))
            if room >= count:
                return True
        return False

    def _home(self, level: int, first: int, parent: Domain) -> Domain | None:
        """The domain of a group: of the pods that keep their nodes, else of those that lost them. None if that is
        unknown, or not in the domain of the group above, which has left."""
        places = range(first, first + self.chooser.sizes[level])
        for where in (self._damage.kept, self._damage.lost):
            for place in places:
                node = where.get(place)
                if node is not None:
                    home = self._domain(level, node)
                    return home if home is not None and home.path[:len(parent.path)] == parent.path else None
        return None

    def _domain(self, level: int, node: NodeState) -> Domain | None:
        """The domain of a level that a node is in, perhaps one without usable nodes; None if it is in none."""
        path = self.tree.path(node)
        if path is None:
            return None
        part = path[:self.tree.depth + 1 - level]
        return self._domains.get(part) or Domain(level, part)

    def _take_out(self, node: NodeState) -> None:
        domain = self._domain(1, node)
        if domain is not None:
            self.chooser.take(domain, [node])


def sound(node: NodeState) -> bool:
    """Whether nothing speaks against a node: no pod failed there lately (bad_score), and it is not sub-healthy."""
    return not node.bad_score and not node.sub_healthy


def is_whole(tree: Tree, levels: Sequence[int], nodes: Sequence[NodeState]) -> bool:
    """Whether nodes in rank order make whole groups of a job's levels: those of each in one domain of its level."""
    paths = [tree.path(node) for node in nodes]
    if None in paths:
        return False
    for level, size in enumerate(levels, 1):
        parts = [path[:tree.depth + 1 - level] for path in paths if path is not None]
        if any(parts[at] != parts[at - at % size] for at in range(len(parts))):
            return False
    return True
