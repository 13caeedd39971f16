"""Annotated traces and profiling texts of the run in chakra_record_cases."""

import dataclasses
import json

import numpy as np
import pytest
from chakra_record_cases import EDGE_ROWS, OP_ROWS, START_PS, US, run_of, workload, written

from distsim.records.chakra.run import graphed
from distsim.records.chakra.times import NEVER, op_times
from distsim.workload.types import ON_FIRE

X = "X" * 13
WALL = {"wall_ps": START_PS + np.array([0, 10, 20]) * US, "wall_us": np.array([0.0, 100.0, 1100.0])}


def nodes(directory, rank, **changes):
    lines = written(directory, **changes)[f"post_annotated/trace.{rank}.json"]
    return json.loads("\n".join(lines))["nodes"]


def stamps(directory, rank, **changes):
    return [[node[key] for key in "ser"] for node in nodes(directory, rank, **changes)]


def test_times_of_every_node(tmp_path):
    # computation, send (until its acknowledgement), collective; r: 10 us of wall time a us up to 10 us, then 100
    assert stamps(tmp_path, 0, **WALL) == [["000001000.000", "000001005.000", "000000000.000"],
                                           ["000001005.000", "000001008.000", "000000050.000"],
                                           ["000001008.000", "000001012.000", "000000080.000"]]
    # the receive is ready at once and is over when the transfer is in
    assert stamps(tmp_path, 1, **WALL) == [["000001000.000", "000001007.000", "000000000.000"],
                                           ["000001007.000", "000001010.000", "000000070.000"],
                                           ["000001009.000", "000001013.000", "000000090.000"]]
    assert nodes(tmp_path, 2) == []


def test_without_readings_of_the_wall_clock_r_is_the_placeholder(tmp_path):
    assert [row[2] for row in stamps(tmp_path, 0)] == [X] * 3


def test_what_runs_at_the_stop_has_a_start_and_no_end(tmp_path):
    assert stamps(tmp_path, 1, until=9.5, **WALL) == [["000001000.000", "000001007.000", "000000000.000"],
                                                      ["000001007.000", X, "000000070.000"],
                                                      ["000001009.000", X, "000000090.000"]]
    assert stamps(tmp_path, 0, until=7, **WALL) == [["000001000.000", "000001005.000", "000000000.000"],
                                                    ["000001005.000", X, "000000050.000"], [X, X, X]]
    assert stamps(tmp_path, 0, until=4, **WALL)[:2] == [["000001000.000", X, "000000000.000"], [X, X, X]]


def test_fields_of_the_nodes(tmp_path):
    control = np.array([False, False, True, False])
    found = [{key: value for key, value in node.items() if key not in "ser"}
             for rank in (0, 1) for node in nodes(tmp_path, rank, control=control)]
    assert found[:5] == [
        {"id": 10, "name": "matmul", "type": "COMP_NODE", "durationMicros": 5.0, "dataDeps": [], "ctrlDeps": []},
        {"id": 11, "type": "COMM_SEND_NODE", "comm_size": 1000, "partner": 1, "comm_tag": 7, "dataDeps": [10],
         "ctrlDeps": []},
        {"id": 12, "type": "COMM_COLL_NODE", "comm_type": "AllReduce", "comm_size": 4000, "pg_name": "tp",
         "dataDeps": [11], "ctrlDeps": []},
        {"id": 20, "type": "COMM_RECV_NODE", "comm_size": 1000, "partner": 0, "comm_tag": 7, "dataDeps": [],
         "ctrlDeps": []},
        {"id": 21, "type": "COMP_NODE", "durationMicros": 3.0, "dataDeps": [], "ctrlDeps": [20]}]
    assert nodes(tmp_path, 1, computation=np.zeros(6, bool))[1]["type"] == "MEM_NODE"


def test_traces_can_be_left_out(tmp_path):
    files = written(tmp_path, annotate=False)
    assert not [name for name in files if "annotated" in name]
    assert [line.split(",")[-1] for line in files["sim-chakra-completion-stats-0.csv"][1:]] == [""] * 3


# ---- profiling -------------------------------------------------------------------------------------------------------

RULE = "=" * 32


def block(time, *rows):
    """Lines of a block from its node lines."""
    lines = [RULE, f"sim_time_sec: {time}"]
    for title, letter in (("send_nodes", "S"), ("receive_nodes", "R"), ("computation_nodes", "C")):
        lines += [f"{title}:", *(f"    {row}" for row in rows if row[0] == letter)]
    return lines


