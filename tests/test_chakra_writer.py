"""Writing tracesets: what is read back is what was written."""

from __future__ import annotations

import json

import numpy as np
import pytest
from chakra_cases import nodes_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from distsim.errors import InputError
from distsim.workload.chakra.messages import Node, attributes
from distsim.workload.chakra.rank import read_nodes
from distsim.workload.chakra.reader import read_traceset
from distsim.workload.chakra.settings import Reading
from distsim.workload.chakra.writer import write_traceset
from distsim.workload.graph import (
    ALL_TO_ALL,
    BROADCAST,
    COLL,
    COLLECTIVES,
    COMP,
    DEPS,
    FIXED,
    META,
    NODES,
    RECV,
    SEND,
    Graph,
    Group,
)

TIB = 1 << 40


def node_rows(draw, rank, ranks, groups):
    """The nodes of one rank."""
    inside = [row for row, group in enumerate(groups) if rank in group.ranks]
    kinds = [COMP, FIXED, SEND, RECV, META, *([COLL] if inside else [])]
    ids = draw(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=6))
    rows = []
    for node_id in ids:
        kind = draw(st.sampled_from(kinds))
        row = {"rank": rank, "kind": kind, "id": node_id}
        if kind in (COMP, FIXED):
            whole_us = st.integers(0, 10**6).map(lambda duration_us: duration_us * 10**6)
            row["duration_ps"] = draw(st.one_of(st.integers(0, 10**18), whole_us))
        if kind in (SEND, RECV):
            row |= {"size_bytes": draw(st.integers(0, TIB)), "tag": draw(st.integers(0, 2**63 - 1)),
                    "peer": draw(st.integers(0 if kind == SEND else -1, ranks - 1))}
        if kind == SEND and inside and draw(st.booleans()):
            row |= {"group": draw(st.sampled_from(inside)), "issue": draw(st.integers(-1, 2**63 - 1))}
        if kind == COLL:
            row |= {"size_bytes": draw(st.integers(0, TIB)), "group": draw(st.sampled_from(inside)),
                    "collective": draw(st.integers(0, len(COLLECTIVES) - 1)), "issue": draw(st.integers(-1, 2**63 - 1))}
            row["root"] = draw(st.sampled_from([-1, *groups[row["group"]].ranks.tolist()]))
        rows.append(row)
    return rows


@st.composite
def graphs(draw):
    """Any graph in the form in which readers make them: rows by rank, dependencies sorted, each once, no circles."""
    ranks = draw(st.integers(1, 4))
    names = draw(st.lists(st.text(max_size=5), unique=True, max_size=3))
    members = st.permutations(range(ranks)).flatmap(lambda order: st.integers(1, ranks).map(lambda some: order[:some]))
    groups = [Group(name, np.array(draw(members), "i4")) for name in names]
    rows, deps, counts = [], [], {}
    for rank in range(ranks):
        mine = node_rows(draw, rank, ranks, groups)
        first = len(rows)
        order = draw(st.permutations(range(len(mine))))
        pairs = st.tuples(st.integers(0, max(len(mine) - 1, 0)), st.integers(0, max(len(mine) - 1, 0)))
        deps += [(first + order[max(pair)], first + order[min(pair)]) for pair in draw(st.sets(pairs, max_size=8))
                 if pair[0] != pair[1]]
        rows += mine
    for row, values in enumerate(rows):
        if values["kind"] == COLL and values["collective"] == ALL_TO_ALL and draw(st.booleans()):
            count = len(groups[values["group"]].ranks)
            counts[row] = np.array(draw(st.lists(st.integers(0, TIB), min_size=count, max_size=count)), "i8")
    table = np.array(sorted(set(deps)), DEPS) if deps else np.zeros(0, DEPS)
    nodes = nodes_of(rows) if rows else np.zeros(0, NODES)
    control = np.array([draw(st.booleans()) for _ in table], bool)
    memory = np.array([row["kind"] == FIXED and draw(st.booleans()) for row in rows], bool)
    return Graph(ranks, nodes, table, groups, counts, control=control,
                 computation=((nodes["kind"] == COMP) | (nodes["kind"] == FIXED)) & ~memory)


