"""From a graph of ranks to operations on the hosts of a fabric."""

from __future__ import annotations

from distsim.workload.lower.build import lower
from distsim.workload.lower.jobs import graph_of_several, label_parts
from distsim.workload.lower.mapping import Mapping, read_mapping
from distsim.workload.lower.settings import Settings

__all__ = ["Mapping", "Settings", "graph_of_several", "label_parts", "lower", "read_mapping"]
