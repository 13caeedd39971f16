"""Units and their windows: from the graph of influences, by hand and as properties of random graphs."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from engine_cases import model, one_rack, send, three_tiers, two_tiers

from distsim.state import tables as t
from distsim.state.lookahead import influence_graph, link_lookahead_ps, notices_of, rate_fraction
from distsim.state.units import LEVELS, WIDEST_PS, build_units, components, widths
from distsim.workload.types import ON_RECV_DONE, ON_SEND_DONE


# ---- lookahead -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rate_bps, fraction", [
    (400 * 10**9, (20, 1)), (100 * 10**9, (80, 1)), (3200 * 10**9, (5, 2)), (330 * 10**9, (800, 33)),
    (8 * 10**12, (1, 1)), (16 * 10**12, (1, 2)), (1, (8 * 10**12, 1)),
])
def test_picoseconds_a_byte_as_a_fraction(rate_bps, fraction):
    assert tuple(int(part) for part in rate_fraction(rate_bps)) == fraction


def test_the_lookahead_of_a_link_is_its_delay_and_the_shortest_frame():
    # 62 B: 1,240 ps at 400 Gb/s; at 330 Gb/s 62 * 800 / 33 = 1503.03, so 1,504 ps; NIC links 100 ns, others 500 ns.
    for rate, frame in ((400 * 10**9, 1_240), (330 * 10**9, 1_504)):
        links = two_tiers(rate_bps=rate).links
        assert link_lookahead_ps(links).tolist() == [100_000 + frame] * 4 + [500_000 + frame] * 4


def test_triggers_are_edges_between_the_hosts_they_go_between():
    ops = [send(0, 1, 1), send(0, 2, 1, deps=1), send(2, 0, 1, deps=1), send(1, 0, 1, deps=1), send(2, 1, 1, deps=2)]
    edges = [(0, 1, ON_SEND_DONE),        # host 0 tells itself: no edge
             (0, 2, ON_SEND_DONE),        # 0 -> 2
             (0, 3, ON_RECV_DONE),        # the receiver, host 1, tells itself
             (0, 4, ON_RECV_DONE),        # 1 -> 2
             (1, 4, ON_SEND_DONE)]        # 0 -> 2 again
    made = model(one_rack(3), ops, edges, trigger_delay_ps=77)
    assert notices_of(made).tolist() == [[0, 2, 77], [1, 2, 77]]
    a, b, lookahead = influence_graph(made)
    assert list(zip(a[-2:].tolist(), b[-2:].tolist(), lookahead[-2:].tolist(), strict=True)) == [(0, 2, 77), (1, 2, 77)]
    assert len(a) == len(made.fabric.links) + 2
    assert notices_of(model(one_rack(2), [send(0, 1, 1)])).shape == (0, 3)


# ---- widths and components -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lookahead, expected", [
    ([500, 100, 500], [100, 500]), ([100, 199, 200, 399, 400, 5000], [100, 200, 400]), ([7], [7]), ([], [WIDEST_PS]),
    ([1, 1, 1], [1]),
])
def test_widths(lookahead, expected):
    assert widths(np.array(lookahead, "i8")) == expected


def test_components_are_named_by_their_lowest_node():
    # 0-3-5 and 1-4; 2 and 6 alone. A chain from high to low comes out whole as well.
    assert components(7, np.array([5, 3, 4]), np.array([3, 0, 1])).tolist() == [0, 1, 2, 0, 1, 0, 6]
    chain = np.arange(999)
    assert components(1000, chain[::-1] + 1, chain[::-1]).tolist() == [0] * 1000
    assert components(3, np.array([], int), np.array([], int)).tolist() == [0, 1, 2]


# ---- units -----------------------------------------------------------------------------------------------------------
def unit_list(nodes: int, edges: list[tuple[int, int, int]]) -> tuple[list[int], list[dict[str, int]]]:
    a, b, lookahead = (np.array([edge[k] for edge in edges], "i8") for k in range(3))
    order, units = build_units(nodes, a, b, lookahead)
    return order.tolist(), [{name: int(row[name]) for name in t.UNIT.names or ()} for row in units]


def test_racks_are_units_under_the_links_between_them():
    # Nodes 0 to 3 NICs, 4 and 5 racks, 6 a spine; 100 inside, 500 above.
    edges = [(0, 4, 100), (1, 4, 100), (2, 5, 100), (3, 5, 100), (4, 6, 500), (5, 6, 500)]
    order, units = unit_list(7, edges)
    assert order == [0, 1, 4, 2, 3, 5, 6]
    assert [(u["node_first"], u["node_count"], u["width_ps"], u["level"]) for u in units] == [
        (0, 3, 100, 1), (3, 3, 100, 1), (6, 1, WIDEST_PS, 1), (0, 7, 500, 2)]     # the spine has no one to wait for
    assert [u["parent"] for u in units] == [3, 3, 3, -1]
    assert (units[3]["first"], units[3]["count"]) == (0, 3)


def test_one_width_makes_one_unit():
    order, units = unit_list(3, [(0, 2, 100), (1, 2, 150)])
    assert order == [0, 1, 2]
    assert len(units) == 1 and (units[0]["first"], units[0]["count"], units[0]["width_ps"]) == (0, 3, 100)


def test_nodes_without_edges_run_alone_and_far():
    order, units = unit_list(2, [])
    assert order == [0, 1] and units[0]["width_ps"] == WIDEST_PS and units[0]["count"] == 2


def test_a_fat_tree_has_racks_under_one_top():
    made = model(three_tiers(4), [send(0, 15, 1)])
    a, b, lookahead = influence_graph(made)
    order, units = build_units(len(made.fabric.nodes), a, b, lookahead)
    assert sorted(set(units["width_ps"].tolist())) == [101_240, 501_240, WIDEST_PS]
    top = units[-1]
    assert top["node_count"] == 36 and top["count"] == 8 + 12     # racks of 2 NICs, and 8 fabric and 4 spine switches
    assert sorted(order.tolist()) == list(range(36))


@pytest.mark.parametrize("seed", range(20))
def test_what_crosses_between_the_children_of_a_unit_takes_its_width(seed):
    rng = random.Random(seed)
    nodes = rng.choice([1, 2, 5, 12, 30])
    scale = rng.choice([[1, 3, 10], [100, 100, 500], [1, 10, 100, 1000, 10_000], [5]])
    count = rng.choice([0, nodes, 3 * nodes])
    edges = [(rng.randrange(nodes), rng.randrange(nodes), rng.choice(scale)) for _ in range(count)]
    edges = [edge for edge in edges if edge[0] != edge[1]]
    order, units = unit_list(nodes, edges)
    assert sorted(order) == list(range(nodes))
    place = {node: at for at, node in enumerate(order)}
    top = units[-1]
    assert (top["node_first"], top["node_count"], top["parent"]) == (0, nodes, -1)
    assert top["level"] <= LEVELS
    for number, unit in enumerate(units):
        children = children_of(units, unit)
        spans = sorted(children)
        assert spans[0][0] == unit["node_first"] and sum(size for _, size in spans) == unit["node_count"]
        assert all(first + size == after for (first, size), (after, _) in pairwise(spans))
        if unit["level"] > 1:
            below = units[unit["first"]:unit["first"] + unit["count"]]
            assert all(child["parent"] == number and child["level"] == unit["level"] - 1 for child in below)
            assert all(2 * child["width_ps"] <= unit["width_ps"] for child in below if child["count"] > 1)
            assert all(child["width_ps"] == WIDEST_PS for child in below if child["count"] == 1)
        for a, b, lookahead in edges:
            one, two = (child_with(spans, place[node]) for node in (a, b))
            if one is not None and two is not None and one != two:
                assert lookahead >= unit["width_ps"]


def children_of(units: list[dict[str, int]], unit: dict[str, int]) -> list[tuple[int, int]]:
    """(first place, nodes) of each child."""
    rows = range(unit["first"], unit["first"] + unit["count"])
    if unit["level"] == 1:
        return [(row, 1) for row in rows]
    return [(units[row]["node_first"], units[row]["node_count"]) for row in rows]


def child_with(spans: list[tuple[int, int]], place: int) -> tuple[int, int] | None:
    return next((span for span in spans if span[0] <= place < span[0] + span[1]), None)
