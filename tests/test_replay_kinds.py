"""Workloads of ranks other than Chakra from their files to the records of a run; times worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from replay_cases import BYTE_ACKED, BYTE_IN, EMPTY_IN, column, ends, replayed, transfers

import distsim

COMPLETION, STATS = "chakra-completion-stats", "chakra-comm-collective-stats"
SERVERS_OF_2 = {"gpus_per_server": 2, "bandwidth": "100Gbps", "switch_latency": "100ns", "cable_latency": "25ns"}
BYTE_LOCAL = 0.002 + 0.15                       # 25 B with the header at 100 Gb/s; a switch and two cables


def close(*times_us: float) -> object:
    """Equal to the picosecond."""
    return pytest.approx(list(times_us), abs=1e-7)


def spans(run: distsim.Run) -> list[tuple[object, ...]]:
    """(collective, group, begin, end) of run.json, us."""
    return [(one["collective"], one["group"], pytest.approx(one["begin_us"], abs=1e-7),
             pytest.approx(one["end_us"], abs=1e-7)) for one in run.info["collectives"]]


# ---- GOAL ------------------------------------------------------------------------------------------------------------
GOAL = """num_ranks 3
rank 0 {
a: calc 5000
b: send 1b to 1 tag 4
c: send 1b to 2 tag 9
b requires a
c requires b
}
rank 1 {
r: recv 1b from 0 tag 4
c: calc 2000
c requires r
}
rank 2 {
r: recv 1b from -1 tag 9
x: calc 1000
y: calc 1000
x requires r
y requires r
}
"""


def goal(folder: Path, text: str = GOAL, **fields: object) -> dict:
    (folder / "x.goal").write_text(text)
    return {"kind": "goal", "file": str(folder / "x.goal"), **fields}


def test_goal(tmp_path):
    """The second send starts when the first has been sent, 15 ns later. Two calcs at once take as long as in a row."""
    run = replayed(tmp_path, goal(tmp_path))
    assert ends(run) == close(5.015 + BYTE_ACKED, 5 + BYTE_IN + 2, 5.015 + BYTE_IN + 2)
    assert [row[:4] for row in transfers(run)] == [(0, 1, 1, 5.0), (0, 2, 1, 5.015)]
    assert column(run, COMPLETION, "num_chakra_computations_completed") == [1, 1, 2]
    assert column(run, COMPLETION, "total_chakra_computation_time_us") == [5.0, 2.0, 2.0]
    assert column(run, "chakra-perf", "comm_tag") == [4, 9] and (run.path / "post_annotated" / "x.goal.0.json").exists()


def test_goal_on_hosts_of_its_own_with_servers_and_another_unit(tmp_path):
    """Ranks 0 and 1 share a server; a unit is 2 ns."""
    run = replayed(tmp_path, goal(tmp_path, calc_unit="2ns", hosts=[3, 1, 0], scale_up=SERVERS_OF_2))
    # Over the scale-up network a send has been sent when its last byte has left, 2 ns, and is in 150 ns later.
    assert ends(run) == close(10.002 + BYTE_ACKED, 10 + BYTE_LOCAL + 4, 10.002 + BYTE_IN + 4)
    assert column(run, "chakra-mapping", "Hostname") == ["NIC-3", "NIC-1", "NIC-0"]
    assert column(run, "perf", "metric_path") == ["NIC-3>NIC-1", "NIC-3>NIC-0"]


# ---- SimAI -----------------------------------------------------------------------------------------------------------
SIMAI = """HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4 checkpoints: 0 \
checkpoint_initiates: 0
1
l -1 3000 ALLREDUCE 2 2000 NONE 0 1000 ALLREDUCE 2 500
"""


def simai(folder: Path, **fields: object) -> dict:
    (folder / "job.txt").write_text(SIMAI)
    return {"kind": "simai", "file": str(folder / "job.txt"), **fields}


def test_simai(tmp_path):
    """3 us, a ring of two tensor-parallel neighbours, 0.5 us of update, 2 and 1 us of gradients, a ring of the two that
    have the same place, and its update."""
    run = replayed(tmp_path, simai(tmp_path))
    data = 3 + 2 * BYTE_IN + 0.5 + 2 + 1
    assert spans(run) == [("all_reduce", f"TP-{k}", 3.0, 3 + 2 * BYTE_IN) for k in (0, 1)] \
        + [("all_reduce", f"DP-{k}", data, data + 2 * BYTE_IN) for k in (0, 1)]
    assert ends(run) == close(*[data + 2 * BYTE_IN + 0.5] * 4)
    assert {row[:2] for row in transfers(run) if row[3] < 6} == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert {row[:2] for row in transfers(run) if row[3] > 6} == {(0, 2), (1, 3), (2, 0), (3, 1)}
    assert sorted(column(run, STATS, "pg_name")) == ["DP-0", "DP-1", "TP-0", "TP-1"]
    assert column(run, COMPLETION, "total_chakra_computation_time_us") == [7.0] * 4


TOPOLOGY = """9 2 2 3 10 A100
4 5 6 7 8
0 4 100Gbps 75ns 0
1 4 100Gbps 75ns 0
2 5 100Gbps 75ns 0
3 5 100Gbps 75ns 0
0 6 400Gbps 100ns 0
1 7 400Gbps 100ns 0
2 6 400Gbps 100ns 0
3 7 400Gbps 100ns 0
6 8 400Gbps 500ns 0
7 8 400Gbps 500ns 0
"""


def test_simai_on_a_topology_with_nvswitches(tmp_path):
    """Tensor-parallel transfers take two links to the NVSwitch, 150 ns, at 100 Gb/s; the data-parallel ones meet at the
    leaf of their rail."""
    (tmp_path / "topology.txt").write_text(TOPOLOGY)
    run = replayed(tmp_path, simai(tmp_path), fabric={"kind": "ns3", "file": str(tmp_path / "topology.txt")})
    data = 3 + 2 * BYTE_LOCAL + 0.5 + 2 + 1
    assert spans(run) == [("all_reduce", f"TP-{k}", 3.0, 3 + 2 * BYTE_LOCAL) for k in (0, 1)] \
        + [("all_reduce", f"DP-{k}", data, data + 2 * BYTE_IN) for k in (0, 1)]
    assert column(run, "chakra-mapping", "ScaleUpGroupId") == [0, 0, 1, 1]
    # The same with the servers said in the section, and with every transfer over the fabric: two leaves and a spine.
    assert ends(replayed(tmp_path, simai(tmp_path, scale_up=SERVERS_OF_2))) == close(*ends(run))
    over = replayed(tmp_path, simai(tmp_path, scale_up={"gpus_per_server": 1}),
                    fabric={"kind": "ns3", "file": str(tmp_path / "topology.txt")})
    assert ends(over)[0] > ends(run)[0] + 2


def test_simai_cut(tmp_path):
    """Two ranks of four: the tensor-parallel pair; half the compute time, three times the bytes."""
    run = replayed(tmp_path, simai(tmp_path, ranks=2, compute_scale=0.5, comm_scale=3, layers=1))
    assert [span[:2] for span in spans(run)] == [("all_reduce", "TP-0")]
    assert [(row[2], row[3]) for row in transfers(run)][:2] == [(3, 1.5), (3, 1.5)]
    assert column(run, COMPLETION, "total_chakra_computation_time_us") == [3.5] * 2      # updates are not scaled


# ---- HPCC ------------------------------------------------------------------------------------------------------------
def test_hpcc(tmp_path):
    (tmp_path / "flow.txt").write_text("2\n0 1 3 100 1 0.000001\n2 3 3 100 0 0.000002\n")
    run = replayed(tmp_path, {"kind": "hpcc", "file": str(tmp_path / "flow.txt")})
    assert column(run, "perf", "metric_path") == ["NIC-0>NIC-1", "NIC-2>NIC-3"]
    assert column(run, "perf", "start_time_sec") == [1e-6, 2e-6] and column(run, "perf", "transfer_size_b") == [1, 0]
    assert column(run, "perf", "perf_metric_usec")[0] == pytest.approx(BYTE_ACKED, abs=1e-7)


# ---- native collectives ----------------------------------------------------------------------------------------------
def test_a_collective_twice(tmp_path):
    """An all-gather of a byte from each of four: three steps, each iteration after 1 us of launch."""
    run = replayed(tmp_path, {"kind": "collective", "collective": "all_gather", "size": "4B", "iterations": 2,
                              "launch": "1us"})
    second = 1 + 3 * BYTE_IN + 1
    assert spans(run) == [("all_gather", "world", 1.0, second - 1), ("all_gather", "world", second,
                                                                     second + 3 * BYTE_IN)]
    assert run.info["flows"] == {"total": 24, "finished": 24, "unfinished": 0}


def test_groups_at_once_and_a_barrier_first(tmp_path):
    """A pair takes two steps, three ranks four of 2 B: a second byte is 16 ps on the lanes and 20 ps on each link. With
    a barrier nothing goes up the tree, then down."""
    run = replayed(tmp_path, {"kind": "collective", "size": "6B", "groups": [[0, 1], [2, 3, 4]], "start": "2us"}, 5)
    assert [span[1] for span in spans(run)] == ["0", "1"]
    assert spans(run)[1][2:] == (2.0, pytest.approx(2 + 4 * (BYTE_IN + 0.000056), abs=1e-7))
    barred = replayed(tmp_path, {"kind": "collective", "size": "2B", "groups": [[0, 1]], "synchronize": True}, 2)
    assert spans(barred)[0][2] == 2 * EMPTY_IN


def test_ranks_beside_flows(tmp_path):
    """Parts of `several`: the collective's ranks come first and are not disturbed by the flow of another pair."""
    run = replayed(tmp_path, {"kind": "several", "parts": [
        {"kind": "collective", "size": "2B", "hosts": [0, 1]},
        {"kind": "flows", "flows": [{"from": 2, "to": 3, "size": "1B"}]}]})
    assert spans(run) == [("all_reduce", "world", 0.0, 2 * BYTE_IN)]
    assert run.info["flows"]["total"] == 5


