"""What a rank does in a step, the groups, and what a section may say."""

from __future__ import annotations

import numpy as np
import pytest
from training_cases import MS, spec

from distsim.errors import InputError
from distsim.workload.base import Context
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, COLL, COMP, FIXED, META, REDUCE_SCATTER
from distsim.workload.steps.program import shares
from distsim.workload.steps.shape import graph_of, shape_of


def nodes(section, ranks: int = 4) -> list[tuple]:
    """(kind, what, after): what is a duration in ms, or collective, domain and bytes."""
    program = shape_of(section, Context(ranks, 1)).program(1)
    return [(node.kind, (node.collective, node.domain, node.size_bytes) if node.kind == COLL
             else node.duration_ps / MS, node.after) for node in program.nodes]


def test_shares_are_whole_and_differ_by_one():
    assert shares(10, 3) == [3, 3, 4]
    assert shares(0, 2) == [0, 0]
    assert sum(shares(10**12 + 7, 9)) == 10**12 + 7


def test_gradients_leave_beside_the_backward_pass():
    # bucket 0 after the first half of the backward pass, bucket 1 after the second; the optimizer after both
    assert nodes(spec(layers=2, buckets=2, optimizer="3ms")) == [
        (COMP, 0.5, ()), (COMP, 0.5, (0,)), (COMP, 1.0, (1,)), (COLL, (ALL_REDUCE, "DP", 500_000), (2,)),
        (COMP, 1.0, (2,)), (COLL, (ALL_REDUCE, "DP", 500_000), (4,)), (FIXED, 3.0, (4, 3, 5)), (META, 0.0, (6,))]


def test_without_overlap_all_wait_for_the_backward_pass():
    assert nodes(spec(layers=2, buckets=2, overlap=False)) == [
        (COMP, 0.5, ()), (COMP, 0.5, (0,)), (COMP, 1.0, (1,)), (COMP, 1.0, (2,)),
        (COLL, (ALL_REDUCE, "DP", 500_000), (3,)), (COLL, (ALL_REDUCE, "DP", 500_000), (3,)), (META, 0.0, (3, 4, 5))]


def test_more_layers_than_buckets_and_the_other_way_round():
    def sent_after(layers: int, buckets: int) -> list[int]:
        found = nodes(spec(layers=layers, buckets=buckets))
        computed = [row for row, node in enumerate(found) if node[0] == COMP]
        return [computed.index(node[2][0]) - layers + 1 for node in found if node[0] == COLL]

    assert sent_after(4, 2) == [2, 4]
    assert sent_after(2, 4) == [1, 1, 2, 2]
    assert sent_after(3, 2) == [2, 3]


def test_a_distributed_optimizer_scatters_gradients_and_gathers_parameters():
    # an all_gather counts what each of the four ranks gives: 600,002 / 4 and 600,002 / 2 / 4, rounded up
    found = nodes(spec(gradient_sync="reduce_scatter", parameters="600002B", optimizer="1ms", buckets=2))
    assert [node[1:] for node in found[2:]] == [
        ((REDUCE_SCATTER, "DP", 500_000), (1,)), ((REDUCE_SCATTER, "DP", 500_000), (1,)), (1.0, (1, 2, 3)),
        ((ALL_GATHER, "DP", 75_001), (4,)), ((ALL_GATHER, "DP", 75_001), (4,)), (0.0, (4, 5, 6))]


def test_tensor_and_expert_collectives_hold_up_every_part():
    found = nodes(spec(tensor_parallel=2, tensor_size="1KB", expert_parallel=2, expert_size="2KB", compute=None), 8)
    assert [node[1:] for node in found[:6]] == [
        (1.0, ()), ((ALL_REDUCE, "TP", 1000), (0,)), ((ALL_TO_ALL, "EP", 2000), (1,)),
        (2.0, (2,)), ((ALL_REDUCE, "TP", 1000), (3,)), ((ALL_TO_ALL, "EP", 2000), (4,))]
    assert found[6][1] == (ALL_REDUCE, "DP", 1_000_000)


