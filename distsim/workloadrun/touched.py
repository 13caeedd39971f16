"""Switches that a job's packets can pass: those on the shortest paths between its NICs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from distsim.fabric.types import Fabric, Routes


class Paths:
    """The routes of a fabric, for asking which switches lie between NICs."""

    def __init__(self, fabric: Fabric, routes: Routes):
        self._fabric, self._routes = fabric, routes

    def between(self, nics: Sequence[int]) -> list[str]:
        """Component names of the switches on the equal-cost paths between any two of these hosts, rack switches first,
        then in order of number."""
        routes, hosts = self._routes, self._fabric.hosts
        leaves = np.unique(routes.leaf_of_host[np.asarray(nics, "i8")])
        found = {int(leaf) for leaf in leaves}
        for target in leaves:
            column = routes.leaf_index[target]
            waiting, seen = [int(leaf) for leaf in leaves if leaf != target], {int(leaf) for leaf in leaves}
            while waiting:
                members = routes.table[waiting.pop() - hosts, column]
                if members < 0:
                    continue
                rows = routes.members[routes.set_begin[members]:routes.set_begin[members] + routes.set_count[members]]
                fresh = {int(node) for node in self._fabric.links["dst"][rows]} - seen
                seen |= fresh
                waiting += fresh
            found |= seen
        tier = self._fabric.nodes["tier"]
        return [self._fabric.names[node] for node in sorted(found, key=lambda node: (-int(tier[node]), node))]
