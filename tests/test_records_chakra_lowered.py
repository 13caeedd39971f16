"""The chakra records of graphs as `lower` makes them into operations, replayed here by a few lines of Python."""

import csv
import heapq

import numpy as np
import pytest
from chakra_record_cases import START_PS, US, table

from distsim.records.chakra.run import ChakraRun, graphed
from distsim.records.chakra.times import op_times
from distsim.records.chakra.write import write_chakra_records
from distsim.state.tables import OPLOG, PERF
from distsim.workload.collectives import ALGORITHMS, ideal_time_ps
from distsim.workload.graph import ALL_REDUCE, BROADCAST, COLL, COMP, DEPS, NODES, RECV, SEND, Graph, Group
from distsim.workload.lower import Settings, lower
from distsim.workload.scale_up import ScaleUp
from distsim.workload.types import (
    LOCAL,
    LOCAL_IN,
    LOG_MESSAGE,
    LOG_OP,
    ON_LOCAL,
    ON_RECV_DONE,
    ON_SEND_DONE,
    ON_SENT,
)
from distsim.workload.types import SEND as SEND_OP

SENT, RECEIVED, ACKED, LOCAL_ACKED = US, 2 * US, 3 * US, 5 * US      # after the start of a transfer


def replayed(workload):
    """Start and report times of every operation, i8[ops, 5] by ON_*; a transfer takes the times above."""
    ops, edges = workload.ops, workload.edges
    told = [[] for _ in ops]
    for src, dst, when in edges[["src", "dst", "when"]].tolist():
        told[src].append((dst, when))
    left = ops["deps"] + np.bincount(edges["dst"][edges["when"] == ON_LOCAL], minlength=len(ops))
    ready = START_PS + ops["start_ps"]
    start, report = np.full(len(ops), -1), np.full((len(ops), 5), -1)
    queue = [(int(ready[op]), op) for op in np.flatnonzero(left == 0).tolist()]
    while queue:
        _, op = heapq.heappop(queue)
        kind, begin = ops["kind"][op], int(ready[op] + ops["delay_ps"][op])
        start[op] = begin
        report[op] = begin + (ops["work_ps"][op] if kind != LOCAL_IN else 0)
        if kind in (SEND_OP, LOCAL):
            report[op, ON_SENT], report[op, ON_RECV_DONE] = begin + SENT, begin + RECEIVED
            report[op, ON_SEND_DONE] = begin + (ACKED if kind == SEND_OP else LOCAL_ACKED)
            report[op, ON_LOCAL] = begin + RECEIVED
        for dst, when in told[op]:
            ready[dst] = max(ready[dst], report[op, when])
            left[dst] -= 1
            if left[dst] == 0:
                heapq.heappush(queue, (int(ready[dst]), dst))
    return start, report


def logs(workload, start, report):
    """PERF and OPLOG rows as the engine writes them: by the flags of each operation."""
    perf, log = [], []
    for op, (kind, flags) in enumerate(workload.ops[["kind", "flags"]].tolist()):
        transfer = kind in (SEND_OP, LOCAL)
        if start[op] < 0:
            continue
        row = {"op": op, "start_ps": start[op], "time_ps": report[op, ON_SEND_DONE]}
        if flags & LOG_OP:
            log.append(row)
            log += [row | {"time_ps": report[op, ON_SENT], "what": 1}] if transfer else []
        if flags & LOG_MESSAGE and transfer:
            perf.append(row | {"length_bytes": workload.ops["size_bytes"][op], "node": workload.ops["host"][op]})
    return table(PERF, perf), table(OPLOG, log)


def all_reduce(ranks=8, size=1000, kind=ALL_REDUCE):
    """A computation of 10 us, then a collective, then a computation, at every rank; rank 0 sends 77 B to rank 1."""
    nodes = np.zeros(3 * ranks + 2, NODES)
    nodes["rank"] = [*np.repeat(np.arange(ranks), 3), 0, 1]
    nodes["kind"], nodes["group"] = [*[COMP, COLL, COMP] * ranks, SEND, RECV], 0
    nodes["id"] = [*list(range(3)) * ranks, 3, 3]
    nodes["duration_ps"][nodes["kind"] == COMP] = 10 * US
    nodes["size_bytes"] = [*[0, size, 0] * ranks, 77, 77]
    nodes["collective"], nodes["root"], nodes["issue"], nodes["peer"] = kind, -1, -1, -1
    nodes["peer"][-2:], nodes["tag"][-2:], nodes["group"][-2:] = (1, 0), 5, -1
    order = np.argsort(nodes["rank"], kind="stable")
    nodes = nodes[order]
    collectives = np.flatnonzero(nodes["kind"] == COLL)
    deps = np.zeros(2 * ranks, DEPS)
    deps["node"], deps["on"] = np.r_[collectives, collectives + 1], np.r_[collectives - 1, collectives]
    return Graph(ranks, nodes, deps, [Group("world", np.arange(ranks))])


def run_of(directory, graph, until=None, **settings):
    """The run of a graph, and the time at which each of its transfers truly was in."""
    placement = np.arange(graph.ranks, dtype=np.int32)
    workload = lower(graph, Settings(log_ops="all", **settings), placement, graph.ranks)
    start, report = replayed(workload)
    perf, log = logs(workload, start, report)
    end = max(int(report.max()), START_PS) if until is None else START_PS + until * US
    return ChakraRun("sim", str(directory), "trace", workload, perf[perf["time_ps"] <= end],
                     log[log["time_ps"] <= end], START_PS, end, US, owner=0 * placement,
                     names=[f"NIC-{host}" for host in placement], rate_bps=np.full(graph.ranks, 400 * 10**9),
                     algorithms=ALGORITHMS, ideal_time_ps=ideal_time_ps), report[:, ON_RECV_DONE]


