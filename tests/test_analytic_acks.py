"""ACK requests, probes, selective ACKs, duplicates and round-trip samples, with every figure worked out by hand.

Over two tiers a full packet starts READY = 85,845 ps after its post, is there 1,536,160 ps after its start, and its
ACK, held for HOLD = 66,371 ps, back 2,742,400 + 66,371 ps after the start: 2,894,616 ps after the post. A copy is not
fetched again; a new packet that an ACK or timeout lets go is, in 1,555 + 69,290 ps.
"""

from __future__ import annotations

import pytest
from engine_cases import (
    FETCH,
    FRAME,
    HOLD,
    READ,
    READY,
    US,
    Run,
    model,
    nic,
    one_rack,
    run,
    send,
    switch,
    two_tiers,
)

from distsim.state import tables as t
from distsim.state.allocate import cell, set_cell

pytestmark = pytest.mark.core

THERE, BACK = READY + 1_536_160, READY + 2_742_400 + HOLD      # the first packet and its ACK
FIRST_TIMER = READY + FRAME + 150 * US
ROUND = 2_742_400 + HOLD                                        # from the start of a packet to its ACK
ACK_LOST = THERE + HOLD + 1_560 + 100_000                       # an ACK of the first packet is at its first switch


def acks(every: int, first: bool, last: bool) -> dict[str, object]:
    return {"AckRequestEveryNthPacket": every, "AckRequestFirstPacket": first, "AckRequestLastPacket": last}


@pytest.mark.parametrize("every, first, last, data_acks, acknowledged", [
    # 256 packets. First and every 8th after: 1, 9, ..., 249; or 8, 16, ..., 256; the last one in addition.
    (8, True, True, 33, 256), (8, True, False, 32, 249), (8, False, True, 32, 256), (8, False, False, 32, 256),
    (1, True, True, 256, 256), (1, True, False, 256, 256), (1, False, True, 256, 256), (1, False, False, 256, 256),
    (1024, True, False, 1, 1), (1024, False, True, 0, 0), (1024, False, False, 0, 0),
])
def test_packets_that_ask_for_an_ack(every, first, last, data_acks, acknowledged):
    going = run(two_tiers(), [send(0, 1, 1 << 20)], nic=nic(acks(every, first, last)))
    going.to(100 * US)                                   # the first timer expires at 150 us
    probes = 1 if data_acks else 0                       # its ACK is counted with the others
    assert going.counter(1, "ack_pkts_sent") == going.counter(0, "ack_pkts_rcvd") == data_acks + probes
    assert going.counter(0, "probe_ack_rcvd") == probes
    if acknowledged == 256:
        assert going.clock("sends_done") == 1
    else:
        # With N = 1024 the window (107 packets) holds the last packet back, which alone would ask.
        assert going.sender("unacked") == acknowledged
    assert going.counter(1, "num_out_of_order_events_on_nic") == 0


def test_a_retransmission_counts_towards_the_ack_request_rule():
    # N = 8, no request on the last packet: PSN 249 (the 250th) ends at READY + 250 * 84,040 + 1,240 ps (a probe went
    # before), is sent again 150 us later as the 257th transmission, and asks. Everything had arrived: its ACK says so.
    going = run(two_tiers(), [send(0, 1, 1 << 20)], nic=nic(acks(8, True, False))).end()
    assert going.done_ps() == READY + 250 * FRAME + 1_240 + 150 * US + ROUND
    assert going.counter(0, "num_rtx") == going.counter(1, "num_dup_events_on_nic") == 7      # PSN 249 to 255
    assert going.counter(1, "ack_pkts_sent") == 32 + 1 + 1


# ---- probes ----------------------------------------------------------------------------------------------------------
def test_a_probe_a_message_of_62_bytes_answered_by_78():
    going = run(two_tiers(), [send(0, 1, 4096), send(0, 1, 20 * 4096, 10 * US), send(1, 0, 0, 50 * US)]).end()
    assert [going.counter(host, "probe_sent") for host in (0, 1)] == [2, 1]
    assert [going.counter(host, "probe_rcvd") for host in (0, 1)] == [1, 2]
    assert [going.counter(host, "probe_ack_rcvd") for host in (0, 1)] == [2, 1]
    # From NIC-0: 21 data packets, two probes, and the ACKs of NIC-1's empty message and its probe.
    assert going.port("NIC-0", "RackSwitch-0", "tx_bytes") == 21 * 4202 + 2 * 62 + 2 * 78
    assert going.port("NIC-1", "RackSwitch-1", "tx_bytes") == (21 + 2) * 78 + 106 + 62


