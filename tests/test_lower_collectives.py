"""Collectives of a graph as operations: instances, their edges, order, barriers; worked out by hand."""

from __future__ import annotations

import time

import numpy as np
import pytest
from lower_cases import coll, comp, execute, graph, into, lowered, meta, send, tiny

from distsim.errors import InputError
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BARRIER, BROADCAST
from distsim.workload.types import (
    JOIN,
    LOG_MESSAGE,
    LOG_OP,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SENT,
    ROLE_BEGIN,
    ROLE_END,
    ROLE_SYNC,
    ROLE_TRANSFER,
    SEND,
)

pytestmark = pytest.mark.usefixtures("tiny")
assert tiny


def test_a_ring_of_three() -> None:
    # Rows: compute and BEGIN of ranks 0, 1, 2 (0 to 5), ENDs (6 to 8), 4 steps of 3 transfers of 100 bytes (9 to 20).
    rows = [comp(0, 1), coll(0), comp(1, 1), coll(1), comp(2, 1), coll(2)]
    case = graph(3, rows, [(1, 0), (3, 2), (5, 4)], [[0, 1, 2]])
    made = lowered(case, placement=[7, 5, 6], hosts=8, launch_ps=250)
    assert len(made.ops) == 6 + 3 + 12
    assert made.ops["kind"].tolist() == [2, JOIN] * 3 + [JOIN] * 3 + [SEND] * 12
    assert made.ops["host"].tolist() == [7, 7, 5, 5, 6, 6, 7, 5, 6] + [7, 5, 6] * 4
    assert made.ops["dst"][9:].tolist() == [5, 6, 7] * 4 and set(made.ops["size_bytes"][9:].tolist()) == {100}
    assert made.ops["delay_ps"].tolist() == [0, 250] * 3 + [0] * 15
    assert made.ops["user_id"][9:].tolist() == list(range(1, 13))
    # Step 0 waits for the entry; later steps for the receipt from the one before and the last byte of the step before.
    assert into(made, 9) == [(1, ON_FIRE)] and into(made, 11) == [(5, ON_FIRE)]
    assert into(made, 12) == [(9, ON_SENT), (11, ON_RECV_DONE)]
    assert into(made, 20) == [(16, ON_RECV_DONE), (17, ON_SENT)]
    # A rank is done when its last transfer has been sent and the last one to it has come: all others are waited for.
    assert into(made, 6) == [(18, ON_SENT), (20, ON_RECV_DONE)] and into(made, 7) == [(18, ON_RECV_DONE), (19, ON_SENT)]
    assert made.ops["deps"].tolist() == [0, 1] * 3 + [2] * 3 + [1] * 3 + [2] * 9
    assert len(made.edges) == 3 + 3 + 2 * 9 + 2 * 3
    assert made.labels[1].item() == (1, 0, 0, -1, -1, ROLE_BEGIN)
    assert made.labels[8].item() == (5, 0, 2, -1, -1, ROLE_END)
    assert made.labels[10].item() == (3, 0, 1, 2, 2, ROLE_TRANSFER)      # of rank 1's node; tag: its number
    assert made.instances[["collective", "group", "group_size", "size_bytes", "algorithm", "order"]].tolist() == [
        (ALL_REDUCE, 0, 3, 300, 0, 0)]
    assert len(execute(made)) == 21


def test_what_is_logged() -> None:
    case = graph(2, [coll(0), coll(1)], groups=[[0, 1]])
    for log_ops, begin, transfer in (("none", 0, LOG_MESSAGE), ("collectives", LOG_OP, LOG_MESSAGE),
                                     ("all", LOG_OP, LOG_MESSAGE | LOG_OP)):
        made = lowered(case, log_ops=log_ops)
        assert made.ops["flags"].tolist() == [begin] * 4 + [transfer] * 4
    synced = lowered(case, log_ops="all", synchronization=True)
    assert synced.ops["flags"].tolist() == [LOG_OP] * 4 + [0] * 2 + [LOG_MESSAGE] * 2 + [LOG_MESSAGE | LOG_OP] * 4
    assert synced.labels["role"].tolist() == [ROLE_BEGIN] * 2 + [ROLE_END] * 2 + [ROLE_SYNC] * 4 + [ROLE_TRANSFER] * 4


