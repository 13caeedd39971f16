"""What is known of the switches: how many nodes one has, how many tiers jobs may use, whether there are any."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distsim.scheduler.state import State

SINGLE_LAYER = "single_layer"


def loaded(state: State) -> bool:
    """Whether the cluster says of any node at which switch it is."""
    return any(node.tor >= 0 for node in state.nodes.values())


def switch_size(state: State) -> int:
    """M, nodes of a switch: tor_count of the basic-tor-node-cm; without one, the largest slice_id + 1."""
    tors = state.cluster.tor_nodes
    if tors is not None and tors.count:
        return tors.count
    return 1 + max((node.slice for node in state.nodes.values() if node.tor >= 0), default=-1)


def single_layer(state: State) -> bool:
    """Whether there are no spines (tor_level single_layer), so that a job stays at one switch."""
    tors = state.cluster.tor_nodes
    return tors is not None and tors.level == SINGLE_LAYER