def test_a_probe_measures_the_idle_round_trip():
    # A window of one packet. The first ACK comes at 2,894,616 ps: its sample, from the end of serialization at 169,885,
    # is 2,724,731 with the hold (a service time of 0 steps takes nothing off), and the base RTT becomes 1.024 us more.
    # The probe goes at once and its answer is not held; from the end of its own serialization (1,240 ps) it takes 3 *
    # 1,240 + 1,200,000 there and 4 * 1,560 + 1,200,000 back.
    attributes = {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 1}
    going = run(two_tiers(), [send(0, 1, 100 * 4096)], nic=nic(cc=attributes))
    going.to(2_894_616)
    assert going.group("base_rtt_ps") == 6 * US and going.group("max_window_bytes") == 4184
    going.to(2_894_617)
    assert (going.group("measured_ps"), going.group("base_rtt_ps")) == (2_724_731, 3_748_731)
    assert going.group("max_window_bytes") == 1.5 * 400 * 3_748_731 / 8000 == 281_154.825
    back = 2_894_616 + 1_240 + 3_720 + 1_200_000 + 6_240 + 1_200_000
    going.to(back)
    assert going.group("base_rtt_ps") == 3_748_731 and going.counter(0, "probe_ack_rcvd") == 0
    going.to(back + 1)
    assert (going.group("measured_ps"), going.group("base_rtt_ps")) == (2_409_960, 3_433_960)
    assert going.group("max_window_bytes") == 1.5 * 400 * 3_433_960 / 8000 == 257_547
    assert going.counter(0, "ack_samples") == 1              # a probe's ACK is no sample of data


# ---- selective ACKs --------------------------------------------------------------------------------------------------
def lose_first_packet(every: int = 1) -> Run:
    """A message of 256 packets whose first one is lost at the first switch."""
    going = Run(model(two_tiers(), [send(0, 1, 1 << 20)], nic=nic(acks(every, True, True))))
    going.set_limit("RackSwitch-0", 0)
    going.to(READY + 184_041)
    going.set_limit("RackSwitch-0", 1_500_000)
    return going


def test_a_gap_is_acknowledged_around_and_filled_after_its_timeout():
    going = lose_first_packet()
    going.to(100 * US)
    assert going.sender("unacked") == 0 and going.sender("next_psn") == 256
    assert [going.slot(psn, "state") for psn in (0, 1, 64, 128, 255)] == [t.SLOT_SENT] + [t.SLOT_DONE] * 4
    assert going.group("inflight_bytes") == 4184            # a gap is no loss signal: nothing sent again
    assert (going.receiver("expected"), going.receiver("highest"), going.receiver("held")) == (0, 255, 255)
    assert going.counter(1, "num_out_of_order_events_on_nic") == 255
    assert going.counter(1, "ivl_max_out_of_order_on_flow") == 255
    assert going.end().done_ps() == FIRST_TIMER + ROUND
    assert going.counter(0, "num_rtx") == 1 and going.counter(1, "num_dup_events_on_nic") == 0


def bitmap(ack: tuple[int, ...]) -> tuple[int, set[int]]:
    """(first PSN, PSNs reported) of (psn, cack, offset, low word, high word)."""
    _, cack, offset, low, high = ack
    base = cack + offset
    return base, {base + bit for bit in range(64) if ((low | high << 32) >> bit) & 1}


