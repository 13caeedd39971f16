"""What each type of node becomes, and what is refused, with file and node id."""

from __future__ import annotations

import pytest
from chakra_cases import (
    COMP_NODE,
    MEM_LOAD,
    MEM_STORE,
    METADATA_NODE,
    RECV_NODE,
    SEND_NODE,
    attribute,
    coll,
    node,
    put,
    trace,
    varint,
    write,
)

from distsim.errors import InputError
from distsim.workload.chakra.rank import read_rank
from distsim.workload.chakra.settings import Roofline
from distsim.workload.graph import BARRIER, COLL, COMP, FIXED, META, RECV, SEND

TIB = 1 << 40


def read(folder, *found, **settings):
    write(folder, trace(*found))
    return read_rank(str(folder / "t.0.et"), 0, 8, **settings)


def refused(folder, *found, **settings):
    with pytest.raises(InputError) as error:
        read(folder, *found, **settings)
    assert error.value.file == str(folder / "t.0.et") and "\n" not in str(error.value)
    return error.value.message


def test_types(tmp_path):
    found = read(tmp_path, node(0, COMP_NODE, 7), node(1, MEM_LOAD, 2), node(2, MEM_STORE, 3),
                 node(3, METADATA_NODE, 9),
                 node(4, SEND_NODE, comm_size=5, comm_dst=(3, "int32"), comm_tag=(11, "uint32")),
                 node(5, RECV_NODE, comm_size=6, comm_src=(7, "uint32")), coll(6, 1000, 4, root=2),
                 node(7, COMP_NODE, 4, is_cpu_op=True))
    assert found.computation.tolist() == [True] + [False] * 6 + [True]
    found = found.nodes
    assert found["kind"].tolist() == [COMP, FIXED, FIXED, META, SEND, RECV, COLL, FIXED]
    assert found["duration_ps"].tolist() == [7_000_000, 2_000_000, 3_000_000, 0, 0, 0, 0, 4_000_000]
    assert found["size_bytes"].tolist() == [0, 0, 0, 0, 5, 6, 1000, 0]
    assert found["peer"].tolist() == [-1, -1, -1, -1, 3, 7, -1, -1]
    assert found["tag"].tolist() == [0, 0, 0, 0, 11, 0, 0, 0]
    assert found["root"].tolist() == [-1] * 6 + [2, -1]
    assert found["id"].tolist() == list(range(8))
    assert found["rank"].tolist() == [0] * 8 and found["issue"].tolist() == [-1] * 8


def test_a_node_without_id_has_id_0(tmp_path):
    assert read(tmp_path, coll(0)[2:]).nodes["id"].tolist() == [0]


def test_receive_from_any_rank(tmp_path):
    assert read(tmp_path, node(1, RECV_NODE, comm_size=6, comm_src=-1)).nodes["peer"].tolist() == [-1]


def test_a_barrier_needs_no_size(tmp_path):
    found = read(tmp_path, node(1, 7, comm_type=9)).nodes
    assert (found["collective"][0], found["size_bytes"][0]) == (BARRIER, 0)


def test_launchers_take_their_duration_and_are_noted(tmp_path):
    found = read(tmp_path, coll(1), node(2, 7, 151, is_cpu_op=True))
    assert found.nodes["kind"].tolist() == [COLL, FIXED] and found.unexpanded == [1]
    assert found.nodes["duration_ps"].tolist() == [0, 151_000_000]


def test_a_message_of_2_to_the_40_bytes_is_the_largest(tmp_path):
    for size in (TIB, 0):
        assert read(tmp_path, coll(1, size)).nodes["size_bytes"].tolist() == [size]
    assert refused(tmp_path, coll(9, TIB + 1)) == f"node 9 has comm_size {TIB + 1}; valid: 0 to {TIB}"
    assert refused(tmp_path, node(9, SEND_NODE, comm_dst=1, comm_size=(2**64 - 1, "uint64"))) == (
        f"node 9 has comm_size {2**64 - 1}; valid: 0 to {TIB}")


