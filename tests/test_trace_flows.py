"""Flows of hosts as traces: each dependency worked out by hand."""

from __future__ import annotations

import numpy as np

from distsim.workload.base import Context
from distsim.workload.chakra.from_flows import graph_of_flows
from distsim.workload.chakra.reader import read_traceset
from distsim.workload.chakra.writer import write_traceset
from distsim.workload.flows import Spec, build
from distsim.workload.graph import COMP, FIXED, META, NODE_KINDS, RECV, SEND
from distsim.workload.registry import PARTS
from distsim.workload.types import COMPUTE, DELAY, EDGES, JOIN, ON_FIRE, ON_SENT, OPS, Workload


def graph(*flows, hosts=16):
    spec = Spec.model_validate({"kind": "flows", "flows": list(flows)})
    return graph_of_flows(build(spec, Context(hosts, 1)), "here")


def label(found, row):
    """``SEND 1>2 #7``: what a node is, without its id."""
    node = found.nodes[row]
    kind = NODE_KINDS[node["kind"]]
    if node["kind"] == SEND:
        return f"SEND {node['rank']}>{node['peer']} #{node['tag']}"
    if node["kind"] == RECV:
        return f"RECV {node['rank']}<{node['peer']} #{node['tag']}"
    return f"{kind} {node['rank']}"


def waits(found):
    """Each dependency as (what waits, for what)."""
    return sorted((label(found, row["node"]), label(found, row["on"])) for row in found.deps)


def test_a_flow_is_a_send_and_a_receive():
    found = graph({"from": 2, "to": 5, "size": "1KB", "id": 9})
    assert found.ranks == 6 and found.source == "here" and found.warnings == [] and len(found.deps) == 0
    assert found.nodes[["rank", "kind", "id", "size_bytes", "peer", "tag"]].tolist() == [
        (2, SEND, 1, 1000, 5, 9), (5, RECV, 1, 1000, 2, 9)]


def test_what_the_receiver_goes_on_with_waits_for_the_receive():
    found = graph({"from": 0, "to": 1, "id": 1}, {"from": 1, "to": 2, "id": 2, "after": [1], "when": "recv-done"})
    assert waits(found) == [("SEND 1>2 #2", "RECV 1<0 #1")] and found.warnings == []


def test_an_acknowledgment_is_the_last_byte_sent_or_received():
    found = graph({"from": 0, "to": 1, "id": 1}, {"from": 0, "to": 2, "id": 2, "after": [1]},
                  {"from": 1, "to": 3, "id": 3, "after": [1]})
    assert waits(found) == [("SEND 0>2 #2", "SEND 0>1 #1"), ("SEND 1>3 #3", "RECV 1<0 #1")]
    assert found.warnings == ["2 dependencies are on a message's acknowledgment, which Chakra cannot say: they are on "
                              "its last byte being sent, or received where the receiver goes on"]


def test_another_host_is_told_by_a_message_of_nothing():
    found = graph({"from": 0, "to": 1, "id": 1}, {"from": 2, "to": 3, "id": 2, "after": [1]},
                  {"from": 4, "to": 3, "id": 3, "after": [1], "when": "recv-done"})
    assert waits(found) == [("SEND 0>2 #4", "SEND 0>1 #1"), ("SEND 1>4 #5", "RECV 1<0 #1"),
                            ("SEND 2>3 #2", "RECV 2<0 #4"), ("SEND 4>3 #3", "RECV 4<1 #5")]
    assert found.nodes["size_bytes"][found.nodes["tag"] > 3].tolist() == [0] * 4
    assert "2 dependencies between two hosts became messages of 0 bytes" in found.warnings


def test_a_late_start_is_a_node_of_that_length():
    found = graph({"from": 0, "to": 1, "id": 1}, {"from": 0, "to": 1, "id": 2, "start": "5us", "after": [1]})
    assert waits(found) == [("SEND 0>1 #2", "FIXED 0"), ("SEND 0>1 #2", "SEND 0>1 #1")]
    assert found.nodes["duration_ps"][found.nodes["kind"] == FIXED].tolist() == [5_000_000]