def test_bitmaps_report_successive_blocks_of_64():
    # PSN 0 is missing, 1, 2, ... arrive in order: the ACK that PSN k draws says CACK -1 and one block of 64 of 1..k.
    # Up to 63 there is one block; beyond, the next ACK reports the next block, and after the last the first again.
    going = lose_first_packet()
    seen: dict[int, tuple[int, ...]] = {}
    fields = ("ptype", "psn", "cack", "sack_offset", "sack_lo", "sack_hi")
    for at in range(2_850_000, 24_450_000, 50_000):          # an ACK is on the last link for 101,560 ps
        for kind, *ack in going.to(at).under_way("RackSwitch-0", "NIC-0", *fields):
            if kind == t.ACK_CC:
                seen[ack[0]] = tuple(ack)
    assert sorted(seen) == list(range(1, 256))
    expected_base = 0
    for psn in range(1, 256):
        base, reported = bitmap(seen[psn])
        assert seen[psn][1] == -1 and base == expected_base
        assert reported == set(range(base, base + 64)) & set(range(1, psn + 1))
        if psn >= 64:                                        # more than one block is out of order
            expected_base = base + 64 if base + 64 <= psn + 1 and psn < 255 else 0


def test_a_bitmap_alone_retires_what_draws_no_ack():
    # N = 8: PSNs 8, 16, ..., 56 ask. By the ACK of 56 the PSNs 1 to 56 are retired although 49 of them drew no ACK.
    going = lose_first_packet(every=8)
    ack_of_56 = READY + 56 * FRAME + ROUND
    going.to(ack_of_56 + 1_240 + 1)                          # a probe has pushed the packets back
    assert {going.slot(psn, "state") for psn in range(1, 57)} == {t.SLOT_DONE}
    assert going.slot(57, "state") == t.SLOT_SENT
    outstanding = going.sender("next_psn") - 56
    assert going.group("inflight_bytes") == outstanding * 4184


# ---- duplicates ------------------------------------------------------------------------------------------------------
def test_a_lost_ack_costs_a_duplicate_that_is_acknowledged_again():
    # The ACK is lost at its first switch, at 85,845 + 1,536,160 + 66,371 + 1,560 + 100,000 ps. The message had arrived;
    # its copy is a duplicate, and what is left of the receiving PDC acknowledges it, after the same hold.
    going = Run(model(two_tiers(), [send(0, 1, 4096)]))
    going.set_limit("RackSwitch-1", 0, "control")
    assert going.to(ACK_LOST).clock("dropped") == 0
    going.to(ACK_LOST + 1)
    assert going.clock("dropped") == 1 and going.clock("recvs_done") == 1
    going.set_limit("RackSwitch-1", 1_500_000, "control")
    assert going.end().done_ps() == FIRST_TIMER + ROUND
    assert going.counter(1, "num_dup_events_on_nic") == 1 and going.counter(1, "write_pkts_rcvd") == 2
    assert going.counter(1, "ack_pkts_sent") == 2 + 1        # and the probe's
    assert going.counter(1, "num_out_of_order_events_on_nic") == 0
    assert going.counter(0, "ack_samples") == 1              # of the first retransmission: valid
    assert going.counter(0, "rtt_sum") == ROUND - FRAME      # from the end of its own serialization


def test_the_second_retransmission_gives_no_sample():
    going = Run(model(two_tiers(), [send(0, 1, 4096)]))
    going.set_limit("RackSwitch-1", 0, "control")
    going.to(FIRST_TIMER + (ACK_LOST - READY) + 1)
    assert going.clock("dropped") == 2
    going.set_limit("RackSwitch-1", 1_500_000, "control")
    assert going.end().done_ps() == READY + 2 * FRAME + 450 * US + ROUND
    assert going.counter(0, "ack_samples") == 0 and going.counter(1, "num_dup_events_on_nic") == 2


def test_a_late_ack_of_the_first_copy_gives_no_sample():
    # The timer (2 us) expires before the ACK is back at 2,894,616 ps; that ACK lacks the retransmit flag, so which copy
    # drew it is not known to be the second. It still completes the message; the copy's own ACK finds nothing to do.
    going = Run(model(two_tiers(), [send(0, 1, 4096)], nic=nic({"InitialRetransmitTimeout": "2us"}))).end()
    assert going.done_ps() == BACK == 2_894_616
    assert going.counter(0, "num_rtx") == 1 and going.counter(0, "ack_samples") == 0
    assert going.counter(0, "ack_pkts_rcvd") == 2 + 1 and going.counter(1, "num_dup_events_on_nic") == 1


TIMED_OUT = READY + FRAME + 2 * US           # A's timer below: 2,169,885
B_STARTS = TIMED_OUT + READ + FETCH          # 2,240,730


