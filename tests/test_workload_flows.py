"""Flows written out in the configuration, and what can start."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from distsim.errors import InputError
from distsim.workload import WORKLOADS, build
from distsim.workload.order import never_started
from distsim.workload.types import EDGES, JOIN, ON_FIRE, ON_RECV_DONE, ON_SEND_DONE, OPS, SEND, TRIGGER_DELAY, Workload


def make(*flows: dict[str, object], hosts: int = 8) -> Workload:
    return build(WORKLOADS["flows"].Spec(kind="flows", flows=flows), hosts, 1)


def test_columns_and_ids() -> None:
    workload = make({"from": 3, "to": 1, "size": "4MB", "start": "20us", "id": 2}, {"from": 0, "to": 7},
                    {"from": 1, "to": 0, "size": "64KiB"})
    assert workload.ops[["user_id", "kind", "host", "dst", "size_bytes", "start_ps", "deps"]].tolist() == [
        (2, SEND, 3, 1, 4_000_000, 20_000_000, 0), (1, SEND, 0, 7, 1_000_000, 0, 0), (3, SEND, 1, 0, 65536, 0, 0)]
    assert len(workload.edges) == 0


def test_after() -> None:
    workload = make({"from": 0, "to": 1, "id": 5}, {"from": 1, "to": 2, "id": 6, "after": [5], "when": "recv-done"},
                    {"from": 0, "to": 3, "after": [6, 5, 6], "start": "1us"})
    assert workload.edges.tolist() == [
        (0, 1, ON_RECV_DONE, TRIGGER_DELAY), (1, 2, ON_SEND_DONE, TRIGGER_DELAY), (0, 2, ON_SEND_DONE, TRIGGER_DELAY)]
    assert workload.ops["deps"].tolist() == [0, 1, 2]
    assert workload.ops["any_of"].tolist() == [0, 0, 0]
    assert workload.ops["start_ps"].tolist() == [0, 0, 1_000_000]


@pytest.mark.parametrize(("flows", "where", "message"), [
    ([{"from": 0, "to": 8}], "flows.0.to", "unknown host 8; the fabric has hosts 0 to 7"),
    ([{"from": 0, "to": 1}, {"from": 9, "to": 1}], "flows.1.from", "unknown host 9"),
    ([{"from": 4, "to": 4}], "flows.0.to", "host 4 would send to itself"),
    ([{"from": 0, "to": 1, "id": 3}, {"from": 0, "to": 1, "id": 3}], "flows.1.id", "id 3 is the id of flows.0 already"),
    ([{"from": 0, "to": 1}, {"from": 0, "to": 1, "after": [1, 7]}], "flows.1.after.1", "no flow has id 7"),
    ([{"from": 0, "to": 1, "after": [1]}], "flows.0.after", "flow 1 waits for flows that wait for each other"),
    ([{"from": 0, "to": 1}, {"from": 0, "to": 2, "after": [3]}, {"from": 0, "to": 3, "after": [2, 1]}], "flows.1.after",
     "flow 2 waits")])
def test_flows_that_are_refused(flows: list[dict[str, object]], where: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        make(*flows)
    assert caught.value.where == f"workload.{where}"


@pytest.mark.parametrize(("flow", "message"), [
    ({"from": 0, "to": 1, "id": 0}, "greater than or equal to 1"), ({"from": 0}, "Field required"),
    ({"src": 0, "to": 1}, "from"), ({"from": 0, "to": 1, "start": "5"}, "no unit"),
    ({"from": 0, "to": 1, "when": "done"}, "send-done"), ({"from": -1, "to": 1}, "greater than or equal to 0")])
def test_specifications_that_are_refused(flow: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make(flow)
    with pytest.raises(ValidationError, match="flows is empty"):
        make()


def test_never_started_counts_notices() -> None:
    # 0 starts by itself; 1 needs the second of two notices but gets them from 0 and 2; 2 waits for 1; 3 for any one.
    ops = np.zeros(5, OPS)
    ops["kind"] = [SEND, SEND, SEND, SEND, JOIN]
    ops["deps"] = [0, 2, 1, 2, 1]
    ops["any_of"] = [0, 2, 0, 1, 0]
    edges = np.array([(0, 1, ON_SEND_DONE, 0), (2, 1, ON_SEND_DONE, 0), (1, 2, ON_SEND_DONE, 0),
                      (0, 3, ON_SEND_DONE, 0), (2, 3, ON_SEND_DONE, 0), (3, 4, ON_FIRE, 0)], EDGES)
    assert never_started(ops, edges).tolist() == [1, 2]
    ops["any_of"][1] = 1
    assert never_started(ops, edges).tolist() == []
