"""Transfers of the scale-up fabric: times by hand, operations and edges, in sends, collectives and barriers."""

from __future__ import annotations

import numpy as np
import pytest
from lower_cases import coll, comp, execute, graph, into, lowered, recv, send, tiny
from pydantic import ValidationError

from distsim.workload.graph import BROADCAST
from distsim.workload.scale_up import ScaleUp, ScaleUpSpec
from distsim.workload.types import (
    COMPUTE,
    JOIN,
    LOCAL,
    LOCAL_IN,
    LOG_MESSAGE,
    LOG_OP,
    ON_FIRE,
    ON_LOCAL,
    ON_RECV_DONE,
    ON_SENT,
    ROLE_NODE,
    ROLE_SYNC,
    ROLE_TRANSFER,
    SEND,
)

pytestmark = pytest.mark.usefixtures("tiny")
assert tiny

# Ranks 0 to 3 in a group of 800 Gb/s, 0 and 1 in subgroup 0, 2 and 3 in subgroup 1; rank 4 in none.
QUAD = ScaleUp(np.array([0, 0, 0, 0, -1]), np.array([0, 0, 1, 1, -1]), (7,), (800 * 10**9,), (100_000,), (25_000,))


def test_times_by_hand() -> None:
    src, dst = np.array([0, 0, 3]), np.array([1, 2, 2])
    assert QUAD.latency_ps(src, dst).tolist() == [150_000, 400_000, 150_000]     # 1 hop + 2 cables, 3 hops + 4 cables
    # 4096 + 24 bytes at 800 Gb/s: 41,200 ps. 4097 bytes are two packets: 4145 bytes, 41,450 ps. Nothing: one header.
    assert QUAD.work_ps(np.zeros(4, int), np.array([4096, 4097, 0, 4096])).tolist() == [41_200, 41_450, 240, 41_200]
    # 2**40 bytes: 2**28 packets; (2**40 + 24 * 2**28) * 8 bits * 1.25 ps.
    assert QUAD.work_ps(np.array([0]), np.array([2**40])).tolist() == [(2**40 + 24 * 2**28) * 10]
    odd = ScaleUp(np.array([0]), np.array([0]), (0,), (3 * 10**9,), (0,), (1,), header_bytes=0)
    assert odd.work_ps(np.array([0]), np.array([1])).tolist() == [2667]          # 8 / 3 ns, rounded up
    assert QUAD.local(np.array([0, 0, 4, 4, 1]), np.array([3, 4, 0, 4, 1])).tolist() == [True] + [False] * 4


def test_groups_with_rates_of_their_own() -> None:
    two = ScaleUp(np.array([0, 1, 0, 1]), np.zeros(4, int), (5, 9), (8 * 10**9, 16 * 10**9), (1000, 0), (10, 20),
                  header_bytes=0)
    assert two.work_ps(np.array([0, 1, 3]), np.array([10, 10, 20])).tolist() == [10_000, 5_000, 10_000]
    assert two.latency_ps(np.array([0, 1]), np.array([2, 3])).tolist() == [1020, 40]
    assert two.local(np.array([0, 0]), np.array([1, 2])).tolist() == [False, True]


def test_no_latency_is_refused() -> None:
    with pytest.raises(ValueError, match="scale-up group 3: switch and cable latency are both 0; a transfer between"):
        ScaleUp(np.array([0]), np.array([0]), (3,), (10**9,), (0,), (0,))
    with pytest.raises(ValueError, match="is more than 1000000000000000000 ps"):
        ScaleUp(np.array([0]), np.array([0]), (3,), (10**9,), (10**18,), (0,))


def test_the_section_of_a_workload() -> None:
    made = ScaleUpSpec(gpus_per_server=3, bandwidth="8Gbps", cable_latency="1ns", header="0B").build(7)
    assert made.group.tolist() == [0, 0, 0, 1, 1, 1, 2] and made.subgroup.tolist() == [0] * 7
    assert made.rate_bps == (8 * 10**9,) * 3 and made.latency_ps(np.array([3]), np.array([4])).tolist() == [102_000]
    assert made.work_ps(np.array([6]), np.array([9000])).tolist() == [9_000_000]
    spec = ScaleUpSpec()
    assert (spec.gpus_per_server, spec.bandwidth, spec.switch_latency, spec.cable_latency, spec.header,
            spec.max_payload) == (8, 3600 * 10**9, 100_000, 25_000, 24, 4096)
    with pytest.raises(ValidationError, match="both 0"):
        ScaleUpSpec(switch_latency=0, cable_latency=0)
    for bad in ({"header": "65MiB"}, {"max_payload": "0B"}, {"max_payload": "65MiB"}, {"gpus_per_server": 0},
                {"bandwidth": 0}):
        with pytest.raises(ValidationError):
            ScaleUpSpec(**bad)


