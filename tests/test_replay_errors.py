"""Workloads of ranks that cannot be run, or do not end, as a user of `distsim run` sees them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml
from chakra_cases import COMP_NODE, RECV_NODE, SEND_NODE, coll, node, put, trace, write
from replay_cases import config

from distsim.cli import run_cli

TIB = 1 << 40


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a workload section; (exit code, standard output, error output)."""
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)

    def command(workload, *options, hosts=4, **more):
        (tmp_path / "run.yaml").write_text(yaml.safe_dump(config(workload, hosts, **more)))
        code = run_cli(["run", str(tmp_path / "run.yaml"), "-o", str(tmp_path / "out"), "--overwrite", *options])
        return (code, *capsys.readouterr())

    return command


@pytest.fixture
def refused(run):
    """The one line that refuses a workload."""
    def command(*arguments, **more):
        code, out, err = run(*arguments, **more)
        assert (code, out) == (2, ""), (code, out, err)
        assert err.startswith("distsim: error: ") and err.count("\n") == 1 and "Traceback" not in err
        return err.removeprefix("distsim: error: ").rstrip("\n")

    return command


def chakra(folder: Path, *ranks: bytes, **fields: object) -> dict:
    return {"kind": "chakra", "file": write(folder, *ranks), **fields}


# ---- files -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_trace_that_is_cut_off(tmp_path, refused, pack):
    whole = trace(coll(1), coll(2))
    section = chakra(tmp_path, pack(whole + b"\x80"))
    assert refused(section) == (f"{tmp_path}/t.0.et: truncated: the file ends inside the message length at byte "
                                f"{len(whole)}")
    error = refused(chakra(tmp_path, pack(whole[:-3])))
    assert error.startswith(f"{tmp_path}/t.0.et: truncated: the message at byte ")
    if pack is not bytes:
        assert "broken gzip data" in refused(chakra(tmp_path, pack(whole)[:-9]))


@pytest.mark.parametrize("version", ["0.0.1", "0.0.3", "2.0.0"])
def test_a_trace_of_another_version(tmp_path, refused, version):
    error = refused(chakra(tmp_path, trace(coll(1), metadata=put(1, version))))
    assert error.startswith(f"{tmp_path}/t.0.et: Chakra version {version} cannot be read; valid: 0.0.4, 1.0.0")


def test_a_rank_without_a_file_and_no_files_at_all(tmp_path, refused):
    section = chakra(tmp_path, *[trace(coll(1))] * 3)
    (tmp_path / "t.1.et").unlink()
    assert "there is no t.1.et; ranks count from 0 without a gap" in refused(section)
    for kind, hint in (("chakra", ", nor none.0.et"), ("goal", ""), ("simai", ""), ("hpcc", "")):
        error = refused({"kind": kind, "file": str(tmp_path / "none")})
        assert error.endswith(f"workload.file: {tmp_path}/none: no such file{hint}")


def test_a_circle_is_named(tmp_path, refused):
    """Of data and control dependencies; of those of one kind; and a circle through the order of issue of two groups."""
    error = refused(chakra(tmp_path, trace(node(5, COMP_NODE, 1, after=(6,)), node(6, COMP_NODE, 1, ctrl=(7,)),
                                           node(7, COMP_NODE, 1, after=(5,)))))
    assert error.startswith(f"{tmp_path}/t.0.et: dependencies go in a circle of 3 nodes")
    assert error.endswith((": 5 -> 6 -> 7 -> 5", ": 6 -> 7 -> 5 -> 6", ": 7 -> 5 -> 6 -> 7"))
    ordered = trace(coll(1, issue_order=1, pg_name="0"), coll(2, after=(1,), issue_order=0, pg_name="0"))
    error = refused(chakra(tmp_path, ordered, ordered))
    assert "nodes wait for each other" in error and "ProcessGroupSerialization" in error
    text = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n"
    (tmp_path / "x.goal").write_text(text)
    assert "wait for each other: 0 -> 1 -> 0" in refused({"kind": "goal", "file": str(tmp_path / "x.goal")})


