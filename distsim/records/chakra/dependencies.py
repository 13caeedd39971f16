"""The dependencies of the nodes of a graph, as ids, told apart as the trace does."""

from __future__ import annotations

import numpy as np

from distsim.records.chakra.run import ChakraRun


class Dependencies:
    """For each node of the graph the ids of those in its dataDeps and in its ctrlDeps, in the order of the trace."""

    def __init__(self, run: ChakraRun) -> None:
        graph = run.workload.graph
        deps = graph.deps
        control = np.zeros(len(deps), bool) if run.control is None else np.asarray(run.control, bool)
        self._lists = [_Lists(deps[which], graph.nodes["id"], len(graph.nodes)) for which in (~control, control)]

    def data(self, node: int) -> list[int]:
        """Ids in the dataDeps of a node (row of the graph)."""
        return self._lists[0].of(node)

    def control(self, node: int) -> list[int]:
        """Ids in its ctrlDeps."""
        return self._lists[1].of(node)


class _Lists:
    def __init__(self, deps: np.ndarray, ids: np.ndarray, nodes: int) -> None:
        order = np.argsort(deps["node"], kind="stable")
        self._ids = ids[deps["on"][order]]
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(deps["node"], minlength=nodes))]).tolist()

    def of(self, node: int) -> list[int]:
        return [int(value) for value in self._ids[self._bounds[node]:self._bounds[node + 1]].tolist()]
