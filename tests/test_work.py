"""What operations of a rank share, by hand: its NPU (equal parts) and its scale-up port; delays; what is told when.

scala-computing/docs models/chakra-workload/workload-execution, Compute (its worked example too) and Scale-up groups.
"""

from __future__ import annotations

import pytest
from engine_cases import DOORBELL, NS, US, Run, model, one_rack, send

from distsim.state import tables as t
from distsim.state.allocate import cell, to_array
from distsim.workload.types import (
    COMPUTE,
    DELAY,
    JOIN,
    LOCAL,
    LOCAL_IN,
    LOG_OP,
    ON_FIRE,
    ON_LOCAL,
    ON_SEND_DONE,
    ON_SENT,
)

pytestmark = pytest.mark.core


def op(kind: int, host: int, work_ps: int = 0, *, dst: int = -1, deps: int = 0, start_ps: int = 0,
       delay_ps: int = 0) -> tuple:
    return (0, kind, 0, host, dst, 0, start_ps, deps, delay_ps, work_ps)


def done(ops: list[tuple], edges: list[tuple] | None = None, hosts: int = 4) -> list[int]:
    """When each operation is done, in the order given."""
    made = model(one_rack(hosts), ops, edges)
    going = Run(made)
    going.end()
    rows = to_array(going.state.ops, t.OP)
    assert (rows["state"] == t.OP_DONE).all()
    found = dict(zip(rows["user_id"].tolist(), rows["done_ps"].tolist(), strict=True))
    return [found[number] for number in range(1, len(ops) + 1)]


def test_two_computations_of_ten_microseconds_take_twenty_together():
    assert done([op(COMPUTE, 0, 10 * US), op(COMPUTE, 0, 10 * US)]) == [20 * US, 20 * US]


def test_computations_of_two_ranks_do_not_slow_each_other():
    assert done([op(COMPUTE, 0, 10 * US), op(COMPUTE, 1, 10 * US)]) == [10 * US, 10 * US]


def test_a_short_computation_leaves_the_rest_to_the_long_one():
    # 2 us of work at half the rate: done at 4 us; the other has 8 us left and the NPU to itself: 12 us.
    assert done([op(COMPUTE, 0, 2 * US), op(COMPUTE, 0, 10 * US)]) == [4 * US, 12 * US]


def test_one_that_comes_later_slows_the_first():
    # Alone for 6 us; the 4 us left take 8 (done at 14). The newcomer has then got 4 of its 10 us: 6 more, at 20.
    assert done([op(COMPUTE, 0, 10 * US), op(COMPUTE, 0, 10 * US, start_ps=6 * US)]) == [14 * US, 20 * US]


def test_three_at_once_with_a_remainder():
    # 10 ps each on three: 30 ps. One that joins at 1 ps (virtual time 0, one third of a picosecond is lost).
    assert done([op(COMPUTE, 0, 10), op(COMPUTE, 0, 10), op(COMPUTE, 0, 10)]) == [30, 30, 30]
    assert done([op(COMPUTE, 0, 0), op(COMPUTE, 0, 5)]) == [0, 5]


def test_a_delay_takes_its_time_whatever_else_runs():
    assert done([op(DELAY, 0, 10 * US), op(DELAY, 0, 10 * US), op(COMPUTE, 0, 3 * US)]) == [10 * US, 10 * US, 3 * US]


def test_a_delay_before_the_start():
    ops = [op(COMPUTE, 0, 3 * US), op(JOIN, 0, deps=1, delay_ps=500 * NS), op(JOIN, 0, delay_ps=20, start_ps=30)]
    assert done(ops, [(0, 1, ON_FIRE)]) == [3 * US, 3 * US + 500 * NS, 50]