# ---- values ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("bad", "message"), [
    (node(4, 7, comm_type=0), "node 4 is a COMM_COLL_NODE without comm_size"),
    (node(4, 7, comm_size=8), "node 4 is a collective without comm_type; valid: 0 all_reduce"),
    (coll(4, 8, 12), "node 4 has the unknown comm_type 12; valid: 0 all_reduce"),
    (coll(4, -5), f"node 4 has comm_size -5; valid: 0 to {TIB}"),
    (node(4, SEND_NODE, comm_size=-1, comm_dst=0), f"node 4 has comm_size -1; valid: 0 to {TIB}"),
    (node(4, RECV_NODE, comm_size=-1, comm_src=0), f"node 4 has comm_size -1; valid: 0 to {TIB}"),
    (node(4, SEND_NODE, comm_size=TIB + 1, comm_dst=0), f"node 4 has comm_size {TIB + 1}; valid: 0 to {TIB}"),
    (node(4, SEND_NODE, comm_size=1, comm_dst=9), "node 4 has comm_dst 9; valid: 0 to 1"),
    (node(4, COMP_NODE, num_ops=5), "node 4 has no duration, only num_ops 5 and tensor_size 0; give "
                                    "workload.peak_tflops for a roofline estimate"),
    (node(4, 9), "node 4 has type 9, which is not replayed; valid: 1 METADATA_NODE"),
    (coll(4, 8, pg_name="7"), "node 4 has the undeclared process group '7'; valid: ")])
def test_a_node_that_cannot_be_replayed(tmp_path, refused, bad, message):
    assert refused(chakra(tmp_path, trace(), trace(bad))).startswith(f"{tmp_path}/t.1.et: {message}")


@pytest.mark.parametrize(("groups", "message"), [
    ({"7": [0, 5]}, "process group '7' has an unknown rank 5; the traceset has ranks 0 to 1"),
    ({"7": [0, -1]}, "process group '7' has an unknown rank -1"), ({"7": []}, "process group '7' has no ranks"),
    ({"7": [1, 1]}, "process group '7' has rank 1 twice")])
def test_a_communicator_with_an_unknown_rank(tmp_path, refused, groups, message):
    (tmp_path / "t.json").write_text(json.dumps(groups))
    error = refused(chakra(tmp_path, *[trace(coll(1, pg_name="7"))] * 2))
    assert error.startswith(f"{tmp_path}/t.json: {message}")


def test_members_of_a_collective_that_disagree(tmp_path, refused):
    eight, nine = trace(coll(1, 8)), trace(coll(1, 9))
    assert "node 1 has 8 bytes, rank 1 node 1 has 9 bytes" in refused(chakra(tmp_path, eight, nine))
    assert "rank 1 has 0 collectives, rank 0 1" in refused(chakra(tmp_path, eight, trace()))


# ---- placement -------------------------------------------------------------------------------------------------------
def test_more_ranks_than_hosts(tmp_path, refused):
    error = refused(chakra(tmp_path, *[trace(coll(1))] * 5))
    assert error.endswith(f"workload.file: {tmp_path}/t: 5 ranks need a NIC each; the fabric has 4")
    (tmp_path / "x.goal").write_text("num_ranks 5\nrank 0 {\ncalc 1\n}\n")
    assert "workload.hosts: 5 ranks need a host each; 4 are given" in refused(
        {"kind": "goal", "file": str(tmp_path / "x.goal")})
    (tmp_path / "job.txt").write_text("DATA all_gpus: 8\n1\nl -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0\n")
    assert "8 ranks need a host each; 4 are given" in refused({"kind": "simai", "file": str(tmp_path / "job.txt")})
    assert "unknown rank 4; the ranks are 0 to 3" in refused({"kind": "collective", "groups": [[0, 4]]})


@pytest.mark.parametrize(("text", "message"), [
    ("0 1\n1 1\n", ":2: rank 1 is placed on server 1, which runs rank 0 (line 1); a server runs one rank"),
    ("0 1\n0 2\n", ":2: rank 0 is placed on line 1 already"), ("0 1\n1 4\n", ":2: unknown serverId 4; the fabric has "
                                                                            "servers 0 to 3"),
    ("0 1\n", ": places 1 ranks, the workload has 2; rank 1 is missing"),
    ("0 1 0 0\n1 2 0 0\n@\n0 0 1 1\n", ":4: ScaleUpBandwidthGbps '0' is not a decimal number")])
def test_two_ranks_on_one_server_and_other_mappings(tmp_path, refused, text, message):
    (tmp_path / "map").write_text(text)
    error = refused(chakra(tmp_path, *[trace(coll(1))] * 2, mapping=str(tmp_path / "map")))
    assert error.startswith(f"{tmp_path}/map{message}")


def test_two_ranks_on_one_host(tmp_path, refused):
    (tmp_path / "x.goal").write_text("num_ranks 2\nrank 0 {\ncalc 1\n}\n")
    assert "workload.hosts" in refused({"kind": "goal", "file": str(tmp_path / "x.goal"), "hosts": [1, 1]})


def test_warnings_as_errors(tmp_path, refused):
    error = refused(chakra(tmp_path, trace(node(1, COMP_NODE, 1, after=(9,))), AbortOnChakraWarning=True))
    assert "workload.AbortOnChakraWarning: true, and there are 1 warnings, the first: " in error


