"""Which collective nodes of different ranks are one collective.

The k-th collective of a process group at each of its members is one instance. Where the graph records the order in
which a rank issued them, that order counts, else the order of its file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from distsim.workload import collectives
from distsim.workload.graph import BROADCAST, COLL, COLLECTIVES, GATHER, REDUCE, SCATTER, Graph
from distsim.workload.lower.check import MOST_NAMED, fail, name, some, source
from distsim.workload.lower.settings import Settings
from distsim.workload.types import INSTANCES

ROOTED = (REDUCE, GATHER, SCATTER, BROADCAST)


@dataclass
class Found:
    """Instances in the order of their first node.

    rows : INSTANCES[k]; roots : i4[k], member index; members : node row of each member, in the order of the group, one
    i8[members] an instance; expanded : bool[nodes], nodes that are part of one; counts : i8[members, members] bytes
    from each to each, of an alltoallv, by instance; warnings : lines for the user.
    """

    rows: np.ndarray
    roots: np.ndarray
    members: list[np.ndarray]
    expanded: np.ndarray
    counts: dict[int, np.ndarray] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def find_instances(graph: Graph, settings: Settings) -> Found:
    """The collectives of a graph. InputError for a group with an unknown or doubled rank, and where members disagree on
    number, type, size or root; nodes outside their group or without type or size are not expanded, with a warning."""
    nodes = graph.nodes
    rows = np.flatnonzero(nodes["kind"] == COLL)
    bad = (nodes["group"][rows] < 0) | (nodes["group"][rows] >= len(graph.groups))
    if bad.any():
        fail(graph, f"{name(graph, rows[bad][0])}: a collective without a process group that is declared")
    usable = (nodes["collective"][rows] < len(COLLECTIVES)) & (nodes["size_bytes"][rows] >= 0)
    warnings = _not_expanded(graph, rows[~usable], "without a type or size")
    rows = rows[usable]
    rows = rows[np.argsort(nodes["group"][rows], kind="stable")]
    begin = np.searchsorted(nodes["group"][rows], np.arange(len(graph.groups) + 1))
    tables: list[np.ndarray] = []
    groups: list[int] = []
    outside: list[np.ndarray] = []
    for group in range(len(graph.groups)):
        table, others = _group_table(graph, group, rows[begin[group]:begin[group + 1]])
        tables.extend(table)
        groups.extend([group] * len(table))
        outside.append(others)
    warnings += _not_expanded(graph, np.concatenate([*outside, np.zeros(0, "i8")]).astype("i8"),
                              "on a rank outside its process group")
    return _collect(graph, settings, tables, np.array(groups, "i8"), warnings)


def _collect(graph: Graph, settings: Settings, tables: list[np.ndarray], groups: np.ndarray,
             warnings: list[str]) -> Found:
    first = np.array([table.min() for table in tables], "i8")
    order = np.argsort(first, kind="stable").tolist()
    found = Found(np.zeros(len(tables), INSTANCES), np.zeros(len(tables), "i4"), [tables[i] for i in order],
                  np.zeros(len(graph.nodes), bool), warnings=warnings)
    place = np.arange(len(groups)) - np.searchsorted(groups, groups)
    heads = np.array([table[0] for table in found.members], "i8")
    found.rows["group"], found.rows["order"] = groups[order], place[order]
    found.rows["collective"] = graph.nodes["collective"][heads]
    found.rows["size_bytes"] = graph.nodes["size_bytes"][heads]
    found.rows["group_size"] = [len(table) for table in found.members]
    for number in np.unique(found.rows["collective"]).tolist():
        valid = collectives.ALGORITHMS_OF[number]
        chosen = settings.algorithms.get(number, valid[0])
        if chosen not in valid:
            fail(graph, f"{COLLECTIVES[number]} has no algorithm {chosen!r}; valid: {', '.join(valid)}")
        found.rows["algorithm"][found.rows["collective"] == number] = collectives.ALGORITHMS.index(chosen)
    for index, table in enumerate(found.members):
        found.expanded[table] = True
        if found.rows["collective"][index] in ROOTED:
            found.roots[index] = _root(graph, int(found.rows["group"][index]), table)
        if graph.counts and not graph.counts.keys().isdisjoint(table.tolist()):
            found.counts[index] = _counts(graph, table)
            found.rows["size_bytes"][index] = graph.nodes["size_bytes"][table].max()
    return found


def _not_expanded(graph: Graph, rows: np.ndarray, why: str) -> list[str]:
    if not len(rows):
        return []
    text = some([name(graph, row) for row in rows[:MOST_NAMED].tolist()], len(rows))
    return [f"{source(graph)}a collective {why} is not expanded and takes no time: {text}"]


def _group_table(graph: Graph, group: int, rows: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """(node row of each member, one i8[members] an instance; nodes of ranks outside the group)."""
    ranks = np.asarray(graph.groups[group].ranks, "i8")
    order = np.argsort(ranks, kind="stable")
    _check_group(graph, group, ranks[order])
    if not len(rows):
        return [], rows
    at = np.searchsorted(ranks[order], graph.nodes["rank"][rows])
    inside = ranks[order][np.minimum(at, len(ranks) - 1)] == graph.nodes["rank"][rows]
    rows, others = rows[inside], rows[~inside]
    member = order[at[inside]]
    counts = np.bincount(member, minlength=len(ranks))
    if counts.min() != counts.max():
        low, high = int(counts.argmin()), int(counts.argmax())
        fail(graph, f"{_title(graph, group)}: rank {ranks[low]} has {counts[low]} collectives, rank {ranks[high]} "
                    f"{counts[high]}; every member must have as many")
    issue = graph.nodes["issue"][rows].copy()
    unknown = np.zeros(len(ranks), bool)
    unknown[member[issue < 0]] = True
    issue[unknown[member]] = 0
    table = rows[np.lexsort([rows, issue, member])].reshape(len(ranks), -1).T
    _check_agreement(graph, group, table)
    return list(np.ascontiguousarray(table)), others


def _title(graph: Graph, group: int) -> str:
    return f"process group {graph.groups[group].name!r}"


def _check_group(graph: Graph, group: int, ascending: np.ndarray) -> None:
    if not len(ascending):
        fail(graph, f"{_title(graph, group)} has no ranks")
    if ascending[0] < 0 or ascending[-1] >= graph.ranks:
        bad = ascending[0] if ascending[0] < 0 else ascending[-1]
        fail(graph, f"{_title(graph, group)} has an unknown rank {bad}; the ranks are 0 to {graph.ranks - 1}")
    twice = np.flatnonzero(np.diff(ascending) == 0)
    if len(twice):
        fail(graph, f"{_title(graph, group)} lists rank {ascending[twice[0]]} twice")


def _check_agreement(graph: Graph, group: int, table: np.ndarray) -> None:
    """InputError where the members of an instance differ in type or, unless counts are given, in size."""
    types, sizes = graph.nodes["collective"][table], graph.nodes["size_bytes"][table]
    differ = types != types[:, :1]
    if differ.any():
        _disagree(graph, group, table, differ, "is", [COLLECTIVES[int(t)] for t in _two(types, differ)])
    differ = sizes != sizes[:, :1]
    if graph.counts:
        differ &= ~np.isin(table, np.fromiter(graph.counts, "i8")).any(axis=1, keepdims=True)
    if differ.any():
        _disagree(graph, group, table, differ, "has", [f"{size} bytes" for size in _two(sizes, differ)])


def _two(values: np.ndarray, differ: np.ndarray) -> tuple[int, int]:
    """The first member's value and the first that differs from it."""
    row, column = np.argwhere(differ)[0]
    return int(values[row, 0]), int(values[row, column])


