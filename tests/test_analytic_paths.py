"""Closed forms of completion times and rates on idle fabrics and bottlenecks, to the picosecond.

At 400 Gb/s a byte takes 20 ps. On the wire a data packet is its payload + 106 B, an ACK 78 B, a probe 62 B. Store and
forward: every link costs the whole frame's serialization and its delay (100 ns at a NIC, 500 ns between switches).

A message's first packet is ready READY = 85,845 ps after the post: doorbell 15,000, read request 1,555, the payload's
8 * 546 B on PCIe 69,290; the next ones every 69,290 ps, so the port (84,040 ps a frame) never waits for one. The ACK of
a full packet is held for 66,371 ps. A message is complete at its sender when the last ACK has come back.
"""

from __future__ import annotations

import pytest
from engine_cases import (
    FETCH,
    FRAME,
    GBPS,
    HOLD,
    NS,
    READ,
    READY,
    US,
    Run,
    hold_ps,
    lanes_ps,
    model,
    nic,
    one_rack,
    ready_ps,
    run,
    send,
    three_tiers,
    two_tiers,
)

pytestmark = pytest.mark.core

# Payload of one packet, its bytes on the wire, and what the two hosts take: ready after the post, ACK held.
# Nothing to fetch: 15,000, and 88 B at 3125 / 197 ps. 1 B: 98 B up, 35 B down (555.2), 89 B held. 4096 B: see above.
FRAMES = [(0, 106, 15_000 + 1_396), (1, 107, 15_000 + 1_555 + 556 + 1_412), (4096, 4202, 85_845 + 66_371)]


@pytest.mark.parametrize("size, wire, hosts", FRAMES)
def test_one_packet_inside_a_rack(size, wire, hosts):
    # Two links there, two back: 2 * (wire + 78) * 20 ps + 4 * 100 ns. 4096 B: 168,080 + 3,120 + 400,000 = 571,200 ps.
    assert ready_ps(size) + hold_ps(size) == hosts
    assert run(one_rack(), [send(0, 1, size)]).end().done_ps() == 2 * (wire + 78) * 20 + 400_000 + hosts


@pytest.mark.parametrize("size, wire, hosts", FRAMES)
def test_one_packet_over_two_tiers(size, wire, hosts):
    # Four links each way; delays 100 + 500 + 500 + 100 = 1200 ns each way. 4096 B: 336,160 + 6,240 + 2,400,000 ps.
    expected = 4 * (wire + 78) * 20 + 2_400_000
    assert size != 4096 or expected == 2_742_400
    assert run(two_tiers(), [send(0, 1, size)]).end().done_ps() == expected + hosts


@pytest.mark.parametrize("size, wire, hosts", FRAMES)
def test_one_packet_over_three_tiers(size, wire, hosts):
    # Six links each way; delays 100 + 4 * 500 + 100 = 2200 ns each way. 4096 B: 504,240 + 9,360 + 4,400,000 ps.
    expected = 6 * (wire + 78) * 20 + 4_400_000
    assert size != 4096 or expected == 4_913_600
    assert run(three_tiers(), [send(0, 1, size)]).end().done_ps() == expected + hosts


def test_the_receiver_has_the_packet_half_a_round_trip_earlier():
    # Last bit in at 85,845 + 4 * 84,040 + 1,200,000 = 1,622,005 ps: not a picosecond earlier.
    going = run(two_tiers(), [send(0, 1, 4096)])
    assert going.to(1_622_005).clock("recvs_done") == 0
    assert going.to(1_622_006).clock("recvs_done") == 1


def test_the_port_starts_when_the_payload_is_here():
    # 15,000 from the doorbell to the transmit process; the read request is up at 16,555, the payload down at 85,845.
    going = run(two_tiers(), [send(0, 1, 4096)])
    assert going.to(15_000).sender("next_psn") == 0
    assert going.to(15_001).sender("next_psn") == 1
    assert going.to(85_845).port("NIC-0", "RackSwitch-0", "tx_packets") == 0
    assert going.to(85_846).port("NIC-0", "RackSwitch-0", "tx_packets") == 1
    assert going.slot(0, "end_ps") == 85_845 + 84_040


