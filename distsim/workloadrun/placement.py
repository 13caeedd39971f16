"""Which nodes run together: groups of a Workflow, each of which one job runs on.

Source of the rules: the seed's chapter on placement and NVIDIA/cluster-readiness-engine's partitioning of nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distsim.errors import InputError

from .discovery import Discovery
from .domains import domains_of, packed
from .orchestration import CLIQUE, INTRA_NODE, INTRA_RACK, UNPINNED, check_placement


@dataclass(frozen=True)
class Group:
    """Nodes of one job.

    nodes : names, sorted; none under Unpinned, where the scheduler chooses. domains : topology domains they are in,
    empty where no topology key says so. overflow_of : the group whose nodes were borrowed, None if none were; an
    overflow group never runs while a group that shares a node with it runs.
    """

    name: str
    nodes: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    overflow_of: str | None = None


def groups(discovery: Discovery, orchestration: Mapping[str, Any] | None, num_nodes: int) -> list[Group]:
    """The groups of one iteration.

    orchestration : of a WorkloadRun (testScale, placement) or of a Workflow (placement, topology, diagnose); both are
    understood. num_nodes : nodes per job, under Unpinned of the one job.

    Raises InputError when there are too few nodes, when settings contradict Unpinned, or when a node lacks the topology
    label.
    """
    settings = orchestration or {}
    check_placement(dict(settings))
    unpinned = settings.get("placement") == UNPINNED
    if settings.get("testScale") == INTRA_NODE:
        num_nodes = 1
    if num_nodes > len(discovery.nodes):
        raise InputError(discovery.shortage(num_nodes, UNPINNED if unpinned else ""), where="spec.numNodes")
    if unpinned:
        return [Group("group-0")]
    topology = settings.get("topology") or {}
    strict = bool(topology.get("strictDomain")) or settings.get("testScale") == INTRA_RACK
    key = topology.get("topologyKey") or (CLIQUE if strict else "")
    if not key:
        return chunks(discovery.names, num_nodes)
    found = domains_of(discovery.nodes, key)
    if strict:
        return [Group(f"group-{at}", tuple(domain.nodes), (domain.name,)) for at, domain in enumerate(found)]
    return _named(packed(found, num_nodes))


def chunks(names: Iterable[str], size: int) -> list[Group]:
    """Groups of `size` in order of name; a remainder is filled up with the last nodes of the last full group."""
    ordered = sorted(names)
    full = [Group(f"group-{at}", tuple(ordered[at * size:(at + 1) * size])) for at in range(len(ordered) // size)]
    left = ordered[len(full) * size:]
    if not left:
        return full
    last = full[-1]
    nodes = tuple(sorted([*left, *last.nodes[len(left) - size:]]))
    return [*full, Group(f"group-{len(full)}-overflow", nodes, overflow_of=last.name)]


def ignored_topology_key(settings: Mapping[str, Any] | None) -> str:
    """The topology key that Unpinned leaves unused, to be told; empty if there is none."""
    topology = (settings or {}).get("topology") or {}
    return str(topology.get("topologyKey") or "") if (settings or {}).get("placement") == UNPINNED else ""


def _named(found: Sequence[tuple[tuple[str, ...], tuple[str, ...], bool]]) -> list[Group]:
    """Groups of packed domains: (nodes, domains, whether it is an overflow group)."""
    made: list[Group] = []
    for at, (nodes, domains, overflow) in enumerate(found):
        lender = next((one.name for one in made if set(one.nodes) & set(nodes)), None) if overflow else None
        made.append(Group(f"group-{at}-overflow" if overflow else f"group-{at}", nodes, domains, lender))
    return made