def test_who_waits_for_a_collective_waits_for_its_end() -> None:
    made = lowered(graph(2, [coll(0), comp(0, 1), coll(1), comp(1, 1)], [(1, 0), (3, 2)], [[0, 1]]))
    assert into(made, 1) == [(4, ON_FIRE)] and into(made, 3) == [(5, ON_FIRE)]


def test_members_that_send_nothing() -> None:
    # Broadcast from rank 2, member 1 of the group (4, 2, 0). It sends to rank 4 and then to rank 0.
    case = graph(5, [coll(rank, BROADCAST, 50, root=2) for rank in (0, 2, 4)], groups=[[4, 2, 0]])
    made = lowered(case)
    assert made.ops[["host", "dst", "size_bytes"]][6:].tolist() == [(2, 4, 50), (2, 0, 50)]
    assert into(made, 6) == [(1, ON_FIRE)] and into(made, 7) == [(6, ON_SENT)]
    # ENDs are rows 3 to 5, of ranks 0, 2, 4. Receivers wait for their own entry too.
    assert into(made, 3) == [(0, ON_FIRE), (7, ON_RECV_DONE)] and into(made, 5) == [(2, ON_FIRE), (6, ON_RECV_DONE)]
    assert into(made, 4) == [(7, ON_SENT)]
    first = lowered(graph(5, [coll(rank, BROADCAST, 50) for rank in (0, 2, 4)], groups=[[4, 2, 0]]))
    assert first.ops[["host", "dst"]][6:].tolist() == [(4, 2), (4, 0)]           # without a root: the group's first


def test_what_is_passed_on_waits_for_the_own_entry() -> None:
    # Chain of 3 up and down: rank 1 passes on what it has received, but only once it has entered.
    made = lowered(graph(3, [coll(rank, BARRIER, 0) for rank in range(3)], groups=[[0, 1, 2]]),
                   algorithms={BARRIER: "tree"})
    assert made.ops[["host", "dst"]][6:].tolist() == [(2, 1), (1, 0), (0, 1), (1, 2)]
    assert into(made, 7) == [(1, ON_FIRE), (6, ON_RECV_DONE)] and into(made, 8) == [(0, ON_FIRE), (7, ON_RECV_DONE)]


def test_a_group_of_one_is_done_at_once() -> None:
    for synchronization in (False, True):
        made = lowered(graph(2, [coll(1), comp(1, 1)], [(1, 0)], [[1]]), synchronization=synchronization)
        assert len(made.ops) == 3 + synchronization and len(execute(made)) == len(made.ops)
        assert into(made, 2) == [(0, ON_FIRE)] and into(made, 1) == [(2, ON_FIRE)]
        assert made.instances["group_size"].tolist() == [1]


def test_several_groups_and_collectives() -> None:
    # Group 0 twice, group 1 once between; instances are numbered within their group, in the order of their first nodes.
    rows = [coll(0, size=200), coll(0, size=400, group=1), coll(0, size=600),
            coll(1, size=200), coll(1, size=600), coll(2, size=400, group=1)]
    made = lowered(graph(3, rows, groups=[[0, 1], [2, 0]]), algorithms={ALL_REDUCE: "ring"})
    assert made.instances[["group", "size_bytes", "order"]].tolist() == [(0, 200, 0), (1, 400, 0), (0, 600, 1)]
    assert made.ops[["host", "dst", "size_bytes"]][12:].tolist() == (
        [(0, 1, 100), (1, 0, 100)] * 2 + [(2, 0, 200), (0, 2, 200)] * 2 + [(0, 1, 300), (1, 0, 300)] * 2)
    assert made.ops["user_id"][12:].tolist() == list(range(1, 13))
    assert made.labels["instance"].tolist() == [0, 1, 2, 0, 2, 1] * 2 + [0] * 4 + [1] * 4 + [2] * 4
    assert made.labels["node"][12:16].tolist() == [0, 3, 0, 3] and made.labels["node"][16:20].tolist() == [5, 1, 5, 1]