def one_waits(**more: object) -> Run:
    """A window of one packet, two messages A and B in turns, timers of 2 us.

    A's packet goes at READY and times out at 2,169,885 ps. It is B's turn: B's packet, which has to be fetched (it
    starts at 2,240,730), fills the window, and A's waits.
    """
    attributes = {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 1}
    pds = {"InitialRetransmitTimeout": "2us", "TrimmingEnabled": True}
    return Run(model(two_tiers(), [send(0, 1, 4096), send(0, 1, 4096)], nic=nic(pds, attributes), **more))  # type: ignore[arg-type]


def test_an_ack_of_a_packet_that_waits_to_be_sent_again_takes_it_off_the_list():
    # A's ACK comes at 2,894,616 ps. B times out too (2,240,730 + 84,040 ps + 2 us) before its own ACK.
    going = one_waits().to(BACK)
    assert going.slot(0, "state") == t.SLOT_WAITING and going.sender("rtx_head") == 0
    assert going.group("inflight_bytes") == 4184
    going.end()
    assert going.done_ps(0) == BACK
    assert going.done_ps(1) == B_STARTS + ROUND == 5_049_501
    assert going.counter(0, "num_rto") == 2 and going.counter(0, "num_rtx") == 1     # B's


def test_a_nack_of_a_packet_that_waits_to_be_sent_again_does_nothing():
    # Trimmed at the first switch, A's packet draws a NACK, back 2,492,720 ps after its start: its timer had queued it
    # already. When B times out (4,324,770 ps) it is A's turn: its copy goes, and B's ACK comes before B's copy can.
    going = one_waits(switch=switch(300_000, trimming=True))
    going.set_limit("RackSwitch-0", 0)
    going.to(READY + 184_041)
    going.set_limit("RackSwitch-0", 300_000)
    going.to(READY + 2_492_721)
    assert going.counter(0, "nack_pkts_rcvd") == 1 and going.slot(0, "state") == t.SLOT_WAITING
    assert going.group("qa_trigger") == 0 and going.group("average_ps") == 0 and going.group("base_rtt_ps") == 6 * US
    going.end()
    assert [going.done_ps(number) for number in (0, 1)] == [4_324_770 + ROUND, B_STARTS + ROUND]
    assert going.counter(0, "num_rtx") == 1 and going.counter(0, "num_rto") == 2


def test_a_duplicate_while_the_message_is_open():
    # Of three packets 2 and 3 are lost, and the ACK of the first. All three come again; the first is a duplicate.
    going = Run(model(two_tiers(), [send(0, 1, 3 * 4096)]))
    going.to(READY + 184_041)
    going.set_limit("RackSwitch-0", 0)
    going.set_limit("RackSwitch-1", 0, "control")
    going.to(ACK_LOST + 1)
    assert going.clock("dropped") == 3
    going.set_limit("RackSwitch-0", 1_500_000)
    going.set_limit("RackSwitch-1", 1_500_000, "control")
    assert going.end().done_ps() == READY + 3 * FRAME + 150 * US + ROUND
    assert going.counter(1, "num_dup_events_on_nic") == 1 and going.counter(0, "num_rtx") == 3


def test_the_sender_learns_the_receivers_id_from_the_first_ack():
    going = run(one_rack(), [send(0, 1, 100 * 4096), send(2, 1, 100 * 4096)])
    going.to(READY + 571_200 + HOLD)
    assert going.sender("remote_id", 0) == 0 and going.sender("id", 0) == 1
    going.to(1 * US)
    assert [going.sender("remote_id", number) for number in (0, 1)] == [32_769, 32_770]
    assert [going.receiver("id", number) for number in (0, 1)] == [32_769, 32_770]
    assert [going.receiver("remote_id", number) for number in (0, 1)] == [1, 1]


def test_pdc_ids_go_round():
    going = run(one_rack(2), [send(0, 1, 1), send(0, 1, 1, 10 * US)])
    set_cell(going.state.nics, going.nic_row(0), "next_tx_id", 32_767)
    set_cell(going.state.nics, going.nic_row(1), "next_rx_id", 65_535)
    going.to(1)
    assert going.sender("id") == 32_767
    going.to(10 * US + 1)
    assert going.sender("id", 1) == 1
    going.to(11 * US)
    assert cell(going.state.nics, going.nic_row(1), "next_rx_id") == 32_770
