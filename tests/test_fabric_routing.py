"""Routes against hand-worked sets and against a plain breadth-first search."""

from __future__ import annotations

import random
import time
from collections import deque

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.fabric import TOPOLOGIES, build
from distsim.fabric import routing as routing_module
from distsim.fabric.clos import assemble
from distsim.fabric.links import Plan, uniform_rules
from distsim.fabric.routing import build_routes
from distsim.fabric.types import NIC, NODES, SWITCH, Fabric, Routes

RULES = uniform_rules(400 * 10**9, 100_000, 500_000)


def make(**fields: object) -> Fabric:
    return build(TOPOLOGIES[str(fields["kind"])].Spec(**fields), RULES)


def next_hops(fabric: Fabric, routes: Routes, here: str, leaf: str) -> list[str]:
    """Far ends of the members of the set that `here` uses towards `leaf`."""
    column = routes.leaf_index[fabric.names.index(leaf)]
    found = routes.table[fabric.names.index(here) - fabric.hosts, column]
    if found < 0:
        return []
    members = routes.members[routes.set_begin[found]:routes.set_begin[found] + routes.set_count[found]]
    assert (np.diff(members) > 0).all()
    assert all(fabric.names[fabric.links["src"][row]] == here for row in members)
    return [fabric.names[fabric.links["dst"][row]] for row in members]


def test_k4_fat_tree_sets_by_hand() -> None:
    fabric = make(kind="fat-tree", k=4)
    routes = build_routes(fabric)
    assert next_hops(fabric, routes, "RackSwitch-0", "RackSwitch-1") == ["FabricSwitch-0", "FabricSwitch-1"]
    assert next_hops(fabric, routes, "RackSwitch-0", "RackSwitch-7") == ["FabricSwitch-0", "FabricSwitch-1"]
    assert next_hops(fabric, routes, "RackSwitch-0", "RackSwitch-0") == []
    assert next_hops(fabric, routes, "FabricSwitch-0", "RackSwitch-1") == ["RackSwitch-1"]
    assert next_hops(fabric, routes, "FabricSwitch-0", "RackSwitch-2") == ["SpineSwitch-0", "SpineSwitch-2"]
    assert next_hops(fabric, routes, "SpineSwitch-3", "RackSwitch-2") == ["FabricSwitch-3"]
    # Racks share one set for all others (8), fabric switches have two down and one up (24), spines one a pod (16).
    assert len(routes.set_begin) == 8 + 24 + 16
    assert len(routes.members) == 8 * 2 + 8 * (1 + 1 + 2) + 16
    assert (routes.table == -1).sum() == 8          # only a leaf towards itself


def test_host_tables() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=3, spines=2)
    routes = build_routes(fabric)
    assert routes.leaf_of_host.tolist() == [6, 6, 6, 7, 7, 7]
    assert routes.leaf_index.tolist() == [-1] * 6 + [0, 1, -1, -1]
    assert routes.table.shape == (4, 2)
    for host in range(6):
        up, down = fabric.links[routes.up_link[host]], fabric.links[routes.down_link[host]]
        assert (up["src"], up["dst"]) == (host, routes.leaf_of_host[host])
        assert (down["dst"], down["src"]) == (host, routes.leaf_of_host[host])


def test_parallel_links_are_members_of_their_own() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=1, spines=2, links_per_pair=3)
    routes = build_routes(fabric)
    assert next_hops(fabric, routes, "RackSwitch-0", "RackSwitch-1") == ["SpineSwitch-0"] * 3 + ["SpineSwitch-1"] * 3
    assert next_hops(fabric, routes, "SpineSwitch-1", "RackSwitch-0") == ["RackSwitch-0"] * 3


def test_one_rack_has_no_sets() -> None:
    routes = build_routes(make(kind="leaf-spine", racks=1, nics_per_rack=4, spines=0))
    assert routes.table.tolist() == [[-1]] and len(routes.members) == 0


def random_fabric(rng: random.Random) -> Fabric:
    """A connected graph of switches, some with NICs, with parallel cables."""
    switches, hosts = rng.randint(2, 9), rng.randint(1, 6)
    nodes = np.zeros(hosts + switches, NODES)
    nodes["kind"] = [NIC] * hosts + [SWITCH] * switches
    cables = [(host, hosts + rng.randrange(switches)) for host in range(hosts)]
    cables += [(hosts + rng.randrange(i), hosts + i) for i in range(1, switches)]
    for _ in range(rng.randint(0, 12)):
        cables.append(tuple(hosts + i for i in rng.sample(range(switches), 2)))
    low, high = np.array(cables, "i4").T
    names = [f"N{i}" for i in range(len(nodes))]
    return assemble(Plan(nodes, names, low, high), np.full(len(low), 10**9), np.zeros(len(low), "i8"))


def hops_to(fabric: Fabric, leaf: int) -> dict[int, int]:
    """The obvious search: hops from every switch to `leaf`."""
    hops, queue = {leaf: 0}, deque([leaf])
    while queue:
        node = queue.popleft()
        for row in fabric.links[fabric.links["dst"] == node]:
            if row["src"] >= fabric.hosts and row["src"] not in hops:
                hops[int(row["src"])] = hops[node] + 1
                queue.append(int(row["src"]))
    return hops


def check_against_search(fabric: Fabric) -> None:
    routes = build_routes(fabric)
    for leaf in set(routes.leaf_of_host.tolist()):
        hops = hops_to(fabric, leaf)
        for switch in range(fabric.hosts, len(fabric.nodes)):
            wanted = [row for row, link in enumerate(fabric.links) if link["src"] == switch
                      and hops.get(int(link["dst"]), 99) + 1 == hops[switch]]
            found = routes.table[switch - fabric.hosts, routes.leaf_index[leaf]]
            got = [] if found < 0 else routes.members[routes.set_begin[found]:][:routes.set_count[found]].tolist()
            assert got == wanted


def test_random_graphs_against_a_plain_search(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    for _ in range(30):
        check_against_search(random_fabric(rng))
    monkeypatch.setattr(routing_module, "_BLOCK_BYTES", 1)       # one destination at a time
    for _ in range(10):
        check_against_search(random_fabric(rng))


def test_unreachable_leaf_is_named() -> None:
    fabric = make(kind="leaf-spine", racks=2, nics_per_rack=1, spines=1)
    fabric.links = fabric.links[:6].copy()       # two NICs and RackSwitch-0 - SpineSwitch-0 are left
    with pytest.raises(InputError, match=r"no path from RackSwitch-[01] to RackSwitch-[01]"):
        build_routes(fabric)


def test_8192_hosts_are_routed_quickly() -> None:
    fabric = make(kind="leaf-spine", racks=128, nics_per_rack=64)
    assert len(fabric.nodes) - fabric.hosts == 192
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        routes = build_routes(fabric)
        best = min(best, time.perf_counter() - start)
    assert len(routes.set_begin) == 128 + 64 * 128
    assert best < 0.3
