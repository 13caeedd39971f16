"""Tracesets: which files, process groups, dependencies between rows, order of issue, scaling, warnings."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from chakra_cases import COMP_NODE, METADATA_NODE, RECV_NODE, SEND_NODE, coll, node, put, trace, write

from distsim.errors import InputError
from distsim.workload.chakra.reader import read_traceset
from distsim.workload.chakra.settings import Reading, Roofline
from distsim.workload.graph import COLL, FIXED


def refused(*arguments, **settings):
    with pytest.raises(InputError) as error:
        read_traceset(*arguments, **settings)
    assert "\n" not in str(error.value)
    return str(error.value)


def one(folder, *nodes, **settings):
    return read_traceset(write(folder, trace(*nodes)), settings=Reading(**settings))


def pairs(graph):
    """(id, id that it waits for) of each dependency."""
    ids = graph.nodes["id"]
    return [(int(ids[row["node"]]), int(ids[row["on"]])) for row in graph.deps]


def on_ids(graph):
    return sorted(pairs(graph))


def test_files_of_ranks(tmp_path):
    prefix = write(tmp_path, *(trace(node(rank, COMP_NODE, rank)) for rank in range(11)))
    (tmp_path / "t.00.et").write_bytes(b"no rank")
    (tmp_path / "t.x.et").write_bytes(b"no rank")
    graph = read_traceset(prefix)
    assert graph.ranks == 11 and graph.nodes["rank"].tolist() == list(range(11)) == graph.nodes["id"].tolist()
    assert graph.source == prefix and graph.warnings == [] and graph.groups == []


def test_a_prefix_in_the_current_folder_and_one_with_odd_letters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, trace(), prefix="a[1]*.b")
    assert read_traceset("a[1]*.b").ranks == 1


def test_a_rank_that_is_missing_is_named(tmp_path):
    prefix = write(tmp_path, *[trace()] * 4)
    (tmp_path / "t.2.et").unlink()
    assert refused(prefix) == (f"{prefix}: the traceset has 3 files up to rank 3, but there is no t.2.et; ranks count "
                               "from 0 without a gap")


def test_no_traces_there(tmp_path):
    write(tmp_path, trace(), prefix="other")
    assert refused(str(tmp_path / "t")) == f"{tmp_path}/t: no Chakra trace t.0.et; the prefixes there: other"
    assert "is the file of one rank; give the prefix" in refused(str(tmp_path / "other.0.et"))
    assert "no traces there" in refused(str(tmp_path / "none" / "t"))


def test_ids_differ_from_rank_to_rank_and_a_rank_may_be_empty(tmp_path):
    prefix = write(tmp_path, trace(coll(7), node(9, COMP_NODE, after=(7,))), trace(), trace(coll(40)))
    graph = read_traceset(prefix)
    assert graph.nodes["rank"].tolist() == [0, 0, 2] and graph.nodes["id"].tolist() == [7, 9, 40]
    assert graph.deps.tolist() == [(1, 0)]


def test_forward_references_both_lists_and_repetitions(tmp_path):
    graph = one(tmp_path, node(5, COMP_NODE, after=(2, 2), ctrl=(9, 2)), node(9, COMP_NODE),
                node(2, COMP_NODE, ctrl=(9,)))
    assert on_ids(graph) == [(2, 9), (5, 2), (5, 9)]
    # (node 5 on 9, 5 on 2, 2 on 9): what is in both lists counts as data.
    control = {pair: bool(flag) for pair, flag in zip(pairs(graph), graph.control)}
    assert control == {(2, 9): True, (5, 2): False, (5, 9): True}


def test_dangling_dependencies_are_dropped_with_one_warning(tmp_path):
    prefix = write(tmp_path, trace(node(1, COMP_NODE, after=(3, 4)), node(3, COMP_NODE)),
                   trace(node(2, COMP_NODE, ctrl=(1,))))
    graph = read_traceset(prefix)
    assert graph.deps.tolist() == [(0, 1)]
    assert graph.warnings == [
        f"{prefix}: 2 dependencies are on node ids that their rank's trace does not have, first of node 1 of rank 0; "
        "they are dropped (policy: what is not there has finished)"]


def test_a_circle_is_named(tmp_path):
    prefix = write(tmp_path, trace(), trace(node(1, COMP_NODE, after=(3,)), node(2, COMP_NODE),
                                            node(3, COMP_NODE, ctrl=(2, 5)), node(5, COMP_NODE, after=(1,)),
                                            node(8, COMP_NODE, after=(5,))))
    assert refused(prefix) == (f"{prefix}.1.et: dependencies go in a circle of 3 nodes, each waiting for the next: "
                               "1 -> 3 -> 5 -> 1")


def test_a_node_that_waits_for_itself(tmp_path):
    prefix = write(tmp_path, trace(node(4, COMP_NODE, after=(4,))))
    assert refused(prefix).endswith("circle of 1 node, each waiting for the next: 4 -> 4")


def test_a_long_circle_is_cut(tmp_path):
    prefix = write(tmp_path, trace(*(node(row, COMP_NODE, after=((row + 1) % 50,)) for row in range(50))))
    assert refused(prefix).endswith("circle of 50 nodes, each waiting for the next: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 "
                                    "-> 7 -> 8 -> 9 -> 10 -> 11 -> ...")


LEFT_OVER = (node(1, COMP_NODE, ctrl=(99,)), node(2, COMP_NODE, ctrl=(2, 3)), node(3, COMP_NODE, after=(2,), ctrl=(1,)))


def test_control_dependencies_that_a_conversion_left_over(tmp_path):
    """Node 1 waits for 99, which is not there; 2 for itself and for 3, while 3 waits for 2 by data and for 1."""
    graph = one(tmp_path, *LEFT_OVER)
    assert on_ids(graph) == [(3, 1), (3, 2)]
    assert dict(zip(pairs(graph), graph.control.tolist())) == {(3, 1): True, (3, 2): False}
    assert [line.partition(": ")[2].partition(";")[0] for line in graph.warnings] == [
        "1 dependencies are on node ids that their rank's trace does not have, first of node 1 of rank 0",
        "2 control dependencies go in circles with others, first of node 2 of rank 0"]


def test_without_a_dangling_one_the_same_circle_is_an_error(tmp_path):
    prefix = write(tmp_path, trace(node(1, COMP_NODE), *LEFT_OVER[1:]))
    assert "dependencies go in a circle" in refused(prefix)


def test_a_circle_of_data_dependencies_is_an_error_beside_left_over_ones(tmp_path):
    prefix = write(tmp_path, trace(*LEFT_OVER, node(4, COMP_NODE, after=(5,)), node(5, COMP_NODE, after=(4,))))
    assert refused(prefix).endswith("4 -> 5 -> 4")


def test_an_id_that_is_there_twice(tmp_path):
    prefix = write(tmp_path, trace(node(3, COMP_NODE), node(1, COMP_NODE), node(3, COMP_NODE)))
    assert refused(prefix) == f"{prefix}.0.et: node id 3 is there twice"


GROUPS = {"1": [0, 1], "2": [3, 2]}


def with_groups(folder, name=".json", groups=None, ranks=4, pg_name="2"):
    prefix = write(folder, *[trace(coll(1, pg_name=pg_name))] * ranks)
    (folder / f"t{name}").write_text(json.dumps(GROUPS if groups is None else groups))
    return prefix


@pytest.mark.parametrize("name", [".json", ".comm_group.json"])
def test_groups_beside_the_traces(tmp_path, name):
    graph = read_traceset(with_groups(tmp_path, name))
    assert [(group.name, group.ranks.tolist()) for group in graph.groups] == [("1", [0, 1]), ("2", [3, 2])]
    assert graph.nodes["kind"].tolist() == [FIXED, FIXED, COLL, COLL]
    assert graph.nodes["group"].tolist() == [-1, -1, 1, 1]
    assert graph.nodes["size_bytes"].tolist() == [0, 0, 1000, 1000]
    assert graph.warnings == [
        f"{graph.source}: 2 collective nodes are in the trace of a rank outside their process group, first node 1 of "
        "rank 0; they are not expanded and only take their duration"]


def test_groups_of_a_file_that_is_named(tmp_path):
    prefix = write(tmp_path, *[trace(coll(1, pg_name="9"))] * 2)
    (tmp_path / "g.json").write_text('{"9": [1, 0]}')
    assert read_traceset(prefix, str(tmp_path / "g.json")).groups[0].ranks.tolist() == [1, 0]


@pytest.mark.parametrize("pg_name", [None, "", "0"])
def test_no_name_and_0_are_all_ranks(tmp_path, pg_name):
    more = {} if pg_name is None else {"pg_name": pg_name}
    prefix = write(tmp_path, *[trace(coll(1, **more), coll(2, pg_name="0"))] * 3)
    graph = read_traceset(prefix)
    assert [(group.name, group.ranks.tolist()) for group in graph.groups] == [("0", [0, 1, 2])]
    assert graph.nodes["group"].tolist() == [0] * 6


def test_a_number_as_name_and_a_declared_0(tmp_path):
    graph = read_traceset(with_groups(tmp_path, groups={"0": [2, 1], "7": [0]}, pg_name=7))
    assert graph.nodes["group"].tolist() == [1, -1, -1, -1]
    graph = read_traceset(with_groups(tmp_path, groups={"0": [2, 1]}, pg_name="0"))
    assert graph.groups[0].ranks.tolist() == [2, 1] and graph.nodes["group"].tolist() == [-1, 0, 0, -1]


@pytest.mark.parametrize(("text", "message"), [
    ('{"2": [0, 8]}', "process group '2' has an unknown rank 8; the traceset has ranks 0 to 3"),
    ('{"2": [0, -1]}', "process group '2' has an unknown rank -1"),
    ('{"2": [0, "1"]}', "process group '2' has an unknown rank '1'"),
    ('{"2": [0, 0]}', "process group '2' has rank 0 twice"),
    ('{"2": []}', "process group '2' has no ranks"),
    ('{"2": [0], "2": [1]}', "process group '2' is there twice"),
    ('[[0, 1]]', "is not a list of process groups"),
    ('{"2": 3}', "is not a list of process groups"),
    ('{"2": [0,', "is not JSON: ")])
def test_groups_that_are_refused(tmp_path, text, message):
    prefix = with_groups(tmp_path)
    (tmp_path / "t.json").write_text(text)
    assert message in refused(prefix) and refused(prefix).startswith(f"{prefix}.json:")


def test_a_group_that_is_not_declared(tmp_path):
    prefix = with_groups(tmp_path, pg_name="5")
    assert refused(prefix) == (f"{prefix}.0.et: node 1 has the undeclared process group '5'; valid: '1', '2'; name "
                               "their JSON in workload.comm_groups")


def test_a_group_file_that_is_not_there(tmp_path):
    assert "no such file (process groups)" in refused(write(tmp_path, trace()), str(tmp_path / "none.json"))


def declares(ranks):
    text = repr([json.dumps([{"pg_name": "4", "ranks": ranks}])])
    return node(50, METADATA_NODE, name="## process_group:init ##", inputs=put(1, text))


def test_groups_that_the_traces_declare(tmp_path):
    prefix = write(tmp_path, *[trace(declares([2, 0]), coll(1, pg_name="4"))] * 3)
    graph = read_traceset(prefix)
    assert graph.groups[0].name == "4" and graph.groups[0].ranks.tolist() == [2, 0]
    prefix = write(tmp_path, trace(declares([2, 0])), trace(declares([0, 2])), trace())
    assert "process group '4' has ranks 0, 2, in the traceset or an earlier rank's trace 2, 0" in refused(prefix)


def test_a_root_outside_its_group(tmp_path):
    prefix = with_groups(tmp_path)
    write(tmp_path, *[trace(coll(1, kind=5, root=rank, pg_name="2")) for rank in (2, 2, 2, 1)])
    assert refused(prefix).endswith("node 1 has root 1, which is not in its process group '2'")


def test_launchers_make_one_warning(tmp_path):
    graph = one(tmp_path, node(1, 7, 5), node(2, 7, 6), coll(3))
    assert graph.nodes["duration_ps"].tolist() == [5_000_000, 6_000_000, 0]
    assert graph.warnings == [
        f"{graph.source}: 2 collective nodes have neither comm_type nor comm_size (launchers on the CPU), first node 1 "
        "of rank 0; they are not expanded and only take their duration"]


def test_order_of_issue(tmp_path):
    issued = one(tmp_path, coll(1, issue_order=4, start_us=9), coll(2, issue_order=3), node(3, COMP_NODE, 1))
    assert issued.nodes["issue"].tolist() == [4, 3, -1]
    started = one(tmp_path, coll(1, start_us=9), coll(2, start_us=7), node(3, COMP_NODE, 1, start_us=1))
    assert started.nodes["issue"].tolist() == [9, 7, -1]
    assert one(tmp_path, coll(1), coll(2)).nodes["issue"].tolist() == [-1, -1]


def test_start_times_that_contradict_the_dependencies(tmp_path):
    graph = one(tmp_path, coll(1, start_us=9), coll(2, start_us=7, after=(1,)))
    assert graph.nodes["issue"].tolist() == [-1, -1]
    assert "1 ranks have start times of collectives that contradict their dependencies" in graph.warnings[0]


def test_scaling_truncates_to_bytes_and_microseconds(tmp_path):
    nodes = (coll(1, 999), node(2, COMP_NODE, 3), node(3, SEND_NODE, comm_size=1, comm_dst=0),
             node(4, RECV_NODE, comm_size=100, comm_src=0), node(5, COMP_NODE, 1))
    half = one(tmp_path, *nodes, scaling=0.5).nodes
    assert half["size_bytes"].tolist() == [499, 0, 0, 50, 0]
    assert half["duration_ps"].tolist() == [0, 1_000_000, 0, 0, 0]
    none = one(tmp_path, *nodes, scaling=0.0).nodes
    assert not none["size_bytes"].any() and not none["duration_ps"].any()
    same = one(tmp_path, *nodes, scaling=1.0).nodes
    assert same["size_bytes"].tolist() == [999, 0, 1, 100, 0] and same["duration_ps"].tolist()[1] == 3_000_000


def test_one_trace_for_several_ranks(tmp_path):
    graph = one(tmp_path, coll(1), node(2, COMP_NODE, 4, after=(1,)), ranks=3)
    assert graph.ranks == 3 and graph.nodes["rank"].tolist() == [0, 0, 1, 1, 2, 2]
    assert graph.deps.tolist() == [(1, 0), (3, 2), (5, 4)] and graph.groups[0].ranks.tolist() == [0, 1, 2]


def test_only_a_lone_trace_without_transfers_stands_for_several_ranks(tmp_path):
    prefix = write(tmp_path, trace(coll(1)), trace(coll(1)))
    assert "the traceset has 2 ranks, not the 3 asked for" in refused(prefix, settings=Reading(ranks=3))
    assert read_traceset(prefix, settings=Reading(ranks=2)).ranks == 2
    prefix = write(tmp_path, trace(node(1, SEND_NODE, comm_size=1, comm_dst=1)), prefix="s")
    assert "one rank's trace cannot stand for all" in refused(prefix, settings=Reading(ranks=2))


def test_names_and_roofline_are_passed_on(tmp_path):
    graph = one(tmp_path, node(1, COMP_NODE, name="gemm", num_ops=2), names=True, roofline=Roofline(tflops=2.0))
    assert graph.names == {0: "gemm"} and graph.nodes["duration_ps"].tolist() == [1]
    assert one(tmp_path, node(1, COMP_NODE, name="gemm")).names == {}


def test_the_shipped_traceset_is_the_step_of_its_recipe():
    from chakra_cases import step_graph

    prefix = Path(__file__).parent.parent / "configs" / "chakra8" / "step"
    graph, recipe = read_traceset(str(prefix), settings=Reading(names=True)), step_graph()
    assert np.array_equal(graph.nodes, recipe.nodes) and np.array_equal(graph.deps, recipe.deps)
    assert graph.names == recipe.names and graph.warnings == []
    assert [group.name for group in graph.groups] == ["tp0", "tp1", "world"]
    assert sum(file.stat().st_size for file in prefix.parent.iterdir()) < 20_000