def test_flows_beside_ranks_are_not_in_their_records(tmp_path):
    ranks = goal(tmp_path, "num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 5b from 0\n}\n", hosts=[2, 3])
    flow = {"kind": "flows", "flows": [{"from": 0, "to": 1, "size": "1B"}]}
    for parts in ([ranks, flow], [flow, ranks]):
        run = replayed(tmp_path, {"kind": "several", "parts": parts})
        assert [row[:4] for row in transfers(run)] == [(0, 1, 5, 0.0)] and len(ends(run)) == 2
        assert sorted(column(run, "perf", "metric_path")) == ["NIC-0>NIC-1", "NIC-2>NIC-3"]
        assert column(run, COMPLETION, "chakra_full_payload_bytes_received") == [0, 5]


def test_scale_up_groups_of_several_jobs(tmp_path):
    """Each job's groups are its own, whichever has some; those of a later job get numbers of their own."""
    text = "num_ranks 2\nrank 0 {\nsend 4096b to 1\n}\nrank 1 {\nrecv 4096b from 0\n}\n"
    for first, second, ids in ((SERVERS_OF_2, None, [0, 0, None, None]), (None, SERVERS_OF_2, [None, None, 0, 0]),
                               (SERVERS_OF_2, SERVERS_OF_2, [0, 0, 1, 1])):
        run = replayed(tmp_path, {"kind": "several", "parts": [
            goal(tmp_path, text, scale_up=first), goal(tmp_path, text, scale_up=second, hosts=[3, 2])]})
        assert column(run, "chakra-mapping", "ScaleUpGroupId") == ids
        local = [pytest.approx(0.3296 + 0.15, abs=1e-7)]
        assert (ends(run)[1:2] == local, ends(run)[3:] == local) == (first is not None, second is not None)


