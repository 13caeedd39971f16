"""What waits for what: operations that can never start, circles, chains of issue, and starts that are too late."""

from __future__ import annotations

import numpy as np

from distsim.workload.types import SEND, Workload


def never_started(ops: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Rows of OPS that no chain of notices ever starts, ascending: they wait for each other."""
    needed = np.where((ops["any_of"] > 0) & (ops["deps"] > 0), ops["any_of"], ops["deps"])
    return np.flatnonzero(_stuck(needed, edges["dst"], edges["src"]))


def _stuck(needed: np.ndarray, node: np.ndarray, on: np.ndarray) -> np.ndarray:
    """bool[n], the rows that never start. needed : i[n], how many of the rows that it waits for each must hear of;
    node, on : i[m], row `node` waits for row `on`."""
    order = np.argsort(on, kind="stable")
    told = node[order].tolist()
    first = np.searchsorted(on[order], np.arange(len(needed) + 1)).tolist()
    left, ready = needed.tolist(), np.flatnonzero(needed == 0).tolist()
    while ready:
        row = ready.pop()
        for other in told[first[row]:first[row + 1]]:
            left[other] -= 1
            if left[other] == 0:
                ready.append(other)
    return np.array(left, "i8") > 0


def find_cycle(count: int, node: np.ndarray, on: np.ndarray) -> list[int] | None:
    """Rows that wait for each other in a circle, each for the next and the last for the first; None if there are none.

    count : nodes, rows 0 to count - 1; node, on : i[m], row `node` waits for row `on`.
    """
    if (on < node).all():                                # every row waits for rows above it only: the usual file
        return None
    stuck = _stuck(np.bincount(node, minlength=count), node, on)
    return _walk(stuck, node, on) if stuck.any() else None


def _walk(stuck: np.ndarray, node: np.ndarray, on: np.ndarray) -> list[int]:
    """A circle among the stuck rows: from any of them, go to one it waits for that is stuck too, until one repeats."""
    inside = stuck[node] & stuck[on]
    blocker = dict(zip(node[inside].tolist(), on[inside].tolist()))
    row = int(np.flatnonzero(stuck)[0])
    seen: dict[int, int] = {}
    while row not in seen:
        seen[row] = len(seen)
        row = blocker[row]
    return list(seen)[seen[row]:]


def components(count: int, node: np.ndarray, on: np.ndarray) -> np.ndarray:
    """The strongly connected component of each row, i8[count]: two rows have the same number when each waits for the
    other, by way of others perhaps (Tarjan's algorithm).

    Arguments as for `find_cycle`.
    """
    order = np.argsort(node, kind="stable")
    target = on[order].tolist()
    begin = np.searchsorted(node[order], np.arange(count + 1)).tolist()
    place, low, found = [-1] * count, [0] * count, np.full(count, -1, "i8")
    done, open_rows, index = [False] * count, [], 0
    for start in range(count):
        path = [start] if place[start] < 0 else []
        upto = dict.fromkeys(path, begin[start])
        while path:
            row = path[-1]
            if place[row] < 0:
                place[row] = low[row] = index
                index += 1
                open_rows.append(row)
            if upto[row] < begin[row + 1]:
                other = target[upto[row]]
                upto[row] += 1
                if place[other] < 0:
                    path.append(other)
                    upto[other] = begin[other]
                elif not done[other]:
                    low[row] = min(low[row], place[other])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[row])
            while low[row] == place[row] and not done[row]:
                member = open_rows.pop()
                done[member], found[member] = True, row
    return found


def chains(lane: np.ndarray, issue: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What serialization adds: rows (node, on) where `node` is the next in issue order of the same lane after `on`.

    lane : i[n], a process group (of a rank), -1: none; issue : i8[n], -1: not known.
    """
    rows = np.flatnonzero((lane >= 0) & (issue >= 0))
    rows = rows[np.lexsort((rows, issue[rows], lane[rows]))]
    same = lane[rows[1:]] == lane[rows[:-1]]
    return rows[1:][same], rows[:-1][same]


def late_starts(workload: Workload, limit_ps: int) -> list[int]:
    """Rows of the messages whose own start time is `limit_ps` or later, so that a run of that length never sends them.

    limit_ps : picoseconds after the workload's start.
    """
    ops = workload.ops
    return [int(row) for row in np.flatnonzero((ops["kind"] == SEND) & (ops["start_ps"] >= limit_ps))]
