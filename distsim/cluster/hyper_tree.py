"""The HyperNodes of a file as a tree for the scheduler, and the search for circles in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from distsim.cluster.types import HyperNodeInfo


def circle_of(children: Mapping[str, Sequence[str]]) -> list[str]:
    """Names of which each is a member of the one before and the first of the last; empty if there are none.

    children : the members of every name. A name that is a member of itself is a circle of one.
    """
    done: set[str] = set()
    for start in children:
        path = {start: None}                                           # keys in the order of the walk
        waiting = [list(children[start])]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                done.add(path.popitem()[0])
                continue
            name = waiting[-1].pop(0)
            if name in path:
                walked = list(path)
                return walked[walked.index(name):]
            if name not in done:
                path[name] = None
                waiting.append(list(children[name]))
    return []


def tree(tiers: Mapping[str, tuple[int, str]], parents: Mapping[str, str], racks: Mapping[str, Sequence[str]],
         order: Sequence[str]) -> dict[str, HyperNodeInfo]:
    """What the scheduler knows of HyperNodes without a circle.

    tiers : (tier, its name) by HyperNode, in the order of the file. parents : HyperNode -> the one that it is a member
    of. racks : HyperNode -> nodes that are its members. order : names of all nodes in cluster order.
    """
    below: dict[str, list[str]] = {name: [] for name in tiers}
    for rack, nodes in racks.items():
        name = rack
        while name:
            below[name] += nodes
            name = parents.get(name, "")
    place = {node: at for at, node in enumerate(order)}
    return {name: HyperNodeInfo(tier, tier_name, parents.get(name, ""),
                                tuple(sorted(below[name], key=place.__getitem__)))
            for name, (tier, tier_name) in tiers.items()}
