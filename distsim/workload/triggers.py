"""Triggers of a connection matrix as operations and edges.

What they do (ultraethernet/uet-htsim, trigger.cpp): a oneshot starts all its flows at the first report; a multishot
starts its k-th flow, in the order of the file, at the k-th report; a barrier starts all its flows once `count` reports
are in.

A oneshot or multishot becomes edges from each reporting flow to each flow it starts, so a flow on the reporting host
starts at once. A barrier becomes a JOIN on the lowest host that reports to it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from distsim.workload.cm_text import CmText, Trigger
from distsim.workload.types import EDGES, JOIN, ON_FIRE, ON_RECV_DONE, ON_SEND_DONE, OPS, TRIGGER_DELAY

MAX_EDGES = 1 << 25


@dataclass
class _Graph:
    """Edges as (op that reports, op that is told, when), and what the ops wait for."""

    cm: CmText
    ops: np.ndarray
    edges: list[tuple[int, int, int]] = field(default_factory=list)
    joins: list[np.ndarray] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def connect(self, reports: list[tuple[int, int]], target: int, any_of: int) -> None:
        """Start `target` at the `any_of`-th of `reports` (op, when), or when all are in (0)."""
        self.edges += [(src, target, when) for src, when in reports]
        self.ops["deps"][target], self.ops["any_of"][target] = len(reports), any_of


def add_triggers(cm: CmText, ops: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(OPS with the barriers appended, EDGES, warnings) for the flows `ops` of `cm`, whose `deps` are filled in.

    Raises InputError with file and line for a trigger that is undefined, that nothing or too little reports to, or a
    barrier with more reports than it counts.
    """
    reports, started = _users(cm)
    graph = _Graph(cm, ops)
    idle = []
    for number, trigger in cm.triggers.items():
        if number not in started:
            idle.append(number)
        elif number not in reports:
            row = started[number][0]
            cm.fail(trigger.line, f"trigger {number} is never fired: no flow names it as send_done_trigger or "
                                  f"recv_done_trigger, so {cm.flow_name(row)} (line {cm.lines[row]}) would never start")
        else:
            _BUILDERS[trigger.kind](graph, number, trigger, reports[number], started[number])
        if len(graph.edges) > MAX_EDGES:
            cm.fail(trigger.line, f"the triggers so far make {len(graph.edges)} notices; at most {MAX_EDGES}")
    if idle:
        graph.warnings.append(f"{cm.file}:{cm.triggers[idle[0]].line}: trigger {idle[0]} starts no flow"
                              + (f" ({len(idle)} triggers in all)" if len(idle) > 1 else ""))
    edges = np.array([(*edge, TRIGGER_DELAY) for edge in graph.edges], EDGES)
    return np.concatenate([ops, *graph.joins]), edges, graph.warnings


def _users(cm: CmText) -> tuple[dict[int, list[tuple[int, int]]], dict[int, list[int]]]:
    """(reports to each trigger as (flow row, when), flow rows that each trigger starts)."""
    reports, started = defaultdict(list), defaultdict(list)
    for row, (waits, sent, received) in enumerate(zip(cm.trigger, cm.send_done, cm.recv_done, strict=True)):
        for number in (waits, sent, received):
            if number and number not in cm.triggers:
                cm.fail(cm.lines[row], f"trigger {number} is not defined; no line says: trigger id {number} ...")
        if waits:
            started[waits].append(row)
        if sent:
            reports[sent].append((row, ON_SEND_DONE))
        if received:
            reports[received].append((row, ON_RECV_DONE))
    return reports, started


def _oneshot(graph: _Graph, number: int, trigger: Trigger, reports: list[tuple[int, int]], flows: list[int]) -> None:
    if len(reports) > 1:
        graph.warnings.append(f"{graph.cm.file}:{trigger.line}: {len(reports)} flows report to oneshot {number}; the "
                              "first report starts its flows, later ones do nothing")
    for flow in flows:
        graph.connect(reports, flow, any_of=1 if len(reports) > 1 else 0)


def _multishot(graph: _Graph, number: int, trigger: Trigger, reports: list[tuple[int, int]], flows: list[int]) -> None:
    if len(flows) > len(reports):
        row = flows[len(reports)]
        graph.cm.fail(trigger.line, f"multishot {number} starts one flow a report and gets {len(reports)} reports for "
                                    f"{len(flows)} flows; {graph.cm.flow_name(row)} (line {graph.cm.lines[row]}) would "
                                    "never start")
    for place, flow in enumerate(flows, 1):
        graph.connect(reports, flow, any_of=place if place < len(reports) else 0)


def _barrier(graph: _Graph, number: int, trigger: Trigger, reports: list[tuple[int, int]], flows: list[int]) -> None:
    if trigger.count != len(reports):
        graph.cm.fail(trigger.line, f"barrier {number} counts {trigger.count} reports, but {len(reports)} are made"
                                    + ("; it would never fire" if len(reports) < (trigger.count or 0) else ""))
    join = np.zeros(1, OPS)
    row = len(graph.ops) + len(graph.joins)
    join["user_id"], join["kind"], join["dst"], join["deps"] = number, JOIN, -1, len(reports)
    join["host"] = min(graph.cm.src[flow] if when == ON_SEND_DONE else graph.cm.dst[flow] for flow, when in reports)
    graph.joins.append(join)
    graph.edges += [(src, row, when) for src, when in reports]
    for flow in flows:
        graph.connect([(row, ON_FIRE)], flow, any_of=0)


_BUILDERS = {"oneshot": _oneshot, "multishot": _multishot, "barrier": _barrier}