# ---- scale-up --------------------------------------------------------------------------------------------------------
def transfers(pairs: list[tuple[int, int, int, int]], latency_ps: int) -> tuple[list[tuple], list[tuple]]:
    """Transfers (src, dst, work_ps, start_ps): each a LOCAL, then its LOCAL_IN."""
    ops, edges = [], []
    for src, dst, work_ps, start_ps in pairs:
        ops += [op(LOCAL, src, work_ps, dst=dst, start_ps=start_ps), op(LOCAL_IN, dst, work_ps, dst=src)]
        edges.append((len(ops) - 2, len(ops) - 1, ON_LOCAL, latency_ps))
    return ops, edges


def test_one_transfer_arrives_a_latency_after_its_last_byte_and_is_acknowledged_a_round_trip_after():
    ops, edges = transfers([(0, 1, 5 * US, 0)], 300 * NS)
    assert done(ops, edges) == [5 * US + 600 * NS, 5 * US + 300 * NS]


def test_the_sender_divides_its_rate_among_receivers():
    # Two receivers: 10 us each. Acknowledged 2 x 300 ns later, received 300 ns later.
    ops, edges = transfers([(0, 1, 5 * US, 0), (0, 2, 5 * US, 0)], 300 * NS)
    assert done(ops, edges) == [10_600 * NS, 10_300 * NS, 10_600 * NS, 10_300 * NS]


def test_two_transfers_to_one_receiver_go_one_after_the_other():
    ops, edges = transfers([(0, 1, 5 * US, 0), (0, 1, 3 * US, 0)], 300 * NS)
    assert done(ops, edges) == [5_600 * NS, 5_300 * NS, 8_600 * NS, 8_300 * NS]


def test_the_receiver_divides_its_rate_among_senders():
    # Sent in 5 us by both; the receiver takes 10 us for the two, from 300 ns on.
    ops, edges = transfers([(0, 2, 5 * US, 0), (1, 2, 5 * US, 0)], 300 * NS)
    assert done(ops, edges) == [5_600 * NS, 10_300 * NS, 5_600 * NS, 10_300 * NS]


def test_a_receiver_waits_for_the_last_byte_although_it_could_have_been_faster():
    # Host 0 sends to 1 and 2 at half rate each, 10 us; host 1 alone would take 5 us, but its last byte comes at 10.3.
    ops, edges = transfers([(0, 1, 5 * US, 0), (0, 2, 20 * US, 0)], 300 * NS)
    # The second: 5 of its 20 us by 10 us, 15 more alone: 25 us.
    assert done(ops, edges) == [10_600 * NS, 10_300 * NS, 25_600 * NS, 25_300 * NS]


def test_who_waits_for_a_transfer_hears_when_it_is_sent_received_and_acknowledged():
    ops, edges = transfers([(0, 1, 5 * US, 0)], 300 * NS)
    ops += [op(JOIN, 0, deps=1), op(JOIN, 1, deps=1), op(JOIN, 0, deps=1)]
    edges += [(0, 2, ON_SENT), (1, 3, ON_FIRE), (0, 4, ON_SEND_DONE)]
    assert done(ops, edges)[2:] == [5 * US, 5_300 * NS, 5_600 * NS]


def test_who_waits_for_a_message_to_be_sent_hears_when_its_last_fetch_is_issued():
    # Three full packets: the last is fetched once the two before are under way; nothing holds the fetches back.
    ops = [send(0, 1, 3 * 4096), op(JOIN, 0, deps=1)]
    assert done(ops, [(0, 1, ON_SENT)])[1] == DOORBELL


def test_the_log_tells_begin_sent_and_done():
    ops, edges = transfers([(0, 1, 5 * US, 2 * US)], 300 * NS)
    made = model(one_rack(2), ops, edges)
    made.messages.ops["flags"] |= LOG_OP
    going = Run(made)
    going.end()
    used = cell(going.state.pools, t.P_OPLOG, "used")
    rows = sorted(row.item() for row in to_array(going.state.oplog[:used], t.OPLOG))
    send_op, recv_op = 0, 1
    assert rows == [(7_000_000, 2_000_000, send_op, t.O_SENT), (7_300_000, 7_300_000, recv_op, t.O_DONE),
                    (7_600_000, 2_000_000, send_op, t.O_DONE)]
