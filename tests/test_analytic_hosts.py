"""What a NIC's host and buffers do to its packets: egress and receive pools, PCIe, penalty, PFC; to the picosecond.

A NIC-side PCIe of one lane takes 8000 / 31.52 = 50,000 / 197 ps a byte: a write of 4096 B (4368 B on the lane)
1,108,630 ps, a read request of 98 B 24,874 ps, and 4184 B, the hold of an ACK, 1,061,929 ps.
"""

from __future__ import annotations

import pytest
from engine_cases import FRAME, READY, Run, lanes_ps, model, nic, one_rack, run, send, switch, two_tiers

pytestmark = pytest.mark.core

WRITE = 1_108_630
START = 15_000 + 24_874 + 69_290             # the first frame of a sender with one lane
ARRIVAL = START + 2 * FRAME + 200_000        # there, in a rack: 477,244


# ---- egress pool -----------------------------------------------------------------------------------------------------
def test_the_egress_pool_holds_54_packets_and_is_filled_again_at_half():
    # 230,400 B hold 54 * 4202 = 226,908. Half of it, 115,200 B, is reached when 27 have gone (113,454 are left), at
    # 85,845 + 27 * 84,040 ps, before the first ACK is back (2,894,616); 27 more fit, in the window (450,000 B) too.
    going = run(two_tiers(), [send(0, 1, 120 * 4096)])
    assert going.to(15_001).sender("next_psn") == 54 and going.nic(0, "egress_bytes") == 226_908
    half = READY + 27 * FRAME
    assert going.to(half).sender("next_psn") == 54 and going.nic(0, "egress_bytes") == 226_908 - 26 * 4202
    assert going.to(half + 1).sender("next_psn") == 81 and going.nic(0, "egress_bytes") == 226_908
    assert going.group("inflight_bytes") == 81 * 4184


def test_an_ack_fills_the_egress_pool_before_it_is_at_half():
    # In a rack the first ACK is back at 723,416 ps, when seven packets have gone (85,845 + 7 * 84,040 = 674,125), so
    # seven more fit in the pool. No window here.
    going = run(one_rack(2), [send(0, 1, 120 * 4096)], nic=nic(cc={"PassThrough": True}))
    assert going.to(723_416).sender("next_psn") == 54
    assert going.to(723_417).sender("next_psn") == 61


# ---- a slow host at the sender, scheduling ---------------------------------------------------------------------------
def test_a_host_slower_than_the_wire_sets_the_pace():
    # Eight lanes of the host: 252.16 Gb/s, 4368 B in 138,578.7 ps; a packet as often. In a rack the last one is
    # acknowledged 571,200 + 66,371 ps after it starts. The read requests and the hold are the NIC's side.
    going = run(one_rack(2), [send(0, 1, 5 * 4096)], nic=nic(host_lanes=8))
    for k in range(5):
        start = 15_000 + 1_555 + (k + 1) * 138_579
        assert going.to(start).port("NIC-0", "RackSwitch-0", "tx_packets") == k
        assert going.to(start + 1).port("NIC-0", "RackSwitch-0", "tx_packets") == k + 1
    assert going.end().done_ps() == 15_000 + 1_555 + 5 * 138_579 + 571_200 + 66_371


@pytest.mark.parametrize("egress, second", [
    ({}, 78), ({"QueueSchedulingType": "RoundRobin"}, 1106),
    ({"QueueSchedulingType": "WeightedRoundRobin"}, 78),         # weights 1 and 5
    ({"QueueSchedulingType": "WeightedRoundRobin", "WRRQueueWeights": [1, 1, 0, 0, 0, 0, 0, 0]}, 1106),
])
def test_the_class_that_sends_next(egress, second):
    # RdmaDataMSS 1000: frames of 22,120 ps from 15,000 + 1,555 + 16,942 = 33,497 ps on. NIC-0's 5001 B draw ACKs, the
    # k-th of five released at 33,497 + (k + 1) * 22,120 + 200,000 + 17,259 ps and the sixth's with the fifth's, at
    # 383,476. NIC-1, which sends for long, puts each of the first four (from 298,937 on) between two frames, so its
    # 16th frame ends at 33,497 + 16 * 22,120 + 4 * 1,560 = 393,657. Two ACKs wait: one goes, then the other or data.
    assert lanes_ps(1068) == 16_942 and lanes_ps(1088) == 17_259
    going = run(one_rack(2), [send(0, 1, 5001), send(1, 0, 60_000)], nic=nic(mss=1000, egress=egress))
    sizes = [size for size, in going.to(393_658 + 1_560).under_way("NIC-1", "RackSwitch-0", "size_bytes")]
    assert sizes[-3:] == [1106, 78, second]


