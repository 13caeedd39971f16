"""Algorithms of two levels take their servers from the scale-up groups of each process group."""

from __future__ import annotations

import numpy as np
import pytest
from lower_cases import coll, graph

from distsim.errors import InputError
from distsim.workload.graph import ALL_REDUCE
from distsim.workload.lower import Settings, lower
from distsim.workload.scale_up import ScaleUp, ScaleUpSpec
from distsim.workload.types import LOCAL, SEND

HIERARCHICAL = {ALL_REDUCE: "hierarchical"}


def made(ranks: int, network: ScaleUp, groups: list[list[int]]):
    """An all_reduce of 800 B in each of these process groups, by the two-level algorithm."""
    nodes = [coll(rank, ALL_REDUCE, 800, number) for number, members in enumerate(groups) for rank in members]
    case = graph(ranks, sorted(nodes, key=lambda node: node[0]), groups=groups)
    settings = Settings(algorithms=HIERARCHICAL, synchronization=False, scale_up=network)
    return lower(case, settings, np.arange(ranks, dtype="i4"), ranks)


def test_two_servers_of_four_send_a_quarter_over_the_fabric():
    # Inside: reduce-scatter and all-gather, 3 pieces of 200 B to each of 3 others, twice: 8 x 6. Rails of 2: each
    # member sends half of its quarter twice.
    work = made(8, ScaleUpSpec(gpus_per_server=4).build(8), [list(range(8))])
    kinds, sizes = work.ops["kind"], work.ops["size_bytes"]
    assert np.count_nonzero(kinds == LOCAL) == 8 * 6 and set(sizes[kinds == LOCAL].tolist()) == {200}
    assert np.count_nonzero(kinds == SEND) == 8 * 2 and set(sizes[kinds == SEND].tolist()) == {100}


def test_each_process_group_has_its_own():
    # Group 0 has two members of each server; group 1 has one of each: a plain ring on one rail, 2 x 400 B a member.
    work = made(8, ScaleUpSpec(gpus_per_server=4).build(8), [[0, 1, 4, 5], [2, 6]])
    kinds, labels = work.ops["kind"], work.labels["instance"]
    assert np.count_nonzero((kinds == LOCAL) & (labels == 0)) == 4 * 2
    assert work.ops["size_bytes"][(kinds == SEND) & (labels == 1)].tolist() == [400] * 4
    assert not np.count_nonzero((kinds == LOCAL) & (labels == 1))


@pytest.mark.parametrize("members", [[0, 1, 2, 4], [0, 4, 1, 5], [0, 1, 4]])
def test_members_in_no_regular_runs_are_refused(members):
    with pytest.raises(InputError, match="its members are not runs of equal length, each of one scale-up group"):
        made(8, ScaleUpSpec(gpus_per_server=4).build(8), [members])