def check_same(graph, back):
    assert back.ranks == graph.ranks and back.warnings == []
    for name in NODES.names:
        assert np.array_equal(back.nodes[name], graph.nodes[name]), name
    assert np.array_equal(back.deps, graph.deps)
    if graph.control is not None:
        assert np.array_equal(back.control, graph.control) and np.array_equal(back.computation, graph.computation)
    assert [group.ranks.tolist() for group in back.groups] == [group.ranks.tolist() for group in graph.groups]
    assert {row: count.tolist() for row, count in back.counts.items()} == {
        row: count.tolist() for row, count in graph.counts.items()}


@given(graphs())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_reading_gives_back_what_was_written(tmp_path_factory, graph):
    prefix = str(tmp_path_factory.mktemp("w") / "t")
    write_traceset(graph, prefix)
    back = read_traceset(prefix)
    check_same(graph, back)
    given_names = [group.name for group in graph.groups]
    assert [group.name for group in back.groups] == [
        name if name else f"group{row}" for row, name in enumerate(given_names)]


@pytest.mark.parametrize(("name", "used"), [("0", True), ("0", False), ("", True), ("", False), ("1", False)])
def test_the_group_of_all_ranks_under_any_name(tmp_path, name, used):
    rows = [{"kind": COLL, "group": 0, "id": 1, "rank": 0}, {"kind": COLL, "group": 0, "id": 1, "rank": 1}]
    graph = Graph(2, nodes_of(rows if used else []), np.zeros(0, DEPS), [Group(name, np.arange(2, dtype="i4"))])
    write_traceset(graph, str(tmp_path / "t"))
    check_same(graph, read_traceset(str(tmp_path / "t")))
    assert (tmp_path / "t.json").exists() == (name != "0" or not used)


def small():
    rows = [{"kind": COMP, "id": 1, "duration_ps": 1_499_999}, {"kind": RECV, "id": 2, "peer": -1, "size_bytes": 3},
            {"kind": COLL, "id": 3, "group": 0, "collective": BROADCAST, "size_bytes": 8, "root": 0, "issue": 0},
            {"kind": SEND, "id": 4, "peer": 0, "size_bytes": 5, "tag": 2**31}]
    deps = np.array([(1, 0), (2, 0), (2, 1)], DEPS)
    return Graph(1, nodes_of(rows), deps, [Group("0", np.zeros(1, "i4"))], {2: np.array([9])}, names={0: "gemm"})


WANTED = frozenset([b"is_cpu_op", b"comm_type", b"comm_size", b"comm_src", b"comm_dst", b"comm_tag", b"pg_name",
                    b"root", b"duration_ps", b"issue_order"])


def test_what_other_readers_see(tmp_path):
    notes = write_traceset(small(), str(tmp_path / "t"))
    found = list(read_nodes(str(tmp_path / "t.0.et")))
    assert [(node.id, node.type, node.name, node.duration_micros) for node in found] == [
        (1, 4, b"gemm", 1), (2, 6, b"recv", 0), (3, 7, b"broadcast", 0), (4, 5, b"send", 0)]
    assert [list(node.data_deps) for node in found] == [[], [1], [1, 2], []]
    assert [attributes(node, WANTED) for node in found] == [
        {b"is_cpu_op": False, b"duration_ps": 1_499_999},
        {b"is_cpu_op": False, b"comm_size": 3, b"comm_src": -1, b"comm_dst": 0, b"comm_tag": 0},
        {b"is_cpu_op": False, b"comm_type": 5, b"comm_size": 8, b"pg_name": b"0", b"root": 0, b"issue_order": 0},
        {b"is_cpu_op": False, b"comm_size": 5, b"comm_src": 0, b"comm_dst": 0, b"comm_tag": 2**31}]
    assert [note.split(" ")[0] for note in notes] == ["1", "1", "1"] and "duration_ps" in notes[0]
    wire = {attribute.name: attribute.WhichOneof("value") for node in found for attribute in node.attr}
    assert (wire[b"is_cpu_op"], wire[b"comm_size"], wire[b"comm_src"]) == ("bool_val", "int64_val", "int32_val")


