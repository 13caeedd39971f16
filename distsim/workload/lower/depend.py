"""What each node waits for: the graph's dependencies and those of the order in which process groups were issued."""

from __future__ import annotations

import numpy as np

from distsim.workload.graph import DEPS, SEND, Graph
from distsim.workload.lower.check import check_acyclic
from distsim.workload.order import chains


def dependencies(graph: Graph, expanded: np.ndarray, serialization: bool) -> np.ndarray:
    """DEPS[m] without doubles; InputError for a cycle.

    expanded : bool[nodes], collective nodes that are part of an instance. With `serialization` each collective of a
    process group, and each send that names one, waits for the one that the rank issued before it in the group. Rule:
    scala-computing/docs, models/chakra-workload/workload-execution.md, process group serialization.
    """
    added = _issue_order(graph, expanded) if serialization else np.zeros(0, DEPS)
    deps = _distinct(np.concatenate([graph.deps, added]) if len(added) else graph.deps, len(graph.nodes))
    check_acyclic(graph, deps, len(added) > 0)
    return deps


def _issue_order(graph: Graph, expanded: np.ndarray) -> np.ndarray:
    nodes = graph.nodes
    ordered = (nodes["group"] >= 0) & (expanded | (nodes["kind"] == SEND))
    lane = np.where(ordered, nodes["rank"].astype("i8") * len(graph.groups) + nodes["group"], -1)
    after, before = chains(lane, nodes["issue"])
    added = np.zeros(len(after), DEPS)
    added["node"], added["on"] = after, before
    return added


def _distinct(deps: np.ndarray, count: int) -> np.ndarray:
    keys = np.unique(deps["node"].astype("i8") * count + deps["on"])
    out = np.zeros(len(keys), DEPS)
    if len(keys):
        out["node"], out["on"] = keys // count, keys % count
    return out
