"""The workload kind `collective`, graphs side by side, and parts of `several`; worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lower_cases import coll, comp, execute, graph, into, lowered, recv, send, verify
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.workload import WORKLOADS, build, collective
from distsim.workload.base import Context
from distsim.workload.collectives import ALGORITHMS
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, Graph
from distsim.workload.lower import graph_of_several
from distsim.workload.types import JOIN, LOCAL, LOG_MESSAGE, LOG_OP, ON_FIRE, SEND, Workload


def make(hosts: int = 8, **fields: object) -> Workload:
    made = build(WORKLOADS["collective"].Spec(kind="collective", **fields), hosts, 1)
    verify(made)
    assert len(execute(made)) == len(made.ops)
    return made


def graph_of(hosts: int = 8, **fields: object) -> Graph:
    return collective.graph_of(collective.Spec(kind="collective", **fields), Context(hosts, 1))


def transfers(made: Workload) -> list[tuple[int, int, int]]:
    return made.ops[["host", "dst", "size_bytes"]][made.ops["kind"] == SEND].tolist()


def refused(where: str, message: str, hosts: int = 8, **fields: object) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(hosts, **fields)
    assert caught.value.where == where


# ---- the kind --------------------------------------------------------------------------------------------------------
def test_a_ring_all_reduce() -> None:
    made = make(4, size="4KB", start="3us", launch="5us")
    assert len(made.ops) == 8 + 4 * 6 and set(transfers(made)) == {(k, (k + 1) % 4, 1000) for k in range(4)}
    assert made.ops["start_ps"].tolist() == [3_000_000] * 4 + [0] * 28
    assert made.ops["delay_ps"].tolist() == [5_000_000] * 4 + [0] * 28
    assert set(made.ops["flags"][:8].tolist()) == {LOG_OP} and set(made.ops["flags"][8:].tolist()) == {LOG_MESSAGE}
    assert made.graph.groups[0].name == "world" and made.placement.tolist() == [0, 1, 2, 3]


def test_ranks_run_on_the_hosts_in_their_order() -> None:
    made = build(WORKLOADS["collective"].Spec(kind="collective", hosts=[5, 1, 3], collective="barrier"), 8, 1)
    assert made.placement.tolist() == [5, 1, 3]
    assert set(transfers(made)) == {(5, 1, 0), (1, 3, 0), (3, 5, 0)}


@pytest.mark.parametrize(("name", "comm_size", "pairs"), [
    ("all_reduce", 1000, {(0, 1, 250)}), ("all_gather", 250, {(0, 1, 250)}), ("reduce_scatter", 1000, {(0, 1, 250)}),
    ("all_to_all", 1000, {(0, 3, 250), (3, 1, 250)}), ("broadcast", 1000, {(1, 3, 1000)}),
    ("reduce", 1000, {(0, 1, 1000)}), ("gather", 250, {(0, 1, 250)}), ("scatter", 1000, {(1, 0, 250)}),
    ("barrier", 0, {(0, 1, 0)}), ("sendrecv", 1000, {(0, 1, 1000), (3, 0, 1000)})])
def test_sizes_are_those_of_nccl_tests(name: str, comm_size: int, pairs: set[tuple[int, int, int]]) -> None:
    root = {"root": 1} if name in ("broadcast", "reduce", "gather", "scatter") else {}
    made = make(4, collective=name, size="1KB", **root)
    assert made.instances["size_bytes"].tolist() == [comm_size]
    assert pairs <= set(transfers(made)), transfers(made)
    if name == "sendrecv":
        assert len(transfers(made)) == 4 and ALGORITHMS[made.instances["algorithm"][0]] == "sendrecv"


def test_sizes_of_one_member() -> None:
    whole = graph_of(4, collective="all_gather", size="1KB", size_counts="member")
    assert whole.nodes["size_bytes"].tolist() == [1000] * 4
    assert graph_of(3, collective="all_gather", size="1KB").nodes["size_bytes"].tolist() == [334] * 3
    assert graph_of(3, collective="gather", size="1KB").nodes["size_bytes"].tolist() == [334] * 3


def test_iterations_are_chained() -> None:
    made = make(3, collective="all_gather", size="3KB", iterations=3)
    assert made.ops["kind"].tolist() == [JOIN] * 18 + [SEND] * 18
    # Nodes 0 to 2 of rank 0, ENDs 9 to 17: the second BEGIN waits for the first END of its rank.
    assert into(made, 1) == [(9, ON_FIRE)] and into(made, 5) == [(13, ON_FIRE)] and into(made, 3) == []
    assert made.instances["order"].tolist() == [0, 1, 2] and made.graph.nodes["id"].tolist() == [0, 1, 2] * 3
    assert made.ops["start_ps"].tolist() == [0] * 36


def test_groups_run_at_once() -> None:
    made = make(6, groups=[[0, 1, 2], [5, 3], [2, 3]], size="600B", iterations=2)
    assert made.instances[["group", "group_size", "order"]].tolist() == [
        (0, 3, 0), (0, 3, 1), (2, 2, 0), (2, 2, 1), (1, 2, 0), (1, 2, 1)]
    assert [group.name for group in made.graph.groups] == ["0", "1", "2"]
    # Rank 2 is in groups 0 and 2 with two nodes each; the first of each waits for nothing.
    rank2 = np.flatnonzero(made.graph.nodes["rank"] == 2)
    assert made.graph.nodes["group"][rank2].tolist() == [0, 0, 2, 2]
    assert made.ops["deps"][rank2].tolist() == [0, 1, 0, 1]
    assert set(transfers(made)) == {(0, 1, 200), (1, 2, 200), (2, 0, 200), (5, 3, 300), (3, 5, 300), (2, 3, 300),
                                    (3, 2, 300)}


def test_roots_are_places_in_the_groups() -> None:
    made = make(6, collective="broadcast", groups=[[0, 1, 2], [5, 3, 4]], root=1, size="7B")
    assert sorted(transfers(made)) == [(1, 0, 7), (1, 2, 7), (3, 4, 7), (3, 5, 7)]
    assert graph_of(6, collective="scatter", root=2).nodes["root"].tolist() == [2] * 6
    assert set(graph_of(6).nodes["root"].tolist()) == {-1}


def test_cutting() -> None:
    # 2 channels of 4000 bytes, rounds of 1000 bytes a rank on 2 ranks: 2 rounds; each block of 1000 in 2 slices of 500.
    made = make(2, size="8KB", channels=2, chunk="1KB", slices=2)
    assert set(size for _, _, size in transfers(made)) == {500} and len(transfers(made)) == 2 * 2 * 2 * 2 * 2
    assert {size for _, _, size in transfers(make(2, size="8KB", protocol="ll"))} == {8000}


def test_scale_up_and_servers() -> None:
    section = {"gpus_per_server": 2, "bandwidth": "800Gbps"}
    made = make(4, collective="all_reduce", algorithm="hierarchical", size="8KB", scale_up=section)
    assert made.settings.options.server == 2
    inside = made.ops[["host", "dst"]][made.ops["kind"] == LOCAL].tolist()
    assert set(inside) == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert set((a, b) for a, b, _ in transfers(made)) == {(0, 2), (2, 0), (1, 3), (3, 1)}
    over_fabric = make(4, algorithm="hierarchical", size="8KB", server=2)
    assert over_fabric.settings.scale_up is None and len(transfers(over_fabric)) == len(inside) + len(transfers(made))
    assert make(4).settings.options.server == 1


def test_synchronize() -> None:
    # A barrier of 2 * 3 empty messages before each.
    made = make(4, iterations=2, synchronize=True)
    assert (made.ops["size_bytes"][made.ops["kind"] == SEND] == 0).sum() == 12


def test_what_is_refused() -> None:
    for fields, message in (({"algorithm": "rings"}, "'rings' is no algorithm of all_reduce; valid: ring, tree"),
                            ({"collective": "gather", "algorithm": "ring"}, "no algorithm of gather; valid: direct"),
                            ({"collective": "all_to_all", "algorithm": "sendrecv"}, "no algorithm of all_to_all"),
                            ({"protocol": "ll64"}, "ll128"), ({"channels": 0}, "greater than or equal to 1"),
                            ({"iterations": 0}, "greater than or equal to 1"),
                            ({"size": "1025GiB"}, "less than or equal to 1099511627776")):
        with pytest.raises(ValidationError, match=message):
            make(4, **fields)
    refused("workload.hosts", "1 host given; at least 2 are needed", hosts=1)
    refused("workload.groups", "is empty", groups=[])
    refused("workload.groups.1", "1 rank; a group has at least 2", groups=[[0, 1], [2]])
    refused("workload.groups.0", "unknown rank 8; the ranks are 0 to 7", groups=[[0, 8]])
    refused("workload.groups.0", "rank 1 is listed twice", groups=[[1, 0, 1]])
    refused("workload.root", "2 is no place in a group of 2 ranks; valid: 0 to 1", collective="reduce", groups=[[0, 1]],
            root=2)
    refused("workload.iterations", "nodes; at most 134217728", iterations=2**30)
    refused("workload", "process group 'world': all_reduce by halving-doubling among 6 ranks: halving-doubling needs",
            hosts=6, algorithm="halving-doubling")
    refused("workload", "operations; at most 134217728", size="1GiB", chunk="1KiB", hosts=8, iterations=200)


def test_the_shipped_configuration() -> None:
    from distsim.config import load

    path = Path(__file__).parents[1] / "configs" / "allreduce64.yaml"
    made = build(load(path).workload, 64, 1)
    sends = made.ops[made.ops["kind"] == SEND]
    assert len(sends) == 64 * 126 and set(sends["size_bytes"].tolist()) == {2**20}
    assert made.instances[["collective", "group_size", "size_bytes"]].tolist() == [(ALL_REDUCE, 64, 2**26)]


# ---- several at once -------------------------------------------------------------------------------------------------
def test_graphs_of_several_jobs() -> None:
    first = graph(2, [coll(0, ALL_TO_ALL, root=1), send(0, 1), coll(1, ALL_TO_ALL), recv(1, -1)], [(1, 0)], [[1, 0]],
                  counts={0: np.array([1, 2])}, names={2: "b"}, warnings=["w"])
    second = graph(3, [recv(0, 2), comp(1, 5), send(2, 0), coll(2, BROADCAST)], [(3, 2)], [[2]], names={1: "c"})
    both = graph_of_several([first, second])
    assert both.ranks == 5 and both.nodes["rank"].tolist() == [0, 0, 1, 1, 2, 3, 4, 4]
    assert both.nodes["peer"].tolist() == [-1, 1, -1, -1, 4, -1, 2, -1]
    assert both.nodes["group"].tolist() == [0, -1, 0, -1, -1, -1, -1, 1]
    assert both.nodes["root"].tolist() == [1, -1, -1, -1, -1, -1, -1, -1]
    assert both.deps.tolist() == [(1, 0), (7, 6)]
    assert [(group.name, group.ranks.tolist()) for group in both.groups] == [("job0.g0", [1, 0]), ("job1.g0", [4])]
    assert list(both.counts) == [0] and both.names == {2: "b", 5: "c"} and both.warnings == ["w"]
    assert first.nodes["rank"].tolist() == [0, 0, 1, 1] and second.nodes["rank"].tolist() == [0, 1, 2, 2]
    assert len(execute(lowered(both))) == len(lowered(both).ops)
    assert graph_of_several([first]).groups[0].name == "g0"
    assert both.control is None and both.computation is None


def test_what_a_file_calls_control_and_computation_is_kept_side_by_side() -> None:
    first = graph(1, [comp(0, 5), send(0, 0)], [(1, 0)], [])
    second = graph(1, [comp(0, 5), comp(0, 6), comp(0, 7)], [(1, 0), (2, 1)], [])
    second.control, second.computation = np.array([False, True]), np.array([True, False, True])
    both = graph_of_several([first, second])
    assert both.control is not None and both.control.tolist() == [False, False, True]
    assert both.computation is not None and both.computation.tolist() == [True, False, True, False, True]
    assert graph_of_several([first]).control is None


def test_parts_of_several_keep_their_labels() -> None:
    parts = [{"kind": "collective", "hosts": [0, 1], "size": "2KB", "collective": "all_gather"},
             {"kind": "permutation", "size": "1KB", "hosts": [4, 5]},
             {"kind": "collective", "hosts": [3, 6], "groups": [[1, 0]], "size": "2KB"}]
    made = build(WORKLOADS["several"].Spec(kind="several", parts=parts), 8, 1)
    # Operations: 4 joins and 2 transfers; 2 flows; 4 joins and 4 transfers.
    assert made.ops["kind"].tolist() == [JOIN] * 4 + [SEND] * 4 + [JOIN] * 4 + [SEND] * 4
    assert made.labels["rank"].tolist() == [0, 1, 0, 1, 0, 1, -1, -1, 2, 3, 2, 3, 3, 2, 3, 2]
    assert made.labels["node"].tolist() == [0, 1, 0, 1, 0, 1, -1, -1, 2, 3, 2, 3, 3, 2, 3, 2]
    assert made.labels["instance"].tolist() == [0] * 6 + [-1] * 2 + [1] * 8
    assert made.labels["peer"].tolist() == [-1] * 4 + [1, 0] + [-1] * 6 + [2, 3, 2, 3]
    assert made.instances[["collective", "group", "size_bytes"]].tolist() == [
        (ALL_GATHER, 0, 1000), (ALL_REDUCE, 1, 2000)]
    assert made.placement.tolist() == [0, 1, 3, 6] and made.graph.ranks == 4
    assert made.ops["user_id"][made.ops["kind"] == SEND].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    verify_hosts = made.ops["host"][made.labels["rank"] >= 0]
    assert (verify_hosts == made.placement[made.labels["rank"][made.labels["rank"] >= 0]]).all()
    plain = build(WORKLOADS["several"].Spec(kind="several", parts=parts[1:2]), 8, 1)
    assert plain.labels is None and plain.graph is None


def test_a_part_in_phases_puts_all_parts_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    from distsim.workload import permutation

    whole = permutation.build

    def phased(*args: object) -> Workload:
        made = whole(*args)
        made.following = lambda phase: None
        return made

    monkeypatch.setattr(permutation, "build", phased)
    parts = [{"kind": "permutation"}, {"kind": "ring", "name": "round", "hosts": 2, "steps": 1}]
    made = build(WORKLOADS["several"].Spec(kind="several", parts=parts), 8, 1)
    assert [lane.name for lane in made.lanes.lanes] == ["part-0", "round"]
    assert len(made.ops) == 8 + 2 and made.following is not None
    assert made.ops["user_id"].tolist() == [*range(1, 9), 9, 10]




def test_an_alltoallv_sends_what_its_counts_say():
    # Member 0 sends 10 B to 1 and nothing to 2; 1 sends 20 and 30 B, 2 sends 40 B to 0. Both groups, in two iterations.
    counts = [["0B", "10B", "0B"], ["20B", "0B", "30B"], ["40B", "0B", "0B"]]
    made = build(WORKLOADS["collective"].Spec(kind="collective", collective="all_to_all", counts=counts, iterations=2,
                                              groups=[[0, 1, 2], [5, 4, 3]]), 6, 1)
    sends = made.ops[made.ops["kind"] == SEND]
    assert sorted(sends[["host", "dst", "size_bytes"]].tolist()) == sorted(
        2 * [(0, 1, 10), (1, 0, 20), (1, 2, 30), (2, 0, 40), (5, 4, 10), (4, 5, 20), (4, 3, 30), (3, 5, 40)])


@pytest.mark.parametrize(("fields", "message"), [
    ({"collective": "all_reduce", "counts": [["0B"]]}, "only an all_to_all has them, not all_reduce"),
    ({"collective": "all_to_all", "counts": [["0B", "1B"], ["2B"]]}, "2 rows need as many sizes each; one has 1"),
])
def test_counts_that_do_not_fit(fields, message):
    with pytest.raises(ValueError, match=message):
        WORKLOADS["collective"].Spec(kind="collective", **fields)


def test_counts_of_another_number_of_ranks():
    spec = WORKLOADS["collective"].Spec(kind="collective", collective="all_to_all", counts=[["0B", "1B"], ["2B", "0B"]])
    with pytest.raises(InputError, match="2 rows do not fit a group of 3 ranks"):
        build(spec, 3, 1)
