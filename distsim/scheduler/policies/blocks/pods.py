"""Which SuperPoD and rack a node is in, and the free nodes of a SuperPoD from which blocks are taken.

Names as Ascend/mind-cluster's device plugin writes them (component/ascend-common, label and annotation packages).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from distsim.scheduler.policies.blocks.shape import RACK_NODES, Shape
from distsim.scheduler.state import NodeState, State

SUPER_POD_KEYS = ("huawei.com/topotree.superpodid", "superPodID")     # labels or annotations, the first that is there
RACK_KEYS = ("huawei.com/topotree.rackid", "rackID")
_DIGITS = re.compile(r"(\d+)")


class Where:
    """SuperPoD and rack of each node of a cluster.

    SuperPoD: label or annotation of SUPER_POD_KEYS. If no node of the cluster has one, the nodes with chips are
    numbered in cluster order into SuperPoDs 0, 1, ... of super-pod-size nodes [our decision]; if some have one, a node
    without (or with a negative number) is in none, as in mind-cluster. Rack: of RACK_KEYS, else `Node.rack`, else
    numbered within the SuperPoD in cluster order, 64 nodes each.
    """

    def __init__(self, state: State):
        self._size = state.settings.super_pod_size
        self._places: dict[str, int] | None = None                     # numbers of the nodes, if none says where it is
        nodes = [node for node in state.nodes.values() if node.all_chips]
        if all(_first(node, SUPER_POD_KEYS) is None for node in nodes):
            self._places = {node.name: place for place, node in enumerate(nodes)}
        self._nodes = nodes
        self._in_pod: dict[str, int] = {}                              # numbers within the SuperPoD, once asked for

    def super_pod(self, node: NodeState) -> str | None:
        """Name of the SuperPoD of a node; None if it is in none."""
        if self._places is not None:
            place = self._places.get(node.name)
            return None if place is None else str(place // self._size)
        found = _first(node, SUPER_POD_KEYS)
        return None if found is None or found.startswith("-") else found

    def rack(self, node: NodeState) -> str:
        """Name of the rack of a node within its SuperPoD."""
        found = _first(node, RACK_KEYS)
        return found or node.node.rack or str(self._place_in_pod(node) // RACK_NODES)

    def _place_in_pod(self, node: NodeState) -> int:
        if not self._in_pod:
            counts: dict[str | None, int] = {}
            for one in self._nodes:
                pod = self.super_pod(one)
                self._in_pod[one.name] = counts[pod] = counts.get(pod, -1) + 1
        return self._in_pod[node.name]


class SuperPod:
    """The usable nodes of a SuperPoD that no block has taken yet.

    name : its ID. Without racks all its nodes count as one rack. piece : nodes that have to be in one rack together.
    """

    def __init__(self, name: str, piece: int = 1):
        self.name = name
        self._piece = piece
        self._racks: dict[str, list[NodeState]] = {}
        self._sorted = False

    def add(self, node: NodeState, rack: str) -> None:
        """Count a node in."""
        self._racks.setdefault(rack, []).append(node)
        self._sorted = False

    @property
    def free(self) -> int:
        """How many nodes pieces of blocks can use."""
        return sum(map(self._useful, self._racks.values()))

    def tightest_rack(self, count: int) -> tuple[int, str] | None:
        """(nodes, name) of the smallest rack with `count` nodes; None if there is none."""
        return min(((len(nodes), rack) for rack, nodes in self._racks.items() if self._useful(nodes) >= count),
                   default=None, key=lambda found: (found[0], natural(found[1])))

    def take(self, count: int) -> list[NodeState]:
        """Take nodes for a block: of the tightest rack that holds them all, else of the emptiest racks upwards
        (chip8node8ra64sp/base.go). Rack by rack, the nodes of each by name. AssertionError if there are too few."""
        assert count <= self.free, f"SuperPoD {self.name}: {count} nodes asked, {self.free} free"
        best = self.tightest_rack(count)
        if best is not None:
            return self.take_of_rack(best[1], count)
        taken: list[NodeState] = []
        for rack in sorted(self._racks, key=lambda name: (len(self._racks[name]), natural(name))):
            part = min(self._useful(self._racks[rack]), count - len(taken))
            taken += self.take_of_rack(rack, part)
        return taken

    def take_of_rack(self, rack: str, count: int) -> list[NodeState]:
        """Take nodes of a rack: healthy ones first, then by name; given back by name."""
        self._sort()
        nodes = self._racks.get(rack, [])
        taken = nodes[:count]
        self._racks[rack] = nodes[count:]
        return sorted(taken, key=_by_name)

    def in_rack(self, rack: str) -> int:
        """How many nodes of a rack are left."""
        return len(self._racks.get(rack, ()))

    def has(self, node: NodeState, rack: str) -> bool:
        """Whether nobody has taken a node of a rack."""
        return any(one is node for one in self._racks.get(rack, ()))

    def take_node(self, node: NodeState, rack: str) -> None:
        """Take a node of a rack."""
        self._racks[rack] = [one for one in self._racks[rack] if one is not node]

    def copy(self) -> SuperPod:
        """Another one with the same nodes, to try something on."""
        other = SuperPod(self.name, self._piece)
        other._racks, other._sorted = {rack: list(nodes) for rack, nodes in self._racks.items()}, self._sorted
        return other

    def _useful(self, nodes: Sequence[NodeState]) -> int:
        return len(nodes) - len(nodes) % self._piece

    def _sort(self) -> None:
        if not self._sorted:
            for nodes in self._racks.values():
                nodes.sort(key=lambda node: (node.bad_score, node.sub_healthy, _by_name(node)))
            self._sorted = True


def super_pods(nodes: Iterable[NodeState], where: Where, shape: Shape) -> tuple[dict[str, SuperPod], list[NodeState]]:
    """The SuperPoDs that nodes are in, by name and in the order of their names, and the nodes that are in none."""
    found: dict[str, SuperPod] = {}
    outside = []
    for node in nodes:
        name = where.super_pod(node)
        if name is None:
            outside.append(node)
            continue
        if name not in found:
            found[name] = SuperPod(name, shape.piece)
        found[name].add(node, where.rack(node) if shape.racks else "")
    return {name: found[name] for name in sorted(found, key=natural)}, outside


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Key that sorts names with their numbers by value: n2 before n10."""
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in _DIGITS.split(name) if part)


def _by_name(node: NodeState) -> tuple[tuple[int, int, str], ...]:
    return natural(node.name)


def _first(node: NodeState, keys: Sequence[str]) -> str | None:
    labels, annotations = node.node.labels, node.node.annotations
    for key in keys:
        found = labels.get(key) or annotations.get(key)
        if found:
            return found
    return None
