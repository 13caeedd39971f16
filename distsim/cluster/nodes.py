"""From pools to nodes: names, labels, resources, what single nodes differ in, cordons."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from distsim.cluster import labels
from distsim.cluster.problems import Problems
from distsim.cluster.spec import ClusterFile, Pool, node_name
from distsim.cluster.types import Node, Taint
from distsim.config.names import nearest
from distsim.config.yaml_reader import Place

_GLOB = frozenset("*?[")


@dataclass
class Draft:
    """A node before it is known where its NICs plug in. resource : name of its accelerators; nics : their number.
    removed : labels that the file takes away."""

    name: str
    pool: str
    platform: str
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    capacity: dict[str, int]
    resources: dict[str, int]
    resource: str
    nics: int
    nic_rate_bps: int
    cordoned: bool = False
    removed: frozenset[str] = frozenset()

    def node(self, hosts: tuple[int, ...], rack: str) -> Node:
        """The finished node."""
        return Node(self.name, self.labels, self.annotations, self.taints, self.resources.get(self.resource, 0), hosts,
                    self.cordoned, self.pool, self.resources, self.capacity, rack, self.platform)


def drafts(file: ClusterFile, problems: Problems) -> list[Draft]:
    """The nodes of all pools, in order."""
    made: list[Draft] = []
    seen: dict[str, str] = {}
    pools: dict[str, int] = {}
    for index, pool in enumerate(file.pools):
        if pool.name in pools:
            problems.add(("pools", index, "name"), f"{pool.name!r} is the name of pools.{pools[pool.name]} already")
        pools.setdefault(pool.name, index)
        for draft in of_pool(pool, pool.platform or file.platform, problems, ("pools", index)):
            if draft.name in seen:
                problems.add(("pools", index), f"node {draft.name!r} stands in pool {seen[draft.name]!r} already; give "
                                               "names or first")
                break
            seen[draft.name] = pool.name
            made.append(draft)
    return made


def of_pool(pool: Pool, platform: str, problems: Problems, place: Place,
            names: Iterable[str] | None = None) -> Iterator[Draft]:
    """The nodes of one pool. names : of the nodes, by default as its pattern says."""
    resource = pool.chips.resource if pool.chips else labels.GPU
    chips = pool.chips.count if pool.chips else 0
    nics = (pool.nics.count or chips or 1) if pool.nics else 0
    capacity = dict(pool.capacity)
    if pool.chips:
        _amount(capacity, resource, chips, problems, (*place, "capacity"))
    if pool.nics and pool.nics.resource is not None:
        _amount(capacity, pool.nics.resource, nics, problems, (*place, "capacity"))
    allocatable = capacity | pool.allocatable
    _within(allocatable, capacity, problems, (*place, "allocatable"), pool.name)
    own = _own_labels(pool, chips)
    if names is None:
        names = (node_name(pool.names, number) for number in range(pool.first, pool.first + pool.count))
    taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in pool.taints)
    annotations = changed({}, pool.annotations)
    for name in names:
        yield Draft(name, pool.name, platform, changed({labels.HOSTNAME: name} | own, pool.labels), dict(annotations),
                    taints, dict(capacity), dict(allocatable), resource, nics, pool.nics.rate if pool.nics else 0,
                    removed=_removed(pool.labels))


def override(file: ClusterFile, nodes: list[Draft], problems: Problems) -> None:
    """Apply `overrides` and `cordoned`."""
    by_name = {draft.name: draft for draft in nodes}
    for index, change in enumerate(file.overrides):
        place: Place = ("overrides", index)
        taints = tuple(Taint(taint.key, taint.value, taint.effect) for taint in change.taints)
        for draft in matching(change.nodes, by_name, problems, (*place, "nodes")):
            draft.labels = changed(draft.labels, change.labels)
            draft.removed |= _removed(change.labels)
            draft.annotations = changed(draft.annotations, change.annotations)
            draft.taints += taints
            draft.resources |= change.allocatable
            if _within(draft.resources, draft.capacity, problems, (*place, "allocatable"), draft.name):
                break
    for draft in matching(file.cordoned, by_name, problems, ("cordoned",)):
        draft.cordoned = True


def matching(patterns: Iterable[str], by_name: Mapping[str, Any], problems: Problems, place: Place) -> list[Any]:
    """The values whose keys these names and globs mean, in order of the patterns; a problem for one that means none."""
    found: dict[str, Any] = {}
    for index, pattern in enumerate(patterns):
        if pattern in by_name:
            found.setdefault(pattern, by_name[pattern])
            continue
        names = fnmatch.filter(by_name, pattern) if _GLOB & set(pattern) else []
        if not names:
            near = nearest(pattern, list(by_name))
            advice = f"; nearest: {near}" if near else f"; there are {len(by_name)} nodes" + _example(by_name)
            problems.add((*place, index), f"no node is called {pattern!r}{advice}")
        found.update((name, by_name[name]) for name in names if name not in found)
    return list(found.values())


def changed(base: dict[str, str], change: Mapping[str, str | None]) -> dict[str, str]:
    """`base` with `change` on top; a value of None removes a key."""
    merged = base | {key: value for key, value in change.items() if value is not None}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
    return merged


def _removed(change: Mapping[str, str | None]) -> frozenset[str]:
    return frozenset(key for key, value in change.items() if value is None)


def _example(by_name: Mapping[str, Any]) -> str:
    first = next(iter(by_name), None)
    return f", the first is {first}" if first is not None else ""


def _own_labels(pool: Pool, chips: int) -> dict[str, str]:
    """Labels that NVIDIA's GPU Operator would give the nodes."""
    if pool.chips is None or pool.chips.resource != labels.GPU:
        return {}
    return {labels.GPU_PRESENT: "true", labels.GPU_PRODUCT: pool.chips.product, labels.GPU_COUNT: str(chips)}


def _amount(capacity: dict[str, int], resource: str, count: int, problems: Problems, place: Place) -> None:
    if capacity.setdefault(resource, count) != count:
        problems.add(place, f"{resource}: {capacity[resource]} contradicts the count of {count}; leave it out")


def _within(resources: dict[str, int], capacity: dict[str, int], problems: Problems, place: Place, name: str) -> bool:
    """Add a problem when more is allocatable than there is; whether one was added."""
    for key, amount in resources.items():
        if amount > capacity.get(key, 0):
            problems.add(place, f"{key}: {amount} is more than the capacity of {name}, {capacity.get(key, 0)}")
            return True
    return False
