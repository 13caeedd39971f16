"""When operations start: at once on the same host, TriggerDelay later on another; barriers and k-th notices.

In a rack a full packet starts 85,845 ps after the post (doorbell and fetch), is in 368,080 ps later (2 * 84,040 +
200,000) and acknowledged 66,371 (the hold) and 203,120 ps after that: at 453,925 and 723,416 ps.
"""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import NS, US, model, one_rack, ready_ps, run, send
from simkit import run_windows

from distsim.errors import InputError
from distsim.state import tables as t
from distsim.state.network import place
from distsim.workload.types import JOIN, ON_FIRE, ON_RECV_DONE, ON_SEND_DONE

pytestmark = pytest.mark.core

RECEIVED, ACKNOWLEDGED, DELAY = 453_925, 723_416, 100 * NS


@pytest.mark.parametrize("when, host, expected", [
    (ON_SEND_DONE, 0, ACKNOWLEDGED),              # the sender itself
    (ON_SEND_DONE, 1, ACKNOWLEDGED + DELAY),
    (ON_SEND_DONE, 2, ACKNOWLEDGED + DELAY),
    (ON_RECV_DONE, 1, RECEIVED),                  # the receiver itself
    (ON_RECV_DONE, 0, RECEIVED + DELAY),
    (ON_RECV_DONE, 2, RECEIVED + DELAY),
])
def test_a_trigger(when, host, expected):
    going = run(one_rack(3), [send(0, 1, 4096), send(host, (host + 1) % 3, 100, deps=1)], [(0, 1, when)]).end()
    assert going.started_ps(1) == expected


def test_the_trigger_delay_is_an_attribute():
    ops = [send(0, 1, 4096), send(2, 1, 100, deps=1)]
    assert run(one_rack(3), ops, [(0, 1, ON_SEND_DONE)], trigger_delay_ps=1).end().started_ps(1) == ACKNOWLEDGED + 1


def test_a_trigger_delay_of_0_is_refused_between_hosts_only():
    ops = [send(0, 1, 4096), send(2, 1, 100, deps=1)]
    with pytest.raises(InputError, match="TriggerDelay"):
        run(one_rack(3), ops, [(0, 1, ON_SEND_DONE)], trigger_delay_ps=0)
    ops[1] = send(0, 1, 100, deps=1)
    assert run(one_rack(3), ops, [(0, 1, ON_SEND_DONE)], trigger_delay_ps=0).end().started_ps(1) == ACKNOWLEDGED


def test_an_operation_waits_for_its_own_start_time_too():
    for start, expected in ((1 * US, 1 * US), (ACKNOWLEDGED, ACKNOWLEDGED), (10, ACKNOWLEDGED)):
        ops = [send(0, 1, 4096), send(0, 2, 100, start, deps=1)]
        assert run(one_rack(3), ops, [(0, 1, ON_SEND_DONE)]).end().started_ps(1) == expected


def test_a_chain_on_one_host():
    # Three messages of one packet, each posted the moment the one before is acknowledged. The probe that the ACK draws
    # has left long before the next message's packet is there.
    ops = [send(0, 1, 4096), send(0, 1, 4096, deps=1), send(0, 1, 4096, deps=1)]
    going = run(one_rack(2), ops, [(0, 1, ON_SEND_DONE), (1, 2, ON_SEND_DONE)]).end()
    assert [going.started_ps(number) for number in range(3)] == [0, 723_416, 2 * 723_416]
    assert going.done_ps(2) == 3 * 723_416


def test_a_message_that_waits_for_several():
    # For one of its own host, acknowledged at 723,416, and for 100 B (206 on the wire) of another host: ready 15,000 +
    # 1,555 + 2,126 (134 B on PCIe) ps after its start, in 208,240 ps later, told 100 ns later. The later of the two
    # counts.
    assert ready_ps(100) == 18_681
    for start, expected in ((0, 723_416), (500 * NS, 500_000 + 18_681 + 208_240 + 100_000)):
        ops = [send(0, 1, 4096), send(2, 1, 100, start), send(0, 2, 100, deps=2)]
        going = run(one_rack(3), ops, [(0, 2, ON_SEND_DONE), (1, 2, ON_RECV_DONE)]).end()
        assert going.started_ps(2) == expected


