"""Limits, trimming, NACKs, ECN and priorities at a switch, with every figure worked out by hand.

A full data packet is charged 4184 B, a trimmed one 46 (its 44 rounded up), an ACK 60. The packet in service counts.
A NIC's first frame starts READY = 85,845 ps after the post and takes 84,040; an ACK is held for 66,371.
"""

from __future__ import annotations

import pytest
from engine_cases import FRAME, HOLD, MS, READY, US, Run, model, nic, one_rack, send, switch, two_tiers

from distsim.state import tables as t

pytestmark = pytest.mark.core


# ---- tail drop -------------------------------------------------------------------------------------------------------
def two_to_one(packets: int, limit_bytes: int, **more: object) -> Run:
    """Two senders, one switch: from READY + 184,040 ps on a pair of packets arrives every 84,040 ps, and one leaves.

    With k pairs in and k - 1 packets gone, k + 1 packets are in the queue or in service. Six packets each have left the
    NICs before the first ACK is back, READY + 571,200 + 66,371 ps, so nothing else has a say.
    """
    ops = [send(host, 2, packets * 4096) for host in (0, 1)]
    return Run(model(one_rack(3), ops, switch=switch(limit_bytes, **more.pop("switch", {})), **more))     # type: ignore[arg-type]


@pytest.mark.parametrize("limit_bytes, dropped", [
    # Pair k finds k - 1 packets: its first packet is the k-th, its second the (k + 1)-th. With room for four (16,736 B)
    # the second of pair 3 is the fourth, and from pair 4 on the second does not fit: three of six pairs.
    (4 * 4184, 3),
    # One byte less: room for three; the second of pairs 3 to 6 does not fit.
    (4 * 4184 - 1, 4),
    (7 * 4184, 0), (7 * 4184 - 1, 1), (4184, 6), (4183, 12),
])
def test_a_full_queue_drops_what_comes(limit_bytes, dropped):
    going = two_to_one(6, limit_bytes).to(READY + 650_000)
    assert going.clock("dropped") == going.port("RackSwitch-0", "NIC-2", "tx_drops") == dropped
    assert going.counter(0, "write_pkts_sent") == going.counter(1, "write_pkts_sent") == 6


def test_a_dropped_packet_comes_again_after_its_timeout():
    # Of the second sender packets 4, 5, 6 are lost; the last one's timer started at READY + 6 * 84,040 ps.
    going = two_to_one(6, 4 * 4184).end()
    assert going.done_ps(1) == READY + 6 * FRAME + 150 * US + 571_200 + HOLD
    assert [going.counter(host, "num_rto") for host in (0, 1)] == [0, 3]
    assert going.clock("dropped") == 3


@pytest.mark.parametrize("limit_bytes, lost", [(60, 0), (59, 1)])
def test_an_ack_is_charged_60_bytes(limit_bytes, lost):
    going = Run(model(one_rack(2), [send(0, 1, 4096)]))
    going.set_limit("RackSwitch-0", limit_bytes, "control")
    assert going.to(100 * US).clock("dropped") == lost


@pytest.mark.parametrize("size, limit_bytes, lost", [(0, 88, 0), (0, 87, 1), (4096, 4184, 0), (4096, 4183, 1)])
def test_a_data_packet_is_charged_its_ip_size(size, limit_bytes, lost):
    going = Run(model(one_rack(2), [send(0, 1, size)], switch=switch(limit_bytes)))
    assert going.to(100 * US).clock("dropped") == lost


# ---- trimming --------------------------------------------------------------------------------------------------------
TRIMMABLE = {"TrimmingEnabled": True}


def trim_first_packet(device: str) -> Run:
    """One packet over two tiers that `device` trims."""
    going = Run(model(two_tiers(), [send(0, 1, 4096)], nic=nic(TRIMMABLE), switch=switch(300_000, trimming=True)))
    going.set_limit(device, 0)
    return going


