"""The chakra records of a small run by hand (chakra_record_cases): every column, a run that was stopped, files."""

import dataclasses
import hashlib
import json

import numpy as np
import pytest
from chakra_record_cases import (
    NODE_ROWS,
    START_PS,
    US,
    op,
    record,
    run_of,
    workload,
    written,
)

from distsim.errors import InputError, RunError
from distsim.records import RECORDS, claim_directory, merge, read_record
from distsim.records.chakra.identity import collective_ids
from distsim.records.chakra.run import graphed
from distsim.records.chakra.schemas import SCHEMAS
from distsim.records.chakra.times import op_times
from distsim.records.chakra.write import write_chakra_records
from distsim.records.files import record_files, side_files
from distsim.workload.graph import RECV
from distsim.workload.graph import SEND as SEND_NODE
from distsim.workload.types import (
    JOIN,
    LOCAL,
    LOCAL_IN,
    LOG_OP,
    ON_FIRE,
    ON_LOCAL,
    ROLE_NODE,
)

DOCUMENTED = {
    "chakra-mapping": "ChakraId,Hostname,NicNodeID,ServerNodeID,ServerID,Core,IPAddress,ScaleUpGroupId,"
                      "ScaleUpSubgroupId",
    "chakra-apps": "AppName,Core",
    "chakra-perf": "time_utc,metric_name,sim_time_sec,perf_metric_usec,metric_path,metric_aggregation_id,"
                   "start_time_sec,is_added_synchronization_flow,comm_tag,group_size,flow_comm_size,sending_app_name,"
                   "receiving_app_name",
    "chakra-completion-stats": "metric_path,chakra_app_logical_id,chakra_trace_completion_time_us,"
                               "chakra_full_payload_bytes_sent,chakra_full_payload_bytes_received,"
                               "num_chakra_sends_completed,num_chakra_receives_completed,num_chakra_sends_fully_acked,"
                               "num_chakra_computations_completed,total_chakra_computation_time_us,"
                               "post_annotated_results_path",
    "chakra-cdf": "sim_time_sec,CDF_send_bytes,CDF_chakra_sends_completed,CDF_chakra_receives_completed,"
                  "CDF_chakra_sends_fully_acked,CDF_chakra_computations_completed",
    "chakra-comm-collective-stats": "collective_hash,comm_type,comm_size,pg_name,pg_size,simulation_start_time_us,"
                                    "simulation_end_time_us,use_max_as_collective_start_time,is_valid",
    "chakra-comm-collective-percentiles-stats": "comm_type,expansion_algo,comm_size,pg_size,count,mean_run_time_us,"
                                                "p50_run_time_us,p99_run_time_us,p99_9_run_time_us,p100_run_time_us,"
                                                "mean_ideal_ratio,p50_ideal_ratio,p99_ideal_ratio,p99_9_ideal_ratio,"
                                                "p100_ideal_ratio",
}


def test_columns_are_the_documented_ones_in_their_order():
    headers = {schema.name: ",".join(schema.header) for schema in SCHEMAS}
    assert headers.pop("chakra-capable-hosts").split(",")[0] == "Host"
    assert headers == DOCUMENTED
    assert all(set(schema.order) <= set(schema.header) for schema in SCHEMAS)
    assert not set(RECORDS) & set(headers)      # no other run opens them


# ---- placement -------------------------------------------------------------------------------------------------------

def test_placement(tmp_path):
    files = written(tmp_path)
    assert files["sim-chakra-capable-hosts-0.csv"] == ["Host,ChakraCapable", "0,true", "1,true", "2,true"]
    assert files["sim-chakra-apps-0.csv"] == ["AppName,Core", "ChakraApp-0,1", "ChakraApp-1,0", "ChakraApp-2,0"]
    assert files["sim-chakra-mapping-0.csv"] == [
        "ChakraId,Hostname,NicNodeID,ServerNodeID,ServerID,Core,IPAddress", "0,NIC-2,2,2,2,1,32.0.0.3",
        "1,NIC-0,0,0,0,0,32.0.0.1", "2,NIC-1,1,1,1,0,32.0.0.2"]


