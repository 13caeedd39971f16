"""`distsim trace info` and `distsim trace convert`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from chakra_cases import COMP_NODE, MEM_LOAD, RECV_NODE, SEND_NODE, coll, node, trace, write

from distsim.cli import run_cli
from distsim.workload.chakra.reader import read_traceset
from distsim.workload.chakra.settings import Reading
from distsim.workload.graph import ALL_REDUCE, COLL, RECV, SEND


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; returns (exit code, standard output, error output)."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments):
        code = run_cli(["trace", *map(str, arguments)])
        return (code, *capsys.readouterr())

    return command


@pytest.fixture
def prefix(tmp_path):
    """Two ranks of every kind of node, with a dangling dependency, a launcher and a node of a later Chakra."""
    first = trace(coll(1, 1000), coll(2, 24, 2, pg_name="7"), node(3, COMP_NODE, 5, after=(1, 99)),
                  node(4, COMP_NODE, 7, is_cpu_op=True), node(5, MEM_LOAD, 2), node(6, 7, is_cpu_op=True),
                  node(7, SEND_NODE, comm_size=64, comm_dst=1), node(8, COMP_NODE, num_ops=5), node(9, 8),
                  coll(10, 4, 44))
    return write(tmp_path, first, trace(coll(4, 1000), node(5, RECV_NODE, comm_size=64, comm_src=0)))


def test_info_as_json(run, prefix):
    code, out, err = run("info", prefix, "-o", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "source": prefix, "form": "chakra 0.0.4", "ranks": 2,
        "nodes": {"COMM_COLL_NODE": 5, "COMP_NODE": 3, "MEM_LOAD_NODE": 1, "COMM_SEND_NODE": 1, "COMM_RECV_NODE": 1,
                  "type 8": 1},
        "collectives": {"all_reduce": {"nodes": 2, "bytes": 2000}, "all_gather": {"nodes": 1, "bytes": 24},
                        "comm_type 44": {"nodes": 1, "bytes": 4}},
        "transfers": {"sends": {"nodes": 1, "bytes": 64}, "receives": {"nodes": 1, "bytes": 64}},
        "process_groups": {"": 3, "7": 1}, "microseconds": {"npu": 5, "cpu": 7, "memory": 2}, "dependencies": 2,
        "dangling": 1, "launchers": 1, "estimates": 1, "warnings": []}


def test_info_as_table(run, prefix):
    code, out, err = run("info", prefix)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert f"{prefix} (chakra 0.0.4), 2 ranks, 0 to 1" in out
    assert ["COMM_COLL_NODE", "5"] in lines and ["collective", "all_reduce", "2", "2,000"] in lines
    assert ["dangling", "dependencies", "1"] in lines and ["npu", "time", "5", "us"] in lines


def test_info_of_single_files_and_of_several_tracesets(run, tmp_path, prefix):
    write(tmp_path, trace(coll(1)), prefix="u")
    code, out, _ = run("info", f"{prefix}.1.et", tmp_path / "u.0.et", "-o", "json")
    found = json.loads(out)
    assert code == 0 and [(one["source"], one["ranks"]) for one in found] == [(prefix, 1), (str(tmp_path / "u"), 1)]
    (tmp_path / "lone").write_bytes(trace(coll(1)))
    code, out, err = run("info", tmp_path / "lone")
    assert code == 2
    assert err == f"distsim: error: {tmp_path}/lone: say what it is: --kind chakra, goal, simai, hpcc, cm\n"
    code, out, _ = run("info", tmp_path / "lone", "--kind", "chakra", "-o", "json")
    assert code == 0 and json.loads(out)["nodes"] == {"COMM_COLL_NODE": 1}


def test_info_of_what_is_not_there_or_broken(run, tmp_path):
    assert run("info", tmp_path / "t")[0] == 2
    assert "no Chakra trace t.0.et" in run("info", tmp_path / "t")[2]
    (tmp_path / "t.0.et").write_bytes(trace(coll(1))[:-3])
    code, _, err = run("info", tmp_path / "t")
    assert code == 2 and err.startswith(f"distsim: error: {tmp_path}/t.0.et: truncated: ") and err.count("\n") == 1
    assert run("info")[0] == 2


GOAL = ("num_ranks 2\nrank 0 {\na: send 64b to 1 tag 5\nc: calc 1500\nc requires a\n}\n"
        "rank 1 {\nrecv 64b from 0 tag 5\n}\n")


def test_goal_as_chakra(run, tmp_path):
    (tmp_path / "x.goal").write_text(GOAL)
    code, out, _ = run("info", tmp_path / "x.goal", "-o", "json")
    assert code == 0 and json.loads(out)["nodes"] == {"COMP": 1, "SEND": 1, "RECV": 1}
    code, out, err = run("convert", tmp_path / "x.goal", tmp_path / "out" / "g")
    assert code == 0 and out == f"{tmp_path}/out/g: 2 ranks, 3 nodes, 1 dependencies, 0 process groups\n"
    assert err == ("distsim: warning: 1 durations are not whole microseconds: duration_micros is rounded, the "
                   "attribute duration_ps, which only distsim reads, is exact\n")
    back = read_traceset(str(tmp_path / "out" / "g"))
    assert back.nodes["kind"].tolist()[::2] == [SEND, RECV] and back.nodes["duration_ps"].tolist() == [0, 1_500_000, 0]


SIMAI = ("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: %d\n1\n"
         "l -1 3000 ALLREDUCE 90 2000 NONE 0 1500 ALLGATHER 4096 500\n")


def test_simai_info_counts_what_all_ranks_do(run, tmp_path):
    """Of each rank: three computations of 6.5 us in all, two collectives with their updates. An all-gather of 4,096 B
    among two is 2,048 B of each. Of 2^18 ranks it is told without making their nodes."""
    (tmp_path / "job.txt").write_text(SIMAI % 4)
    code, out, err = run("info", tmp_path / "job.txt", "--kind", "simai", "-o", "json")
    found = json.loads(out)
    assert (code, err) == (0, "") and found["ranks"] == 4 and found["form"] == "simai"
    assert found["nodes"] == {"COMP": 12, "COLL": 8, "FIXED": 8}
    assert found["collectives"] == {"all_reduce": {"nodes": 4, "bytes": 360}, "all_gather": {"nodes": 4, "bytes": 8192}}
    assert found["process_groups"] == {"TP": 4, "DP": 4} and found["microseconds"] == {"npu": 26, "cpu": 4}
    run("convert", tmp_path / "job.txt", tmp_path / "c", "--kind", "simai")
    graph = read_traceset(str(tmp_path / "c"))
    assert found["dependencies"] == len(graph.deps) and sum(found["nodes"].values()) == len(graph.nodes)
    assert graph.nodes["size_bytes"].sum() == 360 + 8192
    (tmp_path / "job.txt").write_text(SIMAI % 2**18)
    code, out, _ = run("info", tmp_path / "job.txt", "--kind", "simai", "-o", "json")
    assert code == 0 and json.loads(out)["nodes"]["COMP"] == 3 * 2**18
    code, out, _ = run("info", tmp_path / "job.txt", "--kind", "simai", "--set", "ranks=2", "-o", "json")
    assert code == 0 and json.loads(out)["process_groups"] == {"TP": 2}


def test_many_process_groups_are_cut_in_the_table(run, tmp_path):
    groups = {f"g{k}": [0] for k in range(20)}
    (tmp_path / "t.json").write_text(json.dumps(groups))
    code, out, _ = run("info", write(tmp_path, trace(*[coll(k, pg_name=name) for k, name in enumerate(groups)])))
    assert code == 0 and out.count("process group '") == 16 and "and 4 more process groups" in out


CONFIG = ("simulation: c\nfabric: {kind: leaf-spine, racks: 2, nics_per_rack: 2, spines: 1}\n"
          "workload: {kind: ring, size: 1KB}\n")


def test_a_configuration_as_chakra(run, tmp_path):
    """Four chains of seven messages of 1 KB; each message but a chain's first waits for the one before it."""
    (tmp_path / "c.yaml").write_text(CONFIG)
    code, out, err = run("convert", tmp_path / "c.yaml", tmp_path / "c", "--set", "workload.size=2KB")
    assert (code, out) == (0, f"{tmp_path}/c: 4 ranks, 56 nodes, 24 dependencies, 0 process groups\n")
    assert "24 dependencies are on a message's acknowledgment" in err
    assert set(read_traceset(str(tmp_path / "c")).nodes["size_bytes"].tolist()) == {2000}
    code, out, err = run("convert", tmp_path / "c.yaml", tmp_path / "c")
    assert code == 2 and "the traceset is there already (4 files); give another prefix or --overwrite" in err
    assert run("convert", tmp_path / "c.yaml", tmp_path / "c", "--overwrite")[0] == 0
    code, _, err = run("convert", tmp_path / "c.yaml", tmp_path / "d", "--set", "workload.hosts=9")
    assert code == 2 and err.startswith("distsim: error: ") and "workload.hosts" in err