@pytest.mark.parametrize("device, arrival, code", [
    # From READY on: 84,040 + 100,000 as a whole, then 62 B (1,240 ps) over three links of 500, 500 and 100 ns.
    ("RackSwitch-0", 84_040 + 100_000 + 3 * 1_240 + 1_100_000, 1),
    # At the spine's port to the rack: whole over two links.
    ("SpineSwitch-0", 2 * 84_040 + 600_000 + 2 * 1_240 + 600_000, 1),
    # At the port to the NIC: whole over three links, and the code for the last hop.
    ("RackSwitch-1", 3 * 84_040 + 1_100_000 + 1_240 + 100_000, 2),
])
def test_a_trimmed_packet_is_answered_by_a_nack_and_sent_again_at_once(device, arrival, code):
    arrival += READY
    going = trim_first_packet(device)
    going.to(arrival)
    assert going.counter(1, "nack_pkts_sent") == 0
    going.to(arrival + 1)
    assert going.counter(1, "nack_pkts_sent") == going.counter(1, "write_pkts_rcvd") == going.clock("trimmed") == 1
    assert going.under_way("NIC-1", "RackSwitch-1", "ptype", "code", "psn", "size_bytes", "role") == [
        (t.NACK, code, 0, 62, t.CONTROL)]
    going.set_limit(device, 300_000)
    # The NACK is not held and takes 4 * 1,240 + 1,200,000 ps; the copy then goes at once, as nothing is fetched again,
    # and takes a whole trip.
    back = arrival + 4 * 1_240 + 1_200_000
    going.to(back + 1)
    assert going.under_way("NIC-0", "RackSwitch-0", "role", "psn", "size_bytes") == [(t.TRIMMABLE_RTX, 0, 4202)]
    assert going.end().done_ps() == back + 2_742_400 + HOLD
    assert [going.counter(0, name) for name in ("nack_pkts_rcvd", "num_rtx", "num_rto")] == [1, 1, 0]
    assert going.counter(1, "ack_pkts_sent") == 1 + 1       # no ACK for the trimmed packet; one for the copy's probe
    assert going.counter(1, "num_dup_events_on_nic") == 0


def test_a_trim_nack_cuts_the_window_by_the_packet():
    # Its sample (from the end of serialization) is 3 * 1,240 + 4 * 1,240 + 2,400,000 = 2,408,680: the base RTT becomes
    # 3,432,680 and the maximum 1.5 * 400 Gb/s of that, 257,451 B, which the window is lowered to; then one packet less.
    going = trim_first_packet("RackSwitch-0")
    going.to(READY + 84_040 + 2_408_680 + 1)
    assert going.group("base_rtt_ps") == 3_432_680
    assert going.group("max_window_bytes") == 257_451
    assert going.group("cwnd_bytes") == 257_451 - 4184
    assert going.group("average_ps") == 0.25 * 6 * US       # InitialBaseRTT, folded in once
    assert going.group("qa_trigger") == 1 and going.counter(0, "num_quick_adapt") == 0


def test_trims_of_a_full_queue():
    # As with tail drop the second packets of pairs 4 and 5 do not fit. The first trimmed one is sent (1,240 ps) just
    # when pair 5 comes in, so the next data packet is still on the wire when pair 6 does: neither of that pair fits. In
    # the end every trim has drawn a NACK and a copy, and no timer has expired.
    going = two_to_one(6, 4 * 4184, nic=nic(TRIMMABLE), switch={"trimming": True})
    going.to(READY + 650_000)
    assert going.clock("trimmed") == going.port("RackSwitch-0", "NIC-2", "trims") == 4 and going.clock("dropped") == 0
    going.end()
    trims = going.clock("trimmed")
    assert trims >= 4 and going.clock("dropped") == 0
    assert going.counter(2, "nack_pkts_sent") == trims
    assert sum(going.counter(host, "num_rtx") for host in (0, 1)) == trims
    assert sum(going.counter(host, "num_rto") for host in (0, 1)) == 0