def test_scale_up_groups_add_two_columns(tmp_path):
    lines = written(tmp_path, scale_up_group=np.array([4, 4, -1]), scale_up_subgroup=np.array([0, 1, -1]))
    lines = lines["sim-chakra-mapping-0.csv"]
    assert lines[0].endswith("IPAddress,ScaleUpGroupId,ScaleUpSubgroupId")
    assert [line.split(",")[7:] for line in lines[1:]] == [["4", "0"], ["4", "1"], ["", ""]]
    assert read_record(tmp_path, "chakra-mapping")["ScaleUpSubgroupId"].to_list() == [0, 1, None]


# ---- transfers -------------------------------------------------------------------------------------------------------

def test_every_column_of_the_transfers(tmp_path):
    rows = record(tmp_path, "chakra-perf")
    ring, sync = rows[-1][5], rows[1][5]
    path = "ChakraFCT.AllReduce.GroupSize2.CommSize4000Bytes"
    assert rows[0] == ["2026-01-13T19:19:39Z", "ChakraFCT", "0.001008", "3.0",
                       "ChakraFCT.Send.GroupSize0.CommSize1000Bytes", "-1", "0.001005", "false", "7", "-1", "1000",
                       "ChakraApp-0", "ChakraApp-1"]
    assert rows[1][2:] == ["0.0010085", "1.5", "ChakraFCT.Barrier.GroupSize2.CommSize0Bytes", sync, "0.001007", "true",
                           "50", "2", "0", "ChakraApp-1", "ChakraApp-0"]
    assert rows[-1][2:] == ["0.001014", "3.0", path, ring, "0.001011", "false", "102", "2", "2000", "ChakraApp-0",
                            "ChakraApp-1"]
    assert [row[8] for row in rows] == ["7", "50", "51", "100", "101", "103", "102"]       # by acknowledgement
    assert {row[5] for row in rows if row[7] == "true"} == {sync}
    assert {row[5] for row in rows if row[4] == path} == {ring} and ring != sync
    assert ring == record(tmp_path, "chakra-comm-collective-stats")[0][0]


def test_ids_are_the_same_in_every_run_and_differ_between_collectives(tmp_path):
    one = workload()
    again = dataclasses.replace(one, instances=np.repeat(one.instances, 2))
    again.instances["order"] = [0, 1]
    ids = collective_ids(graphed(run_of(tmp_path, made=again)))
    assert ids[0] == collective_ids(graphed(run_of(tmp_path)))[0] == 8978451630948915265
    assert ids[1] != ids[0] and (ids >= 0).all()


def test_row_limit_counts_transfers_by_sending_nic(tmp_path):
    run = run_of(tmp_path, max_rows=1)
    facts = {fact["record"]: fact for fact in write_chakra_records(run)}
    assert (facts["chakra-perf"]["rows"], facts["chakra-perf"]["rows_left_out"]) == (2, 5)
    assert (facts["chakra-cdf"]["rows"], facts["chakra-cdf"]["rows_left_out"]) == (1, 3)
    assert facts["chakra-completion-stats"]["rows"] == 3 and not facts["chakra-mapping"]["rows_left_out"]


# ---- completion ------------------------------------------------------------------------------------------------------

def test_completion_of_each_rank(tmp_path):
    assert record(tmp_path, "chakra-completion-stats") == [
        ["ChakraGenerator.ChakraApp", "0", "14.0", "5000", "4000", "3", "2", "3", "1", "5.0",
         "post_annotated/trace.0.json"],
        # its own transfers were acknowledged by 13 us; the last one that it received, at 14 us
        ["ChakraGenerator.ChakraApp", "1", "14.0", "4000", "5000", "2", "3", "2", "1", "3.0",
         "post_annotated/trace.1.json"],
        ["ChakraGenerator.ChakraApp", "2", "0.0", "0", "0", "0", "0", "0", "0", "0.0", "post_annotated/trace.2.json"]]


