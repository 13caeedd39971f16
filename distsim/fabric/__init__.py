"""Topologies: from a checked specification to the tables of a `Fabric`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from distsim.fabric import fat_tree, leaf_spine, ns3_topology, rail, topo_file
from distsim.fabric.check import validate
from distsim.fabric.links import LinkRules
from distsim.fabric.types import Fabric

# A kind is a module with `Spec`, the model of its section, and `build(spec, rules) -> Fabric`.
TOPOLOGIES: dict[str, ModuleType] = {
    "leaf-spine": leaf_spine,
    "fat-tree": fat_tree,
    "topo": topo_file,
    "ns3": ns3_topology,
    "rail-optimised": rail,
}


def build(spec: Any, rules: LinkRules) -> Fabric:
    """The fabric of a specification (a `Spec` of TOPOLOGIES), validated; InputError when it cannot be built."""
    fabric: Fabric = TOPOLOGIES[spec.kind].build(spec, rules)
    validate(fabric)
    return fabric
