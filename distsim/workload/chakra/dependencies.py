"""The dependencies of one rank: from ids to rows, each once, none dangling, none in a circle."""

from __future__ import annotations

import numpy as np

from distsim.errors import InputError
from distsim.workload.chakra.rank import RankTrace
from distsim.workload.order import components, find_cycle

Rows = np.ndarray
Dependencies = tuple[Rows, Rows, Rows, dict[str, Rows]]


def dependencies(trace: RankTrace) -> Dependencies:
    """Rows (node, on) of the dependencies, i8[m] each, sorted; bool[m], those that are control dependencies only; and
    the rows whose dependencies were passed over.

    ctrl_deps and data_deps count alike (models/chakra-workload/workload-execution, "Traces"). Those on an id that the
    rank has not are dropped ("dangling"). A rank with dangling control dependencies has some left over from a
    conversion (mlcommons/chakra turns PyTorch's into data dependencies and keeps the old ones); there, those that go in
    a circle are dropped too ("leftover"). Raises InputError for any other circle, with the ids along it, and for an id
    that comes twice.
    """
    ids = trace.nodes["id"]
    row_of_id = np.argsort(ids, kind="stable")
    in_order = ids[row_of_id]
    twice = np.flatnonzero(in_order[1:] == in_order[:-1])
    if len(twice):
        raise InputError(f"node id {in_order[twice[0]]} is there twice", file=trace.file)
    place = np.minimum(np.searchsorted(in_order, trace.dep_on), max(len(ids) - 1, 0))
    known = in_order[place] == trace.dep_on if len(ids) else np.zeros(len(trace.dep_on), bool)
    passed_over = {"dangling": trace.dep_node[~known]}
    columns = [trace.dep_node[known], row_of_id[place[known]], trace.dep_ctrl[known]]
    node, on, is_ctrl = _once(np.unique(np.stack(columns, 1).astype("i8"), axis=0))
    cycle = find_cycle(len(ids), node, on)
    if cycle and (trace.dep_ctrl & ~known).any():
        part = components(len(ids), node, on)
        leftover = is_ctrl & (part[node] == part[on])
        passed_over["leftover"] = node[leftover]
        node, on, is_ctrl = node[~leftover], on[~leftover], is_ctrl[~leftover]
        cycle = find_cycle(len(ids), node, on)
    if cycle:
        raise InputError(_circle(ids[cycle].tolist()), file=trace.file)
    return node, on, is_ctrl, passed_over


def _once(pairs: np.ndarray) -> tuple[Rows, Rows, Rows]:
    """Columns of sorted rows (node, on, control); of a pair that is both data and control the data one stays."""
    first = np.ones(len(pairs), bool)
    first[1:] = (pairs[1:, :2] != pairs[:-1, :2]).any(axis=1)
    return pairs[first, 0], pairs[first, 1], pairs[first, 2] == 1


def _circle(ids: list[int]) -> str:
    shown = [*ids, ids[0]] if len(ids) <= 12 else [*ids[:12], "..."]
    return (f"dependencies go in a circle of {len(ids)} node{'s' * (len(ids) > 1)}, each waiting for the next: "
            + " -> ".join(map(str, shown)))