@pytest.mark.parametrize("limit_bytes, dropped", [(46, 0), (45, 1)])
def test_a_trimmed_packet_is_charged_46_bytes_to_its_own_queue(limit_bytes, dropped):
    going = trim_first_packet("RackSwitch-0")
    going.set_limit("RackSwitch-0", limit_bytes, "trimmed")
    going.to(READY + 200_000)
    assert (going.clock("trimmed"), going.clock("dropped")) == (1, dropped)


@pytest.mark.parametrize("pds, first, again", [
    # (what becomes of the first transmission, what becomes of the next) at a limit of 4183 B, one less than a packet.
    ({"TrimmingEnabled": True}, "trimmed", "through"),
    ({"TrimmingEnabled": True, "UseDistinctDSCPForRetransmits": False}, "trimmed", "trimmed"),
    ({"TrimmingEnabled": False}, "dropped", "through"),
    ({"TrimmingEnabled": False, "UseDistinctDSCPForRetransmits": False}, "dropped", "dropped"),
])
def test_a_trimmable_retransmission_may_use_one_and_a_half_limits(pds, first, again):
    going = Run(model(one_rack(2), [send(0, 1, 4096)], nic=nic(pds), switch=switch(4183, trimming=True)))
    going.to(READY + 184_041)
    assert going.clock(first) == 1 and going.clock("trimmed") + going.clock("dropped") == 1
    # A NACK is back after READY + 84,040 + 100,000 + 3 * (1,240 + 100,000) = READY + 487,760 ps.
    second = READY + (487_760 if first == "trimmed" else FRAME + 150 * US)
    going.to(second + 184_041)
    assert going.clock("trimmed") + going.clock("dropped") == (1 if again == "through" else 2)
    if again == "through":
        assert going.end().done_ps() == second + 571_200 + HOLD
    else:
        assert going.clock(again) == 2


def test_one_and_a_half_limits_and_no_more():
    # 1.5 * 2789 = 4183 B (rounded down): a copy does not fit; 1.5 * 2790 = 4185: it does.
    for limit_bytes, through in ((2789, False), (2790, True)):
        made = model(one_rack(2), [send(0, 1, 4096)], nic=nic(TRIMMABLE), switch=switch(limit_bytes, trimming=True))
        going = Run(made).to(1 * MS)
        assert (going.clock("sends_done") == 1) == through


def test_without_trimming_at_the_switch_trimmable_packets_are_dropped():
    going = Run(model(one_rack(2), [send(0, 1, 4096)], nic=nic(TRIMMABLE), switch=switch(1)))
    going.to(1 * US)
    assert (going.clock("trimmed"), going.clock("dropped")) == (0, 1)


# ---- ECN -------------------------------------------------------------------------------------------------------------
def steps(threshold: float, weight: float = 1.0) -> dict[str, object]:
    return {"EwmaWeight": weight, "MinThreshold": threshold, "MaxThreshold": threshold}


@pytest.mark.parametrize("threshold, marks", [
    # Limit ten packets, so a threshold of 0.25 is 10,460 B, two and a half packets. The queue's length is taken at
    # admission (weight 1): the packet that starts with pair k (before the pair comes in) sees what the second packet of
    # pair k - 1 made it, k packets; the very first sees 1; when all are in, seven. So 4 of the starts with pairs 1 to 6
    # (3, 4, 5, 6) and the 6 after them are marked.
    (0.25, 10), (0.15, 11), (0.35, 9), (0.65, 6), (0.75, 0), (0.05, 12),
    (0.7, 6),               # exactly seven packets: at the upper threshold everything is marked
])
def test_marks_at_the_start_of_transmission_from_the_length_at_admission(threshold, marks):
    going = two_to_one(6, 41_840, switch={"ecn": steps(threshold)}).end()
    assert going.port("RackSwitch-0", "NIC-2", "ecn_marks") == marks
    assert going.counter(2, "m_marked_pkts_sent") == marks              # each is echoed by its ACK
    assert sum(going.counter(host, "m_marked_pkts_rcvd") for host in (0, 1)) == marks


