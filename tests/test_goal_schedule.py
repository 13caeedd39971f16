"""GOAL schedules: operations and what they wait for, worked out by hand, and every error with its line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from distsim.errors import InputError
from distsim.fabric.types import ServerLinks
from distsim.workload import WORKLOADS
from distsim.workload.base import Context
from distsim.workload.goal import read
from distsim.workload.graph import COMP, FIXED, META, RECV, SEND, Graph
from distsim.workload.types import LOCAL, LOCAL_IN, Workload
from distsim.workload.types import SEND as OP_SEND

TREE = """num_ranks 3
// a tree of three
rank 0 {
l1: send 100b to 1 tag 5
l2: send 200b to 2 tag 5 cpu 0 nic 0
l2 requires l1
}
rank 1 { l1: recv 100b from 0 tag 5 }
/* rank 2
   takes its time */
rank 2 {
  l1: recv 200b from -1 tag 5
  l2: calc 1500
  l2 requires l1
}
"""


def graph_of(tmp_path: Path, text: str, calc_ps: int = 1000) -> Graph:
    path = tmp_path / "case.goal"
    path.write_text(text)
    return read(str(path), calc_ps)


def in_rank(tmp_path: Path, body: str, ranks: int = 2) -> Graph:
    return graph_of(tmp_path, f"num_ranks {ranks}\nrank 0 {{\n{body}\n}}\n")


def waits(graph: Graph) -> dict[str, set[str]]:
    """label -> labels it waits for; META nodes are named M, numbered in their order."""
    metas = np.flatnonzero(graph.nodes["kind"] == META).tolist()
    name = {**graph.names, **{row: f"M{place}" for place, row in enumerate(metas)}}
    found: dict[str, set[str]] = {}
    for node, on in graph.deps.tolist():
        found.setdefault(name[node], set()).add(name[on])
    return found


def test_a_tree(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, TREE)
    assert graph.ranks == 3 and graph.warnings == []
    columns = ["rank", "kind", "id", "duration_ps", "size_bytes", "peer", "tag"]
    assert graph.nodes[columns].tolist() == [
        (0, SEND, 0, 0, 100, 1, 5), (0, SEND, 1, 0, 200, 2, 5), (1, RECV, 0, 0, 100, 0, 5),
        (2, RECV, 0, 0, 200, -1, 5), (2, COMP, 1, 1_500_000, 0, -1, 0)]
    assert graph.deps.tolist() == [(1, 0), (4, 3)]
    assert graph.names == {0: "l1", 1: "l2", 2: "l1", 3: "l1", 4: "l2"}
    assert (graph.nodes[["group", "root", "issue"]].tolist()) == [(-1, -1, -1)] * 5


def test_white_space_and_order_do_not_matter(tmp_path: Path) -> None:
    plain = graph_of(tmp_path, TREE)
    odd = ("/* num_ranks 9 */num_ranks\n3 rank 2{l2 requires l1 l1:recv 200 b from -1 tag\n5 // rank 3\n"
           " l2 : calc 1500}\n"
           "rank 1 {l1: recv 100b from 0\ntag 5}rank 0 { l2 requires l1 l1: send 100b to 1 /* tag 4\n*/ tag 5\n"
           "l2: send 200b to 2 nic 0 cpu 0 tag 5}")
    other = graph_of(tmp_path, odd)
    assert (other.nodes == plain.nodes).all() and (other.deps == plain.deps).all() and other.names == plain.names
    assert (graph_of(tmp_path, TREE.replace("\n", "\r\n")).nodes == plain.nodes).all()


def test_the_unit_of_calc(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, TREE, calc_ps=2_000_000)
    assert graph.nodes["duration_ps"][4] == 3_000_000_000


def test_a_rank_without_operations(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, "num_ranks 4\nrank 3 { calc 1 }\nrank 1 {}\n")
    assert graph.ranks == 4 and graph.nodes["rank"].tolist() == [3] and len(graph.deps) == 0
    assert len(graph_of(tmp_path, "num_ranks 4").nodes) == 0


def test_irequires_waits_for_what_the_other_waits_for(tmp_path: Path) -> None:
    # b starts when a is done, so c (which waits for b's start) starts then too; d starts with e, at once.
    graph = in_rank(tmp_path, "a: calc 1\nb: calc 2\nc: calc 3\nd: calc 4\ne: calc 5\n"
                              "b requires a\nc irequires b\nd irequires e")
    assert waits(graph) == {"b": {"a"}, "c": {"a"}}


def test_irequires_of_an_operation_that_waits_for_several(tmp_path: Path) -> None:
    graph = in_rank(tmp_path, "a: calc 1\nb: calc 2\nc: calc 3\nd: calc 4\nc requires a\nc requires b\nd irequires c")
    assert waits(graph) == {"c": {"a", "b"}, "d": {"M0"}, "M0": {"a", "b"}}
    assert graph.nodes[["kind", "id", "duration_ps"]].tolist()[4] == (META, 4, 0)


def test_irequires_in_a_row(tmp_path: Path) -> None:
    # c starts with b, that is when a is done; d with c, e is done before too: d waits for a and e.
    graph = in_rank(tmp_path, "d: calc 4\nc: calc 3\nb: calc 2\na: calc 1\ne: calc 1\nf: calc 1\n"
                              "f irequires d\nd irequires c\nd requires e\nc irequires b\nb requires a")
    assert waits(graph) == {"b": {"a"}, "c": {"a"}, "d": {"a", "e"}, "f": {"M0"}, "M0": {"e", "a"}}


def test_long_rows_of_irequires(tmp_path: Path) -> None:
    count = 5000
    body = "\n".join(f"x{i}: calc 1" for i in range(count))
    body += "\n" + "\n".join(f"x{i} irequires x{i - 1}" for i in range(2, count)) + "\nx1 requires x0"
    graph = in_rank(tmp_path, body)
    assert sorted(graph.deps.tolist()) == [(row, 0) for row in range(1, count)]


def test_the_same_dependency_twice_counts_once(tmp_path: Path) -> None:
    assert len(in_rank(tmp_path, "a: calc 1\nb: calc 2\nb requires a\nb requires a\nb irequires a").deps) == 1


def test_calcs_of_several_cpus_do_not_share(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, "num_ranks 2\nrank 0 { calc 1 cpu 0 calc 2 cpu 1 }\n"
                               "rank 1 { calc 3 cpu 7 calc 4 cpu 7 }")
    assert graph.nodes["kind"].tolist() == [FIXED, FIXED, COMP, COMP]
    assert graph.warnings == [f"{tmp_path / 'case.goal'}: calcs of rank 0 name several cpus (1 ranks do); calcs of "
                              "these ranks run at full speed, also two at once on one cpu"]


def test_nic_is_not_used(tmp_path: Path) -> None:
    assert in_rank(tmp_path, "send 1b to 1 nic 1").warnings == [
        f"{tmp_path / 'case.goal'}:3: nic is not used; a rank has one NIC"]


def test_any_tag_is_the_tag_that_is_sent(tmp_path: Path) -> None:
    text = ("num_ranks 3\nrank 0 {\nrecv 1b from 1 tag -1\nrecv 1b from -1 tag -1\nrecv 1b from 2 tag 8\n}\n"
            "rank 1 { send 1b to 0 tag 8 send 1b to 2 tag 9 }\nrank 2 { send 1b to 0 tag 8 }\n")
    assert graph_of(tmp_path, text).nodes["tag"][:3].tolist() == [8, 8, 8]
    with pytest.raises(InputError) as error:
        graph_of(tmp_path, text.replace("to 0 tag 8 }", "to 0 tag 7 }"))
    assert str(error.value) == (f"{tmp_path / 'case.goal'}:4: recv of any tag could match the tags 7 and 8; name the "
                                "tag")


@pytest.mark.parametrize(("body", "line", "message"), [
    ("sent 1b to 1", 3, "'sent' does not belong here"),
    ("a: sent 1b to 1", 3, "found 'sent' where send, recv or calc is due"),
    ("send 1 to 1", 3, "found 'to' where b is due"),
    ("send xb to 1", 3, "size 'x' is not a whole number"),
    ("send -1b to 1", 3, "size -1 is out of range"),
    ("send 1099511627777b to 1", 3, "size 1099511627777 is out of range, 0 to 1099511627776"),
    ("send 1b from 1", 3, "found 'from' where to is due"),
    ("send 1b to 2", 3, "receiver 2 is out of range, 0 to 1"),
    ("send 1b to -1", 3, "receiver -1 is out of range"),
    ("send 1b to 0", 3, "rank 0 would send to itself"),
    ("recv 1b to 1", 3, "found 'to' where from is due"),
    ("recv 1b from 0", 3, "rank 0 would receive from itself"),
    ("recv 1b from -2", 3, "sender -2 is out of range, -1 to 1"),
    ("send 1b to 1 tag -1", 3, "tag -1 is out of range, 0 to"),
    ("send 1b to 1 tag 1 tag 2", 3, "tag is given twice"),
    ("send 1b to 1 cpu 256", 3, "cpu 256 is out of range, 0 to 255"),
    ("calc 1.5", 3, "calc '1.5' is not a whole number"),
    ("calc 1000000000000001", 3, "calc 1000000000000001 is out of range"),
    ("calc 1 tag 3", 3, "tag does not belong to this operation; valid: cpu"),
    ("1a: calc 1", 3, "'1a' is not a label"),
    ("a: calc 1\na: calc 2", 4, "label a is given twice in rank 0"),
    ("a: calc 1\nb requires a", 4, "label b is not defined in rank 0"),
    ("a: calc 1\n\na requires c", 5, "label c is not defined in rank 0"),
    ("a: calc 1\na requires a", 4, "a would wait for itself"),
    ("a: calc 1\nb: calc 1\na irequires b\nb irequires a", 5, "only after its own start"),
    ("a: calc 1\nb: calc 1\na requires b\nb irequires a", 6, "b and a wait for each other"),
])
def test_errors_name_the_line(tmp_path: Path, body: str, line: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        in_rank(tmp_path, body)
    assert str(error.value).startswith(f"{tmp_path / 'case.goal'}:{line}: ") and message in str(error.value)


@pytest.mark.parametrize(("text", "place", "message"), [
    ("", "", "num_ranks is missing"),
    ("rank 0 { }", ":1", "num_ranks comes before the first rank"),
    ("num_ranks 0", ":1", "num_ranks 0 is out of range, 1 to"),
    ("num_ranks 2\nnum_ranks 2", ":2", "num_ranks is given twice"),
    ("num_ranks", ":1", "ends where num_ranks is due"),
    ("num_ranks 2\nrank 2 { }", ":2", "rank 2 is out of range, 0 to 1"),
    ("num_ranks 2\nrank 1 { }\nrank 1 { }", ":3", "rank 1 is given twice"),
    ("num_ranks 2\nrank 1\ncalc 3", ":3", "found 'calc' where { is due"),
    ("num_ranks 2\nrank 1 {\ncalc 3\n", ":2", "rank 1 is never closed with }"),
    ("num_ranks 2\n/* rank\n", ":2", "the comment /* is never closed"),
    ("num_ranks 2\n}", ":2", "'}' does not belong here"),
    ("num_ranks 2\nrank 0 { }\n\0", ":3", "is not a text file"),
])
def test_errors_of_the_whole(tmp_path: Path, text: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        graph_of(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'case.goal'}{place}: ") and message in str(error.value)


def build(path: Path, nics: int, servers: ServerLinks | None = None, **fields: object) -> Workload:
    module = WORKLOADS["goal"]
    spec = module.Spec(kind="goal", file=str(path), **fields)
    built: Workload = module.build(spec, Context(nics, 1, servers=servers))
    return built


def test_as_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "tree.goal"
    path.write_text(TREE)
    ops = build(path, 4).ops
    sends = ops[ops["kind"] == OP_SEND]
    assert sends[["host", "dst", "size_bytes"]].tolist() == [(0, 1, 100), (0, 2, 200)]
    ops = build(path, 8, hosts=[7, 3, 5]).ops
    assert ops[ops["kind"] == OP_SEND][["host", "dst"]].tolist() == [(7, 3), (7, 5)]
    with pytest.raises(InputError, match=r"workload.hosts: 3 ranks need a host each; 2 are given"):
        build(path, 2)


def test_servers_of_the_topology_are_the_scale_up_network(tmp_path: Path) -> None:
    path = tmp_path / "tree.goal"
    path.write_text(TREE)
    servers = ServerLinks(2, 10**12, 50_000)
    # Ranks 0 and 1 share the first server of two NICs: what rank 0 sends 1 does not take the fabric.
    ops = build(path, 4, servers).ops
    assert ops[ops["kind"] == OP_SEND][["host", "dst"]].tolist() == [(0, 2)]
    assert ops[ops["kind"] == LOCAL][["host", "dst"]].tolist() == [(0, 1)]
    # 100 B and a header of 24 B at 1 Tbit/s take 992 ps.
    assert ops[ops["kind"] == LOCAL]["work_ps"].tolist() == [992]
    assert np.count_nonzero(build(path, 4, servers, scale_up={"gpus_per_server": 1}).ops["kind"] == LOCAL_IN) == 0
    own = build(path, 4, servers, scale_up={"gpus_per_server": 3}).ops
    assert np.count_nonzero(own["kind"] == LOCAL) == 2
    # A section that leaves gpus_per_server out takes it from the topology, here 2, not the default of 8.
    own = build(path, 4, ServerLinks(2), scale_up={"bandwidth": "1Tbps"}).ops
    assert np.count_nonzero(own["kind"] == LOCAL) == 1
    assert np.count_nonzero(build(path, 4, ServerLinks(2)).ops["kind"] == LOCAL) == 0


def test_reading_does_not_hold_the_text(tmp_path: Path) -> None:
    path = tmp_path / "long.goal"
    line = "send 1000b to 1 tag 5" + " " * 2000 + "// a comment\n"
    path.write_text("num_ranks 2\nrank 0 {\n" + 2000 * line + "}\n")
    tracemalloc.start()
    graph = read(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The file has 4 MB; 2,000 operations of under 100 bytes in columns and as many in NODES.
    assert len(graph.nodes) == 2000 and peak < 1_000_000