# ---- what does not end -----------------------------------------------------------------------------------------------
def test_dangling_dependencies_are_warned_of_with_the_policy(tmp_path, run):
    code, _, err = run(chakra(tmp_path, trace(node(1, COMP_NODE, 1, after=(9,)))))
    assert code == 0
    assert err == (f"distsim: warning: {tmp_path}/t: 1 dependencies are on node ids that their rank's trace does not "
                   "have, first of node 1 of rank 0; they are dropped (policy: what is not there has finished)\n")


def test_a_receive_that_nothing_is_sent_to_is_listed(tmp_path, run):
    """Rank 1 waits for a tag that nobody sends; what waits for that waits too; the other byte is delivered."""
    code, out, err = run(chakra(
        tmp_path, trace(node(1, SEND_NODE, comm_size=1, comm_dst=1, comm_tag=3)),
        trace(node(5, RECV_NODE, comm_size=7, comm_src=0, comm_tag=4), node(6, COMP_NODE, 2, after=(5,)),
              node(7, COMP_NODE, 2))))
    assert code == 3 and "Traceback" not in err
    assert "receives without a send never end, and the run does not finish: rank 1 node 5 from rank 0 tag 4" in err
    assert "nobody receives what is sent by rank 0 node 1 to rank 1 tag 3" in err
    assert out.splitlines()[-1] == "unfinished: 2 nodes of ranks had not finished when the run ended"
    lines = [line.split("  ")[-1].strip() for line in out.splitlines()]
    assert "rank 1: RECV node 5 from rank 0, tag 4, 7 bytes" in lines and "rank 1: COMP node 6" in lines
    assert json.loads((tmp_path / "out" / "replay-run.json").read_text())["status"] == "unfinished"
    rows = (tmp_path / "out" / "replay-chakra-completion-stats-0.csv").read_text().splitlines()
    # Nothing received; one computation of 2 us, at whose end nothing was left to do.
    assert rows[2].split(",")[2:10] == ["2.0", "0", "0", "0", "0", "0", "1", "2.0"]


@pytest.mark.parametrize("to", [1, 0])
def test_a_send_that_nobody_receives_goes_out_and_is_listed(tmp_path, run, to):
    """To the other rank, and to itself, which takes no transfer; the second of two is received."""
    sends = [node(number, SEND_NODE, comm_size=7, comm_dst=to, comm_tag=number) for number in (1, 2)]
    receive = [node(3, RECV_NODE, comm_size=7, comm_src=0, comm_tag=2)]
    code, out, err = run(chakra(tmp_path, trace(*sends, *receive * (to == 0)), trace(*receive * (to == 1))))
    assert code == 3 and f"nobody receives what is sent by rank 0 node 1 to rank {to} tag 1" in err
    lines = out.splitlines()
    assert lines[0] == f"flows                 {2 * to} of {2 * to} finished"
    assert lines[-2] == f"not received          rank 0: SEND node 1 to rank {to}, tag 1, 7 bytes"
    assert lines[-1] == "unfinished: 1 sends of ranks had no receive; what they sent was never received"
    assert json.loads((tmp_path / "out" / "replay-run.json").read_text())["status"] == "unfinished"


def test_the_largest_message_runs_until_the_run_stops(tmp_path, run):
    section = chakra(tmp_path, trace(node(1, SEND_NODE, comm_size=TIB, comm_dst=1)),
                     trace(node(1, RECV_NODE, comm_size=TIB, comm_src=0)))
    code, out, err = run(section, parameters={"RunTime": 0.00002})
    assert code == 3 and "Traceback" not in err and "projected: 1.1e+09 hops, about " in err
    assert "1,099,511,627,776" in out
    code, out, err = run(section, "--max-hops", "1000000")
    assert code == 2 and "above the limit of 1e+06 hops (--max-hops): --yes runs it all the same" in err


def test_a_run_of_thousands_of_ranks_is_refused_before_it_is_made(tmp_path, refused):
    layer = "l -1 1 ALLREDUCE 50331648 1 NONE 0 1 ALLREDUCE 5615517696 1\n"
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 8 all_gpus: 1024\n400\n"
    (tmp_path / "job.txt").write_text(head + layer * 400)
    section = {"kind": "simai", "file": str(tmp_path / "job.txt")}
    assert "workload.hosts: 1024 ranks need a host each; 4 are given" in refused(section)
    error = refused(section, fabric={"kind": "leaf-spine", "racks": 32, "nics_per_rack": 32})
    assert "workload: projected: " in error and "above the limit of 3.5e+11 hops (a day): --yes" in error
