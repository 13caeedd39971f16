"""Which nodes form a rack or a scalable unit."""

from __future__ import annotations

from collections.abc import Sequence

from distsim.cluster.network_spec import RackSpec
from distsim.cluster.nodes import Draft, matching
from distsim.cluster.problems import Problems
from distsim.cluster.wiring import Group
from distsim.config.yaml_reader import Place

NODES_PER_RACK = 4
NODES_PER_UNIT = 32


def in_order(nodes: Sequence[Draft], per_group: int, word: str) -> list[Group]:
    """Groups of `per_group` nodes with NICs, in order; the last one may be smaller."""
    wired = [index for index, draft in enumerate(nodes) if draft.nics]
    starts = range(0, len(wired), per_group)
    return [Group(f"{word}-{number}", tuple(wired[at:at + per_group])) for number, at in enumerate(starts)]


def listed(specs: Sequence[RackSpec], nodes: Sequence[Draft], word: str, problems: Problems, place: Place,
           ) -> list[Group]:
    """The groups as a file lists them: every node with NICs in exactly one."""
    by_name = {draft.name: index for index, draft in enumerate(nodes)}
    home: dict[int, str] = {}
    names: dict[str, int] = {}
    groups = []
    for number, spec in enumerate(specs):
        name = spec.name or f"{word}-{number}"
        if name in names:
            problems.add((*place, number), f"{name!r} is the name of {place[-1]}.{names[name]} already")
        names.setdefault(name, number)
        members = matching(spec.nodes, by_name, problems, (*place, number, "nodes"))
        for index in members:
            if index in home:
                problems.add((*place, number, "nodes"), f"node {nodes[index].name!r} is in {home[index]} already")
        home.update((index, name) for index in members if index not in home)
        groups.append(Group(name, tuple(members)))
    lost = [draft.name for index, draft in enumerate(nodes) if draft.nics and index not in home]
    if lost:
        problems.add(place, f"{len(lost)} nodes with NICs are in none of them, the first is {lost[0]!r}")
    return groups
