"""Global ids of operations and messages, who is told of what, and what is pending at the start; by hand."""

from __future__ import annotations

import numpy as np
from engine_cases import US, Run, model, one_rack, send, workload

from distsim.state import tables as t
from distsim.state.allocate import cell, to_array
from distsim.state.endpoints import runs
from distsim.state.model import number_messages
from distsim.workload.types import JOIN, ON_FIRE, ON_RECV_DONE, ON_SEND_DONE

# In the order of the file: hosts 2, 0, 1, 0, 2 (a barrier), 0.
OPS = [send(2, 0, 10), send(0, 1, 20), send(1, 0, 30, deps=1), send(0, 2, 40, deps=2), (0, JOIN, 0, 2, -1, 0, 0, 2),
       send(0, 1, 50, deps=1)]
EDGES = [(0, 2, ON_RECV_DONE), (1, 3, ON_SEND_DONE), (0, 3, ON_SEND_DONE), (1, 4, ON_RECV_DONE), (2, 4, ON_SEND_DONE),
         (4, 5, ON_FIRE)]
# By host, then by place in the file: user ids 2, 4, 6 (host 0), 3 (host 1), 1, 5 (host 2).
BY_HOST = [2, 4, 6, 3, 1, 5]


def test_operations_are_numbered_by_host_then_by_place():
    made = number_messages(workload(OPS, EDGES))
    assert made.ops["user_id"].tolist() == BY_HOST
    assert made.ops["host"].tolist() == [0, 0, 0, 1, 2, 2]


def test_messages_are_numbered_at_the_receiver_by_host_then_by_operation():
    # To host 0: operations 3 (from 1) and 4 (from 2); to host 1: 0 and 2; to host 2: 1. The barrier is no message.
    made = number_messages(workload(OPS, EDGES))
    assert made.rx_op.tolist() == [3, 4, 0, 2, 1]
    assert made.rx_message.tolist() == [2, 4, 3, 0, 1, -1]


def test_edges_name_the_new_ids_in_order():
    made = number_messages(workload(OPS, EDGES))
    place = {user: number for number, user in enumerate(BY_HOST)}
    expected = sorted((place[src + 1], when, place[dst + 1]) for src, dst, when in EDGES)
    assert [(edge["src"], edge["when"], edge["dst"]) for edge in made.edges] == expected


def test_a_workload_without_edges():
    made = number_messages(workload([send(0, 1, 1)]))
    assert len(made.edges) == 0 and made.rx_message.tolist() == [0]


def test_runs():
    assert runs(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert runs(np.array([], int), np.array([], int)).tolist() == []


def told(going: Run, table: object, row: int) -> list[tuple[int, int]]:
    """(global operation, host) that a row tells."""
    begin, count = cell(table, row, "edge_begin"), cell(table, row, "edge_count")
    edges = going.state.edges
    return sorted((cell(edges, e, "op"), cell(edges, e, "node")) for e in range(begin, begin + count))


def test_each_operation_and_message_knows_whom_it_tells():
    going = Run(model(one_rack(3), OPS, EDGES))
    place = {user: number for number, user in enumerate(BY_HOST)}
    host = dict(zip(BY_HOST, [0, 0, 0, 1, 2, 2], strict=True))
    for number in range(6):
        at_send = [dst for src, dst, when in EDGES if src == number and when != ON_RECV_DONE]
        expected = sorted((place[dst + 1], host[dst + 1]) for dst in at_send)
        assert told(going, going.state.ops, going.op(number)) == expected
    messages = to_array(going.state.rxmsg, t.RXMSG)
    for row, message in enumerate(messages):
        number = BY_HOST[message["op"]] - 1
        at_recv = [dst for src, dst, when in EDGES if src == number and when == ON_RECV_DONE]
        assert told(going, going.state.rxmsg, row) == sorted((place[dst + 1], host[dst + 1]) for dst in at_recv)


def test_what_waits_for_nothing_is_pending_in_order_of_time():
    ops = [send(0, 1, 1, 9 * US), send(0, 1, 1, 3 * US), send(1, 0, 1), send(0, 1, 1, 3 * US), send(0, 1, 1, deps=1)]
    going = Run(model(one_rack(2), ops, [(2, 4, ON_SEND_DONE)], start_ps=7))
    begin, size, room = (cell(going.state.nics, 0, name) for name in ("heap_begin", "heap_size", "heap_room"))
    heap = going.state.heap
    entries = [(cell(heap, row, "time_ps"), cell(heap, row, "op")) for row in range(begin, begin + size)]
    assert entries == [(3 * US + 7, 1), (3 * US + 7, 2), (9 * US + 7, 0)] and room == 4
    assert int(going.state.next_ps[going.node("NIC-0")]) == 3 * US + 7
    assert int(going.state.next_ps[going.node("NIC-1")]) == 7
    assert int(going.state.next_ps[going.node("RackSwitch-0")]) == t.INF_PS


def test_the_heap_has_room_for_every_notice_of_an_any_of_operation():
    ops = [send(1, 0, 1), send(1, 0, 1), send(1, 0, 1), send(0, 1, 1, deps=3, any_of=2)]
    going = Run(model(one_rack(2), ops, [(number, 3, ON_SEND_DONE) for number in range(3)]))
    assert cell(going.state.nics, 0, "heap_room") == 4          # and its own entry


def test_a_nic_knows_its_operations_and_the_messages_it_receives():
    going = Run(model(one_rack(3), OPS, EDGES))
    rows = to_array(going.state.nics, t.NICROW)
    assert rows["op_first"].tolist() == [0, 3, 4] and rows["op_count"].tolist() == [3, 1, 2]
    assert rows["rx_first"].tolist() == [0, 2, 4] and rows["rx_count"].tolist() == [2, 2, 1]
