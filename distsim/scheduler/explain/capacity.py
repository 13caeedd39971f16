"""What a cluster has left: free chips by rack, and how much of it is in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from distsim.scheduler.state import NodeState, State

NO_RACK = "-"


def capacity(state: State) -> dict[str, Any]:
    """The chips of the cluster and of each rack.

    chips : all. free : those that a task may get now. used : those that tasks (or `--busy`) hold. unavailable : the
    rest, on cordoned or broken nodes or barred by faults. partlyUsedFree : free chips on nodes that some task holds
    chips of. fragmentation : partlyUsedFree / free, 0 with nothing free: 0 means that whatever is free is whole nodes.
    racks : in order of their first node; wholeNodes : nodes with every chip free.
    """
    total = dict.fromkeys(("nodes", "wholeNodes", "chips", "used", "free", "partlyUsedFree"), 0)
    racks: dict[str, dict[str, Any]] = {}
    for node in state.nodes.values():
        rack = racks.setdefault(node.node.rack or NO_RACK, dict.fromkeys(total, 0))
        for key, amount in _amounts(node).items():
            total[key] += amount
            rack[key] += amount
    fragmentation = round(total["partlyUsedFree"] / total["free"], 6) if total["free"] else 0.0
    return {"name": state.cluster.name, **_with_unavailable(total), "fragmentation": fragmentation,
            "racks": [{"name": name, **_with_unavailable(rack)} for name, rack in racks.items()]}


def _amounts(node: NodeState) -> dict[str, int]:
    usable = node.healthy and node.enabled and not node.node.cordoned
    free = node.idle().bit_count() if usable else 0
    return {"nodes": 1, "wholeNodes": int(0 < free == node.chips), "chips": node.chips, "used": node.used.bit_count(),
            "free": free, "partlyUsedFree": free if node.used else 0}


def _with_unavailable(amounts: dict[str, int]) -> dict[str, int]:
    return {**amounts, "unavailable": amounts["chips"] - amounts["used"] - amounts["free"]}