def test_a_group_of_one_talks_to_nobody():
    assert [node[0] for node in nodes(spec(tensor_parallel=4, tensor_size="0B"))] == [COMP, COMP, META]


def test_the_groups_of_eight_ranks():
    section = spec(tensor_parallel=2, tensor_size="1KB", expert_parallel=2, expert_size="1KB")
    shape = shape_of(section, Context(8, 1))
    graph = graph_of(shape.program(2), shape.degrees)
    assert {group.name: group.ranks.tolist() for group in graph.groups} == {
        "TP-0": [0, 1], "TP-1": [2, 3], "TP-2": [4, 5], "TP-3": [6, 7],
        "EP-0": [0, 2], "EP-1": [1, 3], "EP-2": [4, 6], "EP-3": [5, 7], "DP-0": [0, 2, 4, 6], "DP-1": [1, 3, 5, 7]}
    talks = graph.nodes[graph.nodes["kind"] == COLL]
    for rank, collective, group in talks[["rank", "collective", "group"]].tolist():
        assert rank in graph.groups[group].ranks
        assert graph.groups[group].name[:2] == {ALL_TO_ALL: "EP"}.get(collective, graph.groups[group].name[:2])
    assert np.array_equal(talks["issue"], np.tile(np.arange(10), 8))      # two steps of five collectives a rank


def test_compute_is_a_third_forward():
    section = spec(compute="3ms", forward=None, backward=None)
    assert (section.forward_ps, section.backward_ps) == (MS, 2 * MS)


@pytest.mark.parametrize(("fields", "said"), [
    ({"compute": "1ms"}, "compute stands beside forward or backward"),
    ({"forward": None}, "give compute, or forward and backward"),
    ({"parameters": "1MB"}, "parameters: only with gradient_sync: reduce_scatter"),
    ({"file": "x.cm"}, "file: a training reads no file"),
    ({"steps": 0}, "greater than or equal to 1"),
    ({"gradients": 5}, "has no unit"),
    ({"checkpoint": {"every": 2}}, "checkpoint.pause"),
    ({"flops": -1.0}, "greater than or equal to 0"),
])
def test_what_a_section_may_not_say(fields, said):
    with pytest.raises(ValueError, match=said):
        spec(**fields)


@pytest.mark.parametrize(("fields", "said"), [
    ({"tensor_parallel": 3}, "workload.tensor_parallel: tensor_parallel 3 times expert_parallel 1 does not divide"),
    ({"hosts": [0, 9]}, "workload.hosts: unknown host 9"),
    ({"algorithms": {"all_reduce": "best"}}, "workload.algorithms.all_reduce: 'best' is no algorithm of all_reduce"),
    ({"hosts": 6, "algorithms": {"all_reduce": "halving-doubling"}}, "workload.algorithms: all_reduce of 1000000"),
])
def test_what_does_not_fit_the_ranks(fields, said):
    with pytest.raises(InputError) as error:
        shape_of(spec(**fields), Context(8, 1))
    assert said in str(error.value)


def test_whole_servers_reduce_hierarchically():
    servers = {"gpus_per_server": 4}
    settings = shape_of(spec(scale_up=servers), Context(8, 1)).settings
    assert settings.algorithms[ALL_REDUCE] == "hierarchical"
    assert (settings.options.server, settings.options.chunk_bytes) == (4, 131072)
    for fields in ({"tensor_parallel": 2}, {"expert_parallel": 2}, {"hosts": 6}, {"hosts": 4}):
        other = shape_of(spec(scale_up=servers, **fields), Context(8, 1)).settings
        assert (other.algorithms, other.options.chunk_bytes) == ({}, 0)
    given = shape_of(spec(scale_up=servers, algorithms={"all_reduce": "ring"}, chunk="1KB"), Context(8, 1)).settings
    assert (given.algorithms[ALL_REDUCE], given.options.chunk_bytes) == ("ring", 1000)
