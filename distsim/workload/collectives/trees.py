"""Shapes of trees: arrays of parents, i8[members], -1 at the root."""

from __future__ import annotations

import numpy as np


def balanced(members: int) -> np.ndarray:
    """Member 0 at the root with one child, the root of a balanced binary tree of the others.

    In that tree every root is the middle of the run of members below it (Chakra page: "balanced binary tree", no order
    given; the middle makes it, at powers of two, the tree of NVIDIA/nccl).
    """
    parent = np.full(members, -1)
    low, high, above = np.array([1]), np.array([members]), np.array([0])       # runs low <= m < high below `above`
    while low.size:
        middle = (low + high) // 2
        parent[middle] = above
        low, high, above = (np.concatenate(pair) for pair in ((low, middle + 1), (middle, high), (middle, middle)))
        some = low < high
        low, high, above = low[some], high[some], above[some]
    return parent


def alternating(members: int) -> np.ndarray:
    """The tree of NVIDIA/nccl (graph/trees.cc): odd members are leaves; above a member whose lowest bit is b stands the
    one with b moved up by one, or, if there is none, the one without b.
    """
    member = np.arange(members)
    bit = member & -member
    above = (member ^ bit) | (bit << 1)
    parent = np.where(above < members, above, member ^ bit)
    parent[0] = -1
    return parent


def mirrored(parent: np.ndarray) -> np.ndarray:
    """The same tree with the members in reverse order, so that its root is the last one."""
    last = len(parent) - 1
    return np.where(parent >= 0, last - parent, -1)[::-1]


def shifted(parent: np.ndarray) -> np.ndarray:
    """The same tree with every member's place taken by the next one, so that its root is member 1."""
    return np.roll(np.where(parent >= 0, (parent + 1) % len(parent), -1), 1)


def line(members: int) -> np.ndarray:
    """Each member below the one before it, member 0 at the root."""
    return np.arange(members) - 1


def line_back(members: int) -> np.ndarray:
    """Each member below the next one, the last below member 0 at the root."""
    parent = (np.arange(members) + 1) % members
    parent[0] = -1
    return parent