def test_an_ack_is_held_for_the_time_of_its_packet_on_pcie():
    going = run(two_tiers(), [send(0, 1, 4096)])
    assert going.to(1_622_005 + 66_371).port("NIC-1", "RackSwitch-1", "tx_packets") == 0
    assert going.counter(1, "ack_pkts_sent") == 0
    assert going.to(1_622_005 + 66_372).port("NIC-1", "RackSwitch-1", "tx_packets") == 1
    assert going.counter(1, "ack_pkts_sent") == 1
    assert going.under_way("NIC-1", "RackSwitch-1", "size_bytes", "service", "code") == [(78, 0, 0)]


def test_a_message_posted_later_takes_as_long():
    going = run(two_tiers(), [send(0, 1, 4096, 7 * US + 1)], start_ps=3).end()
    assert going.started_ps(0) == 7_000_004
    assert going.done_ps() == 7_000_004 + READY + 2_742_400 + HOLD


@pytest.mark.parametrize("spines", [1, 2, 8])
def test_a_mebibyte_on_an_idle_fabric(spines):
    # 1 MiB is 256 packets of 4202 B: 1,075,712 B, 21,514,240 ps of serialization at 400 Gb/s. The sender also sends one
    # probe (62 B, 1,240 ps) ahead of the data that waits when the first ACK is back. Neither the window (never below 61
    # packets or 5.1 us; a round trip is 2.8 us) nor the egress pool (54 packets, filled again at each ACK) holds
    # anything back. So the last packet leaves at 85,845 + 21,515,480 ps, needs 3 * 84,040 + 1,200,000 more to arrive,
    # and its ACK 66,371 + 4 * 1,560 + 1,200,000.
    going = run(two_tiers(spines=spines), [send(0, 1, 1 << 20)]).end()
    assert going.done_ps() == 21_601_325 + 252_120 + 1_200_000 + 66_371 + 6_240 + 1_200_000 == 24_326_056
    assert going.port("NIC-0", "RackSwitch-0", "tx_packets") == 256 + 1
    assert going.port("NIC-0", "RackSwitch-0", "tx_bytes") == 1_075_712 + 62
    assert going.port("RackSwitch-1", "NIC-1", "tx_bytes") == 1_075_712 + 62
    assert going.port("NIC-1", "RackSwitch-1", "tx_bytes") == (256 + 1) * 78
    assert going.counter(0, "write_pkts_sent") == going.counter(1, "write_pkts_rcvd") == 256
    assert going.counter(0, "num_rtx") == going.counter(0, "num_rto") == going.clock("dropped") == 0


def test_a_mebibyte_leaves_the_nic_in_one_piece():
    # The 256th packet starts at 85,845 + 255 * 84,040 + 1,240 ps: from the first to then the port never idles.
    going = run(two_tiers(), [send(0, 1, 1 << 20)])
    start = READY + 255 * 84_040 + 1_240
    assert going.to(start).port("NIC-0", "RackSwitch-0", "tx_packets") == 255 + 1
    assert going.to(start + 1).port("NIC-0", "RackSwitch-0", "tx_packets") == 256 + 1
    assert going.port("NIC-0", "RackSwitch-0", "free_ps") == 21_601_325


# ---- rates that are not whole picoseconds a byte ---------------------------------------------------------------------
@pytest.mark.parametrize("rate_bps, data, ack", [
    # 330 Gb/s: 24.2424.. ps a byte; 4202 B take 101,866.67 ps, 78 B 1,890.9 ps: rounded up once a frame.
    (330 * GBPS, 101_867, 1_891),
    # 3.2 Tb/s: 2.5 ps a byte; 10,505 and 195 ps.
    (3_200 * GBPS, 10_505, 195),
    # 100 Gb/s: 80 ps a byte.
    (100 * GBPS, 336_160, 6_240),
    # 99,999,999,999 bit/s: 80.0000000008 ps a byte; one picosecond more than at 100 Gb/s.
    (100 * GBPS - 1, 336_161, 6_241),
])
def test_serialization_rounds_up_once_a_frame(rate_bps, data, ack):
    going = run(one_rack(rate_bps=rate_bps), [send(0, 1, 4096)]).end()
    assert going.done_ps() == READY + 2 * data + HOLD + 2 * ack + 4 * 100_000


