"""Units: which nodes run together in which windows, from the graph of influences.

Every influence between two nodes is an edge with a lookahead: a link (delay plus the serialization of the shortest
frame) or a trigger (its delay). For widths w0 < w1 < w2 the units of level k are the components joined by edges of
lookahead below wk, so what crosses between them takes wk or longer.
"""

from __future__ import annotations

import numpy as np

from .tables import UNIT

LEVELS = 3
WIDEST_PS = 1 << 45      # 35 s, the widest window there is: a merge key (kernels.switch) holds times within one
WORTH = 2                # a level is worth having when its windows are this much wider


def widths(lookahead_ps: np.ndarray) -> list[int]:
    """Window widths, narrowest first; at most LEVELS, each at least WORTH times the one before."""
    chosen: list[int] = []
    for value in np.unique(np.minimum(lookahead_ps, WIDEST_PS)):
        if not chosen or (value >= WORTH * chosen[-1] and len(chosen) < LEVELS):
            chosen.append(int(value))
    return chosen or [WIDEST_PS]


def components(nodes: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Component of each node under the edges a-b, named by its lowest node. i8[nodes]."""
    parent = np.arange(nodes)
    a, b = np.asarray(a), np.asarray(b)
    while True:
        low = np.minimum(parent[a], parent[b])
        before = parent.copy()
        np.minimum.at(parent, parent[a], low)
        np.minimum.at(parent, parent[b], low)
        while True:
            shorter = parent[parent]
            if np.array_equal(shorter, parent):
                break
            parent = shorter
        if np.array_equal(before, parent):
            return parent


def build_units(nodes: int, a: np.ndarray, b: np.ndarray, lookahead_ps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Units over `nodes` nodes and the edges a-b.

    Returns (order, units): order i8[nodes], the nodes so that every unit is a run of it; units UNIT[...], children
    before parents, the unit of everything last.
    """
    width = widths(lookahead_ps)
    labels = []              # of the levels between the nodes and the top, widest first
    for limit in width[:0:-1]:
        close = lookahead_ps < limit
        labels.append(components(nodes, a[close], b[close]))
    order = np.lexsort([np.arange(nodes), *labels[::-1]])
    rows: list[tuple[int, int, int, int, int, int]] = []
    spans = [(k, 1, k, 1) for k in range(nodes)]          # (first child, count, first node, nodes)
    offset = 0
    for level, label in enumerate(labels[::-1], start=1):
        ordered = label[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        ends = np.r_[starts[1:], nodes]
        firsts = np.array([span[2] for span in spans])
        merged = []
        for start, end in zip(starts, ends, strict=True):
            child = int(np.searchsorted(firsts, start))
            count = int(np.searchsorted(firsts, end)) - child
            begin = offset + child if level > 1 else child
            wide = width[level - 1] if count > 1 else WIDEST_PS      # one child: nothing crosses inside
            rows.append((begin, count, int(start), int(end - start), wide, level))
            merged.append((0, 0, int(start), int(end - start)))
        offset = len(rows) - len(merged)
        spans = merged
    top = len(width)
    rows.append((offset if top > 1 else 0, len(spans), 0, nodes, width[-1], top))
    return order, unit_rows(rows)


def unit_rows(rows: list[tuple[int, int, int, int, int, int]]) -> np.ndarray:
    """UNIT rows of (first, count, node_first, node_count, width_ps, level), each told its parent."""
    table = np.zeros(len(rows), UNIT)
    names = ("first", "count", "node_first", "node_count", "width_ps", "level")
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        table[name] = values
    table["parent"] = -1
    for number, row in enumerate(table):
        if row["level"] > 1:
            table["parent"][row["first"]:row["first"] + row["count"]] = number
    return table