# ---- prefetch buffer -------------------------------------------------------------------------------------------------
def test_the_prefetch_buffer_is_reserved_at_the_fetch_and_the_pool_at_the_commitment():
    # 262,144 B hold 62 * 4202 = 260,524. The first payload is here at 85,845: it is committed and its space taken by
    # the 63rd fetch. It goes at once, so one packet takes as long as without.
    going = run(one_rack(2), [send(0, 1, 100 * 4096)], nic=nic({"PrefetchBufferEnable": True}))
    assert going.to(15_001).sender("next_psn") == 62
    assert (going.nic(0, "prefetch_bytes"), going.nic(0, "egress_bytes")) == (260_524, 0)
    assert going.group("inflight_bytes") == 0
    going.to(READY + 1)
    assert going.sender("next_psn") == 63
    assert (going.nic(0, "prefetch_bytes"), going.nic(0, "egress_bytes")) == (260_524, 4202)
    assert going.group("inflight_bytes") == 4184
    assert going.port("NIC-0", "RackSwitch-0", "free_ps") == READY + FRAME
    single = run(one_rack(2), [send(0, 1, 4096)], nic=nic({"PrefetchBufferEnable": True})).end()
    assert single.done_ps() == 723_416


# ---- a slow host at the receiver -------------------------------------------------------------------------------------
def slow_receiver(packets: int, **more: object) -> Run:
    """A message over one PCIe lane at the NICs' ends, no window.

    Packet k is there at ARRIVAL + k * 84,040 ps; from k = 20 on 1,240 ps later, as the first ACK (back at START +
    368,080 + 1,061,929 + 203,120 = START + 1,633,129, while frame 19 is on the wire) draws a probe. The write buffer
    has room for the headers of 58 writes (58 * 272 = 15,776 of 16,000 B): packet j's write is taken when packet j -
    58's has gone, at ARRIVAL + (j - 57) * 1,108,630 ps, later than its own arrival from j = 62 on.
    """
    pool = more.pop("pool", {"TotalBufferSize": "100KB"})
    kind = nic(cc={"PassThrough": True}, nic_lanes=1, ingress=pool)      # type: ignore[arg-type]
    return Run(model(one_rack(2), [send(0, 1, packets * 4096)], nic=kind, **more))      # type: ignore[arg-type]


def there(k: int) -> int:
    """When packet k >= 20 is there."""
    return ARRIVAL + k * FRAME + 1_240


def test_received_data_is_charged_until_pcie_takes_it():
    going = slow_receiver(80)
    assert going.to(there(62)).nic(1, "ingress_bytes") == 0
    for k, waiting in ((62, 1), (63, 2), (64, 3), (65, 4)):
        assert going.to(there(k) + 1).nic(1, "ingress_bytes") == waiting * 4184
    taken = ARRIVAL + 5 * WRITE              # packet 62's
    assert there(65) < taken < there(66)
    assert going.to(taken).nic(1, "ingress_bytes") == 4 * 4184
    assert going.to(taken + 1).nic(1, "ingress_bytes") == 3 * 4184


@pytest.mark.parametrize("k, hold, ticks, penalty", [
    # Held for what waits and the packet itself; reported in steps of 128 ns. The penalty is 0 below 22,500 B (a quarter
    # of the pool of 90,000), then 127 * (bytes - 22,500) / 45,000.
    (61, 1_061_929, 8, 0), (62, 1_061_929, 8, 0), (63, 2_123_858, 16, 0), (64, 3_185_787, 24, 0),
    (65, 4_247_716, 33, 0), (66, 4_247_716, 33, 0), (67, 5_309_645, 41, 0),
    (68, 6_371_574, 49, 7),                  # 25,104 B: 7.35
])
def test_an_ack_is_held_for_what_waits_and_says_so(k, hold, ticks, penalty):
    going = slow_receiver(80)
    sent = there(k) + hold
    acks = going.to(sent).under_way("NIC-1", "RackSwitch-0", "ptype", "psn")
    assert (1, k) not in acks
    acks = going.to(sent + 1).under_way("NIC-1", "RackSwitch-0", "ptype", "psn", "service", "code")
    assert acks[-1] == (1, k, ticks, penalty)


def test_the_service_time_is_taken_off_the_round_trip():
    # Packet 0: 84,040 + 1,061,929 + 3,120 + 400,000 from the end of its serialization, less 8 * 128,000.
    going = slow_receiver(80).to(ARRIVAL + 1_061_929 + 2 * 101_560 + 1)
    assert going.counter(0, "ack_samples") == 1
    assert going.counter(0, "rtt_sum") == 84_040 + 1_061_929 + 3_120 + 400_000 - 1_024_000


def test_a_full_receive_pool_drops():
    # 18,000 B hold four packets: 67 finds 63 to 66 waiting.
    going = slow_receiver(80, pool={"TotalBufferSize": "20KB"})
    assert going.to(there(67)).counter(1, "rx_drops") == 0
    assert going.to(there(67) + 1).counter(1, "rx_drops") == 1
    assert going.clock("dropped") == 1 and going.counter(1, "write_pkts_rcvd") == 67