def test_a_train_of_frames_rounds_each_of_them():
    # 60 packets at 330 Gb/s leave in 60 * 101,867 ps, 20 ps more than the 60 * 4202 B in one piece; the probe (62 B,
    # 1,503.03, so 1,504 ps) goes between them, as the first ACK is back after 85,845 + 607,516 + 66,371 ps.
    going = run(one_rack(rate_bps=330 * GBPS), [send(0, 1, 60 * 4096)]).end()
    assert going.port("NIC-0", "RackSwitch-0", "free_ps") == READY + 60 * 101_867 + 1_504
    assert going.done_ps() == READY + 60 * 101_867 + 1_504 + 101_867 + HOLD + 2 * 1_891 + 400_000


# ---- bottlenecks -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("senders", [2, 4, 7])
def test_an_incast_takes_at_least_the_bottleneck(senders):
    # All n * 25 packets cross one link. The first starts on it after its fetch, one frame and 100 ns, the last needs
    # 100 ns more, and its ACK 66,371 + 2 * (1,560 + 100,000) ps.
    going = run(one_rack(8), [send(host, 7, 25 * 4096) for host in range(senders)]).end()
    bottleneck = senders * 25 * 84_040
    floor = READY + 84_040 + 100_000 + bottleneck + 100_000 + HOLD + 2 * 101_560
    last = max(going.done_ps(number) for number in range(senders))
    assert going.clock("dropped") == 0                      # 175 packets fit in the switch: 358 do
    assert floor <= last <= floor + senders * 1_240         # the probes share the link
    assert going.port("RackSwitch-0", "NIC-7", "tx_packets") == senders * 26


@pytest.mark.parametrize("size", [1, 1000, 4096, 5000, 100_000, 1_000_000])
@pytest.mark.parametrize("messages", [1, 3])
def test_goodput_stays_below_the_link(size, messages):
    # 4096 B of payload in 4202 B: at most 389.9 Gb/s, or 0.3899.. bit/ps.
    going = run(one_rack(), [send(0, 1, size)] * messages).end()
    last = max(going.done_ps(number) for number in range(messages))
    assert messages * size * 8 * 4202 <= last * 0.4 * 4096
    assert round(400 * 4096 / 4202, 1) == 389.9


def test_goodput_comes_close_to_the_link():
    # 8 MiB: 2048 packets leave in 172,113,920 + 1,240 ps after the first fetch; then 84,040 + 400,000 + 3,120 ps and
    # the hold: 67,108,864 bits in 172,754,536 ps.
    going = run(one_rack(), [send(0, 1, 8 << 20)]).end()
    assert going.done_ps() == READY + 172_115_160 + 487_160 + HOLD == 172_754_536
    assert round((8 << 20) * 8 / going.done_ps() * 1000, 1) == 388.5


def test_a_slower_link_on_the_way_sets_the_pace():
    # 20 packets; the second link runs at 200 Gb/s: 168,080 ps a packet, back to back. First in at 85,845 + 184,040; the
    # last ACK takes 66,371 and twice 101,560 ps.
    fabric = one_rack()
    names = fabric.names
    slow = [row for row, link in enumerate(fabric.links) if names[link["dst"]] == "NIC-1"]
    fabric.links["rate_bps"][slow] = 200 * GBPS
    going = run(fabric, [send(0, 1, 20 * 4096)])
    going.to(READY + 20 * 84_040 + 1_240)
    assert going.port("NIC-0", "RackSwitch-0", "tx_packets") == 20 + 1      # the window does not hold them back
    assert going.port("NIC-0", "RackSwitch-0", "free_ps") == READY + 20 * 84_040 + 1_240
    probe = 62 * 40                                         # on the slow link, before the last packet
    assert going.end().done_ps() == READY + 184_040 + 20 * 168_080 + probe + 100_000 + HOLD + 2 * 101_560


# ---- sharing ---------------------------------------------------------------------------------------------------------
def sent_in_order(going: Run, frames: int) -> list[tuple[int, int]]:
    """(message, PSN) of each of NIC-0's first frames, looked at just after its start."""
    order = []
    for frame in range(frames):
        going.to(READY + frame * FRAME + 1)
        order.append(going.under_way("NIC-0", "RackSwitch-0", "cack", "psn")[-1])
    return order