# ---- order and barriers ----------------------------------------------------------------------------------------------
def test_the_issue_order_counts_where_it_is_known() -> None:
    # Rank 0 issued its second node first. Rank 1's file is in the order of issue.
    made = lowered(graph(2, [coll(0, size=200, issue=9), coll(0, size=400, issue=3), coll(1, size=400, issue=0),
                             coll(1, size=200, issue=5)], groups=[[0, 1]]))
    assert made.instances[["size_bytes", "order"]].tolist() == [(200, 1), (400, 0)]
    assert made.labels["instance"][:4].tolist() == [0, 1, 1, 0]
    # Serialization: the later waits for the END of the earlier (ENDs: rows 4 to 7).
    assert into(made, 0) == [(5, ON_FIRE)] and into(made, 3) == [(6, ON_FIRE)]
    assert into(made, 1) == into(made, 2) == []
    loose = lowered(made.graph, serialization=False)
    assert loose.ops["deps"][:4].tolist() == [0, 0, 0, 0] and loose.instances["order"].tolist() == [1, 0]


def test_without_an_issue_order_nothing_is_serialized() -> None:
    made = lowered(graph(2, [coll(0), coll(0), coll(1), coll(1)], groups=[[0, 1]]))
    assert made.ops["deps"][:4].tolist() == [0, 0, 0, 0]
    assert made.labels["instance"][:4].tolist() == [0, 1, 0, 1]


def test_groups_are_serialized_by_themselves() -> None:
    rows = [coll(0, issue=0), coll(0, group=1, issue=1), coll(0, issue=2), coll(1, issue=0), coll(1, issue=1),
            coll(2, group=1, issue=0)]
    made = lowered(graph(3, rows, [(2, 0)], [[0, 1], [0, 2]]))
    assert into(made, 2) == [(6, ON_FIRE)] and into(made, 1) == []        # (2, 0) is there already and counts once


def test_sends_of_a_group_are_ordered_with_its_collectives_but_receives_are_not() -> None:
    rows = [send(0, 1, group=0, issue=1), coll(0, issue=0), coll(0, issue=2), send(0, 1, issue=3),
            coll(1, issue=0), (1, {"kind": 3, "peer": 0, "size_bytes": 100, "group": 0, "issue": 1}), coll(1, issue=2),
            (1, {"kind": 3, "peer": 0, "size_bytes": 100})]
    made = lowered(graph(2, rows, groups=[[0, 1]]))
    # ENDs: rows 8 to 11 of nodes 1, 2, 4, 6. The second send names no group.
    assert into(made, 0) == [(8, ON_FIRE)] and into(made, 2) == [(0, ON_SENT)] and into(made, 3) == []
    assert into(made, 6) == [(10, ON_FIRE)]
    assert into(made, 5) == [(0, ON_RECV_DONE)]


def test_an_issue_order_against_the_dependencies_is_refused() -> None:
    case = graph(2, [coll(0, issue=1), coll(0, issue=0), coll(1, issue=1), coll(1, issue=0)], [(1, 0)], [[0, 1]])
    with pytest.raises(InputError, match=r"rank 0: nodes wait for each other: 100 -> 101 -> 100.*ProcessGroupSerializ"):
        lowered(case)
    assert len(execute(lowered(case, serialization=False))) == 16


