"""Retransmission times when every copy is lost, and recovery when one is, to the picosecond.

A full packet starts 85,845 ps after the post (doorbell and fetch); its serialization is 84,040 ps. Its timer starts
when that ends; on expiry the copy goes at once (the port is idle, and nothing is fetched again). Copies are lost by a
queue limit that no packet fits in, with trimming off.
"""

from __future__ import annotations

import pytest
from engine_cases import (
    FRAME,
    HOLD,
    MS,
    READY,
    US,
    Run,
    model,
    nic,
    one_rack,
    ready_ps,
    run,
    send,
    switch,
    two_tiers,
)

pytestmark = pytest.mark.core

FIRST_TIMER = READY + FRAME + 150 * US       # 150.169885 us


def lossy(**pds: object) -> Run:
    """One packet to a rack neighbour, every copy lost."""
    return Run(model(one_rack(2), [send(0, 1, 4096)], nic=nic(pds), switch=switch(1)))


@pytest.mark.parametrize("pds, timeouts_us", [
    ({}, [150, 300, 600, 1200, 2400, 4800, 4800, 4800]),
    ({"MaxExponentialRTOBackoffCount": 2}, [150, 300, 600, 600, 600]),
    ({"MaxExponentialRTOBackoffCount": 0}, [150, 150, 150, 150]),
    ({"InitialRetransmitTimeout": "7us", "MaxExponentialRTOBackoffCount": 1}, [7, 14, 14, 14]),
    ({"FixedRexmitTimeEnable": True}, [150, 150, 150, 150]),
    ({"FixedRexmitTimeEnable": True, "FixedRexmitTimeout": "20us", "InitialRetransmitTimeout": "1us"}, [20, 20, 20]),
])
def test_times_of_retransmission(pds, timeouts_us):
    going = lossy(**pds)
    start = READY
    for copies, timeout in enumerate(timeouts_us, start=1):
        going.to(start + 1)
        assert going.sender("transmissions") == copies
        assert going.slot(0, "end_ps") == start + FRAME
        start += FRAME + timeout * US
        going.to(start)
        assert going.sender("transmissions") == copies, "a picosecond too early"
    assert going.counter(0, "num_rto") == going.counter(0, "num_rtx") == len(timeouts_us) - 1
    assert going.counter(0, "ivl_max_tx_count") == len(timeouts_us)


def test_a_timeout_waits_for_the_packet_on_the_wire():
    # Two packets, lost both. The second one's timer expires 84,040 ps after the first one's, when the first one's copy
    # has just left: it goes at once. With a third packet of 1 B in a new message that starts just before the first
    # timer expires (17,111 ps after its post), the port is busy for its 107 B (2,140 ps): both copies go that much
    # later.
    assert ready_ps(1) == 17_111
    ops = [send(0, 1, 8192), send(0, 2, 1, FIRST_TIMER - 1 - 17_111)]
    going = Run(model(one_rack(), ops, switch=switch(1)))
    going.to(FIRST_TIMER + 2_140)
    assert going.slot(0, "end_ps") == FIRST_TIMER + 2_139 + FRAME
    going.to(FIRST_TIMER + 2_140 + FRAME)
    assert going.slot(1, "end_ps") == FIRST_TIMER + 2_139 + 2 * FRAME


def test_one_lost_packet_costs_its_timeout():
    # Over two tiers one trip and its ACK take 2,742,400 ps and the hold. The first packet is lost at its first switch
    # (there at 85,845 + 84,040 + 100,000 ps); the copy leaves 150 us after the first one's end.
    going = Run(model(two_tiers(), [send(0, 1, 4096)]))
    going.set_limit("RackSwitch-0", 0)
    going.to(READY + 184_041)
    assert going.clock("dropped") == going.port("RackSwitch-0", "SpineSwitch-0", "tx_drops") == 1
    going.set_limit("RackSwitch-0", 1_500_000)
    assert going.end().done_ps() == FIRST_TIMER + 2_742_400 + HOLD
    assert going.counter(0, "num_rto") == going.counter(0, "num_rtx") == 1
    assert going.counter(1, "write_pkts_rcvd") == 1 and going.counter(1, "num_dup_events_on_nic") == 0


def test_every_packet_has_a_timer_of_its_own():
    # Packets 2 and 4 of five are lost; each comes again 150 us after its own end. In a rack 571,200 ps a trip and the
    # hold; the copies go at 85,845 + (2, 4) * 84,040 + 150 us.
    going = Run(model(one_rack(2), [send(0, 1, 5 * 4096)]))
    for lost in (1, 3):
        at = READY + (lost + 1) * FRAME + 100_000
        going.to(at)
        going.set_limit("RackSwitch-0", 0)
        going.to(at + 1)
        going.set_limit("RackSwitch-0", 1_500_000)
    going.to(READY + 2 * FRAME + 150 * US)
    assert (going.sender("unacked"), going.sender("next_psn"), going.group("inflight_bytes")) == (1, 5, 2 * 4184)
    assert going.receiver("expected") == 1 and going.receiver("held") == 2
    assert going.end().done_ps() == READY + 4 * FRAME + 150 * US + 571_200 + HOLD
    assert going.counter(0, "num_rto") == 2


def test_an_acknowledged_packet_has_no_timer():
    going = Run(model(one_rack(2), [send(0, 1, 4096), send(0, 1, 4096, 10 * MS)])).end()
    assert going.counter(0, "num_rto") == going.counter(0, "num_rtx") == 0


def test_a_timeout_takes_a_new_port_and_the_retransmit_role():
    going = lossy()
    assert (going.to(READY + FRAME).slot(0, "entropy"), going.slot(0, "tries")) == (256, 1)
    going.to(FIRST_TIMER + FRAME)
    assert (going.slot(0, "entropy"), going.slot(0, "tries")) == (257, 2)
    flag, role, rtx_bit, trimmable_rtx = *going.under_way("NIC-0", "RackSwitch-0", "flag_bits", "role")[0], 2, 2
    assert flag & rtx_bit and role == trimmable_rtx


def test_tries_stop_counting_at_255_and_the_timeout_stays_at_its_cap():
    going = Run(model(one_rack(2), [send(0, 1, 4096)], switch=switch(1),
                      nic=nic({"InitialRetransmitTimeout": "1ns", "MaxExponentialRTOBackoffCount": 1})))
    # 1 ns after the first copy, 2 ns after each other: copy k + 2 leaves at 85,845 + 84,040 + 1000 +
    # k * (84,040 + 2000).
    going.to(READY + FRAME + 1000 + 300 * (FRAME + 2000) + 1)
    assert going.sender("transmissions") == 302 and going.slot(0, "tries") == 255
    assert going.counter(0, "ivl_max_tx_count") == 255


def test_a_timeout_cuts_the_window_by_a_packet():
    # Max window 450,000 B and no RTT sample ever: 4184 B less at each timeout, not below one packet.
    going = run(one_rack(2), [send(0, 1, 4096)], nic=nic({"FixedRexmitTimeEnable": True}), switch=switch(1))
    for timeouts in range(1, 5):
        going.to(READY + timeouts * (FRAME + 150 * US) + 1)
        assert going.group("cwnd_bytes") == 450_000 - timeouts * 4184
    going.to(READY + 200 * (FRAME + 150 * US))
    assert going.group("cwnd_bytes") == 4184
    assert going.counter(0, "num_quick_adapt") == 0
