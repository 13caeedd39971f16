"""How many groups of a job fit into each domain, and which domains and nodes are taken for them.

cluster.md section 3; Ascend/mind-cluster, component/ascend-for-volcano/internal/npu/policy/multilevelscheduling/
scheduling.go: initNode (capacity, fragment score, reserved nodes) and traverseSiblings (the two orders).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.policies.levels.tree import Domain

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState

FRAGMENT_SCALE = 10            # a fragment weighs ten times as much a level further down


class Chooser:
    """Takes nodes out of domains for groups of a job.

    sizes : pods of a group of level 0, 1, 2, ...: 1, then the job's levels, last the whole job. reserve : nodes that a
    level-1 domain keeps, the first by name. keep : how many of them it still has to keep: `reserve` in the first pass,
    fewer in those after it. taken_reserve : names of the reserved nodes that were lent.
    """

    def __init__(self, sizes: Sequence[int], reserve: int):
        self.sizes, self.reserve, self.keep = tuple(sizes), reserve, reserve
        self.taken_reserve: list[str] = []
        self._log: list[tuple[Domain, list[NodeState]]] = []

    @property
    def passes(self) -> range:
        """The values of `keep` in the order in which they are tried: without reserved nodes, then with one of each
        domain, with two ..."""
        return range(self.reserve, -1, -1)

    def measure(self, domain: Domain) -> int:
        """Set capacity (groups of its level that fit) and fragment score of a domain and of all in it; its capacity.

        With sum = what fits below and ratio = size of a group / size of one below: capacity = floor(sum / ratio) and
        fragment = (sum mod ratio) x size of one below + 10 x the fragments below."""
        level, sizes = domain.level, self.sizes
        below = 0
        if level == 1:
            total = max(0, len(domain.nodes) - self.keep)
        else:
            total = sum(map(self.measure, domain.children))
            below = sum(child.fragment for child in domain.children)
        ratio = sizes[level] // sizes[level - 1]
        domain.capacity = total // ratio
        domain.fragment = total % ratio * sizes[level - 1] + FRAGMENT_SCALE * below
        return domain.capacity

    def fill(self, domain: Domain, groups: int) -> list[NodeState]:
        """Take nodes for groups of the domain's level in it, in rank order; `measure` has said that they fit."""
        sizes, level = self.sizes, domain.level
        if level == 1:
            return self.pick(domain, groups * sizes[1])
        return self.share(domain.children, groups * (sizes[level] // sizes[level - 1]))

    def share(self, domains: Iterable[Domain], groups: int) -> list[NodeState]:
        """Take nodes for groups of the level of these siblings: first of the domains that hold no more than is still
        needed, by (fragment, capacity), then of the smallest larger one; ties by name."""
        chosen: list[NodeState] = []
        larger: list[Domain] = []
        for domain in sorted((one for one in domains if one.capacity), key=_tight_first):
            if domain.capacity > groups:
                larger.append(domain)
                continue
            chosen += self.fill(domain, domain.capacity)
            groups -= domain.capacity
            if not groups:
                return chosen
        assert larger or not groups, f"{groups} groups are left over"
        if groups:
            chosen += self.fill(min(larger, key=_small_first), groups)
        return chosen

    def pick(self, domain: Domain, count: int) -> list[NodeState]:
        """Take nodes of a level-1 domain; given by name. Reserved ones only when the others do not suffice, sound ones
        before those where pods failed (bad_score) and sub-healthy ones."""
        free, lent = domain.nodes[self.reserve:], domain.nodes[self.keep:self.reserve]
        chosen = sorted(free, key=lambda node: (node.bad_score, node.sub_healthy))[:count]
        if len(chosen) < count:
            more = lent[len(lent) - (count - len(chosen)):]
            self.taken_reserve += [node.name for node in more]
            chosen += more
        self.take(domain, chosen)
        return sorted(chosen, key=lambda node: node.name)

    def take(self, domain: Domain, nodes: Sequence[NodeState]) -> None:
        """Take certain nodes out of a level-1 domain."""
        gone = {node.name for node in nodes}
        self._log.append((domain, domain.nodes))
        domain.nodes = [node for node in domain.nodes if node.name not in gone]

    def mark(self) -> tuple[int, int]:
        """Where `undo` can go back to."""
        return len(self._log), len(self.taken_reserve)

    def undo(self, mark: tuple[int, int]) -> None:
        """Give back what was taken since a mark."""
        while len(self._log) > mark[0]:
            domain, nodes = self._log.pop()
            domain.nodes = nodes
        del self.taken_reserve[mark[1]:]


def _tight_first(domain: Domain) -> tuple[object, ...]:
    return domain.fragment, domain.capacity, domain.order


def _small_first(domain: Domain) -> tuple[object, ...]:
    return domain.capacity, domain.fragment, domain.order
