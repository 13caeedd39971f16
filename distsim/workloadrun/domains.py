"""Nodes by topology domain, and groups that span as few domains as they can.

Source: NVIDIA/cluster-readiness-engine, partitioning with a topology key.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from distsim.errors import InputError

if TYPE_CHECKING:
    from distsim.cluster import Node

Packed = tuple[tuple[str, ...], tuple[str, ...], bool]


@dataclass(frozen=True)
class Domain:
    """A value of the topology label, and the names of the nodes that have it, sorted."""

    name: str
    nodes: tuple[str, ...]


def domains_of(nodes: Iterable[Node], key: str) -> list[Domain]:
    """The domains of a label, larger ones first, then by name; InputError for a node without it."""
    found: dict[str, list[str]] = {}
    for node in sorted(nodes, key=lambda one: one.name):
        if not node.labels.get(key):
            raise InputError(f'node "{node.name}" missing topology label "{key}"', where="spec.orchestration.topology")
        found.setdefault(node.labels[key], []).append(node.name)
    return sorted((Domain(name, tuple(members)) for name, members in found.items()),
                  key=lambda domain: (-len(domain.nodes), domain.name))


def packed(domains: Sequence[Domain], size: int) -> list[Packed]:
    """Groups of `size` nodes over the fewest domains: (nodes, domains, overflow), all nodes covered.

    A group takes from the domains with most nodes left, and from no more domains than the largest ones need. What
    cannot be grouped so comes into overflow groups, filled up with nodes of the same domains that have a group already.
    """
    most = -(-size // len(domains[0].nodes))
    left = {domain.name: list(domain.nodes) for domain in domains}
    order = [(-len(domain.nodes), domain.name) for domain in domains]
    heapify(order)
    made: list[Packed] = []
    while True:
        chosen = [heappop(order)[1] for _ in range(min(most, len(order)))]
        if sum(len(left[name]) for name in chosen) < size:
            break
        nodes: list[str] = []
        used = [name for name in chosen if _take(left[name], size, nodes)]
        made.append((tuple(sorted(nodes)), tuple(sorted(used)), False))
        for name in chosen:
            if left[name]:
                heappush(order, (-len(left[name]), name))
    return made + _overflow(domains, {node for nodes in left.values() for node in nodes}, size)


def _overflow(domains: Sequence[Domain], untested: set[str], size: int) -> list[Packed]:
    """Groups for the nodes that have none, those first, then others of their domains."""
    pools = {domain.name: sorted(domain.nodes, key=lambda node: node not in untested) for domain in domains}
    count = {name: sum(node in untested for node in pool) for name, pool in pools.items()}
    made: list[Packed] = []
    while any(count.values()):
        order = sorted(pools, key=lambda name: (-count[name], -len(pools[name]), name))
        nodes: list[str] = []
        used = [name for name in order if _take(pools[name], size, nodes)]
        for name in used:
            count[name] = sum(node in untested for node in pools[name])
        made.append((tuple(sorted(nodes)), tuple(sorted(used)), True))
    return made


def _take(pool: list[str], size: int, into: list[str]) -> bool:
    """Move nodes from a pool until there are `size`; whether any was."""
    count = min(size - len(into), len(pool))
    into += pool[:count]
    del pool[:count]
    return count > 0