def test_a_collective_beside_another_job_is_in_its_records_whole(tmp_path):
    """A collective alone has no records of ranks; beside a job that has, what its ranks sent is in them too."""
    section = {"kind": "collective", "size": "2B", "hosts": [2, 3]}
    assert COMPLETION not in replayed(tmp_path, section).records
    for parts in ([section, goal(tmp_path)], [goal(tmp_path), section]):
        run = replayed(tmp_path, {"kind": "several", "parts": [{**part, "hosts": [3, 4, 5]} if part["kind"] == "goal"
                                                               else {**part, "hosts": [0, 1]} for part in parts]}, 6)
        at = slice(0, 2) if parts[0] is section else slice(3, 5)
        assert ends(run)[at] == close(*[BYTE_IN + BYTE_ACKED] * 2)
        assert column(run, COMPLETION, "num_chakra_sends_completed")[at] == [2, 2]
        assert column(run, STATS, "simulation_end_time_us") == close(BYTE_IN + BYTE_ACKED)


def test_two_jobs_of_ranks_at_once(tmp_path):
    """The records number the ranks through; each job has groups of its own."""
    run = replayed(tmp_path, {"kind": "several", "parts": [
        goal(tmp_path, "num_ranks 2\nrank 0 {\ncalc 3000\n}\nrank 1 {\ncalc 1000\n}\n"),
        simai(tmp_path, ranks=2, hosts=[2, 3])]})
    assert ends(run)[:2] == close(3, 1)
    assert ends(run)[2:] == close(*[3 + 2 * BYTE_IN + 0.5 + 2 + 1] * 2)
    assert column(run, "chakra-mapping", "Hostname") == ["NIC-0", "NIC-1", "NIC-2", "NIC-3"]
    assert column(run, STATS, "pg_name") == ["job1.TP-0"]


def test_beside_a_job_in_phases_it_is_said_that_there_are_no_records_of_ranks(tmp_path):
    job = {"kind": "nccl-tests", "name": "b", "command": "all_reduce_perf -b 8 -e 8 -n 1 -w 0", "hosts": [2, 3]}
    goal = "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n"
    (tmp_path / "x.goal").write_text(goal)
    part = {"kind": "goal", "name": "a", "file": str(tmp_path / "x.goal"), "hosts": [0, 1]}
    run = replayed(tmp_path, {"kind": "several", "parts": [part, job]})
    assert not [name for name in run.records if name.startswith("chakra-")]
    assert [line for line in run.info["warnings"] if "chakra-" in line] == [
        "part a: the records of ranks (chakra-*, post_annotated) are not written beside a part that runs in phases"]