def test_messages_of_a_group_take_turns():
    # Two messages A and B of 3 packets to one peer, posted together: one transmit process 15 ns later fetches A0 B0 A1
    # B1 A2 B2: A's last is the 5th frame, B's the 6th. Neither waits for an ACK. The probes go after all six (the first
    # ACK comes at 85,845 + 571,200 + 66,371 ps, the sixth frame ends at 85,845 + 504,240).
    going = run(one_rack(), [send(0, 1, 3 * 4096), send(0, 1, 3 * 4096)])
    assert sent_in_order(going, 6) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    going.end()
    for number, frames in ((0, 5), (1, 6)):
        assert going.done_ps(number) == READY + frames * 84_040 + 84_040 + HOLD + 3_120 + 400_000


def test_three_messages_of_a_group_take_turns():
    # B and C are posted before A's transmit process starts, which serves them too; C has two packets more.
    ops = [send(0, 1, 2 * 4096), send(0, 1, 2 * 4096, 14_998), send(0, 1, 4 * 4096, 14_999)]
    order = sent_in_order(Run(model(one_rack(), ops)), 8)
    assert order == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (2, 2), (2, 3)]


def test_a_message_posted_after_the_transmit_process_comes_after_what_it_fetched():
    # A's three packets are being fetched from 15,000 ps on, so B, posted a picosecond later, is behind them.
    ops = [send(0, 1, 3 * 4096), send(0, 1, 2 * 4096, 15_001)]
    assert sent_in_order(Run(model(one_rack(), ops)), 5) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def test_groups_take_turns():
    # To two peers: a group each, the same order: A0 B0 A1 B1 A2 B2.
    going = run(one_rack(), [send(0, 1, 3 * 4096), send(0, 2, 3 * 4096)])
    assert sent_in_order(going, 6) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    going.end()
    for number, frames in ((0, 5), (1, 6)):
        assert going.done_ps(number) == READY + frames * 84_040 + 84_040 + HOLD + 3_120 + 400_000


def test_a_window_of_one_packet_waits_for_every_ack():
    # One packet a round trip inside the rack: 571,200 ps and the hold; the first after the doorbell and its fetch, the
    # others after a fetch that the ACK before starts (1,555 + 69,290 ps; the probe is gone meanwhile). The first RTT
    # (end of serialization to ACK: 84,040 + 66,371 + 3,120 + 400,000 = 553,531) gives a base RTT of 1.578 us and a new
    # maximum, but the window itself starts at one packet and stays: NSCC is off here.
    attributes = {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 1, "NSCCEnable": False}
    going = run(one_rack(), [send(0, 1, 3 * 4096)], nic=nic(cc=attributes)).end()
    assert going.done_ps() == 15_000 + 3 * (READ + FETCH + 571_200 + HOLD)


def test_pass_through_ignores_the_window():
    attributes = {"OverrideUetSpecMaxCWind": True, "MaxCongestionWindow": 1, "PassThrough": True}
    going = run(one_rack(), [send(0, 1, 3 * 4096)], nic=nic(cc=attributes)).end()
    assert going.done_ps() == READY + 3 * 84_040 + 84_040 + HOLD + 3_120 + 400_000


def test_spraying_takes_its_ports_in_turn():
    # EntropyMaskBits 2, offset 65,534: ports 65,534, 65,535, 0, 1 and again, retransmissions aside.
    spraying = {"EntropyMaskBits": 2, "StartingPortOffset": 65_534}
    going = run(one_rack(), [send(0, 1, 6 * 4096)], nic=nic(spraying=spraying)).to(READY + 6 * 84_040)
    seen = [going.slot(psn, "entropy") for psn in range(6)]
    assert seen == [65_534, 65_535, 0, 1, 65_534, 65_535]


def test_other_segment_sizes_follow_the_same_rule():
    # RdmaDataMSS 1000: 5 packets of 1000 B and one of 1 B. A fetch is 2 transfers, 1068 B (16,941.6 ps), a frame 22,120
    # ps: the 5 leave back to back, the last (2,140 ps) behind them. Each is in 100,000 ps, a frame and 100,000 ps
    # later. The ACK of the fifth is held for 1088 B (17,258.9 ps); the sixth's, held for 89 B only, waits behind it.
    going = run(one_rack(), [send(0, 1, 5001)], nic=nic(mss=1000)).end()
    assert (lanes_ps(1068), lanes_ps(1088)) == (16_942, 17_259)
    fifth_in = 15_000 + 1_555 + 16_942 + 5 * 22_120 + 100 * NS + 22_120 + 100 * NS
    assert going.done_ps() == fifth_in + 17_259 + 1_560 + 2 * 101_560
    assert going.counter(0, "write_pkts_sent") == 6