# ---- PFC -------------------------------------------------------------------------------------------------------------
def test_a_nic_pauses_its_switch_at_xoff_and_resumes_it_at_xon():
    # Xoff 72,000 B: reached with the 18th packet in the pool; packet k finds k - 58 less the writes that have gone: 81
    # is the first to find 17 (81 * 84,040 is 6.1 writes). The frame (64 B, 1,280 ps) goes at once and is at the switch
    # 101,280 ps later; the switch has started 84 by then (184,040 ps before its arrival), not 85.
    # Xon 36,000 B: eight packets (33,472), that is when 76 has been taken, 19 writes after the first arrival, before
    # the refresh (half of 65,535 * 1,280 + 100,000 ps). 85 then starts at the switch 101,280 ps later.
    pool = {"TotalBufferSize": "100KB", "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0]}
    going = slow_receiver(100, pool=pool, shared=True)
    ends = ("NIC-1", "RackSwitch-0", 0)
    assert going.to(there(81)).pfc(*ends, "xoff_tx") == 0
    assert going.nic(1, "ingress_bytes") == 17 * 4184
    assert going.to(there(81) + 1).pfc(*ends, "xoff_tx") == 1
    assert going.to(there(81) + 101_281).pfc("RackSwitch-0", "NIC-1", 0, "xoff_rx") == 1
    assert going.pfc("RackSwitch-0", "NIC-1", 0, "pause_end_ps") == there(81) + 101_280 + 65_535 * 1_280 + 100_000
    resume = ARRIVAL + 19 * WRITE
    assert going.to(resume).pfc(*ends, "xon_tx") == 0
    assert going.counter(1, "write_pkts_rcvd") == 85 and going.nic(1, "ingress_bytes") == 9 * 4184
    assert going.to(resume + 1).pfc(*ends, "xon_tx") == 1
    again = resume + 101_280 + FRAME + 100_000
    assert going.to(again).counter(1, "write_pkts_rcvd") == 85
    assert going.to(again + 1).counter(1, "write_pkts_rcvd") == 86
    assert going.end().counter(1, "rx_drops") == 0 and going.clock("sends_done") == 1


def test_a_switch_pauses_its_nics_and_they_wait():
    # NIC-0 and NIC-1 to NIC-2, one rack. From T = READY + 184,040 a pair comes every 84,040 ps and one packet goes,
    # from NIC-0 and NIC-1 in turn. Pair k finds ceil(k / 2) of NIC-1's there: k = 7 makes five, above an Xoff of
    # four, and draws a pause (1,280 + 100,000 ps) that NIC-1 has at T + 689,560, READY + 873,600: its frames 0 to 10
    # have started (9 at READY + 757,600, as a probe went before it; 10 at 841,640), 11 has not.
    # At the switch NIC-1's 8, 9 and 10 are charged to the headroom, and releases are taken off it first. NIC-1's 3 has
    # gone at T + 672,320, just before its 8 comes: four left in the pool. 4 (at 842,880, after two probes of 1,240 ps),
    # 5 (1,010,960) and 6 (1,179,040) empty the headroom; 7 (1,347,120) leaves three in the pool, and 8, which had come
    # before NIC-0's 8, two at 1,431,160: Xon.
    kind = switch(EnablePFC=[1, 0, 0, 0, 0, 0, 0, 0], StaticPoolXoffThreshold="16736B", StaticPoolXonThreshold="8368B")
    going = Run(model(one_rack(3), [send(host, 2, 100 * 4096) for host in (0, 1)], switch=kind, shared=True))
    first = READY + 184_040
    down, up = ("RackSwitch-0", "NIC-1"), ("NIC-1", "RackSwitch-0")
    assert going.to(first + 588_280).pfc(*down, 0, "xoff_tx") == 0
    assert going.to(first + 588_281).pfc(*down, 0, "xoff_tx") == 1
    assert going.to(first + 689_560).pfc(*up, 0, "xoff_rx") == 0
    assert going.to(first + 689_561).pfc(*up, 0, "xoff_rx") == 1
    assert going.pfc(*up, 0, "pause_end_ps") == first + 689_560 + 65_535 * 64 * 20 + 100_000
    resumed = first + 1_431_160 + 101_280
    assert going.to(first + 1_431_160).pfc(*down, 0, "xon_tx") == 0
    assert going.to(first + 1_431_161).pfc(*down, 0, "xon_tx") == 1
    assert going.to(resumed).port(*up, "tx_packets") == 11 + 1
    assert going.to(resumed + 1).port(*up, "tx_packets") == 12 + 1
    assert [going.pfc(*up, 0, name) for name in ("xon_rx", "xoff_ps", "occupied_ps")] == [1, 842_880, 842_880]
    assert going.end().clock("dropped") == 0 and going.clock("sends_done") == 2