def test_a_barrier_comes_before_each_collective() -> None:
    # Rows: BEGINs 0, 1, 2; ENDs 3, 4, 5; entries of the barrier 6, 7, 8; 4 transfers of 0 bytes 9 to 12; then the ring.
    made = lowered(graph(3, [coll(rank) for rank in range(3)], groups=[[0, 1, 2]]), synchronization=True, launch_ps=70)
    assert len(made.ops) == 9 + 2 * 2 + 12
    assert made.ops[["host", "dst", "size_bytes"]][9:13].tolist() == [(2, 1, 0), (1, 0, 0), (0, 1, 0), (1, 2, 0)]
    assert into(made, 9) == [(8, ON_FIRE)] and into(made, 10) == [(7, ON_FIRE), (9, ON_RECV_DONE)]
    # BEGIN waits for what its rank sends and is sent last in the barrier, starts 70 ps later, and starts the ring.
    assert into(made, 0) == [(11, ON_SENT)] and into(made, 2) == [(9, ON_SENT), (12, ON_RECV_DONE)]
    assert into(made, 1) == [(10, ON_SENT), (12, ON_SENT)]
    assert made.ops["delay_ps"].tolist() == [70] * 3 + [0] * 22
    assert into(made, 13) == [(0, ON_FIRE)]
    assert made.ops["user_id"][9:].tolist() == list(range(1, 17))
    assert made.labels[[7, 9]].tolist() == [(-1, 0, 1, -1, -1, ROLE_SYNC), (-1, 0, 2, 1, 1, ROLE_SYNC)]
    assert len(execute(made)) == 25


def test_dependencies_and_serialization_lead_to_the_entry_of_the_barrier() -> None:
    rows = [comp(0, 1), coll(0, issue=0), coll(0, issue=1), coll(1, issue=0), coll(1, issue=1)]
    made = lowered(graph(2, rows, [(1, 0)], [[0, 1]]), synchronization=True)
    # ENDs 5 to 8, entries 9 to 12, both in the order of nodes 1 to 4.
    assert into(made, 9) == [(0, ON_FIRE)] and into(made, 10) == [(5, ON_FIRE)] and into(made, 12) == [(7, ON_FIRE)]
    assert all(report != ON_FIRE for _, report in into(made, 1))
    # Barriers and collectives in turn: 2 + 4 + 2 + 4 transfers.
    assert made.labels["role"][13:].tolist() == ([ROLE_SYNC] * 2 + [ROLE_TRANSFER] * 4) * 2


# ---- what is refused or left out -------------------------------------------------------------------------------------
@pytest.mark.parametrize(("rows", "message"), [
    ([coll(0), coll(1, BARRIER)], "process group 'g0', collective 0: rank 0 node 100 is all_reduce, rank 1 node 101 is "
                                  "barrier"),
    ([coll(0), coll(0, size=4), coll(1), coll(1, size=5)], "process group 'g0', collective 1: rank 0 node 101 has 4 "
                                                            "bytes, rank 1 node 103 has 5 bytes"),
    ([coll(0), coll(0), coll(1)], "process group 'g0': rank 1 has 1 collectives, rank 0 2"),
    ([coll(0)], "rank 1 has 0 collectives, rank 0 1"),
    ([coll(0, BROADCAST, root=1), coll(1, BROADCAST, root=0)],
     "rank 0 node 100 has root 1, rank 1 node 101 has root 0"),
    ([coll(0, BROADCAST, root=2), coll(1, BROADCAST)], "rank 0 node 100: root 2 is not a rank of process group 'g0'"),
    ([coll(0, group=3)], "rank 0 node 100: a collective without a process group that is declared"),
    ([coll(0, group=-1)], "without a process group")])
