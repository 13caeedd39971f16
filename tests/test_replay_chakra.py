"""Chakra traces from their files to the records of a run; times worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chakra_cases import COMP_NODE, MEM_LOAD, METADATA_NODE, RECV_NODE, SEND_NODE, coll, node, trace, write
from replay_cases import BYTE_ACKED, BYTE_IN, EMPTY_IN, column, ends, replayed, transfers

COMPLETION, STATS = "chakra-completion-stats", "chakra-comm-collective-stats"
ALONE = {"CommCollectiveSynchronization": False}


def chakra(folder: Path, *ranks: bytes, **fields: object) -> dict:
    return {"kind": "chakra", "file": write(folder, *ranks), **fields}


def close(*times_us: float) -> object:
    """Equal to the picosecond."""
    return pytest.approx(list(times_us), abs=1e-7)


def send(node_id: int, to: int, size: int = 1, tag: int = 0, after: tuple[int, ...] = ()) -> bytes:
    return node(node_id, SEND_NODE, after=after, comm_size=size, comm_dst=to, comm_tag=tag)


def receive(node_id: int, source: int, size: int = 1, tag: int = 0, after: tuple[int, ...] = ()) -> bytes:
    return node(node_id, RECV_NODE, after=after, comm_size=size, comm_src=source, comm_tag=tag)


# ---- computation and transfers ---------------------------------------------------------------------------------------
SHARING = (trace(node(1, COMP_NODE, 10), node(2, COMP_NODE, 4), send(3, 1, after=(1, 2))),
           trace(receive(1, 0), node(2, COMP_NODE, 3, after=(1,))))


def test_two_computations_share_an_npu_then_a_send(tmp_path):
    """4 us of work at half the rate end at 8 us; the other 10 us at 14 us, when a byte goes to rank 1 for 3 us of work.
    Rank 0 ends with the acknowledgement."""
    run = replayed(tmp_path, chakra(tmp_path, *SHARING))
    assert ends(run) == close(14 + BYTE_ACKED, 14 + BYTE_IN + 3)
    assert transfers(run) == [(0, 1, 1, 14.0, pytest.approx(BYTE_ACKED, abs=1e-7))]
    assert column(run, COMPLETION, "num_chakra_computations_completed") == [2, 1]
    assert column(run, COMPLETION, "total_chakra_computation_time_us") == [14.0, 3.0]
    assert column(run, COMPLETION, "chakra_full_payload_bytes_sent") == [1, 0]
    assert column(run, COMPLETION, "chakra_full_payload_bytes_received") == [0, 1]
    # Rows at 10 and 20 us: one computation of three has ended, then all that there is.
    cdf = run.frame("chakra-cdf")
    assert cdf["sim_time_sec"].to_list() == [0.00001, 0.00002]
    assert cdf["CDF_chakra_computations_completed"].to_list() == [pytest.approx(1 / 3), 1.0]
    assert cdf["CDF_send_bytes"].to_list() == cdf["CDF_chakra_receives_completed"].to_list() == [0.0, 1.0]


def test_collected_durations_are_taken_as_they_are(tmp_path):
    run = replayed(tmp_path, chakra(tmp_path, *SHARING, TraceFamily="collected"))
    assert ends(run) == close(10 + BYTE_ACKED, 10 + BYTE_IN + 3)


def test_memory_and_cpu_nodes_do_not_share_the_npu(tmp_path):
    """10 us each at once; 6 us of the NPU after the load. Of the four only the computations count as such."""
    run = replayed(tmp_path, chakra(tmp_path, trace(
        node(1, MEM_LOAD, 10), node(2, COMP_NODE, 10, is_cpu_op=True), node(3, COMP_NODE, 10),
        node(4, COMP_NODE, 6, ctrl=(1,)), node(5, METADATA_NODE, after=(2,)))), hosts=2)
    assert ends(run) == close(16)
    assert column(run, COMPLETION, "num_chakra_computations_completed") == [3]
    assert column(run, COMPLETION, "total_chakra_computation_time_us") == [26.0]
    nodes = json.loads((run.path / "post_annotated" / "t.0.json").read_text())["nodes"]
    assert [(one["type"], one["s"], one["e"]) for one in nodes] == [
        ("MEM_NODE", "000000000.000", "000000010.000"), ("COMP_NODE", "000000000.000", "000000010.000"),
        ("COMP_NODE", "000000000.000", "000000010.000"), ("COMP_NODE", "000000010.000", "000000016.000"),
        ("METADATA_NODE", "000000010.000", "000000010.000")]
    assert nodes[3]["ctrlDeps"] == [1] and nodes[3]["dataDeps"] == [] and nodes[4]["dataDeps"] == [2]


def test_a_transfer_that_comes_before_its_receive_starts_waits_for_it(tmp_path):
    """The byte is there at 0.22 us, the receive starts at 5 us and ends then."""
    run = replayed(tmp_path, chakra(tmp_path, trace(send(1, 1)),
                                    trace(node(1, COMP_NODE, 5), receive(2, 0, after=(1,)),
                                          node(3, COMP_NODE, 1, after=(2,)))))
    assert ends(run) == close(BYTE_ACKED, 6)
    nodes = json.loads((run.path / "post_annotated" / "t.1.json").read_text())["nodes"]
    assert (nodes[1]["s"], nodes[1]["e"]) == ("000000005.000", "000000005.000")


def test_tags_say_which_receive_a_send_belongs_to(tmp_path):
    """Sent at 0 with tag 8 and at 2 us with tag 7; the receive of tag 7 comes first in the file."""
    run = replayed(tmp_path, chakra(
        tmp_path, trace(send(1, 1, tag=8), node(2, COMP_NODE, 2), send(3, 1, tag=7, after=(2,))),
        trace(receive(1, 0, tag=7), receive(2, 0, tag=8), node(3, COMP_NODE, 9, after=(1,)),
              node(4, COMP_NODE, 1, after=(2,)))))
    assert ends(run)[1] == pytest.approx(2 + BYTE_IN + 9, abs=1e-7)
    assert column(run, "chakra-perf", "comm_tag") == [8, 7]


def test_scaling(tmp_path):
    """A tenth of 101 bytes and of 19 us: 10 bytes, 1 us."""
    run = replayed(tmp_path, chakra(tmp_path, trace(node(1, COMP_NODE, 19), send(2, 1, 101, after=(1,))),
                                    trace(receive(1, 0, 101)), Scaling=True, ScalingFactor=0.1))
    assert [(row[2], row[3]) for row in transfers(run)] == [(10, 1.0)]
    assert column(run, COMPLETION, "total_chakra_computation_time_us") == [1.0, 0.0]


def test_a_file_that_stands_for_all_ranks(tmp_path):
    run = replayed(tmp_path, chakra(tmp_path, trace(node(1, COMP_NODE, 2), coll(2, 4, after=(1,))), ranks=4, **ALONE))
    assert len(ends(run)) == 4 and column(run, STATS, "simulation_start_time_us") == [2.0]
    assert len(transfers(run)) == 4 * 6 and {row[2] for row in transfers(run)} == {1}


# ---- collectives -----------------------------------------------------------------------------------------------------
def test_a_ring_of_two(tmp_path):
    """Two steps, a byte each way: in after 2 x BYTE_IN; the last is acknowledged after BYTE_IN + BYTE_ACKED."""
    run = replayed(tmp_path, chakra(tmp_path, *[trace(coll(1, 2))] * 2, **ALONE))
    assert transfers(run) == [(src, 1 - src, 1, start, pytest.approx(BYTE_ACKED, abs=1e-7))
                              for start in (0.0, round(BYTE_IN, 6)) for src in (0, 1)]
    stats = run.frame(STATS)
    assert stats["simulation_end_time_us"].to_list() == close(BYTE_IN + BYTE_ACKED)
    assert stats.drop("simulation_end_time_us", "collective_hash").rows() == [
        ("AllReduce", 2, "0", 2, 0.0, 1, 1)]
    assert stats["collective_hash"].to_list() == list(set(column(run, "chakra-perf", "metric_aggregation_id")))
    assert [run.info["collectives"][0][name] for name in ("collective", "members", "begin_us", "end_us", "time_us")] \
        == ["all_reduce", 2, 0.0, pytest.approx(2 * BYTE_IN, abs=1e-7), pytest.approx(2 * BYTE_IN, abs=1e-7)]
    ideal = run.frame("chakra-comm-collective-percentiles-stats")
    # 2 x 2 B x 8 x (2 - 1) / (2 x 400 Gb/s) = 0.04 ns.
    assert float(ideal["mean_ideal_ratio"][0]) == pytest.approx((BYTE_IN + BYTE_ACKED) / 0.00004)


def test_a_barrier_goes_before_a_collective(tmp_path):
    """Nothing goes up to rank 0, then down: rank 0 enters 15 ns after it has the first, when its own is on the way,
    rank 1 when it has it. Their first bytes leave then, the second ones when the first is in and they have entered."""
    run = replayed(tmp_path, chakra(tmp_path, *[trace(coll(1, 2))] * 2))
    entered = EMPTY_IN + 0.015, 2 * EMPTY_IN
    assert [row[:4] for row in transfers(run)] == [
        (0, 1, 1, round(entered[0], 6)), (1, 0, 1, round(entered[1], 6)), (1, 0, 1, round(entered[0] + BYTE_IN, 6)),
        (0, 1, 1, round(entered[1] + BYTE_IN, 6))]
    assert column(run, "chakra-perf", "is_added_synchronization_flow") == ["true"] * 2 + ["false"] * 4
    assert column(run, COMPLETION, "num_chakra_sends_completed") == [2, 2]
    assert column(run, STATS, "simulation_start_time_us") == close(entered[1])
    early = replayed(tmp_path, chakra(tmp_path, *[trace(coll(1, 2))] * 2, UseMaxAsCommCollectiveStartTime=False))
    assert column(early, STATS, "simulation_start_time_us") == close(entered[0])


ORDERED = [trace(coll(2, 2, start_us=9), coll(1, 4, start_us=5))] * 2


def test_collectives_of_a_group_run_in_the_order_of_issue(tmp_path):
    """The larger was issued first: two steps of 2 B, then the other begins, in serialization; else both at once."""
    run = replayed(tmp_path, chakra(tmp_path, *ORDERED, **ALONE))
    assert [row[2] for row in transfers(run)] == [2, 2, 2, 2, 1, 1, 1, 1]
    second = transfers(run)[4][3]
    assert second == round(run.info["collectives"][0]["end_us"], 6) > 2 * BYTE_IN
    free = replayed(tmp_path, chakra(tmp_path, *ORDERED, ProcessGroupSerialization=False, **ALONE))
    assert sorted(row[2] for row in transfers(free) if row[3] == 0) == [1, 1, 2, 2]


def test_sends_that_name_a_group_are_ordered_with_its_collectives(tmp_path):
    """Issued at 7 us of the trace, between two collectives; the send of no group and receives do not wait."""
    ranks = [trace(coll(1, 2, start_us=5), coll(2, 2, start_us=9), node(3, SEND_NODE, start_us=7, comm_size=3,
                                                                      comm_dst=1, pg_name="0"),
                   node(4, SEND_NODE, start_us=8, comm_size=4, comm_dst=1)),
             trace(coll(1, 2, start_us=5), coll(2, 2, start_us=9), receive(3, 0, 3), receive(4, 0, 4))]
    run = replayed(tmp_path, chakra(tmp_path, *ranks, **ALONE))
    start = {row[2]: row[3] for row in transfers(run)}
    first, second = run.info["collectives"]
    assert start[4] == 0 and start[3] == round(first["end_us"], 6)
    # Rank 0 enters the second once the 3 bytes have been sent, 15 ns later; rank 1 when the first is over.
    assert second["begin_us"] == pytest.approx(start[3] + 0.015, abs=1e-6)
    free = replayed(tmp_path, chakra(tmp_path, *ranks, ProcessGroupSerialization=False, **ALONE))
    assert sorted(row[2] for row in transfers(free) if row[3] == 0) == [1, 1, 1, 1, 3, 4]


def test_two_communicators_and_computation(tmp_path):
    """Groups {0, 1} and {2, 3} after 5 and 7 us, then {0, 2} when both are through, {1, 3} not at all."""
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "t.json").write_text(json.dumps({"a": [0, 1], "b": [2, 3], "c": [2, 0]}))
    first = [trace(node(1, COMP_NODE, 5 + 2 * (rank > 1)), coll(2, 2, pg_name="ab"[rank // 2], after=(1,)),
                   *([] if rank % 2 else [coll(3, 2, pg_name="c", after=(2,))])) for rank in range(4)]
    run = replayed(tmp_path, chakra(folder, *first, **ALONE))
    stats = run.frame(STATS)
    assert stats["pg_name"].to_list() == ["a", "b", "c"] and stats["pg_size"].to_list() == [2, 2, 2]
    # A rank leaves a ring of two when its second byte is in; that of c starts with the later, 7 us + 2 steps.
    assert stats["simulation_start_time_us"].to_list() == close(5, 7, 7 + 2 * BYTE_IN)
    assert stats["simulation_end_time_us"].to_list()[:2] == close(5 + BYTE_IN + BYTE_ACKED, 7 + BYTE_IN + BYTE_ACKED)
    assert {(row[0], row[1]) for row in transfers(run)} == {(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0)}
    assert ends(run)[1] == pytest.approx(5 + BYTE_IN + BYTE_ACKED, abs=1e-7)
    percentiles = run.frame("chakra-comm-collective-percentiles-stats")
    assert percentiles["count"].to_list() == [3]


def test_a_collective_whose_receiver_enters_last_has_no_negative_time(tmp_path):
    """Rank 0 sends at once, rank 1 enters at 5 us, when the byte has long been in: it receives it then."""
    broadcast = 5
    run = replayed(tmp_path, chakra(tmp_path, trace(coll(1, 1, broadcast)),
                                    trace(node(1, COMP_NODE, 5), coll(2, 1, broadcast, after=(1,))), **ALONE))
    stats = run.frame(STATS)
    assert stats["simulation_start_time_us"].to_list() == stats["simulation_end_time_us"].to_list() == [5.0]
    cdf = run.frame("chakra-cdf")
    assert cdf["CDF_chakra_receives_completed"].to_list() == [1.0] and ends(run)[1] == 5.0
    early = replayed(tmp_path, chakra(tmp_path, trace(coll(1, 1, broadcast)),
                                      trace(node(1, COMP_NODE, 15), coll(2, 1, broadcast, after=(1,))), **ALONE))
    assert early.frame("chakra-cdf")["CDF_chakra_receives_completed"].to_list() == [0.0, 1.0]


# ---- scale-up groups -------------------------------------------------------------------------------------------------
MAPPING = "0 3 7 0\n1 2 7 0\n2 1 7 1\n3 0\n@ groups\n7 100 100 25\n"


def test_scale_up_groups_of_a_mapping_file(tmp_path):
    """4096 B and a header of 24 B at 100 Gb/s: 329.6 ns, a switch and two cables 150 ns, from subgroup to subgroup
    three and four 400 ns; the acknowledgement takes the latency twice. Rank 3 is outside: the fabric."""
    (tmp_path / "map").write_text(MAPPING)
    ranks = [trace(send(1, 1, 4096), send(2, 3, after=(1,))), trace(receive(1, 0, 4096), send(2, 2, 4096, after=(1,))),
             trace(receive(1, 1, 4096)), trace(receive(1, 0))]
    run = replayed(tmp_path, chakra(tmp_path, *ranks, mapping=str(tmp_path / "map")))
    assert [row[:4] for row in transfers(run)] == [(0, 1, 4096, 0.0), (0, 3, 1, 0.3296), (1, 2, 4096, 0.4796)]
    assert [row[4] for row in transfers(run)] == close(0.3296 + 0.3, BYTE_ACKED, 0.3296 + 0.8)
    assert ends(run)[2:] == close(0.4796 + 0.3296 + 0.4, 0.3296 + BYTE_ACKED)
    assert run.info["counts"]["created"] == 4                        # the byte, its ACK, and two to close the PDC
    mapped = run.frame("chakra-mapping")
    assert mapped.select("ChakraId", "Hostname", "ServerID", "ScaleUpGroupId", "ScaleUpSubgroupId").rows() == [
        (0, "NIC-3", 3, 7, 0), (1, "NIC-2", 2, 7, 0), (2, "NIC-1", 1, 7, 1), (3, "NIC-0", 0, None, None)]
    fabric = replayed(tmp_path, chakra(tmp_path, *ranks, mapping=str(tmp_path / "map"), UseMapping=False))
    assert column(fabric, "chakra-mapping", "Hostname") == ["NIC-0", "NIC-1", "NIC-2", "NIC-3"]
    assert fabric.info["counts"]["created"] == 12


# ---- files beside the records ----------------------------------------------------------------------------------------
def test_profiling_lists_what_runs(tmp_path):
    """Every 4 us: at 4 both computations, at 8 and 12 the longer, and no more when the rank has ended (14.4 us)."""
    run = replayed(tmp_path, chakra(tmp_path, *SHARING, ProfilingEnabled=True, ProfilingInterval=0.000004))
    line = "=" * 32
    blocks = (run.path / "replay-chakra-profiling-0-0.txt").read_text().split(line + "\n")
    assert blocks[0] == "CHAKRA PROFILING\n"
    found = [(block.splitlines()[0], [row.strip() for row in block.splitlines() if "(" in row]) for block in blocks[1:]]
    assert [rows for _, rows in found] == [["C(1,[],[])", "C(2,[],[])"], ["C(1,[],[])"], ["C(1,[],[])"]]
    assert [float(head.split()[1]) for head, _ in found] == pytest.approx([4e-6, 8e-6, 12e-6])
    waiting = (run.path / "replay-chakra-profiling-1-0.txt").read_text()
    assert "R(1,0,1,[],[])" in waiting


def test_beside_other_workloads_its_own_attributes_count(tmp_path):
    """A flow of another pair goes on; the second of two parts is the traceset."""
    section = chakra(tmp_path, *[trace(coll(1, 2))] * 2, ProfilingEnabled=True, ProfilingInterval=0.0000001,
                     UseMaxAsCommCollectiveStartTime=False)
    flow = {"kind": "flows", "flows": [{"from": 2, "to": 3, "size": "1B"}]}
    run = replayed(tmp_path, {"kind": "several", "parts": [flow, section]})
    assert column(run, STATS, "simulation_start_time_us") == close(EMPTY_IN + 0.015)
    assert column(run, STATS, "use_max_as_collective_start_time") == [0]
    assert (run.path / "replay-chakra-profiling-1-0.txt").read_text().startswith("CHAKRA PROFILING\n")
    assert len(column(run, "perf", "metric_path")) == 7


def test_annotated_traces(tmp_path):
    run = replayed(tmp_path, chakra(tmp_path, *SHARING))
    nodes = json.loads((run.path / "post_annotated" / "t.0.json").read_text())["nodes"]
    assert [(one["id"], one["type"], one["dataDeps"], one["s"], one["e"]) for one in nodes] == [
        (1, "COMP_NODE", [], "000000000.000", "000000014.000"), (2, "COMP_NODE", [], "000000000.000", "000000008.000"),
        (3, "COMM_SEND_NODE", [1, 2], "000000014.000", "000000014.426")]
    assert (nodes[2]["comm_size"], nodes[2]["partner"], nodes[0]["durationMicros"]) == (1, 1, 10.0)
    off = replayed(tmp_path, chakra(tmp_path, *SHARING), parameters={"EnableAnnotatedTraces": False})
    assert list((off.path / "post_annotated").iterdir()) == []          # those of the run before are gone


def test_what_was_passed_over_is_warned_of_and_the_rest_runs(tmp_path):
    """A launcher takes its 3 us and is no computation; what it waits for is not in the trace."""
    run = replayed(tmp_path, chakra(tmp_path, trace(node(1, 7, 3, after=(99,), is_cpu_op=True),
                                                    node(2, COMP_NODE, 2, after=(1,)))), hosts=2)
    assert ends(run) == close(5) and column(run, COMPLETION, "num_chakra_computations_completed") == [1]
    assert [line.split(" ", 1)[1].split(" ")[0] for line in run.info["warnings"]] == ["1", "1"]
    assert "launchers on the CPU" in run.info["warnings"][0] and "policy" in run.info["warnings"][1]
