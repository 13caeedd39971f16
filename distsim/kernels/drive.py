"""The driver: nested windows over units of nodes, each node advancing by itself.

A unit of level k runs its children in windows as wide as the least lookahead between them; what a child sends to
another arrives after the window, so nothing is exchanged inside one. Level 1's children are nodes. A call can stop
anywhere (a table is short, the budget is spent) and be repeated with the same end: windows start at the earliest
event that is left, which is always safe.
"""

from __future__ import annotations

from .jit import kernel
from .nic import run_nic
from .status import BUDGET, FAULT, NEED, OK
from .switch import run_eager, run_lazy

NEVER = 1 << 62
NIC = 0


@kernel
def run_node(s, row, end_ps):
    """Advance one node to `end_ps`; False when it stopped on the way."""
    node = s.nodes[row]
    if node.kind == NIC:
        return run_nic(s, row, end_ps)
    if node.eager != 0:
        return run_eager(s, row, end_ps)
    return run_lazy(s, row, end_ps)


@kernel
def earliest(s, unit):
    """Earliest event of a unit's nodes."""
    first = unit.node_first
    at = NEVER
    for k in range(first, first + unit.node_count):
        if s.next_ps[k] < at:
            at = s.next_ps[k]
    return at


@kernel
def run_level_1(s, number, end_ps):
    """Run a unit of nodes to `end_ps`."""
    unit = s.units[number]
    clock = s.clock[0]
    while True:
        at = earliest(s, unit)
        if at >= end_ps:
            return True
        window = min(end_ps, at + unit.width_ps)
        clock.end_ps = window
        for k in range(unit.first, unit.first + unit.count):
            row = s.order[k]
            if s.next_ps[row] < window and not run_node(s, row, window):
                return False
        if clock.fault != 0:
            return False


@kernel
def run_level_2(s, number, end_ps):
    """Run a unit of level-1 units to `end_ps`."""
    unit = s.units[number]
    while True:
        at = earliest(s, unit)
        if at >= end_ps:
            return True
        window = min(end_ps, at + unit.width_ps)
        for child in range(unit.first, unit.first + unit.count):
            if not run_level_1(s, child, window):
                return False


@kernel
def run_level_3(s, number, end_ps):
    """Run a unit of level-2 units to `end_ps`."""
    unit = s.units[number]
    while True:
        at = earliest(s, unit)
        if at >= end_ps:
            return True
        window = min(end_ps, at + unit.width_ps)
        for child in range(unit.first, unit.first + unit.count):
            if not run_level_2(s, child, window):
                return False


@kernel
def run_window(s, end_ps, budget):
    """Do everything on this rank that happens before `end_ps`. Returns a status of `status`."""
    clock = s.clock[0]
    clock.budget = budget
    clock.need = -1
    top = len(s.units) - 1
    level = s.units[top].level
    if level == 1:
        done = run_level_1(s, top, end_ps)
    elif level == 2:
        done = run_level_2(s, top, end_ps)
    else:
        done = run_level_3(s, top, end_ps)
    if clock.fault != 0:
        return FAULT
    if done:
        return OK
    if clock.need >= 0:
        return NEED
    return BUDGET


@kernel
def next_event_ps(s):
    """Earliest event of this rank's nodes, and of what leaves for other ranks."""
    at = NEVER
    for k in range(len(s.next_ps)):
        if s.next_ps[k] < at:
            at = s.next_ps[k]
    return at