def test_a_collective_and_nccl_tests_as_chakra(run, tmp_path):
    """A collective is a node a rank; of nccl-tests, whose phases depend on the ones before, the first is written."""
    for name, workload, phases in (("co", "{kind: collective, collective: all_reduce, size: 1MiB}", False),
                                   ("nt", '{kind: nccl-tests, command: "all_reduce_perf -b 8 -e 16 -n 1 -w 0"}', True)):
        (tmp_path / "x.yaml").write_text(CONFIG.replace("{kind: ring, size: 1KB}", workload))
        code, _, err = run("convert", tmp_path / "x.yaml", tmp_path / name)
        assert code == 0 and ("the traces hold the first" in err) == phases
        nodes = read_traceset(str(tmp_path / name)).nodes
        assert np.count_nonzero(nodes["kind"] == COLL) == 4
        assert set(nodes["size_bytes"][nodes["kind"] == COLL].tolist()) == {8 if phases else 1 << 20}


def test_chakra_as_chakra_with_fields(run, tmp_path):
    """One rank's trace for three ranks at half its sizes; names stay."""
    write(tmp_path, trace(coll(1, 1000, name="grads"), node(2, COMP_NODE, 3, after=(1,))))
    code, out, err = run("convert", tmp_path / "t", tmp_path / "u", "--set", "ranks=3", "--set", "Scaling=true",
                         "--set", "ScalingFactor=0.5")
    assert (code, err, out) == (0, "", f"{tmp_path}/u: 3 ranks, 6 nodes, 3 dependencies, 1 process groups\n")
    back = read_traceset(str(tmp_path / "u"), settings=Reading(names=True))
    assert back.nodes["kind"].tolist()[::2] == [COLL] * 3 and back.nodes["collective"].tolist()[0] == ALL_REDUCE
    assert back.nodes["size_bytes"].tolist()[::2] == [500] * 3 and back.names[0] == "grads"
    assert back.nodes["duration_ps"].tolist()[1::2] == [1_000_000] * 3
    assert np.array_equal(back.groups[0].ranks, [0, 1, 2])


