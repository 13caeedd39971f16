"""Which jobs meet on a link: those whose shortest paths between their NICs, or NICs themselves, have one in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from distsim.cluster import Cluster
    from distsim.fabric.types import Fabric, Routes


class Links:
    """The links of a cluster's fabric, built when they are first asked for."""

    def __init__(self, cluster: Cluster):
        self._cluster = cluster
        self._known: dict[tuple[int, ...], int] = {}

    @cached_property
    def _built(self) -> tuple[Fabric, Routes]:
        from distsim.cluster.build import configuration, fabric_of
        from distsim.config.yaml_reader import Document
        from distsim.fabric.routing import build_routes

        nowhere = Document({}, {}, None)
        fabric = fabric_of(configuration(self._cluster.fabric, self._cluster.settings, nowhere), nowhere)
        return fabric, build_routes(fabric)

    def between(self, nics: Sequence[int]) -> int:
        """The links that packets between any two of these NICs may take on the sound fabric, as bits of an int by row
        of the fabric's links: those of the NICs, and all equal-cost paths between their leaves."""
        key = tuple(sorted(set(nics)))
        if key not in self._known:
            self._known[key] = self._find(np.array(key, "i8"))
        return self._known[key]

    def _find(self, nics: np.ndarray) -> int:
        fabric, routes = self._built
        used = np.zeros(len(fabric.links), bool)
        used[routes.up_link[nics]] = used[routes.down_link[nics]] = True
        leaves = np.unique(routes.leaf_of_host[nics])
        for target in leaves.tolist():
            self._towards(target, leaves[leaves != target], used)
        return int.from_bytes(np.packbits(used, bitorder="little").tobytes(), "little")

    def _towards(self, target: int, sources: np.ndarray, used: np.ndarray) -> None:
        """Mark the links of all equal-cost paths from leaves to a leaf, hop by hop."""
        fabric, routes = self._built
        column, nodes = routes.leaf_index[target], sources
        seen = np.zeros(len(fabric.nodes), bool)
        seen[target] = seen[sources] = True
        while len(nodes):
            sets = np.unique(routes.table[nodes - fabric.hosts, column])
            rows = _members(routes, sets[sets >= 0])
            used[rows] = True
            reached = np.zeros(len(fabric.nodes), bool)
            reached[fabric.links["dst"][rows]] = True
            nodes = np.flatnonzero(reached & ~seen)
            seen |= reached


def _members(routes: Routes, sets: np.ndarray) -> np.ndarray:
    """The links of some sets of equal-cost links, one set after the other."""
    counts = routes.set_count[sets].astype("i8")
    ends = np.cumsum(counts)
    inside = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    return np.asarray(routes.members[np.repeat(routes.set_begin[sets], counts) + inside])


def groups(links: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Jobs that share a link, and those that share one with them, together; names in the order in which they are given,
    groups by their first name."""
    found: list[tuple[list[str], int]] = []
    for name, mine in links.items():
        together = [group for group in found if group[1] & mine]
        names = [other for group in together for other in group[0]] + [name]
        both = mine
        for group in together:
            both |= group[1]
            found.remove(group)
        found.append((names, both))
    order = {name: place for place, name in enumerate(links)}
    sorted_groups = [tuple(sorted(names, key=order.__getitem__)) for names, _ in found]
    return sorted(sorted_groups, key=lambda group: order[group[0]])
