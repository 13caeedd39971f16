"""The ring of a job's ranks, rank i to rank i + 1 and the last back to 0: what its edges cross (cluster.md section 7).

By the racks of the nodes: inNode + inRack + crossRack = edges. By the fabric: crossLeaf counts the edges of which some
NIC pair hangs off two leaves, crossSpine those of which some pair passes a spine; in a fabric of two tiers they are
the same, in one of three an edge within a pod crosses leaves and no spine. An edge inside a node crosses nothing. Where
a cluster says nothing of NICs, an edge between two racks counts as crossing leaf and spine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distsim.scheduler.explain.wires import HEIGHT, LEAF, SPINE, Wires

if TYPE_CHECKING:
    from distsim.cluster import Node


def crossings(nodes: Sequence[Node], nics: Sequence[Sequence[int]], wires: Wires) -> dict[str, Any]:
    """The edges by what they cross. nodes, nics : of each rank its node and its NICs' host numbers.

    Keys: edges, inNode, inRack, crossRack, crossLeaf, crossSpine, and nicPairs with the number of NIC pairs by the
    highest tier on their path. A single rank has no edge; two ranks have two.
    """
    found = dict.fromkeys(("edges", "inNode", "inRack", "crossRack", "crossLeaf", "crossSpine"), 0)
    pairs = dict.fromkeys(HEIGHT, 0)
    for rank in range(len(nodes) if len(nodes) > 1 else 0):
        after = (rank + 1) % len(nodes)
        found["edges"] += 1
        if nodes[rank].name == nodes[after].name:
            found["inNode"] += 1
            continue
        same_rack = bool(nodes[rank].rack) and nodes[rank].rack == nodes[after].rack
        found["inRack" if same_rack else "crossRack"] += 1
        way = wires.farthest(nics[rank], nics[after])
        tier = way[0] if way is not None else (LEAF if same_rack else SPINE)
        found["crossLeaf"] += tier != LEAF
        found["crossSpine"] += tier == SPINE
        for name, count in (way[1] if way is not None else {}).items():
            pairs[name] += count
    return {**found, "nicPairs": pairs}