def test_memory_nodes_are_no_computations(tmp_path):
    rows = record(tmp_path, "chakra-completion-stats", computation=np.array([1, 0, 0, 0, 0, 0], bool))
    assert [row[8:10] for row in rows] == [["1", "5.0"], ["0", "0.0"], ["0", "0.0"]]


def test_a_run_that_is_stopped_says_what_was_done_by_then(tmp_path):
    rows = record(tmp_path, "chakra-completion-stats", until=9.5)
    # rank 0: both sends of 1,000 and 2,000 B have left, the first is acknowledged; nothing of the ring is in yet
    assert rows[0][2:10] == ["9.5", "3000", "0", "2", "0", "1", "1", "5.0"]
    assert rows[1][2:10] == ["9.5", "0", "1000", "0", "1", "0", "0", "0.0"]
    assert rows[2][2] == "0.0"


def test_progress(tmp_path):
    rows = [[float(value) for value in row] for row in record(tmp_path, "chakra-cdf")]
    assert [row[0] for row in rows] == [0.001004, 0.001008, 0.001012, 0.001016]     # 14 us + 4 us is before the next
    assert [row[1:] for row in rows] == [
        [0, 0, 0, 0, 0], [1000 / 9000, 1 / 5, 1 / 5, 1 / 5, 1 / 2], [1, 1, 4 / 5, 3 / 5, 1], [1, 1, 1, 1, 1]]


def test_progress_ends_one_interval_after_the_last_rank_or_at_the_stop(tmp_path):
    for interval, until, last in ((2 * US, None, 16), (14 * US, None, 28), (US, 9.5, 9), (20 * US, 9.5, None)):
        rows = record(tmp_path, "chakra-cdf", interval_ps=interval, until=until)
        assert (rows[-1][0] if rows else None) == (last and f"{(1000 + last) / 1e6}"), interval
    assert [row[5] for row in record(tmp_path, "chakra-cdf", computation=np.zeros(6, bool))] == ["0.0"] * 4


# ---- scale-up --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("logged", [True, False])      # the arrival; if not, the receive that it released tells
def test_scale_up_transfers_are_received_when_they_are_in_and_not_waited_for(tmp_path, logged):
    ops = [op(LOCAL, ROLE_NODE, 0, 1, node=0, size=1000, tag=7, start=0, sent=2, done=4),
           op(LOCAL_IN, ROLE_NODE, 1, 0, node=1, size=1000, start=1 if logged else None, done=3 if logged else None),
           op(JOIN, ROLE_NODE, 1, node=1, start=3, done=3)]
    made = workload(nodes=[NODE_ROWS[1], NODE_ROWS[3]], deps=[], ops=ops,
                    edges=[(0, 1, ON_LOCAL), (1, 2, ON_FIRE)], instances=[])
    made.ops["flags"][1] = LOG_OP if logged else 0
    run = run_of(tmp_path, made=made, ops=ops)
    assert op_times(run, graphed(run)).received[0] == START_PS + 3 * US
    rows = record(tmp_path, "chakra-completion-stats", made=made, ops=ops)
    assert [row[2:8] for row in rows[:2]] == [["4.0", "1000", "0", "1", "0", "1"], ["3.0", "0", "1000", "0", "1", "0"]]
    assert [row[2] for row in record(tmp_path, "chakra-perf", made=made, ops=ops)] == ["0.001004"]
    rows = record(tmp_path, "chakra-completion-stats", made=made, ops=ops, until=2.5)
    assert [row[2:8] for row in rows[:2]] == [["2.5", "1000", "0", "1", "0", "0"], ["2.5", "0", "0", "0", "0", "0"]]


