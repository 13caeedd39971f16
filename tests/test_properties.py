"""Properties that hold for every input, searched by hypothesis."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simkit import random_model, run_windows

from distsim.parallel.partition import cut
from distsim.quantities import RATE_UNITS, SIZE_UNITS, TIME_UNITS, parse_quantity
from distsim.state.units import build_units
from distsim.workload.types import SEND

DATA_HEADER_BYTES = 106


@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 50.0, 1000.0]), min_size=1, max_size=30), st.data())
def test_shares_are_runs_and_none_is_empty(weights, data):
    parts = data.draw(st.integers(1, len(weights)))
    shares = cut(np.array(weights), parts)
    assert (np.diff(shares) >= 0).all() and np.unique(shares).tolist() == list(range(parts))


@given(st.integers(2, 12), st.data())
def test_what_crosses_between_the_children_of_a_unit_takes_its_window_or_longer(nodes, data):
    node = st.integers(0, nodes - 1)
    edge = st.tuples(node, node, st.sampled_from([1, 2, 3, 10, 11, 100, 5000]))
    edges = [e for e in data.draw(st.lists(edge, min_size=1, max_size=30)) if e[0] != e[1]]
    if not edges:
        return
    a, b, lookahead = (np.array(column) for column in zip(*edges, strict=True))
    order, units = build_units(nodes, a, b, lookahead)
    assert sorted(order.tolist()) == list(range(nodes))
    place = {int(node): k for k, node in enumerate(order)}
    for unit in units:
        first, count = int(unit["first"]), int(unit["count"])
        if unit["level"] == 1:
            child_of = {k: k for k in range(first, first + count)}
        else:
            child_of = {k: child for child in range(first, first + count)
                        for k in range(units["node_first"][child],
                                       units["node_first"][child] + units["node_count"][child])}
        for x, y, least in edges:
            p, q = place[x], place[y]
            if p in child_of and q in child_of and child_of[p] != child_of[q]:
                assert least >= unit["width_ps"]
    assert units["node_count"][-1] == nodes


@pytest.mark.parametrize("units", [TIME_UNITS, SIZE_UNITS, RATE_UNITS])
@given(number=st.integers(0, 10**6), data=st.data())
def test_a_quantity_is_its_number_times_its_unit(units, number, data):
    unit = data.draw(st.sampled_from(sorted(units)))
    assert parse_quantity(f"{number}{unit}", units, "quantity", "1x") == number * units[unit]
    assert parse_quantity(f" {number} {unit} ", units, "quantity", "1x") == number * units[unit]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(100, 10**6))
def test_no_message_is_faster_than_its_bytes_on_the_sender_s_link(seed):
    """Every message takes at least the serialization of its wire bytes at the sender's link, so goodput never exceeds
    the payload rate: 389.9 Gb/s of a 400 Gb/s link at 4,096 B a packet."""
    model = random_model(seed, flows=8)
    done = {row[6]: row for row in run_windows(model).perf}
    rates = model.fabric.links["rate_bps"][model.routes.up_link]
    for number, op in enumerate(model.messages.ops):
        if op["kind"] == SEND:
            mss = int(model.nicpar["mss_bytes"][model.nic_param[op["host"]]])
            packets = max(1, -(-int(op["size_bytes"]) // mss))
            wire_bits = 8 * (int(op["size_bytes"]) + DATA_HEADER_BYTES * packets)
            time_ps, start_ps = done[number][:2]
            assert (time_ps - start_ps) * int(rates[op["host"]]) >= wire_bits * 10**12
