"""The workload kind `chakra`: the documented attributes, and what they make of a traceset."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from chakra_cases import COMP_NODE, RECV_NODE, SEND_NODE, coll, node, trace, write
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.workload.base import Context
from distsim.workload.chakra_traces import READS_FILE, Spec, build
from distsim.workload.registry import PARTS
from distsim.workload.types import COMPUTE, DELAY, LOCAL, SEND

DOCUMENTED = {
    "LogicalGroupId": 0, "UseMapping": True, "AllReduceAlgorithm": "ring", "ReduceAlgorithm": "ring",
    "AllGatherAlgorithm": "ring", "ReduceScatterAlgorithm": "ring", "ReduceScatterBlockAlgorithm": "ring",
    "BroadcastAlgorithm": "interleaved", "GatherAlgorithm": "direct", "ScatterAlgorithm": "direct",
    "AllToAllAlgorithm": "interleaved", "BarrierAlgorithm": "ring", "ProcessGroupSerialization": True,
    "CommCollectiveSynchronization": True, "UseMaxAsCommCollectiveStartTime": True, "AbortOnChakraWarning": False,
    "MaxCountWarningsLoggedPerInstance": 30000, "TraceFamily": "synthesized", "Scaling": False, "ScalingFactor": 1.0,
    "InMemoryTraceCompression": True, "ProfilingEnabled": False, "ProfilingInterval": 0.001, "ScaleUpHeaderSize": 24,
    "ScaleUpMaxPayloadSize": 4096, "ScaleUpStatsEnabled": False}
MIB = 1 << 20


def made(prefix, hosts=8, **fields):
    return build(Spec(kind="chakra", file=prefix, **fields), Context(hosts, 1))


def refused(prefix, hosts=8, **fields):
    with pytest.raises(InputError) as error:
        made(prefix, hosts, **fields)
    assert "\n" not in str(error.value)
    return error.value


def sends(workload):
    """(from, to, bytes) of every message, sorted."""
    ops = workload.ops[workload.ops["kind"] == SEND]
    return sorted(zip(ops["host"].tolist(), ops["dst"].tolist(), ops["size_bytes"].tolist()))


def all_reduce(folder, ranks=4, size=1000):
    return write(folder, *[trace(coll(1, size))] * ranks)


def test_registered_and_reads_its_own_file():
    assert PARTS["chakra"].build is build and READS_FILE is True


def test_defaults_are_the_documented_ones():
    spec = Spec(kind="chakra", file="x")
    assert {name: getattr(spec, name) for name in DOCUMENTED} == DOCUMENTED
    ours = {name for name in Spec.model_fields if name[0].islower()}
    assert set(Spec.model_fields) - ours == {*DOCUMENTED, "NumOfChakraFiles"}
    assert all(field.description for name, field in Spec.model_fields.items() if name != "kind")


@pytest.mark.parametrize(("field", "value"), [
    ("AllReduceAlgorithm", "rings"), ("AllGatherAlgorithm", "tree"), ("BroadcastAlgorithm", "direct"),
    ("MaxCountWarningsLoggedPerInstance", 40001), ("MaxCountWarningsLoggedPerInstance", -1), ("TraceFamily", "other"),
    ("ScalingFactor", 1.5), ("ScalingFactor", -0.1), ("ScalingFactor", float("nan")), ("ProfilingInterval", 0),
    ("ScaleUpHeaderSize", "65MiB"), ("ScaleUpMaxPayloadSize", 0), ("ScaleUpMaxPayloadSize", "65MiB"),
    ("ScaleUpStatsEnabled", True), ("NumOfChakraFiles", 0), ("ranks", 0), ("peak_tflops", 0),
    ("memory_gb_per_s", float("inf")), ("AllReduceAlgorithms", "ring")])
def test_values_out_of_range_are_refused(field, value):
    with pytest.raises(ValidationError):
        Spec(kind="chakra", file="x", **{field: value})


@pytest.mark.parametrize(("field", "value"), [
    ("AllReduceAlgorithm", "ring"), ("AllReduceAlgorithm", "tree"), ("AllReduceAlgorithm", "double-tree"),
    ("AllReduceAlgorithm", "halving-doubling"), ("ReduceAlgorithm", "tree"), ("ReduceScatterAlgorithm", "halving"),
    ("BroadcastAlgorithm", "sequential"), ("AllToAllAlgorithm", "sequential"), ("BarrierAlgorithm", "tree"),
    ("BarrierAlgorithm", "double-tree"), ("BarrierAlgorithm", "halving-doubling"), ("ScaleUpMaxPayloadSize", "64MiB"),
    ("ScalingFactor", 0.0)])
def test_every_documented_value_is_taken(field, value):
    Spec(kind="chakra", file="x", **{field: value})


def test_a_ring_of_four(tmp_path):
    """2 * (4 - 1) steps of 1,000 / 4 bytes from every rank to the next."""
    workload = made(all_reduce(tmp_path), CommCollectiveSynchronization=False)
    assert sends(workload) == sorted([(rank, (rank + 1) % 4, 250) for rank in range(4)] * 6)
    assert workload.placement.tolist() == [0, 1, 2, 3] and len(workload.instances) == 1


def test_synchronization_adds_two_messages_of_nothing_an_edge_of_its_tree(tmp_path):
    plain, barrier = (sends(made(all_reduce(tmp_path), CommCollectiveSynchronization=flag)) for flag in (False, True))
    assert len(barrier) - len(plain) == 6 and sum(size == 0 for _, _, size in barrier) == 6


def test_the_algorithm_that_is_chosen(tmp_path):
    """A tree moves the whole size along each of its three edges, up and down."""
    found = sends(made(all_reduce(tmp_path), AllReduceAlgorithm="tree", CommCollectiveSynchronization=False))
    assert [size for _, _, size in found] == [1000] * 6
    error = refused(all_reduce(tmp_path, 3), AllReduceAlgorithm="halving-doubling")
    assert "power of two" in str(error)


def transfers(folder):
    return write(folder, trace(node(1, COMP_NODE, 9),
                               node(2, SEND_NODE, after=(1,), comm_size=1001, comm_dst=1, comm_tag=3)),
                 trace(node(7, RECV_NODE, comm_size=1001, comm_src=0, comm_tag=3)))


def test_compute_is_shared_unless_it_was_collected(tmp_path):
    for family, kind in (("synthesized", COMPUTE), ("compiled", COMPUTE), ("collected", DELAY)):
        ops = made(transfers(tmp_path), TraceFamily=family).ops
        assert ops["work_ps"][ops["kind"] == kind].tolist() == [9_000_000], family


def test_scaling(tmp_path):
    ops = made(transfers(tmp_path), Scaling=True, ScalingFactor=0.5).ops
    assert ops["size_bytes"].max() == 500 and ops["work_ps"].max() == 4_000_000
    assert made(transfers(tmp_path), ScalingFactor=0.5).ops["size_bytes"].max() == 1001


def test_more_ranks_than_nics(tmp_path):
    error = refused(all_reduce(tmp_path, 5), hosts=4)
    assert error.where == "workload.file" and error.message.endswith("5 ranks need a NIC each; the fabric has 4")


def test_number_of_files(tmp_path):
    assert made(all_reduce(tmp_path), NumOfChakraFiles=4).placement.tolist() == [0, 1, 2, 3]
    error = refused(all_reduce(tmp_path), NumOfChakraFiles=256)
    assert error.where == "workload.NumOfChakraFiles" and error.message.startswith("256 is not the number of ranks of ")


def test_mapping(tmp_path):
    mapping = tmp_path / "map.txt"
    mapping.write_text("0 7\n1 2\n2 5\n3 0\n")
    workload = made(all_reduce(tmp_path), mapping=str(mapping), CommCollectiveSynchronization=False)
    assert workload.placement.tolist() == [7, 2, 5, 0]
    assert {(src, dst) for src, dst, _ in sends(workload)} == {(7, 2), (2, 5), (5, 0), (0, 7)}
    assert made(all_reduce(tmp_path), mapping=str(mapping), UseMapping=False).placement.tolist() == [0, 1, 2, 3]
    mapping.write_text("0 8\n1 2\n2 5\n3 0\n")
    assert "unknown serverId 8" in str(refused(all_reduce(tmp_path), mapping=str(mapping)))


def test_scale_up_of_a_mapping(tmp_path):
    """8 bits * (250 B of data + 24 B header) at 8 Gbit/s: 274 ns; with 100 B packets three headers of 10 B: 280 ns."""
    mapping = tmp_path / "map.txt"
    mapping.write_text("0 0 5 0\n1 1 5 0\n2 2\n3 3\n@\n5 8.0 1.0 1.0\n")
    for more, duration_ps in (({}, 274_000), ({"ScaleUpHeaderSize": "10B", "ScaleUpMaxPayloadSize": "100B"}, 280_000)):
        ops = made(all_reduce(tmp_path), mapping=str(mapping), CommCollectiveSynchronization=False, **more).ops
        local = ops[ops["kind"] == LOCAL]
        assert len(local) == 6 and set(local["work_ps"].tolist()) == {duration_ps}


def test_warnings_may_be_errors(tmp_path):
    prefix = write(tmp_path, trace(coll(1), node(2, 7), node(3, COMP_NODE, after=(9,))), trace(coll(1)))
    assert len(made(prefix).warnings) == 2
    error = refused(prefix, AbortOnChakraWarning=True)
    assert error.where == "workload.AbortOnChakraWarning" and "there are 2 warnings, the first: " in error.message
    assert "there are 1 warnings" in refused(prefix, AbortOnChakraWarning=True,
                                             MaxCountWarningsLoggedPerInstance=1).message
    assert made(prefix, AbortOnChakraWarning=True, MaxCountWarningsLoggedPerInstance=0).warnings == []
    assert made(all_reduce(tmp_path), AbortOnChakraWarning=True).warnings == []


def test_roofline_fields(tmp_path):
    prefix = write(tmp_path, trace(node(1, COMP_NODE, num_ops=4 * 10**6, tensor_size=1000)))
    assert made(prefix, peak_tflops=2, memory_gb_per_s=1).ops["work_ps"].tolist() == [2_000_000]
    assert "give workload.peak_tflops and workload.memory_gb_per_s" in str(refused(prefix))


def test_ranks_and_groups_of_a_file(tmp_path):
    (tmp_path / "g.json").write_text('{"5": [2, 0]}')
    prefix = write(tmp_path, trace(coll(1, pg_name="5")))
    workload = made(prefix, ranks=3, comm_groups=str(tmp_path / "g.json"), CommCollectiveSynchronization=False)
    assert sends(workload) == [(0, 2, 500), (0, 2, 500), (2, 0, 500), (2, 0, 500)]
    assert "rank outside their process group" in workload.warnings[0]


def test_serialization_follows_the_order_of_issue(tmp_path):
    """Two collectives that depend on nothing: in order of issue the second waits for the first, else both start."""
    prefix = write(tmp_path, *[trace(coll(1, issue_order=1), coll(2, 500, issue_order=0))] * 2)
    made_by = [made(prefix, ProcessGroupSerialization=flag, CommCollectiveSynchronization=False)
               for flag in (True, False)]
    assert [int((workload.ops["deps"] == 0).sum()) for workload in made_by] == [2, 4]


def test_the_command_line_and_other_configurations_do_not_import_protobuf(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text("simulation: c\nfabric: {kind: leaf-spine, racks: 1, nics_per_rack: 2, spines: 1}\n"
                      "workload: {kind: permutation, size: 1KB}\n")
    program = ("import sys; from distsim.cli import run_cli; run_cli(['--help']); run_cli(['trace', '--help']); "
               f"from distsim.config import load; load({str(config)!r}); "
               "print([name for name in ('google.protobuf', 'rich', 'numba', 'polars') if name in sys.modules])")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_rank_builds_the_same(tmp_path):
    first, second = (made(all_reduce(tmp_path)) for _ in range(2))
    assert np.array_equal(first.ops, second.ops) and np.array_equal(first.edges, second.edges)