def test_version_and_bytes_of_a_small_file(tmp_path):
    graph = Graph(1, nodes_of([{"kind": META, "id": 3}]), np.zeros(0, DEPS))
    assert write_traceset(graph, str(tmp_path / "t")) == []
    assert (tmp_path / "t.0.et").read_bytes() == b"\x07\x0a\x051.0.0" + b"\x0a\x08\x03\x12\x04meta\x18\x01"
    assert Node.FromString(b"\x08\x03\x12\x04meta\x18\x01").id == 3


def test_groups_are_written_unless_they_are_only_all_ranks(tmp_path):
    write_traceset(small(), str(tmp_path / "t"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.0.et"]
    graph = small()
    graph.groups = [Group("x", np.zeros(1, "i4")), Group("x", np.zeros(1, "i4")), Group("", np.zeros(1, "i4"))]
    write_traceset(graph, str(tmp_path / "t"), overwrite=True)
    assert json.loads((tmp_path / "t.json").read_text()) == {"x": [0], "x.1": [0], "group2": [0]}


def test_a_traceset_that_is_there_is_kept_unless_told(tmp_path):
    prefix = str(tmp_path / "deep" / "t")
    graph = Graph(3, nodes_of([{"kind": META, "id": 1}]), np.zeros(0, DEPS))
    write_traceset(graph, prefix)
    with pytest.raises(InputError, match="the traceset is there already \\(3 files\\); give another prefix or"):
        write_traceset(small(), prefix)
    assert read_traceset(prefix).ranks == 3
    write_traceset(small(), prefix, overwrite=True)
    assert read_traceset(prefix).ranks == 1
    with pytest.raises(InputError, match="is a folder"):
        write_traceset(small(), str(tmp_path) + "/")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_traceset(small(), str(tmp_path / "file" / "t"))


def test_ids_that_are_not_unique_become_running_numbers(tmp_path):
    rows = [{"kind": META, "id": 7}, {"kind": META, "id": 7}, {"kind": META, "id": 7, "rank": 1}]
    graph = Graph(2, nodes_of(rows), np.array([(1, 0)], DEPS))
    write_traceset(graph, str(tmp_path / "t"))
    back = read_traceset(str(tmp_path / "t"), settings=Reading(names=True))
    assert back.nodes["id"].tolist() == [1, 2, 7] and back.deps.tolist() == [(1, 0)] and back.names[0] == "meta"


def test_groups_of_an_overwritten_traceset_are_gone(tmp_path):
    """Whichever of the two names their JSON has: reading would find it, and here refuse it."""
    (tmp_path / "t.comm_group.json").write_text('{"0": [0, 1]}')
    with pytest.raises(InputError, match="there already \\(1 files\\)"):
        write_traceset(small(), str(tmp_path / "t"))
    write_traceset(small(), str(tmp_path / "t"), overwrite=True)
    assert [group.ranks.tolist() for group in read_traceset(str(tmp_path / "t")).groups] == [[0]]


def test_names_of_groups_differ_whatever_they_are(tmp_path):
    graph = small()
    graph.groups = [Group(name, np.zeros(1, "i4")) for name in ("x.2", "x", "x")]
    write_traceset(graph, str(tmp_path / "t"))
    assert json.loads((tmp_path / "t.json").read_text()) == {"x.2": [0], "x": [0], "x.2.2": [0]}