@pytest.mark.parametrize(("bad", "message"), [
    (node(9, 7, comm_type=0), "is a COMM_COLL_NODE without comm_size"),
    (node(9, 7, comm_size=8), "is a collective without comm_type; valid: 0 all_reduce, 1 reduce, "),
    (coll(9, kind=10), "has the unknown comm_type 10; valid: 0 all_reduce, "),
    (coll(9, kind=-1), "has the unknown comm_type -1; valid: "),
    (coll(9, size=-5), f"has comm_size -5; valid: 0 to {TIB}"),
    (coll(9, size=1.5), "has comm_size 1.5; valid: "),
    (coll(9, size=float("nan")), "has comm_size nan; valid: "),
    (coll(9, size="many"), "has comm_size many; valid: "),
    (coll(9, root=8), "has root 8; valid: 0 to 7"),
    (node(9, SEND_NODE, comm_size=8), "is a COMM_SEND_NODE without comm_dst"),
    (node(9, SEND_NODE, comm_dst=1), "is a COMM_SEND_NODE without comm_size"),
    (node(9, SEND_NODE, comm_size=8, comm_dst=8), "has comm_dst 8; valid: 0 to 7"),
    (node(9, SEND_NODE, comm_size=8, comm_dst=-1), "has comm_dst -1; valid: 0 to 7"),
    (node(9, SEND_NODE, comm_size=-8, comm_dst=1), f"has comm_size -8; valid: 0 to {TIB}"),
    (node(9, RECV_NODE, comm_size=8), "is a COMM_RECV_NODE without comm_src"),
    (node(9, RECV_NODE, comm_size=8, comm_src=-2), "has comm_src -2; valid: -1 to 7"),
    (node(9, SEND_NODE, comm_size=8, comm_dst=1, comm_tag=-1), f"has comm_tag -1; valid: 0 to {2**63 - 1}"),
    (node(9, COMP_NODE, 10**12 + 1), f"has duration_micros {10**12 + 1}; valid: 0 to {10**12}"),
    (node(9, COMP_NODE, duration_ps=-1), "has duration_ps -1; valid: 0 to "),
    (node(9, 8), "has type 8, which is not replayed; valid: 1 METADATA_NODE, "),
    (node(9, 0), "has type 0, which is not replayed"),
])
def test_refused(tmp_path, bad, message):
    assert refused(tmp_path, node(1, COMP_NODE, 1), bad).startswith(f"node 9 {message}")


def test_the_name_of_a_node_is_said(tmp_path):
    assert refused(tmp_path, node(9, 8, name="nccl:\n x")).startswith("node 9 (nccl: x) has type 8")
    assert refused(tmp_path, coll(9, size="a\nb")).startswith("node 9 has comm_size a b; valid: ")


def test_counts_of_an_alltoallv(tmp_path):
    counts = put(10, put(1, "comm_counts") + put(10, put(1, varint(3) + varint(0) + varint(300))))
    assert read(tmp_path, coll(1, kind=6) + counts).counts[0].tolist() == [3, 0, 300]
    bad = put(10, put(1, "comm_counts") + put(10, put(1, varint(3) + varint(-1))))
    assert refused(tmp_path, coll(1, kind=6) + bad).startswith("node 1 has comm_counts [3, -1]; valid: a list of")


ROOFLINE = Roofline(tflops=1.0, memory_gb_per_s=2.0)
# 10**6 operations at 10**12 a second take 1 us; 4,000 bytes at 2 * 10**9 a second take 2 us.


@pytest.mark.parametrize(("found", "duration_ps"), [
    (node(1, COMP_NODE, num_ops=10**6, tensor_size=4000), 2_000_000),
    (node(1, COMP_NODE, num_ops=3 * 10**6, tensor_size=4000), 3_000_000),
    (node(1, COMP_NODE, num_ops=(10**6, "uint64")), 1_000_000),
    (node(1, COMP_NODE, 5, num_ops=10**6, tensor_size=4000), 5_000_000),
    (node(1, COMP_NODE, num_ops=1, tensor_size=1), 500),
    (node(1, COMP_NODE, num_ops=0, tensor_size=0), 0),
    (node(1, COMP_NODE, num_ops=10**6, is_cpu_op=True), 0),
    (node(1, MEM_LOAD, tensor_size=4000, num_ops=10**9), 2_000_000),
])
def test_roofline(tmp_path, found, duration_ps):
    assert read(tmp_path, found, roofline=ROOFLINE).nodes["duration_ps"].tolist() == [duration_ps]


def test_roofline_times_are_rounded_up(tmp_path):
    found = read(tmp_path, node(1, COMP_NODE, num_ops=1), roofline=Roofline(tflops=3.0)).nodes
    assert found["duration_ps"].tolist() == [1]


@pytest.mark.parametrize(("found", "roofline", "fields"), [
    (node(9, COMP_NODE, num_ops=7, tensor_size=8), Roofline(), "workload.peak_tflops and workload.memory_gb_per_s"),
    (node(9, COMP_NODE, num_ops=7), Roofline(), "workload.peak_tflops"),
    (node(9, COMP_NODE, num_ops=7, tensor_size=8), Roofline(tflops=1.0), "workload.memory_gb_per_s"),
    (node(9, MEM_STORE, tensor_size=8), Roofline(tflops=1.0), "workload.memory_gb_per_s")])
def test_roofline_that_is_missing(tmp_path, found, roofline, fields):
    assert refused(tmp_path, found, roofline=roofline).endswith(f"; give {fields} for a roofline estimate")


def test_groups_that_a_pytorch_trace_declares(tmp_path):
    text = """['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": []}, {"pg_name": "7", "ranks": [1, 0]}]']"""
    found = read(tmp_path, node(1, METADATA_NODE, name="## process_group:init ##", inputs=put(1, text)))
    assert found.declared == [("0", []), ("7", [1, 0])]
    for other in ("", "['x']", "[1]", "[{'a': 1}]", "(", "\xff"):
        found = read(tmp_path, node(1, METADATA_NODE, name="## process_group:init ##", inputs=put(1, other)))
        assert found.declared == []


def test_metadata_attributes_do_not_make_a_version(tmp_path):
    write(tmp_path, trace(metadata=put(2, attribute("other", "0.0.4"))))
    with pytest.raises(InputError, match="neither a version nor a schema"):
        read_rank(str(tmp_path / "t.0.et"), 0, 1)