@pytest.mark.parametrize(("field", "message"), [
    ("ranks", "write it as field=value"), ("ranks=0", "ranks: Input should be greater than or equal to 1"),
    ("rank=3", "no field 'rank' of kind chakra; valid: "), ("ranks=[", "is not YAML")])
def test_fields_that_are_refused(run, tmp_path, field, message):
    write(tmp_path, trace(coll(1)))
    code, _, err = run("convert", tmp_path / "t", tmp_path / "u", "--set", field)
    assert code == 2 and message in err and "Traceback" not in err


def test_a_broken_trace_is_not_converted(run, tmp_path):
    write(tmp_path, trace(node(1, COMP_NODE, after=(2,)), node(2, COMP_NODE, after=(1,))))
    code, _, err = run("convert", tmp_path / "t", tmp_path / "u")
    assert code == 2 and "dependencies go in a circle of 2 nodes" in err and not (tmp_path / "u.0.et").exists()


def test_connection_matrix_as_chakra(run, tmp_path):
    (tmp_path / "x.cm").write_text("Nodes 4\nConnections 1\n0->3 id 1 start 0 size 500\n")
    assert run("convert", tmp_path / "x.cm", tmp_path / "x")[0] == 0
    assert read_traceset(str(tmp_path / "x")).nodes[["rank", "size_bytes"]].tolist() == [(0, 500), (3, 500)]


@pytest.mark.parametrize("field", ["file=other.goal", "kind=simai"])
def test_the_file_and_its_kind_are_no_fields(run, tmp_path, field):
    (tmp_path / "a.goal").write_text("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from 0 }\n")
    code, out, err = run("info", tmp_path / "a.goal", "--set", field)
    assert (code, out) == (2, "") and f"no field '{field.split('=')[0]}' of kind goal; valid: name, hosts" in err


def test_nothing_to_convert(run, tmp_path):
    (tmp_path / "f.txt").write_text("0\n")
    code, _, err = run("convert", tmp_path / "f.txt", tmp_path / "c", "--kind", "hpcc")
    assert code == 2 and "f.txt: there is no rank to write" in err and not (tmp_path / "c.0.et").exists()


def test_what_lies_beside_a_traceset_belongs_to_it(run, tmp_path):
    """A mapping file is kept unless told, and does not outlive the traces that it was written for."""
    old, new = write(tmp_path, trace(coll(1)), prefix="u"), tmp_path / "c"
    (tmp_path / "c.mapping").write_text("0, 3\n")
    code, _, err = run("convert", old, new)
    assert code == 2 and "there already (1 files)" in err and (tmp_path / "c.mapping").read_text() == "0, 3\n"
    assert run("convert", old, new, "--overwrite")[0] == 0
    assert not (tmp_path / "c.mapping").exists() and (tmp_path / "c.0.et").exists()
