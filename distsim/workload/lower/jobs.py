"""Several workloads of ranks side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from distsim.workload.graph import COMP, FIXED, Graph, Group
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import LABELS, LOG_OP, ROLE_BEGIN, ROLE_END, ROLE_NODE, ROLE_TRANSFER, Workload

LOGGED = (ROLE_NODE, ROLE_BEGIN, ROLE_END, ROLE_TRANSFER)       # roles of operations that "all" logs


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
    placement of those that come from graphs. Nothing when none does.

    The settings are those of the first graph, with the scale-up groups of all, and logging of all operations when one
    of them wants it, for the records of ranks.
    """
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
    settings = [part.settings for part in given]
    everything = any(one.log_ops == "all" for one in settings)
    if everything:
        joined.ops["flags"][np.isin(joined.labels["role"], LOGGED) & (joined.labels["rank"] >= 0)] |= LOG_OP
    joined.settings = replace(settings[0], scale_up=_scale_up(given),
                              log_ops="all" if everything else settings[0].log_ops)


def _scale_up(parts: Sequence[Workload]) -> ScaleUp | None:
    """The scale-up groups of all parts, None when no part has any. Groups keep their numbers unless an earlier part has
    one of them; then all of the part are raised by the greatest so far and 1."""
    if all(part.settings.scale_up is None for part in parts):
        return None
    group, subgroup = [], []
    ids: list[int] = []
    rates: list[tuple[int, int, int]] = []
    for part in parts:
        one, ranks = part.settings.scale_up, part.graph.ranks
        if one is None:
            group.append(np.full(ranks, -1, "i4"))
            subgroup.append(np.full(ranks, -1, "i4"))
            continue
        group.append(np.where(one.group >= 0, one.group + len(ids), -1).astype("i4"))
        subgroup.append(np.asarray(one.subgroup))
        offset = max(ids) + 1 if set(ids) & set(one.ids) else 0
        ids += [number + offset for number in one.ids]
        rates += zip(one.rate_bps, one.switch_ps, one.cable_ps)
    rate_bps, switch_ps, cable_ps = zip(*rates) if rates else ((), (), ())
    return ScaleUp(np.concatenate(group), np.concatenate(subgroup), tuple(ids), rate_bps, switch_ps, cable_ps)


def _unlabelled(count: int) -> np.ndarray:
    rows = np.zeros(count, LABELS)
    for field in ("node", "instance", "rank", "peer", "tag"):
        rows[field] = -1
    return rows
