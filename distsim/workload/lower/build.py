"""`lower`: a graph of ranks becomes operations on hosts, with every collective expanded into transfers.

Rules: scala-computing/docs, models/chakra-workload/workload-execution.md. Rows: one operation a node (the BEGIN of a
collective), the ENDs, with synchronization the entries of the barriers, the arrivals of sends over the scale-up fabric,
then the collectives in the order of their first node, each after its barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from distsim.workload import collectives
from distsim.workload.base import MAX_OPS
from distsim.workload.collectives.schedule import TRANSFERS, WAITS, Options, Schedule
from distsim.workload.graph import BARRIER, COLLECTIVES, Graph
from distsim.workload.lower.check import check_graph, fail
from distsim.workload.lower.depend import dependencies
from distsim.workload.lower.instances import Found, find_instances
from distsim.workload.lower.matching import match
from distsim.workload.lower.nodes import Nodes, fill_nodes
from distsim.workload.lower.plan import Plan, plan
from distsim.workload.lower.settings import Settings
from distsim.workload.lower.tables import Tables
from distsim.workload.lower.units import Batch, count_local, fill, lay_out
from distsim.workload.types import ROLE_SYNC, ROLE_TRANSFER, Workload

SYNC_ALGORITHM = "tree"


@dataclass(frozen=True)
class _Shape:
    """What instances with the same schedule have in common. counts : instance whose counts it has, -1: none; server :
    consecutive members that share a scale-up group."""

    collective: int
    algorithm: str
    members: int
    size_bytes: int
    root: int
    counts: int
    server: int

    def options(self, settings: Settings) -> Options:
        """How its data are cut."""
        return replace(settings.options, server=self.server)


def lower(graph: Graph, settings: Settings, placement: np.ndarray, hosts: int) -> Workload:
    """The operations of a graph.

    placement : i4[ranks], host of each rank, all different; hosts : of the fabric. Raises InputError, with the graph's
    source as file, for what the modules beside this one refuse, an algorithm that does not fit its group, and more than
    MAX_OPS operations. A receive that nothing is sent to waits for one notice more than it has edges: it never ends.
    """
    check_graph(graph, placement, hosts)
    placement = np.asarray(placement, "i4")
    found = find_instances(graph, settings)
    matches = match(graph, settings.strict_sizes)
    deps = dependencies(graph, found.expanded, settings.serialization)
    shapes = _shapes(graph, found, settings)
    _check_servers(graph, found, shapes, settings)
    _check_count(graph, found, shapes, settings)
    nodes = Nodes.of(graph, found.expanded, settings)
    batches = _batches(graph, found, shapes, settings, nodes)
    if settings.scale_up is not None:
        for batch in batches:
            count_local(batch, settings.scale_up)
    rows = lay_out(batches, nodes.rows, nodes.sends + 1)
    if rows > MAX_OPS:
        fail(graph, f"{rows} operations; at most {MAX_OPS}")
    edges = len(deps) + len(matches.send) + nodes.locals + sum(batch.edges for batch in batches)
    tables = Tables(rows, edges, settings, placement)
    fill_nodes(tables, graph, nodes, deps, matches)
    _label_instances(tables, found, nodes)
    for batch in batches:
        fill(tables, batch)
    tables.count_deps()
    tables.ops["deps"][matches.lost] += 1
    return Workload(tables.ops, tables.edges, warnings=[*graph.warnings, *found.warnings, *matches.warnings],
                    labels=tables.labels, instances=found.rows, graph=graph, placement=placement, settings=settings)


def _shapes(graph: Graph, found: Found, settings: Settings) -> list[_Shape]:
    names = collectives.ALGORITHMS
    servers = [settings.options.server if settings.scale_up is None or settings.options.server > 1
               else settings.scale_up.server_of(group.ranks) for group in graph.groups]
    return [_Shape(int(row["collective"]), names[row["algorithm"]], int(row["group_size"]), int(row["size_bytes"]),
                   int(found.roots[index]), index if index in found.counts else -1,
                   servers[row["group"]])
            for index, row in enumerate(found.rows)]


def _check_servers(graph: Graph, found: Found, shapes: list[_Shape], settings: Settings) -> None:
    """Refuse a hierarchical collective of members that share scale-up groups in no regular way: it would be a ring."""
    if settings.scale_up is None:
        return
    for index, shape in enumerate(shapes):
        if shape.algorithm == "hierarchical" and shape.server == 1:
            inside = settings.scale_up.group[graph.groups[found.rows["group"][index]].ranks]
            inside = inside[inside >= 0]
            if len(np.unique(inside)) < len(inside):
                _refuse(graph, found, index, shape, "its members are not runs of equal length, each of one scale-up "
                                                    "group")


def _check_count(graph: Graph, found: Found, shapes: list[_Shape], settings: Settings) -> None:
    """InputError when there would be too many operations, before any is made."""
    total = len(graph.nodes)
    known: dict[_Shape, int] = {}
    for index, shape in enumerate(shapes):
        if shape not in known:
            known[shape] = _message_count(graph, found, index, shape, settings)
        total += known[shape] + 2 * (shape.members - 1) * settings.synchronization
    if total > MAX_OPS:
        fail(graph, f"its {len(shapes)} collectives and {len(graph.nodes)} nodes make {total} operations; at most "
                    f"{MAX_OPS}")


def _message_count(graph: Graph, found: Found, index: int, shape: _Shape, settings: Settings) -> int:
    """Transfers of an instance."""
    if shape.members == 1:
        return 0
    try:
        return collectives.message_count(shape.collective, shape.algorithm, shape.members, shape.size_bytes, shape.root,
                                         shape.options(settings), found.counts.get(shape.counts))
    except ValueError as error:
        _refuse(graph, found, index, shape, str(error))


def _expand(graph: Graph, found: Found, index: int, shape: _Shape, settings: Settings) -> Plan:
    """The plan of a shape; a group of one transfers nothing."""
    if shape.members == 1:
        return plan(Schedule(1, np.zeros(0, TRANSFERS), np.zeros(0, WAITS), np.zeros(0, WAITS)))
    try:
        return plan(collectives.expand(shape.collective, shape.algorithm, shape.members, shape.size_bytes, shape.root,
                                       shape.options(settings), found.counts.get(shape.counts)))
    except ValueError as error:
        _refuse(graph, found, index, shape, str(error))


def _refuse(graph: Graph, found: Found, index: int, shape: _Shape, why: str) -> NoReturn:
    group = graph.groups[found.rows["group"][index]].name
    fail(graph, f"process group {group!r}: {COLLECTIVES[shape.collective]} by {shape.algorithm} among {shape.members} "
                f"ranks: {why}")


def _batches(graph: Graph, found: Found, shapes: list[_Shape], settings: Settings, nodes: Nodes) -> list[Batch]:
    """The units of all instances, those of one shape together; barriers come before their collectives."""
    step = 2 if settings.synchronization else 1
    of_shape: dict[_Shape, list[int]] = {}
    for index, shape in enumerate(shapes):
        of_shape.setdefault(shape, []).append(index)
    batches = []
    of_size: dict[int, list[int]] = {}
    for shape, indices in of_shape.items():
        made = _expand(graph, found, indices[0], shape, settings)
        batches.append(_batch(graph, found, nodes, made, ROLE_TRANSFER, indices, step, step - 1))
        of_size.setdefault(shape.members, []).extend(indices)
    if settings.synchronization:
        for members, indices in of_size.items():
            shape = _Shape(BARRIER, SYNC_ALGORITHM, members, 0, 0, -1, 1)
            made = _expand(graph, found, indices[0], shape, settings)
            batches.append(_batch(graph, found, nodes, made, ROLE_SYNC, indices, step, 0))
    return batches


def _batch(graph: Graph, found: Found, nodes: Nodes, made: Plan, role: int, indices: list[int], step: int,
           offset: int) -> Batch:
    table = np.stack([found.members[index] for index in indices]).astype("i4")
    instance = np.array(indices, "i8")
    entries, exits = (nodes.entry[table], table) if role == ROLE_SYNC else (table, nodes.exit[table])
    empty = np.zeros(len(indices), "i8")
    return Batch(made, role, instance * step + offset, instance, table, graph.nodes["rank"][table], entries, exits,
                 empty, empty, empty)


def _label_instances(tables: Tables, found: Found, nodes: Nodes) -> None:
    """Name the instance at the joins where its members enter and leave it."""
    for index, table in enumerate(found.members):
        for rows in (nodes.entry[table], table, nodes.exit[table]):
            tables.labels["instance"][rows] = index