def test_a_send_inside_a_group() -> None:
    # 0 -> 1 and 0 -> 2 stay inside, 0 -> 4 takes the fabric. The arrivals are rows 7 and 8.
    case = graph(5, [send(0, 1, 4096, 5), send(0, 2, 8192, 6), send(0, 4, 10, 7), comp(0, 1), recv(1, 0, 4096, 5),
                     recv(2, 0, 8192, 6), recv(4, 0, 10, 7)], [(3, 0), (3, 2)])
    made = lowered(case, scale_up=QUAD, placement=[4, 3, 2, 1, 0], log_ops="all")
    assert made.ops["kind"].tolist() == [LOCAL, LOCAL, SEND, COMPUTE, JOIN, JOIN, JOIN, LOCAL_IN, LOCAL_IN]
    assert made.ops[["host", "dst", "size_bytes", "work_ps", "user_id", "deps"]][[0, 1, 2, 7, 8]].tolist() == [
        (4, 3, 4096, 41_200, 1, 0), (4, 2, 8192, 82_400, 2, 0), (4, 0, 10, 0, 3, 0),
        (3, 4, 4096, 41_200, 1, 0), (2, 4, 8192, 82_400, 2, 0)]
    assert made.ops["flags"].tolist() == [LOG_MESSAGE | LOG_OP] * 3 + [LOG_OP] * 6
    assert into(made, 7) == [(0, ON_LOCAL)] and into(made, 8) == [(1, ON_LOCAL)]
    delays = {(int(e["src"]), int(e["dst"])): int(e["delay_ps"]) for e in made.edges if e["when"] == ON_LOCAL}
    assert delays == {(0, 7): 150_000, (1, 8): 400_000}
    assert into(made, 4) == [(7, ON_FIRE)] and into(made, 6) == [(2, ON_RECV_DONE)]
    assert into(made, 3) == [(0, ON_SENT), (2, ON_SENT)]
    assert made.labels[["node", "instance", "rank", "peer", "tag", "role"]][[0, 7]].tolist() == [
        (0, -1, 0, 1, 5, ROLE_NODE), (4, -1, 1, 0, 5, ROLE_NODE)]
    assert len(execute(made)) == 9


def test_an_arrival_that_nobody_receives_has_no_node() -> None:
    made = lowered(graph(5, [send(0, 1)]), scale_up=QUAD)
    assert made.ops["kind"].tolist() == [LOCAL, LOCAL_IN] and made.labels["node"].tolist() == [0, -1]


def test_a_ring_that_leaves_its_group() -> None:
    # Ring 0 -> 1 -> 4 -> 0: two of three transfers of each step take the fabric. BEGINs 0 to 2, ENDs 3 to 5, transfers
    # 6 to 17, arrivals of 6, 9, 12, 15 in rows 18 to 21.
    case = graph(5, [coll(rank) for rank in (0, 1, 4)], groups=[[0, 1, 4]])
    made = lowered(case, scale_up=QUAD)
    assert made.ops["kind"][6:].tolist() == [LOCAL, SEND, SEND] * 4 + [LOCAL_IN] * 4
    assert into(made, 9) == [(6, ON_SENT), (8, ON_RECV_DONE)]         # rank 0: after the message from 4
    assert into(made, 10) == [(7, ON_SENT), (18, ON_FIRE)]            # rank 1: after the arrival of 6
    assert into(made, 4) == [(16, ON_SENT), (21, ON_FIRE)]            # END of rank 1
    assert into(made, 3) == [(15, ON_SENT), (17, ON_RECV_DONE)]
    assert [into(made, row) for row in range(18, 22)] == [[(row, ON_LOCAL)] for row in (6, 9, 12, 15)]
    assert made.ops[["host", "dst", "size_bytes", "user_id"]][18].item() == (1, 0, 100, 1)
    assert made.labels[18].item() == (1, 0, 1, 0, 1, ROLE_TRANSFER)   # the receiver's node
    assert made.ops["user_id"][6:18].tolist() == list(range(1, 13))
    assert made.ops["flags"][18:].tolist() == [0] * 4
    assert len(execute(made)) == 22


def test_groups_of_the_same_shape_inside_and_outside() -> None:
    # Pairs (0, 1) inside, (0, 4) half outside, (2, 4) outside: the same schedule with 4, 0 and 0 local transfers.
    rows = [coll(0, size=200), coll(0, size=200, group=1), coll(1, size=200), coll(2, size=200, group=2),
            coll(4, size=200, group=1), coll(4, size=200, group=2)]
    made = lowered(graph(5, rows, groups=[[0, 1], [0, 4], [2, 4]]), scale_up=QUAD)
    assert made.ops["kind"][12:].tolist() == [LOCAL] * 4 + [LOCAL_IN] * 4 + [SEND] * 8
    assert made.labels["instance"][12:].tolist() == [0] * 8 + [1] * 4 + [2] * 4
    assert made.ops["user_id"][12:].tolist() == [1, 2, 3, 4, 1, 2, 3, 4, *range(5, 13)]
    assert len(execute(made)) == len(made.ops)


def test_a_barrier_inside_a_group() -> None:
    made = lowered(graph(5, [coll(0, BROADCAST), coll(1, BROADCAST)], groups=[[0, 1]]), scale_up=QUAD,
                   synchronization=True)
    # BEGIN 0, 1; END 2, 3; entries 4, 5; barrier 6, 7 with arrivals 8, 9; broadcast 10 with arrival 11.
    assert made.ops["kind"][6:].tolist() == [LOCAL, LOCAL, LOCAL_IN, LOCAL_IN, LOCAL, LOCAL_IN]
    assert made.labels["role"][6:10].tolist() == [ROLE_SYNC] * 4
    assert made.labels["node"][6:].tolist() == [-1] * 4 + [0, 1]
    assert into(made, 7) == [(4, ON_FIRE), (8, ON_FIRE)] and into(made, 1) == [(6, ON_SENT), (9, ON_FIRE)]
    assert made.ops["work_ps"][6] == 240