def ops_of(*rows):
    ops = np.zeros(len(rows), OPS)
    for row, (kind, host, values) in zip(ops, rows):
        row["kind"], row["host"], row["dst"] = kind, host, -1
        for name, value in values.items():
            row[name] = value
    return ops


def test_other_operations_and_delays():
    """Compute of 7 us, then 2 us later (and 1 us after the start at the earliest) a join, then a delay of 3 us."""
    ops = ops_of((COMPUTE, 1, {"work_ps": 7}), (JOIN, 1, {"delay_ps": 2, "start_ps": 1, "deps": 1}),
                 (DELAY, 1, {"work_ps": 3, "deps": 1}))
    edges = np.array([(0, 1, ON_FIRE, 0), (1, 2, ON_FIRE, 0)], EDGES)
    found = graph_of_flows(Workload(ops, edges), "x")
    assert found.ranks == 2 and found.nodes["kind"].tolist() == [COMP, META, FIXED, FIXED, FIXED]
    assert found.nodes["duration_ps"].tolist() == [7, 0, 2, 1, 3]
    # rows: 0 compute, 1 join, 2 its delay, 3 its start, 4 the last delay
    assert found.deps.tolist() == [(1, 2), (2, 0), (2, 3), (4, 1)]


def test_the_first_of_several_is_the_first_listed():
    ops = ops_of((COMPUTE, 0, {}), (COMPUTE, 0, {}), (JOIN, 0, {"any_of": 2, "deps": 2}),
                 (JOIN, 0, {"any_of": 1, "deps": 2}))
    edges = np.array([(0, 2, ON_FIRE, 0), (1, 2, ON_FIRE, 0), (0, 3, ON_FIRE, 0), (1, 3, ON_FIRE, 0)], EDGES)
    found = graph_of_flows(Workload(ops, edges, warnings=["before"]), "x")
    assert found.deps.tolist() == [(2, 1), (3, 0)]
    assert found.warnings[0] == "before" and found.warnings[1].startswith("2 operations wait for the first (or k-th)")


def test_sent_is_what_chakra_says():
    ops = ops_of((0, 0, {"dst": 1, "user_id": 1}), (0, 0, {"dst": 2, "user_id": 2, "deps": 1}))
    found = graph_of_flows(Workload(ops, np.array([(0, 1, ON_SENT, 0)], EDGES)), "x")
    assert waits(found) == [("SEND 0>2 #2", "SEND 0>1 #1")] and found.warnings == []


def test_generators_survive_writing_and_reading(tmp_path):
    for kind, fields in (("ring", {"size": "1KB"}), ("permutation", {"size": "1KB"}), ("all-to-all", {"size": "1KB"}),
                         ("incast", {"size": "1KB", "start": "1ns"})):
        module = PARTS[kind]
        workload = module.build(module.Spec.model_validate({"kind": kind, **fields}), Context(6, 3))
        found = graph_of_flows(workload, kind)
        write_traceset(found, str(tmp_path / kind))
        back = read_traceset(str(tmp_path / kind))
        assert np.array_equal(back.nodes, found.nodes) and np.array_equal(back.deps, found.deps), kind
        sent = back.nodes[(back.nodes["kind"] == SEND) & (back.nodes["size_bytes"] > 0)]
        assert len(sent) == len(workload.ops) and sent["size_bytes"].sum() == workload.ops["size_bytes"].sum()


def test_no_flows_are_no_nodes(tmp_path):
    """An HPCC flow file may hold none."""
    (tmp_path / "f.txt").write_text("0\n")
    hpcc = PARTS["hpcc"]
    found = graph_of_flows(hpcc.build(hpcc.Spec(kind="hpcc", file=str(tmp_path / "f.txt")), Context(4, 1)), "here")
    assert (found.ranks, len(found.nodes), len(found.deps)) == (0, 0, 0) and "holds no flows" in found.warnings[0]
