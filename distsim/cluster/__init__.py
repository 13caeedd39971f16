"""Clusters: from a description of servers, NICs and switches to nodes and the fabric that joins them."""

from __future__ import annotations

from distsim.cluster.types import Cluster, Node, Queue, Rack, Taint

__all__ = ["Cluster", "Node", "Queue", "Rack", "Taint", "load_cluster"]


def load_cluster(path: str) -> Cluster:
    """The cluster that a file describes: a cluster file, a basic-tor-node-cm (JSON or ConfigMap) or HyperNodes.

    Raises ConfigError (an InputError) with all problems found, each with file, line, path, bad value and valid values.
    """
    from distsim.cluster.load import load

    return load(path)