def test_a_rank_lists_what_runs_until_its_end(tmp_path):
    files = written(tmp_path, profiling_ps=3 * US, control=np.array([False, True, False, False]))
    # at 9 us its first transfer of the ring has been sent but not acknowledged, and rank 1's has just started; at 12 us
    # rank 1's second one is in, and its own second one on the way; rank 0 ends at 14 us
    assert files["sim-chakra-profiling-0-0.txt"] == [
        "CHAKRA PROFILING",
        *block(0.001003, "C(10,[],[])"),
        *block(0.001006, "S(11,1,1000,[10],[])"),
        *block(0.001009, "S(12,1,2000,[],[11])", "R(12,1,2000,[],[11])"),
        *block(0.001012, "S(12,1,2000,[],[11])")]
    assert files["sim-chakra-profiling-1-0.txt"] == [
        "CHAKRA PROFILING",
        *block(0.001003, "R(20,0,1000,[],[])"),
        *block(0.001006, "R(20,0,1000,[],[])"),
        *block(0.001009, "S(22,0,2000,[20],[])", "R(22,0,2000,[20],[])", "C(21,[20],[])"),
        *block(0.001012, "S(22,0,2000,[20],[])", "R(22,0,2000,[20],[])")]
    assert files["sim-chakra-profiling-2-0.txt"] == ["CHAKRA PROFILING"]


def test_a_stopped_rank_lists_up_to_the_stop(tmp_path):
    lines = written(tmp_path, profiling_ps=2 * US, until=9.5)["sim-chakra-profiling-1-0.txt"]
    assert [line for line in lines if line.startswith("sim_time")][-1] == "sim_time_sec: 0.001008"
    assert lines[-6:] == block(0.001008, "C(21,[20],[])")


def test_blocks_do_not_depend_on_how_they_are_batched(tmp_path, monkeypatch):
    whole = written(tmp_path, profiling_ps=US)["sim-chakra-profiling-1-0.txt"]
    monkeypatch.setattr("distsim.records.chakra.profiling.BATCH", 3)
    assert written(tmp_path, profiling_ps=US)["sim-chakra-profiling-1-0.txt"] == whole
    assert whole.count(RULE) == 14


def test_no_file_unless_it_is_on(tmp_path):
    assert not [name for name in written(tmp_path) if "profiling" in name]


# ---- times -----------------------------------------------------------------------------------------------------------

def test_receipts_within_a_collective_follow_from_what_they_released(tmp_path):
    run = run_of(tmp_path)
    received = (op_times(run, graphed(run)).received[8:12] - START_PS) / US
    # of the second step only the end of the collective tells: rank 1 left it at 13 us, rank 0 at 12 us
    assert received.tolist() == [10, 11, 13, 12]


def test_a_receive_whose_own_start_is_not_known_starts_when_it_fires(tmp_path):
    run = run_of(tmp_path)
    made = workload(edges=[*EDGE_ROWS, (14, 2, ON_FIRE)], ops=[*OP_ROWS, OP_ROWS[3]])      # nothing tells of op 14
    run = dataclasses.replace(run, workload=made)
    assert op_times(run, graphed(run)).began[2] == START_PS + 7 * US


@pytest.mark.parametrize(("any_of", "until", "start"), [
    (0, 9.9, NEVER), (1, 9.9, 5.5), (2, 9.9, 7.5), (2, 7.4, NEVER), (0, 10.5, 10.5), (0, 10.4, NEVER)])
def test_start_of_what_runs_at_the_stop_is_the_notice_that_released_it(tmp_path, any_of, until, start):
    # an operation without a row of its own that waits for those done at 5, 7 and 10 us, and half a us after that
    ops = [*OP_ROWS, OP_ROWS[3] | {"start": None, "done": None}]
    made = workload(ops=ops, edges=[(0, 14, ON_FIRE), (2, 14, ON_FIRE), (3, 14, ON_FIRE)])
    made.ops["any_of"][14], made.ops["delay_ps"][14] = any_of, US // 2
    run = run_of(tmp_path, until=until, made=made, ops=ops)
    began = op_times(run, graphed(run)).began[14]
    assert began == (NEVER if start == NEVER else START_PS + round(start * US))
