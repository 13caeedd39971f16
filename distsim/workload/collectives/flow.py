"""Data up a tree, down it, or up and then down, in pieces that follow each other: the engine of trees and chains."""

from __future__ import annotations

import numpy as np

from distsim.workload.collectives.layout import in_order, place, schedule, waits
from distsim.workload.collectives.schedule import Schedule


def flow(parent: np.ndarray, sizes: np.ndarray, upward: bool, downward: bool, keep_zero: bool,
         channel: int = 0) -> Schedule:
    """Transfers of a tree.

    parent : i8[members], the parent of each member, -1: the root. sizes : i8[channels, pieces], 0: left out. channel :
    number of the first one. A piece goes up once it has come from all children, and down once it has come from the
    parent (at the root of a tree that goes up first: from all children). On each connection of a channel pieces leave
    in order, each once the one before has been sent. Grid: channel, piece, member other than the root.
    """
    members = len(parent)
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    edge = np.full(members, -1)             # the edge that leads up from a member
    edge[child] = np.arange(len(child))
    level = depths(parent)
    inner = np.flatnonzero(edge[above] >= 0)
    outer = np.flatnonzero(edge[above] < 0)
    grid = np.repeat(sizes[:, :, None], len(child), axis=2)
    channels = np.arange(channel, channel + len(sizes))[:, None, None]
    transfers, received, sent = [], [], []
    first = 0
    rise = int(level.max())
    if upward:
        rows, up_index = place(grid, child, above, rise - level[child], channels, keep_zero)
        transfers.append(rows)
        first = len(rows)
        received.append(waits(up_index[:, :, edge[above[inner]]], up_index[:, :, inner]))
        sent.append(in_order(np.moveaxis(up_index, 1, 2)))
    if downward:
        step = level[child] - 1 + (rise if upward else 0)
        rows, down_index = place(grid, above, child, step, channels, keep_zero, first)
        transfers.append(rows)
        received.append(waits(down_index[:, :, inner], down_index[:, :, edge[above[inner]]]))
        sent.append(in_order(np.moveaxis(down_index, 1, 2)))
        if upward:
            received.append(waits(down_index[:, :, outer, None], up_index[:, :, None, outer]))
    return schedule(members, transfers, received, sent)


def depths(parent: np.ndarray) -> np.ndarray:
    """i8[members], edges between each member and the root."""
    level = np.zeros(len(parent), "i8")
    above = parent.copy()
    while (above >= 0).any():
        level += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    return level


def rooted(parent: np.ndarray, root: int) -> np.ndarray:
    """The same tree among members renumbered so that member 0 becomes `root`, 1 the next one after it, and so on."""
    members = len(parent)
    moved = np.where(parent >= 0, (parent + root) % members, -1)
    return np.roll(moved, root)