def test_a_send_to_the_same_rank_is_a_send_without_a_transfer(tmp_path):
    node = {"rank": 0, "size_bytes": 30, "peer": 0, "group": -1}
    ops = [op(JOIN, ROLE_NODE, 0, node=0, start=1, done=1), op(JOIN, ROLE_NODE, 0, node=1, start=1, done=1)]
    nodes = [node | {"kind": SEND_NODE}, node | {"kind": RECV}]
    made = workload(nodes=nodes, deps=[], ops=ops, edges=[(0, 1, ON_FIRE)], instances=[])
    assert record(tmp_path, "chakra-completion-stats", made=made, ops=ops)[0][2:8] == ["1.0", "30", "30", "1", "1", "1"]
    assert record(tmp_path, "chakra-perf", made=made, ops=ops) == []


# ---- files -----------------------------------------------------------------------------------------------------------

def test_what_run_json_is_told(tmp_path):
    facts = write_chakra_records(run_of(tmp_path, profiling_ps=4 * US))
    assert len(facts) == 8 + 3 + 3
    for fact in facts:
        data = (tmp_path / fact["file"]).read_bytes()
        assert (fact["bytes"], fact["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
        assert fact["shard"] == 0 and fact["rows_left_out"] == 0
    json.dumps(facts)


def test_records_are_found_and_merged_without_what_depends_on_processes(tmp_path):
    for name, owner in (("one", [0, 0, 0]), ("two", [0, 0, 1])):
        (tmp_path / name).mkdir()
        write_chakra_records(run_of(tmp_path / name, owner=np.array(owner), clock=lambda: 0.0))
    assert [file.record for file in record_files(tmp_path / "one")] == sorted(schema.name for schema in SCHEMAS)
    for schema in SCHEMAS:
        assert merge(tmp_path / "one", schema.name).equals(merge(tmp_path / "two", schema.name))
    assert "Core" not in merge(tmp_path / "one", "chakra-apps").columns


def test_perf_of_a_simulation_called_chakra_is_not_chakra_perf(tmp_path):
    (tmp_path / "x-chakra-perf-0.csv").write_text(",".join(RECORDS["perf"].schema.header) + "\n")
    (tmp_path / "y-chakra-perf-1.csv").write_text(DOCUMENTED["chakra-perf"] + "\n")
    (tmp_path / "chakra-perf-0.csv").write_text(",".join(RECORDS["perf"].schema.header) + "\n")
    assert [file[1:] for file in record_files(tmp_path)] == [
        ("y", "chakra-perf", 1), ("chakra", "perf", 0), ("x-chakra", "perf", 0)]


def test_overwriting_removes_what_the_last_run_left_besides(tmp_path):
    write_chakra_records(run_of(tmp_path, profiling_ps=4 * US))
    (tmp_path / "post_annotated" / "notes.txt").write_text("mine")
    assert len(side_files(tmp_path)) == 6
    with pytest.raises(InputError, match="another run"):
        claim_directory(tmp_path)
    claim_directory(tmp_path, overwrite=True)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["notes.txt"]


def test_a_trace_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "post_annotated").write_text("a file")
    with pytest.raises(RunError, match=r"trace\.0\.json: cannot be written"):
        write_chakra_records(run_of(tmp_path))


def test_a_workload_without_ranks_is_refused(tmp_path):
    made = dataclasses.replace(workload(), graph=None)
    run = dataclasses.replace(run_of(tmp_path), workload=made)
    with pytest.raises(ValueError, match="from a graph"):
        write_chakra_records(run)


def test_a_run_of_nothing(tmp_path):
    made = workload(ranks=2, nodes=[], deps=[], ops=[], edges=[], instances=[], placement=(0, 1))
    files = written(tmp_path, made=made, ops=[])
    assert files["sim-chakra-perf-0.csv"] == [DOCUMENTED["chakra-perf"]]
    assert files["sim-chakra-cdf-0.csv"][1:] == ["0.001004,0.0,0.0,0.0,0.0,0.0"]
    assert len(files["sim-chakra-completion-stats-0.csv"]) == 3
    assert files["sim-chakra-comm-collective-stats-0.csv"] == [DOCUMENTED["chakra-comm-collective-stats"]]
    assert START_PS == 10**9
