"""Trees: all_reduce by one or two trees, reduce by one.

`tree`, `double-tree`: Chakra page, Collectives: the group's first and last members at the roots. A reduce to another
root turns the group so that the root comes first. `double-binary-tree`: NVIDIA/nccl, the second tree mirrored for an
even and shifted by one for an odd number of members; halves that together are exactly the data. Chunks follow each
other through both, and each tree has channels of its own.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from distsim.workload.collectives.flow import depths, flow, rooted
from distsim.workload.collectives.layout import joined
from distsim.workload.collectives.pieces import Runs, array_runs, cut, cut_runs, split, times_runs, up
from distsim.workload.collectives.request import Request
from distsim.workload.collectives.schedule import Schedule
from distsim.workload.collectives.trees import alternating, balanced, mirrored, shifted
from distsim.workload.graph import REDUCE


def expand(request: Request) -> Schedule:
    """Up, and (all_reduce) down again: (N - 1) or 2 (N - 1) transfers for each piece of each tree."""
    downward = request.collective != REDUCE
    return joined([flow(parent, cut(share, request.options), True, downward, request.keep_zero,
                        number * request.options.channels)
                   for number, (parent, share) in enumerate(zip(shapes(request), shares(request)))])


def shapes(request: Request) -> list[np.ndarray]:
    """The parents of every tree."""
    if request.algorithm == "tree":
        return [rooted(balanced(request.members), request.root if request.collective == REDUCE else 0)]
    if request.algorithm == "double-tree":
        return [balanced(request.members), mirrored(balanced(request.members))]
    first = alternating(request.members)
    return [first, shifted(first) if request.members % 2 else mirrored(first)]


def shares(request: Request) -> np.ndarray:
    """i8[trees], bytes that each tree carries."""
    if request.algorithm == "tree":
        return np.array([request.size_bytes], "i8")
    if request.algorithm == "double-tree" and request.options.whole:
        return np.full(2, up(request.size_bytes, 2), "i8")
    return split(np.int64(request.size_bytes), 2)


def tally(request: Request) -> Runs:
    """Every piece crosses every edge once a direction."""
    directions = 1 if request.collective == REDUCE else 2
    pieces = cut_runs(array_runs(shares(request), request.keep_zero), request.options)
    return times_runs(pieces, directions * (request.members - 1))


def ideal_bytes(request: Request) -> Fraction:
    """`tree` in whole messages: the longest path, a member with two children taking 2 S for them. Otherwise the busiest
    port, which large data in small chunks comes to: of each tree its share for every child and every parent's message.
    """
    if request.algorithm == "tree" and request.options.whole:
        return Fraction(longest_path(shapes(request)[0], request.collective != REDUCE) * request.size_bytes)
    directions = 1 if request.collective == REDUCE else 2
    carried = np.zeros(request.members, "i8")
    for parent in shapes(request):
        children = np.bincount(parent[parent >= 0], minlength=request.members)
        carried += children + (parent >= 0) if directions == 2 else np.maximum(children, parent >= 0)
    return Fraction(int(carried.max()) * request.size_bytes, 1 if request.algorithm == "tree" else 2)


def longest_path(parent: np.ndarray, downward: bool) -> int:
    """Messages of equal size that go through a port one after the other on the longest way up (and down).

    Up: a member has heard both children after 2 messages, or one after the later of them. Down: both get theirs at
    once, 2 messages after their parent has it.
    """
    children = np.bincount(parent[parent >= 0], minlength=len(parent))
    order = np.argsort(-depths(parent), kind="stable")
    heard: list[list[int]] = [[] for _ in parent]
    ready = [0] * len(parent)
    for member in order.tolist():
        starts = sorted(heard[member])
        if starts:
            ready[member] = max(starts[-1] + 1, starts[0] + len(starts))
        if parent[member] >= 0:
            heard[parent[member]].append(ready[member])
    root = int(order[-1])
    if not downward:
        return ready[root]
    has = {root: 0}
    for member in order[::-1].tolist()[1:]:
        has[member] = has[int(parent[member])] + int(children[parent[member]])
    return ready[root] + max(has.values())