def test_a_barrier_fires_with_the_last_and_tells_everyone():
    # The barrier belongs to host 0. Host 0's own report counts at once, host 2's 100 ns after its end.
    ops = [send(0, 1, 4096), send(2, 1, 0, 1 * US), send(0, 0, 0, kind=JOIN, deps=2), send(0, 1, 100, deps=1),
           send(1, 2, 100, deps=1)]
    ops[2] = (0, JOIN, 0, 0, -1, 0, 0, 2)
    edges = [(0, 2, ON_SEND_DONE), (1, 2, ON_SEND_DONE), (2, 3, ON_FIRE), (2, 4, ON_FIRE)]
    going = run(one_rack(3), ops, edges).end()
    last = 1 * US + 15_000 + 2 * (106 + 78) * 20 + 400_000 + 1_396      # nothing to fetch; the ACK held for 88 B
    assert going.done_ps(1) == last
    assert going.done_ps(2) == last + DELAY
    assert going.started_ps(3) == last + DELAY
    assert going.started_ps(4) == last + 2 * DELAY
    assert going.clock("ops_done") == 5 and going.clock("sends_done") == 4


@pytest.mark.parametrize("any_of, expected", [(1, 100), (2, 200), (3, 300)])
def test_the_kth_notice_starts_it_and_later_ones_are_ignored(any_of, expected):
    # Three empty messages of the same host, posted at 100, 200 and 300 us; each is done 423,756 ps later
    # (15,000 + 2 * (106 + 78) * 20 + 400,000 + 1,396). The fourth is posted once.
    ops = [*(send(0, 1, 0, at * US) for at in (100, 200, 300)), send(0, 2, 100, deps=3, any_of=any_of)]
    going = run(one_rack(3), ops, [(number, 3, ON_SEND_DONE) for number in range(3)]).end()
    assert going.started_ps(3) == expected * US + 423_756
    assert going.counter(0, "wqes_created") == 4 and going.clock("ops_started") == 4


def test_notices_at_the_same_instant_count_each():
    # Two notices from two hosts at the same picosecond: the second of them starts it, not the third much later.
    ops = [send(1, 0, 0), send(2, 0, 0), send(1, 0, 0, 500 * US), send(0, 2, 100, deps=3, any_of=2)]
    going = run(one_rack(3), ops, [(number, 3, ON_SEND_DONE) for number in range(3)]).end()
    done = [going.done_ps(number) for number in range(2)]
    assert going.started_ps(3) == max(done) + DELAY < 500 * US


def test_operations_of_one_instant_start_in_their_order():
    ops = [send(0, 1, 100, 5 * US), send(0, 1, 200, 5 * US), send(0, 1, 300, 5 * US)]
    sizes = [106 + 100, 106 + 200, 106 + 300]              # fetched faster than sent
    going = run(one_rack(2), ops).to(5 * US + ready_ps(100) + sum(sizes) * 20)
    assert [size for size, in going.under_way("NIC-0", "RackSwitch-0", "size_bytes")] == sizes


def test_a_trigger_between_ranks_takes_as_long():
    ops = [send(0, 1, 4096), send(2, 1, 100, deps=1)]
    made = model(one_rack(3), ops, [(0, 1, ON_SEND_DONE)])
    owner = np.array([0, 1, 1, 1], "i4")
    assert place(made, owner, 0).window_ps == 100_000      # the trigger; the links have 101,240
    done = run_windows(made, owner)
    assert done.ops[1][:2] == (t.OP_DONE, ACKNOWLEDGED + DELAY)
    assert done.differs(run_windows(made)) == ""
