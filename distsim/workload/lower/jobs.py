"""Several workloads of ranks side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsim.workload.graph import COMP, FIXED, Graph, Group
from distsim.workload.types import LABELS, Workload


def graph_of_several(graphs: Sequence[Graph]) -> Graph:
    """Jobs as one graph: the ranks of each follow those of the one before it, and so do node and group rows.

    Names of process groups get the job's number before them when there are several, e.g. ``job1.tp``.
    """
    nodes, deps = [graph.nodes.copy() for graph in graphs], [graph.deps.copy() for graph in graphs]
    sources = dict.fromkeys(graph.source for graph in graphs if graph.source)
    joined = Graph(0, nodes[0], deps[0], source=", ".join(sources))
    first = 0
    for job, graph in enumerate(graphs):
        rows, waits = nodes[job], deps[job]
        rows["rank"] += joined.ranks
        for field, offset in (("peer", joined.ranks), ("root", joined.ranks), ("group", len(joined.groups))):
            rows[field][rows[field] >= 0] += offset
        waits["node"] += first
        waits["on"] += first
        prefix = f"job{job}." if len(graphs) > 1 else ""
        joined.groups += [Group(prefix + group.name, np.asarray(group.ranks) + joined.ranks) for group in graph.groups]
        joined.counts.update({row + first: counts for row, counts in graph.counts.items()})
        joined.names.update({row + first: name for row, name in graph.names.items()})
        joined.warnings += graph.warnings
        joined.ranks += graph.ranks
        first += len(rows)
    joined.nodes, joined.deps = np.concatenate(nodes), np.concatenate(deps)
    joined.control = _joined([graph.control for graph in graphs], [np.zeros(len(rows), bool) for rows in deps])
    joined.computation = _joined([graph.computation for graph in graphs],
                                 [(rows["kind"] == COMP) | (rows["kind"] == FIXED) for rows in nodes])
    return joined


def _joined(given: list[np.ndarray | None], missing: list[np.ndarray]) -> np.ndarray | None:
    """The columns one after the other, each None replaced by what it stands for; None when all are."""
    if all(column is None for column in given):
        return None
    return np.concatenate([other if column is None else column for column, other in zip(given, missing)])


def label_parts(joined: Workload, parts: Sequence[Workload]) -> None:
    """Give a workload, whose operations are those of `parts` one after the other, the labels, instances, graph and
    placement of those that come from graphs. Nothing when none does. The settings are those of the first graph."""
    given = [part for part in parts if part.graph is not None]
    if not given:
        return
    nodes = instances = ranks = groups = 0
    labels, tables = [], []
    for part in parts:
        if part.labels is None or part.instances is None:
            labels.append(_unlabelled(len(part.ops)))
            continue
        rows, table = part.labels.copy(), part.instances.copy()
        for field, offset in (("node", nodes), ("instance", instances), ("rank", ranks), ("peer", ranks)):
            rows[field][rows[field] >= 0] += offset
        table["group"] += groups
        labels.append(rows)
        tables.append(table)
        nodes, instances = nodes + len(part.graph.nodes), instances + len(table)
        ranks, groups = ranks + part.graph.ranks, groups + len(part.graph.groups)
    joined.labels, joined.instances = np.concatenate(labels), np.concatenate(tables)
    joined.graph = graph_of_several([part.graph for part in given])
    joined.placement = np.concatenate([part.placement for part in given if part.placement is not None])
    joined.settings = given[0].settings


def _unlabelled(count: int) -> np.ndarray:
    rows = np.zeros(count, LABELS)
    for field in ("node", "instance", "rank", "peer", "tag"):
        rows[field] = -1
    return rows
