"""Circles, strongly connected components and chains of issue, against plain definitions."""

from __future__ import annotations

import numpy as np
import pytest

from distsim.workload.order import chains, components, find_cycle


@pytest.mark.parametrize("seed", range(20))
def test_cycles_and_components_against_reachability(seed):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 12))
    node_rows, on = draw.integers(0, count, (2, int(draw.integers(0, 2 * count))))
    reach = np.zeros((count, count), bool)
    reach[node_rows, on] = True
    for middle in range(count):
        reach |= reach[:, [middle]] & reach[[middle], :]
    cycle = find_cycle(count, node_rows, on)
    assert (cycle is not None) == bool(reach.diagonal().any())
    for row, following in zip(cycle or [], [*(cycle or [])[1:], *(cycle or [])[:1]]):
        assert ((node_rows == row) & (on == following)).any()
    part = components(count, node_rows, on)
    same = (reach & reach.T) | np.eye(count, dtype=bool)
    assert np.array_equal(part[:, None] == part[None, :], same)


def test_chains_go_in_issue_order_inside_a_group():
    later, earlier = chains(np.array([0, 1, 0, -1, 0, 1]), np.array([7, 1, 3, 2, -1, 1]))
    assert sorted(zip(later.tolist(), earlier.tolist())) == [(0, 2), (5, 1)]
