"""GOAL schedules (LogGOPSim, ATLAHS): sends, receives and calculations of every rank, with their order.

What they do here: a send is a message over the fabric and is done when its last byte has been sent; a receive is done
when the message that matches it (sender, tag) is in; a calc takes its time. The LogGOPS parameters (o, g, L, G, O, S)
have no place here: the NICs, switches and links of the configuration stand for them.

A calc is work of the rank's NPU, as long as all calcs of a rank name the same cpu: LogGOPSim runs them one after the
other, the NPU runs those that could run at once side by side at equal shares, so the last ends at the same time. A rank
whose calcs name several cpus runs every calc at full speed, with a warning. cpu of a send or receive is not used.
"""

from __future__ import annotations

from array import array
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from distsim.quantities import Time
from distsim.workload.base import Context, spelled
from distsim.workload.goal_text import ANY, GoalText, parse
from distsim.workload.graph import COMP, DEPS, FIXED, NODES, RECV, SEND, Graph
from distsim.workload.lower import Settings, lower
from distsim.workload.replay import ReplaySpec, placement, scale_up
from distsim.workload.types import Workload

READS_FILE = True


class GoalSpec(ReplaySpec):
    """A GOAL schedule."""

    kind: Literal["goal"]
    file: str = Field(description="Path of the schedule (text, .goal).")
    calc_unit: Annotated[Time, Field(gt=0, le=10**12)] = spelled(
        "1ns", "Time of one unit of calc, above 0 to 1s. LogGOPSim and ATLAHS count nanoseconds.")


Spec = GoalSpec


def build(spec: GoalSpec, context: Context) -> Workload:
    """The schedule's sends, receives and calcs on the hosts; InputError when the file is malformed or has more ranks
    than there are hosts."""
    graph = read(spec.file, spec.calc_unit)
    hosts = placement(spec.hosts, graph.ranks, context)
    return lower(graph, Settings(scale_up=scale_up(spec, hosts, context), log_ops="all"), hosts, context.hosts)


def read(file: str, calc_ps: int = 1000) -> Graph:
    """The Graph of a GOAL schedule. calc_ps : picoseconds of one unit of calc.

    Node ids run from 0 within each rank, in the order of the file; META nodes of ``irequires`` (goal_starts.py) come
    last. Raises InputError with file and line.
    """
    goal = parse(file, calc_ps)
    warnings = list(goal.warnings)
    nodes, order = _nodes(goal)
    warnings += _set_kinds_of_calcs(goal, nodes, _column(goal.cpu, "u1")[order])
    row_of = np.empty(len(order), "i4")
    row_of[order] = np.arange(len(order))
    _match_any_tags(goal, nodes, row_of)
    pairs = np.unique(row_of[_column(goal.node, "i4")].astype("i8") << 32 | row_of[_column(goal.on, "i4")])
    deps = np.zeros(len(pairs), DEPS)
    deps["node"], deps["on"] = pairs >> 32, pairs & 0xFFFFFFFF
    names = {int(row_of[row]): label for row, label in goal.labels.items()}
    return Graph(goal.ranks, nodes, deps, warnings=warnings, source=file, names=names)


def _column(values: array[int], dtype: str) -> np.ndarray:
    """The array of a column, which may be empty."""
    return np.frombuffer(values, dtype) if len(values) else np.zeros(0, dtype)


def _nodes(goal: GoalText) -> tuple[np.ndarray, np.ndarray]:
    """(NODES by rank, row of the file's order of each)."""
    blocks = sorted(goal.blocks.items())
    parts = [np.arange(*rows) for _, rows in blocks]
    order = np.concatenate([np.zeros(0, "i8"), *parts]).astype("i8")
    nodes = np.zeros(len(order), NODES)
    nodes["rank"] = np.repeat([rank for rank, _ in blocks], [len(part) for part in parts])
    nodes["id"] = np.concatenate([np.zeros(0, "i8"), *(np.arange(len(part)) for part in parts)])
    kind, size = _column(goal.kind, "u1")[order], _column(goal.size, "i8")[order]
    nodes["kind"], nodes["peer"], nodes["tag"] = kind, _column(goal.peer, "i4")[order], _column(goal.tag, "i8")[order]
    nodes["duration_ps"] = np.where(kind == COMP, size, 0)
    nodes["size_bytes"] = np.where((kind == SEND) | (kind == RECV), size, 0)
    nodes["group"], nodes["root"], nodes["issue"] = -1, -1, -1
    return nodes, order


def _set_kinds_of_calcs(goal: GoalText, nodes: np.ndarray, cpu: np.ndarray) -> list[str]:
    """Make calcs of ranks with several cpus FIXED; the warning, if there are any."""
    calcs = np.flatnonzero(nodes["kind"] == COMP)
    rank = nodes["rank"][calcs]
    least, most = np.full(goal.ranks, 255), np.zeros(goal.ranks, "i8")
    np.minimum.at(least, rank, cpu[calcs])
    np.maximum.at(most, rank, cpu[calcs])
    several = np.flatnonzero(most > least)
    if not len(several):
        return []
    nodes["kind"][calcs[np.isin(rank, several)]] = FIXED
    return [f"{goal.file}: calcs of rank {several[0]} name several cpus ({len(several)} ranks do); calcs of these "
            "ranks run at full speed, also two at once on one cpu"]


def _match_any_tags(goal: GoalText, nodes: np.ndarray, row_of: np.ndarray) -> None:
    """Give each recv of any tag the tag of the sends that it can match; InputError when they have several."""
    if not goal.any_tag:
        return
    sends = nodes[nodes["kind"] == SEND]
    order = np.argsort(sends["peer"], kind="stable")
    begin = np.searchsorted(sends["peer"][order], np.arange(goal.ranks + 1))
    for row, line in goal.any_tag.items():
        node = nodes[row_of[row]]
        mine = sends[order[begin[node["rank"]]:begin[node["rank"] + 1]]]
        if node["peer"] != ANY:
            mine = mine[mine["rank"] == node["peer"]]
        tags = np.unique(mine["tag"])
        if len(tags) > 1:
            goal.fail(line, f"recv of any tag could match the tags {tags[0]} and {tags[1]}; name the tag")
        nodes["tag"][row_of[row]] = tags[0] if len(tags) else 0
