"""Switch affinity 1.0: a switch serves one job that spans, and such a job takes every slice alike.

The numbers at the functions are those of the rules in cluster.md section 2 (nslbv1.go of mind-cluster).
Per-slice node counts of a job that `affine` places differ by at most 1, always: a job at one switch has each slice once
or not at all; every row but the last has each of the M slices once, and the last one each at most once, whether the
rows are switches or logical switches. `any_nodes` promises nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distsim.scheduler.policies.tor import words
from distsim.scheduler.policies.tor.classes import Kind
from distsim.scheduler.policies.tor.switches import Plan, Switch, View, by_slice, emptiest_first, tightest

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState


def affine(view: View, count: int) -> Plan | str:
    """`count` nodes for a job by rules 1 to 5, or why not."""
    usable, closed = open_switches(view, count)
    if count < view.size or view.kind is Kind.FILLER:
        one = tightest(usable, count)                                     # rule 3
        if one is not None:
            return Plan([one.nodes[:count]], "one switch")
        if view.kind is Kind.FILLER:
            return words.no_switch(count, usable) + words.closed(closed)
    ordered = emptiest_first(usable)                                      # rule 2
    found = _whole(ordered, count, view.size) or _logical(ordered, count, view.size)
    return found + words.closed(closed) if isinstance(found, str) else found


def any_nodes(view: View, count: int) -> Plan | str:
    """Rule 6 for a normal job: any usable nodes from the emptiest of the switches that are open to it, or why not."""
    usable, closed = open_switches(view, count)
    rows: list[Sequence[NodeState]] = []
    left = count
    for switch in emptiest_first(usable):
        if left:
            rows.append(switch.nodes[:left])
            left -= len(rows[-1])
    if left:
        return f"open switches have {count - left} of {count} usable nodes (lack {left})" + words.closed(closed)
    return Plan(rows, "any nodes")


def open_switches(view: View, count: int) -> tuple[list[Switch], list[tuple[Switch, str]]]:
    """Rule 1: the switches that a job of `count` nodes may use, and the others with the job that closes them.

    A switch that another job spans is closed, unless the whole new job fits its usable nodes, or the new job is normal
    and only normal jobs use the switch."""
    usable: list[Switch] = []
    closed: list[tuple[Switch, str]] = []
    for switch in view.switches:
        uid = view.usage.spanned_by(switch.tor)
        shared = view.kind is Kind.NORMAL and view.usage.only_normal(switch.tor)
        if not uid or shared or count <= switch.free:
            usable.append(switch)
        else:
            closed.append((switch, uid))
    return usable, closed


def _whole(ordered: Sequence[Switch], count: int, size: int) -> Plan | None:
    """Rule 4: as many switches as there are rows, all with M usable nodes; of the last one the first nodes."""
    rows = -(-count // size)
    full = [switch for switch in ordered[:rows] if switch.free == size]
    if len(full) < rows:
        return None
    last = count - (rows - 1) * size
    return Plan([*(switch.nodes for switch in full[:-1]), full[-1].nodes[:last]], "whole switches")


def _logical(ordered: Sequence[Switch], count: int, size: int) -> Plan | str:
    """Rule 5: logical switches, whose row i has the i-th node of every slice.

    A job smaller than a switch takes the last row that is long enough, with nodes of the fullest switches."""
    rows = -(-count // size)
    last = count - (rows - 1) * size
    columns = _columns(ordered, size)
    lacking = [(number, len(column), need) for at, (number, column) in enumerate(columns)
               if len(column) < (need := rows if at < last else rows - 1)]
    if lacking:
        return words.short_columns(rows, sorted(lacking))
    first = len(columns[last - 1][1]) - 1 if count < size else 0
    made = [[column[first + row] for _, column in columns[:last if row == rows - 1 else size]] for row in range(rows)]
    return Plan([by_slice(row) for row in made], "logical switches")


def _columns(ordered: Sequence[Switch], size: int) -> list[tuple[int, list[NodeState]]]:
    """(slice_id, its nodes in order of the switches) of each slice, longest first, then by slice_id."""
    columns: list[list[NodeState]] = [[] for _ in range(size)]
    for switch in ordered:
        for node in switch.nodes:
            columns[node.slice].append(node)
    return sorted(enumerate(columns), key=lambda column: (-len(column[1]), column[0]))
