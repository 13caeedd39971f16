"""The driver: nested windows over units of nodes, each node advancing by itself.

A unit of level k runs its children in windows as wide as the least lookahead between them; what a child sends to
another arrives after the window, so nothing is exchanged inside one. Level 1's children are nodes. A call can stop
anywhere (a table is short, the budget is spent) and be repeated with the same end: windows start at the earliest
event that is left, which is always safe.

One function walks the tree of units with its cursors in the UNIT rows: numba optimises the whole of a callee again in
every caller, so layers of drivers would cost seconds of compile time each.
"""

from __future__ import annotations

from .jit import once, small
from .nic import run_nic, settle
from .shared import run_shared
from .status import BUDGET, FAULT, NEED, OK
from .switch import run_eager, run_lazy

NEVER = 1 << 62
NIC = 0


@small
def earliest(s, first, count):
    """Earliest event of the node rows `first`.. ."""
    at = NEVER
    for k in range(first, first + count):
        at = min(at, s.next_ps[k])
    return at


@small
def open_window(s, unit):
    """Start the unit's next window at its earliest event; False when it has reached its end."""
    at = earliest(s, unit.node_first, unit.node_count)
    if at >= unit.end_ps:
        return False
    unit.window_ps = min(unit.end_ps, at + unit.width_ps)
    unit.cursor = 0
    return True


@once
def run_window(s, end_ps, budget):
    """Do everything on this rank that happens before `end_ps`. Returns a status of `status`."""
    clock = s.clock[0]
    clock.budget = budget
    clock.need = -1
    top = len(s.units) - 1
    at = top
    s.units[at].end_ps = end_ps
    s.units[at].cursor = s.units[at].count
    while True:
        unit = s.units[at]
        if unit.cursor >= unit.count and not open_window(s, unit):
            if at == top:
                return OK
            at = unit.parent
            continue
        child = unit.first + unit.cursor
        unit.cursor += 1
        if unit.level > 1:
            at = child
            s.units[at].end_ps = unit.window_ps
            s.units[at].cursor = s.units[at].count
            continue
        row = s.order[child]
        window = unit.window_ps
        if s.next_ps[row] >= window:
            continue
        clock.end_ps = window
        node = s.nodes[row]
        if node.kind == NIC:
            done = run_nic(s, row, window)
        elif node.shared != 0:
            done = run_shared(s, row, window)
        elif node.eager != 0:
            done = run_eager(s, row, window)
        else:
            done = run_lazy(s, row, window)
        if clock.fault != 0:
            return FAULT
        if not done:
            return NEED if clock.need >= 0 else BUDGET


@once
def settle_nics(s, end_ps, budget):
    """At an instant: bring every NIC up to date. Returns a status; not OK: call again."""
    clock = s.clock[0]
    clock.budget = budget
    clock.need = -1
    if settle(s, end_ps):
        return FAULT if clock.fault != 0 else OK
    return NEED if clock.need >= 0 else BUDGET


@once
def next_event_ps(s):
    """Earliest event of this rank's nodes, and of what leaves for other ranks."""
    return earliest(s, 0, len(s.next_ps))
