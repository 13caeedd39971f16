"""``irequires`` of GOAL in a Graph, whose only dependency is "waits until the other is done".

``a irequires b``: a waits until b has started. In the engine an operation starts at the moment when all it waits for is
done, so b has started once what b waits for is done: a waits for that. When b waits for several operations, a META node
(no time) stands for their end, and a waits for it; when b waits for nothing, it starts at once and a waits for nothing.
This is exact but for one thing: LogGOPSim starts an operation only when its CPU and NIC are free too, which the engine
has no notion of.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from distsim.workload.graph import META

if TYPE_CHECKING:
    from distsim.workload.goal_text import GoalText

AT_ONCE = -1


def add_starts(goal: GoalText, starts: list[tuple[int, int, int]], begin: int) -> None:
    """Add to a rank's dependencies what its ``irequires`` come to.

    starts : (row, row that must have started, line); begin : where the rank's dependencies begin in goal.node and
    goal.on. Raises InputError with the line for operations that start only after each other.
    """
    if not starts:
        return
    requires: dict[int, list[int]] = defaultdict(list)
    for row, on in zip(goal.node[begin:], goal.on[begin:], strict=True):
        requires[row].append(on)
    after: dict[int, list[int]] = defaultdict(list)
    for row, on, _ in starts:
        after[row].append(on)
    gates: dict[int, int] = {}
    for _, on, line in starts:
        for target in _inner_first(goal, on, after, gates, line):
            gates[target] = _gate(goal, requires[target] + [gates[inner] for inner in after[target]])
    for row, on, line in starts:
        if gates[on] == row:
            goal.fail(line, f"{_name(goal, row)} and {_name(goal, on)} wait for each other")
        if gates[on] != AT_ONCE:
            goal.node.append(row)
            goal.on.append(gates[on])


def _inner_first(goal: GoalText, row: int, after: dict[int, list[int]], gates: dict[int, int], line: int) -> list[int]:
    """`row` and all whose start it waits for, directly or not, that have no gate yet; each after those it waits for."""
    order: list[int] = []
    path, open_rows = [(row, iter(after[row]))], {row}
    if row in gates:
        return order
    seen: set[int] = set()
    while path:
        inner = next(path[-1][1], None)
        if inner is None:
            done, _ = path.pop()
            open_rows.discard(done)
            seen.add(done)
            order.append(done)
        elif inner in open_rows:
            goal.fail(line, f"{_name(goal, inner)} would start only after its own start (irequires)")
        elif inner not in gates and inner not in seen:
            path.append((inner, iter(after[inner])))
            open_rows.add(inner)
    return order


def _gate(goal: GoalText, rows: list[int]) -> int:
    """The row that is done when all of `rows` are: the only one, a new META node, or AT_ONCE for none."""
    wanted = [row for row in dict.fromkeys(rows) if row != AT_ONCE]
    if len(wanted) < 2:
        return wanted[0] if wanted else AT_ONCE
    gate = goal.add(META, 0, -1, 0, 0)
    goal.node.extend([gate] * len(wanted))
    goal.on.extend(wanted)
    return gate


def _name(goal: GoalText, row: int) -> str:
    return goal.labels.get(row, f"operation {row}")