def test_no_marks_when_ecn_is_off():
    assert two_to_one(6, 41_840, switch={"ecn": {**steps(0.0), "EnableEcn": False}}).end().port(
        "RackSwitch-0", "NIC-2", "ecn_marks") == 0


def test_the_average_moves_at_admission_only():
    # Weight 0.1: 0.1 * 4184 = 418.4, then 0.9 * 418.4 + 0.1 * 8368 = 1213.36 with the second packet of the first pair;
    # 0.9 * 1213.36 + 836.8 = 1928.824 and 0.9 * 1928.824 + 1255.2 = 2991.1416 with the second pair. Then it stays.
    going = two_to_one(2, 41_840)
    for at, average in ((184_041, 1213.36), (268_081, 2991.1416), (1 * MS, 2991.1416)):
        going.to(READY + at)
        assert going.port("RackSwitch-0", "NIC-2", "ecn_average") == pytest.approx(average, rel=1e-12)


def test_retransmissions_and_control_packets_are_not_in_the_data_average():
    going = Run(model(one_rack(2), [send(0, 1, 4096)], switch=switch(ecn=steps(1.0)))).end()
    assert going.port("RackSwitch-0", "NIC-1", "ecn_average") == 4184
    assert going.port("RackSwitch-0", "NIC-0", "ecn_average") == 0      # ACKs only


# ---- priorities ------------------------------------------------------------------------------------------------------
def test_a_trimmed_packet_overtakes_the_data_that_waits():
    # Room for four packets; the second packet of pair 4 (at 184,040 + 3 * 84,040 = 436,160 ps after READY) is trimmed
    # while a frame that started then is on the wire until 520,200. It goes next: at the receiver after 1,240 + 100,000
    # more; three data packets that came before it follow.
    going = two_to_one(6, 4 * 4184, nic=nic(TRIMMABLE), switch={"trimming": True})
    going.to(READY + 436_161)
    assert going.clock("trimmed") == 1 and going.port("RackSwitch-0", "NIC-2", "queued") == 4
    going.to(READY + 520_200 + 101_240)
    assert going.counter(2, "nack_pkts_sent") == 0
    going.to(READY + 520_200 + 101_241)
    assert going.counter(2, "nack_pkts_sent") == 1
    assert going.counter(2, "write_pkts_rcvd") == 4 + 1     # four whole ones before it, of the eight that came in


def test_control_packets_overtake_data():
    # NIC-1 sends to NIC-0 for long; NIC-0's one packet to NIC-1 is there at READY + 368,080 = 453,925 ps and draws an
    # ACK that is held until 520,296 and then waits for one frame at most: the sixth, 506,045 (READY + 5 * 84,040) to
    # 590,085.
    going = Run(model(one_rack(2), [send(0, 1, 4096), send(1, 0, 30 * 4096)]))
    going.to(453_925 + HOLD)
    assert going.port("NIC-1", "RackSwitch-0", "queued") == 0
    assert going.to(453_925 + HOLD + 1).counter(1, "ack_pkts_sent") == 1
    assert going.port("NIC-1", "RackSwitch-0", "queued") == 1
    going.to(590_086)
    assert going.port("NIC-1", "RackSwitch-0", "free_ps") == 590_085 + 1_560
    # At the switch it meets NIC-1's own data on its port to NIC-0: the frame that arrived before it has just started to
    # go on when the ACK is in, 1,560 ps later; the ACK waits for the rest of that frame.
    ack_in = 590_085 + 1_560 + 100_000
    sixth_out = 590_085 + 100_000 + FRAME
    assert ack_in < sixth_out
    assert going.end().done_ps(0) == sixth_out + 1_560 + 100_000
