"""Which rank owns which node: by rack, balanced by expected work. Results never depend on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..fabric.types import NIC, TIER_RACK, Fabric

if TYPE_CHECKING:
    from ..state.model import Model

# Work a packet makes: at a NIC about as much as three switch hops (measured, README "How fast").
NIC_WEIGHT, PORT_WEIGHT = 3.0, 1.0


def by_rack(fabric: Fabric, ranks: int) -> np.ndarray:
    """Racks stay whole while there are enough of them; every tier is cut into runs of equal work. i4[nodes]."""
    nodes = fabric.nodes
    racks = np.flatnonzero(nodes["tier"] == TIER_RACK)
    if ranks > len(racks):
        return in_order(fabric, ranks)
    weight = np.where(nodes["kind"] == NIC, NIC_WEIGHT, 0.0)
    weight += PORT_WEIGHT * np.bincount(fabric.links["src"], minlength=len(nodes))
    owner = np.zeros(len(nodes), "i4")
    rack_of = nodes["rack"]
    rack_weight = np.bincount(rack_of[rack_of >= 0], weights=weight[rack_of >= 0])
    owner_of_rack = cut(rack_weight, ranks)
    owner[rack_of >= 0] = owner_of_rack[rack_of[rack_of >= 0]]
    for tier in np.unique(nodes["tier"][rack_of < 0]):
        rows = np.flatnonzero((nodes["tier"] == tier) & (rack_of < 0))
        owner[rows] = cut(weight[rows], ranks) if len(rows) >= ranks else (np.arange(len(rows)) * ranks) // len(rows)
    return owner


def in_order(fabric: Fabric, ranks: int) -> np.ndarray:
    """Nodes in order of their rack, cut into runs of equal length: any rank count up to the number of nodes."""
    nodes = fabric.nodes
    rack = np.where(nodes["rack"] >= 0, nodes["rack"], np.iinfo("i4").max)
    order = np.lexsort([np.arange(len(nodes)), rack])
    owner = np.empty(len(nodes), "i4")
    owner[order] = (np.arange(len(nodes)) * ranks) // len(nodes)
    return owner


def interleaved(fabric: Fabric, ranks: int) -> np.ndarray:
    """Node i on rank i mod ranks: the worst cut there is, to show that results do not depend on the partition."""
    return (np.arange(len(fabric.nodes)) % ranks).astype("i4")


def cut(weight: np.ndarray, parts: int) -> np.ndarray:
    """Part of each of a row of items, parts being runs of about equal weight and none empty. i4[items]."""
    total = np.concatenate([[0.0], np.cumsum(weight)])
    begins = [0]
    for part in range(1, parts):
        goal = total[-1] * part / parts
        at = int(np.searchsorted(total, goal))
        if at > 0 and goal - total[at - 1] < total[at] - goal:
            at -= 1
        begins.append(min(max(at, begins[-1] + 1), len(weight) - (parts - part)))
    counts = np.diff([*begins, len(weight)])
    return np.repeat(np.arange(parts, dtype="i4"), counts)


PARTITIONS: dict[str, Callable[[Fabric, int], np.ndarray]] = {
    "by-rack": by_rack, "in-order": in_order, "interleaved": interleaved,
}
DEFAULT = "by-rack"


def partition(fabric: Fabric, ranks: int, name: str | None = None, near: np.ndarray | None = None) -> np.ndarray:
    """Owner of each node, i4[nodes], by the partition `name` (DISTSIM_PARTITION, else by rack).

    near : pairs of hosts, i8[n, 2 or more], that tell each other something sooner than a link would (scale-up): a
    partition by rack keeps them together where it can.

    Raises InputError for an unknown name and for more ranks than nodes.
    """
    name = name or os.environ.get("DISTSIM_PARTITION") or DEFAULT
    if name not in PARTITIONS:
        raise InputError(f"{name!r} is no partition; valid: {', '.join(PARTITIONS)}", where="DISTSIM_PARTITION")
    if ranks > len(fabric.nodes):
        raise InputError(f"{ranks} ranks are more than the {len(fabric.nodes)} nodes of the fabric", where="ranks")
    owner = PARTITIONS[name](fabric, ranks)
    if name == DEFAULT and near is not None and len(near):
        owner = keep_servers(fabric, owner, ranks, near)
    return keep_together(fabric, owner, ranks)


def keep_servers(fabric: Fabric, owner: np.ndarray, ranks: int, near: np.ndarray) -> np.ndarray:
    """The partition with the hosts of every pair on one rank, servers dealt out in runs; unchanged when they are so
    already, or when there are fewer servers than ranks. i4[nodes]."""
    from ..state.units import components

    hosts = np.flatnonzero(fabric.nodes["kind"] == NIC)
    part = components(len(fabric.nodes), near[:, 0], near[:, 1])[hosts]
    servers, which, sizes = np.unique(part, return_inverse=True, return_counts=True)
    if (owner[hosts] == owner[servers][which]).all() or len(servers) < ranks:
        return owner
    owner = owner.copy()
    owner[hosts] = cut(sizes.astype("f8"), ranks)[which]
    return owner


def keep_together(fabric: Fabric, owner: np.ndarray, ranks: int) -> np.ndarray:
    """The partition with no zero-delay link cut, and no rank without a node. i4[nodes].

    Raises InputError when there are more ranks than parts that zero-delay links leave apart.
    """
    from ..state.units import components

    links = fabric.links[fabric.links["delay_ps"] == 0]
    part = components(len(fabric.nodes), links["src"], links["dst"])
    owner = owner[part].astype("i4")
    if len(np.unique(owner)) == ranks:
        return owner
    parts = np.unique(part)
    if ranks > len(parts):
        raise InputError(f"{ranks} ranks are more than the {len(parts)} parts that links without delay leave apart; "
                         "such links are never cut", where="ranks")
    return in_order(fabric, ranks) if len(parts) == len(part) else (
        (np.searchsorted(parts, part) * ranks) // len(parts)).astype("i4")


def partition_report(model: Model, ranks: int) -> dict[str, Any]:
    """How `ranks` ranks split a model.

    Keys: lookahead_ps (least of any influence), window_ps (least of one between ranks, None when there is none),
    cut_links, triggers (pairs of hosts that trigger each other), parts: for each rank rank, nics, switches, nodes.
    """
    from ..state.lookahead import influence_graph

    fabric = model.fabric
    owner = partition(fabric, ranks)
    a, b, lookahead = influence_graph(model)
    crossing = owner[a] != owner[b]
    links = len(fabric.links)
    is_nic = fabric.nodes["kind"] == NIC
    nics = np.bincount(owner[is_nic], minlength=ranks).tolist()
    nodes = np.bincount(owner, minlength=ranks).tolist()
    parts = [{"rank": rank, "nics": nics[rank], "switches": nodes[rank] - nics[rank], "nodes": nodes[rank]}
             for rank in range(ranks)]
    window = int(lookahead[crossing].min()) if crossing.any() else None
    return {"lookahead_ps": int(lookahead.min()), "window_ps": window,
            "cut_links": int(np.count_nonzero(crossing[:links])), "triggers": len(a) - links, "parts": parts}