def test_collectives_that_are_refused(rows: list[tuple[int, dict[str, int]]], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        lowered(graph(3, rows, groups=[[0, 1]]))
    assert caught.value.file == "case"


@pytest.mark.parametrize(("ranks", "message"), [
    ([0, 2], "process group 'g0' has an unknown rank 2; the ranks are 0 to 1"), ([-1, 0], "unknown rank -1"),
    ([0, 1, 0], "process group 'g0' lists rank 0 twice"), ([], "process group 'g0' has no ranks")])
def test_groups_that_are_refused(ranks: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lowered(graph(2, [meta(0)], groups=[ranks]))


def test_algorithms_that_do_not_fit() -> None:
    case = graph(2, [coll(0), coll(1)], groups=[[0, 1]])
    with pytest.raises(InputError, match="process group 'g0': all_reduce by odd among 2 ranks: needs an odd") as caught:
        lowered(case, algorithms={ALL_REDUCE: "odd"})
    assert caught.value.file == "case"
    with pytest.raises(InputError, match="all_reduce has no algorithm 'star'; valid: ring, odd"):
        lowered(case, algorithms={ALL_REDUCE: "star"})


def test_a_collective_outside_its_group_is_not_expanded() -> None:
    made = lowered(graph(3, [coll(0), coll(1), coll(2), comp(2, 1)], [(3, 2)], [[0, 1]]))
    assert made.warnings == ["case: a collective on a rank outside its process group is not expanded and takes no "
                             "time: rank 2 node 102"]
    assert made.ops[2][["kind", "deps"]].item() == (JOIN, 0) and into(made, 3) == [(2, ON_FIRE)]
    assert len(made.instances) == 1 and made.labels["instance"][2] == -1


def test_a_collective_without_type_or_size_is_not_expanded() -> None:
    made = lowered(graph(2, [coll(0, size=-1), coll(0, 255), coll(0), coll(1)], groups=[[0, 1]]))
    assert made.warnings == ["case: a collective without a type or size is not expanded and takes no time: "
                             "rank 0 node 100, rank 0 node 101"]
    assert made.labels["instance"].tolist()[:4] == [-1, -1, 0, 0]


def test_too_many_operations_are_refused_before_any_is_made() -> None:
    start = time.process_time()
    case = graph(2, [coll(0, ALL_GATHER, 1 << 60), coll(1, ALL_GATHER, 1 << 60)], groups=[[0, 1]])
    with pytest.raises(InputError, match="its 1 collectives and 2 nodes make 134217730 operations; at most 134217728"):
        lowered(case)
    assert time.process_time() - start < 1


# ---- sizes of an alltoallv -------------------------------------------------------------------------------------------
def test_counts_of_an_alltoallv() -> None:
    # Members 0 and 1 say what they send to each; member 2 divides its 7 bytes, 3 to each. Sizes may differ.
    case = graph(3, [coll(0, ALL_TO_ALL, 10), coll(1, ALL_TO_ALL, 20), coll(2, ALL_TO_ALL, 7)], groups=[[0, 1, 2]],
                 counts={0: np.array([1, 2, 7]), 1: np.array([5, 5, 10])})
    made = lowered(case)
    assert made.ops[["host", "dst", "size_bytes"]][6:].tolist() == [
        (0, 1, 2), (0, 2, 7), (1, 0, 5), (1, 2, 10), (2, 0, 3), (2, 1, 3)]
    assert made.instances["size_bytes"].tolist() == [20]
    for bad in ([1, 2], [1, -2, 3]):
        case.counts[0] = np.array(bad)
        with pytest.raises(InputError, match=f"rank 0 node 100: {len(bad)} counts for 3 members"):
            lowered(case)


def test_instances_with_counts_are_expanded_by_themselves() -> None:
    rows = [coll(rank, ALL_TO_ALL, 8) for rank in (0, 0, 1, 1)]
    made = lowered(graph(2, rows, groups=[[0, 1]], counts={0: np.array([0, 5]), 1: np.array([0, 6])}))
    assert made.ops["size_bytes"][8:].tolist() == [5, 4, 6, 4]
