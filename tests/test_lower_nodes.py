"""Nodes of a graph as operations: computation, sends and receives, matching, dependencies; worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from lower_cases import comp, execute, fixed, graph, into, lost, lowered, meta, recv, send

from distsim.errors import InputError
from distsim.workload.graph import DEPS
from distsim.workload.lower import Settings, lower
from distsim.workload.types import (
    COMPUTE,
    DELAY,
    JOIN,
    LOG_MESSAGE,
    LOG_OP,
    ON_FIRE,
    ON_RECV_DONE,
    ON_SENT,
    ROLE_NODE,
    SEND,
)


def test_computation() -> None:
    case = graph(2, [comp(0, 5), fixed(0, 7), meta(0), comp(1, 9)], [(1, 0), (2, 1), (2, 0)])
    made = lowered(case, placement=[3, 1], hosts=4)
    assert made.ops[["kind", "host", "dst", "work_ps", "deps", "user_id", "flags"]].tolist() == [
        (COMPUTE, 3, -1, 5, 0, 100, 0), (DELAY, 3, -1, 7, 1, 101, 0), (JOIN, 3, -1, 0, 2, 102, 0),
        (COMPUTE, 1, -1, 9, 0, 103, 0)]
    assert into(made, 2) == [(0, ON_FIRE), (1, ON_FIRE)]
    assert made.labels[["node", "instance", "rank", "peer", "tag", "role"]].tolist() == [
        (row, -1, rank, -1, -1, ROLE_NODE) for row, rank in enumerate([0, 0, 0, 1])]
    assert made.placement.tolist() == [3, 1] and made.graph is case and made.placement.dtype == "i4"
    collected = lowered(case, shared_compute=False, log_ops="all")
    assert collected.ops["kind"].tolist() == [DELAY, DELAY, JOIN, DELAY]
    assert set(collected.ops["flags"].tolist()) == {LOG_OP}


def test_a_send_and_its_receive() -> None:
    # Rank 0: compute, send, compute. Rank 1: compute, receive, compute.
    case = graph(2, [comp(0, 1), send(0, 1, 4096, tag=7), comp(0, 2), comp(1, 3), recv(1, 0, 4096, tag=7), comp(1, 4)],
                 [(1, 0), (2, 1), (4, 3), (5, 4)])
    made = lowered(case, placement=[5, 2], hosts=8)
    assert made.ops["kind"].tolist() == [COMPUTE, SEND, COMPUTE, COMPUTE, JOIN, COMPUTE]
    assert made.ops[1][["user_id", "host", "dst", "size_bytes", "flags"]].item() == (1, 5, 2, 4096, LOG_MESSAGE)
    assert into(made, 1) == [(0, ON_FIRE)]
    assert into(made, 2) == [(1, ON_SENT)]                       # the last byte has left
    assert into(made, 4) == [(1, ON_RECV_DONE), (3, ON_FIRE)]    # its own dependency and the arrival
    assert into(made, 5) == [(4, ON_FIRE)]
    assert made.ops["deps"].tolist() == [0, 1, 1, 0, 2, 1]
    assert made.labels[[1, 4]].tolist() == [(1, -1, 0, 1, 7, ROLE_NODE), (4, -1, 1, -1, -1, ROLE_NODE)]
    assert made.warnings == [] and len(execute(made)) == 6
    assert lowered(case, log_messages=False).ops["flags"].tolist() == [0] * 6


def test_sends_are_numbered_from_one() -> None:
    made = lowered(graph(2, [meta(0), send(0, 1), send(0, 1), recv(0, 1), send(1, 0), recv(1, 0), recv(1, 0)]))
    assert made.ops["user_id"].tolist() == [100, 1, 2, 103, 3, 105, 106]


def test_the_kth_send_meets_the_kth_receive_of_its_tag() -> None:
    # 0 -> 2 with tags 5, 6, 5; 1 -> 2 with tag 5. Rank 2 receives 5, 5, 6 from 0, then 5 from 1.
    case = graph(3, [send(0, 2, tag=5), send(0, 2, tag=6), send(0, 2, tag=5), send(1, 2, tag=5),
                     recv(2, 0, tag=5), recv(2, 1, tag=5), recv(2, 0, tag=5), recv(2, 0, tag=6)])
    made = lowered(case)
    assert [into(made, row) for row in range(4, 8)] == [[(row, ON_RECV_DONE)] for row in (0, 3, 2, 1)]


def test_receives_from_any_rank_take_what_is_left() -> None:
    # Tag 1 at rank 3: senders 0, 1, 1, 2 (rows 0 to 3). The named receive leaves one message of each, so the others
    # are of 0, 1, 2 in order; rank 1's first goes to the earlier of its two receives (messages do not overtake).
    case = graph(4, [send(0, 3, tag=1), send(1, 3, tag=1), send(1, 3, tag=1), send(2, 3, tag=1),
                     recv(3, -1, tag=1), recv(3, -1, tag=1), recv(3, 1, tag=1), recv(3, -1, tag=1), recv(3, -1, tag=2)])
    made = lowered(case)
    assert [into(made, row) for row in range(4, 8)] == [[(row, ON_RECV_DONE)] for row in (0, 1, 2, 3)]
    assert made.warnings == ["case: receives without a send never end, and the run does not finish: "
                             "rank 3 node 108 from any rank tag 2"]


def test_a_receive_from_any_rank_before_a_named_one_of_the_same_sender_takes_the_first_send() -> None:
    # Rank 0 sends again when rank 1 has answered the first message, which rank 1 receives from any rank.
    case = graph(2, [send(0, 1), recv(0, 1), send(0, 1), recv(1, -1), send(1, 0), recv(1, 0)],
                 [(1, 0), (2, 1), (4, 3), (5, 4)])
    made = lowered(case)
    assert into(made, 3) == [(0, ON_RECV_DONE)] and (2, ON_RECV_DONE) in into(made, 5)
    assert len(execute(made)) == 6 and made.warnings == []


def test_sizes_that_differ() -> None:
    case = graph(2, [send(0, 1, 10), send(0, 1, 20), recv(1, 0, 10), recv(1, 0, 21), recv(0, 1, -1)][:2]
                 + [recv(1, 0, 10), recv(1, 0, 21)])
    made = lowered(case)
    assert made.warnings == ["case: sizes of send and receive differ: rank 0 node 101 sends 20 bytes, rank 1 node 103 "
                             "expects 21; what is sent counts"]
    assert made.ops["size_bytes"][:2].tolist() == [10, 20]
    with pytest.raises(InputError, match="rank 0 node 101 sends 20 bytes, rank 1 node 103 expects 21") as caught:
        lowered(case, strict_sizes=True)
    assert caught.value.file == "case"
    assert lowered(graph(2, [send(0, 1, 10), recv(1, 0, -1)]), strict_sizes=True).warnings == []    # no size given


def test_unmatched_sends_go_out_and_receives_never_end() -> None:
    case = graph(2, [send(0, 1, tag=1), comp(0, 1)] + [recv(1, 0, tag=2) for _ in range(5)] + [comp(1, 1)],
                 [(1, 0), (7, 2)])
    made = lowered(case)
    assert made.ops["deps"].tolist() == [0, 1, 1, 1, 1, 1, 1, 1]
    assert lost(made).tolist() == [0, 0, 1, 1, 1, 1, 1, 0]
    assert execute(made) == [0, 1]
    assert made.warnings == [
        "case: nobody receives what is sent by rank 0 node 100 to rank 1 tag 1",
        "case: receives without a send never end, and the run does not finish: rank 1 node 102 from rank 0 tag 2, "
        "rank 1 node 103 from rank 0 tag 2, rank 1 node 104 from rank 0 tag 2, ... (5 in all)"]


def test_a_send_to_the_rank_itself_takes_no_time() -> None:
    made = lowered(graph(2, [send(1, 1), recv(1, 1), comp(1, 1)], [(2, 0)]))
    assert made.ops["kind"].tolist() == [JOIN, JOIN, COMPUTE] and made.ops["flags"].tolist() == [0, 0, 0]
    assert into(made, 1) == into(made, 2) == [(0, ON_FIRE)]


def test_a_dependency_that_is_listed_twice_counts_once() -> None:
    made = lowered(graph(1, [comp(0, 1), comp(0, 2)], [(1, 0), (1, 0)]))
    assert made.ops["deps"].tolist() == [0, 1] and len(made.edges) == 1


# ---- refusals --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("node", "message"), [
    (send(0, 2), r"rank 0 node 100: peer 2; the ranks are 0 to 1"),
    (send(0, -1), r"rank 0 node 100: peer -1; the ranks are 0 to 1"),
    (recv(0, -2), r"rank 0 node 100: peer -2; the ranks are 0 to 1"),
    (send(0, 1, -5), r"rank 0 node 100: size_bytes -5; a transfer has 0 to 1099511627776 bytes"),
    (send(0, 1, 2**40 + 1), r"size_bytes 1099511627777"),
    (comp(0, -1), r"rank 0 node 100: duration_ps -1; a duration is 0 to")])
def test_values_that_are_refused(node: tuple[int, dict[str, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lowered(graph(2, [node]))


def test_the_greatest_message_is_accepted() -> None:
    assert lowered(graph(2, [send(0, 1, 2**40), recv(1, 0, 2**40)])).ops["size_bytes"][0] == 2**40


@pytest.mark.parametrize(("placement", "hosts", "message"), [
    ([0, 1], 4, "3 ranks, but 2 of them are placed"), ([0, 1, 2], 2, "3 ranks need a host each; the fabric has 2"),
    ([0, 4, 2], 4, "rank 1 is placed on server 4; the fabric has servers 0 to 3"),
    ([2, 0, 2], 4, "ranks 0 and 2 are both placed on server 2; a server has one rank")])
def test_placements_that_are_refused(placement: list[int], hosts: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        lowered(graph(3, [meta(0)]), placement, hosts)


def test_a_placement_beyond_32_bits_is_refused() -> None:
    with pytest.raises(InputError, match="rank 0 is placed on server 4294967296"):
        lower(graph(1, [meta(0)]), Settings(), np.array([2**32]), 4)


def test_a_cycle_is_named() -> None:
    # 0 waits for 2, 2 for 1, 1 for 0; 3 hangs on it.
    case = graph(1, [comp(0, 1)] * 4, [(0, 2), (2, 1), (1, 0), (3, 0)])
    with pytest.raises(InputError, match=r"rank 0: nodes wait for each other: 100 -> 102 -> 101 -> 100 \(a -> b"):
        lowered(case)
    with pytest.raises(InputError, match="102 -> 102"):
        lowered(graph(1, [comp(0, 1)] * 3, [(2, 2)]))


def test_forward_references_are_no_cycle() -> None:
    made = lowered(graph(1, [comp(0, 1)] * 3, [(0, 2), (1, 0)]))
    assert execute(made) == [2, 0, 1]


def test_dependencies_between_ranks_are_a_fault_of_the_reader() -> None:
    case = graph(2, [meta(0), meta(1)])
    case.deps = np.array([(1, 0)], DEPS)
    with pytest.raises(ValueError, match="two ranks"):
        lowered(case)