def rows(directory, name):
    with open(directory / f"sim-{name}-0.csv", newline="") as file:
        return list(csv.DictReader(file))


def groups_of(ranks, of):
    """Scale-up groups of `of` ranks each."""
    group = np.arange(ranks, dtype=np.int32) // of
    count = ranks // of
    return ScaleUp(group, 0 * group, tuple(range(count)), (10**12,) * count, (100_000,) * count, (25_000,) * count)


@pytest.mark.parametrize("scale_up", [None, groups_of(8, 4)])
@pytest.mark.parametrize("synchronization", [True, False])
def test_ring_of_eight(tmp_path, synchronization, scale_up):
    run, _ = run_of(tmp_path, all_reduce(), synchronization=synchronization, scale_up=scale_up)
    write_chakra_records(run)
    perf = rows(tmp_path, "chakra-perf")
    ring = [row for row in perf if ".AllReduce." in row["metric_path"]]
    # the documented example: 2 x 7 steps of 8 transfers of 125 B; the barrier 2 x 7 empty ones
    assert len(ring) == 112 and {row["flow_comm_size"] for row in ring} == {"125"}
    assert len({row["metric_aggregation_id"] for row in ring}) == 1
    added = [row for row in perf if row["is_added_synchronization_flow"] == "true"]
    assert len(added) == 14 * synchronization and {row["flow_comm_size"] for row in added} <= {"0"}
    assert len(perf) == 113 + len(added)
    stats = rows(tmp_path, "chakra-completion-stats")
    found = {name: [int(row[f"num_chakra_{name}"]) for row in stats]
             for name in ("sends_completed", "receives_completed", "sends_fully_acked", "computations_completed")}
    assert found == {"sends_completed": [15, *[14] * 7], "receives_completed": [14, 15, *[14] * 6],
                     "sends_fully_acked": [15, *[14] * 7], "computations_completed": [2] * 8}
    assert [row["chakra_full_payload_bytes_sent"] for row in stats] == ["1827", *["1750"] * 7]
    assert [row["chakra_full_payload_bytes_received"] for row in stats] == ["1750", "1827", *["1750"] * 6]
    assert {row["total_chakra_computation_time_us"] for row in stats} == {"20.0"}
    last = rows(tmp_path, "chakra-cdf")[-1]
    assert all(value == "1.0" for name, value in last.items() if name.startswith("CDF"))
    one = rows(tmp_path, "chakra-comm-collective-stats")
    assert len(one) == 1 and one[0]["is_valid"] == "1" and one[0]["collective_hash"] == ring[0]["metric_aggregation_id"]
    assert len(rows(tmp_path, "chakra-comm-collective-percentiles-stats")) == 1


def test_times_of_the_ring_by_hand(tmp_path):
    run, _ = run_of(tmp_path, all_reduce())
    write_chakra_records(run)
    # from 10 us on 14 steps, each from the start of a transfer to its receipt: 2 us; then 10 us of computation
    one = rows(tmp_path, "chakra-comm-collective-stats")[0]
    assert (one["simulation_start_time_us"], one["simulation_end_time_us"]) == ("1010.0", "1039.0")  # the last ack: +3
    assert {row["chakra_trace_completion_time_us"] for row in rows(tmp_path, "chakra-completion-stats")} == {"48.0"}
    ideal_us = 2 * 1000 * 8 * 7 / (8 * 400e9) * 1e6
    found = rows(tmp_path, "chakra-comm-collective-percentiles-stats")[0]
    assert float(found["p50_run_time_us"]) == 29.0
    assert float(found["mean_ideal_ratio"]) == pytest.approx(29.0 / ideal_us, rel=1e-4)


def test_a_broadcast_starts_when_its_ranks_enter(tmp_path):
    run, _ = run_of(tmp_path, all_reduce(4, 600, BROADCAST), algorithms={BROADCAST: "sequential"})
    write_chakra_records(run)
    # the root's three sends start at 10, 11 and 12 us; its other ranks are ready to receive at 10 us
    one = rows(tmp_path, "chakra-comm-collective-stats")[0]
    assert (one["simulation_start_time_us"], one["simulation_end_time_us"]) == ("1010.0", "1015.0")


@pytest.mark.parametrize("scale_up", [None, groups_of(8, 2), groups_of(8, 8)])
@pytest.mark.parametrize("algorithm", ["ring", "tree", "double-tree", "halving-doubling"])
@pytest.mark.parametrize("until", [None, 13, 17, 22])
def test_receipts_are_never_too_early_and_never_after_the_acknowledgement(tmp_path, algorithm, scale_up, until):
    run, truth = run_of(tmp_path, all_reduce(), until, algorithms={ALL_REDUCE: algorithm}, scale_up=scale_up,
                        synchronization=algorithm != "ring")
    found = op_times(run, graphed(run)).received
    kind = run.workload.ops["kind"]
    in_ = np.isin(kind, (SEND_OP, LOCAL)) & (found >= 0)
    assert (found[in_] >= truth[in_]).all()
    assert (found <= run.end_ps).all()
    if until is None:
        assert in_.sum() == np.isin(kind, (SEND_OP, LOCAL)).sum()
        assert (found[kind == SEND_OP] <= truth[kind == SEND_OP] + ACKED - RECEIVED).all()
    if algorithm == "ring":     # all ranks start at once: each receipt releases the next step, which waits for no more
        assert (found[in_] == truth[in_]).all()