def _disagree(graph: Graph, group: int, table: np.ndarray, differ: np.ndarray, verb: str, values: list[str]) -> None:
    row, column = np.argwhere(differ)[0]
    fail(graph, f"{_title(graph, group)}, collective {row}: {name(graph, table[row, 0])} {verb} {values[0]}, "
                f"{name(graph, table[row, column])} {verb} {values[1]}")


def _root(graph: Graph, group: int, table: np.ndarray) -> int:
    """Member index of the root; the first member when no node names one."""
    roots = graph.nodes["root"][table]
    named = np.flatnonzero(roots >= 0)
    if not len(named):
        return 0
    root = roots[named[0]]
    other = named[roots[named] != root]
    if len(other):
        fail(graph, f"{_title(graph, group)}: {name(graph, table[named[0]])} has root {root}, "
                    f"{name(graph, table[other[0]])} has root {roots[other[0]]}")
    place = np.flatnonzero(np.asarray(graph.groups[group].ranks) == root)
    if not len(place):
        fail(graph, f"{name(graph, table[named[0]])}: root {root} is not a rank of {_title(graph, group)}")
    return int(place[0])


def _counts(graph: Graph, table: np.ndarray) -> np.ndarray:
    """i8[members, members]: bytes of an alltoallv from each to each. A member without counts divides its size."""
    members = len(table)
    out = np.zeros((members, members), "i8")
    for member, row in enumerate(table.tolist()):
        given = graph.counts.get(row)
        if given is None:
            out[member] = -(-graph.nodes["size_bytes"][row] // members)
        elif len(given) != members or (np.asarray(given) < 0).any():
            fail(graph, f"{name(graph, row)}: {len(given)} counts for {members} members, each at least 0, are needed")
        else:
            out[member] = given
    return out
