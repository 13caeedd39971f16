"""Ring all_reduce on an idle non-blocking fabric: 2 (N - 1) steps, each worked out by hand (closed_form_cases.py).

Member m's step waits for what member m - 1 sent in the step before, so the time is the sum along a path of 2 (N - 1)
messages of C = S / N, rounded up. In one rack all members do the same at the same time, and the times are exact.
"""

from __future__ import annotations

import pytest
from closed_form_cases import (
    ACK,
    BOTH,
    FIRST,
    FRAME,
    PACKET,
    TURN,
    WRITE,
    both_ways_ps,
    busbw,
    leaves,
    one_ps,
    rack,
    timed,
    turn_ps,
)
from engine_cases import DOORBELL, lanes_ps, nic

import distsim
from distsim.workload.collectives import Options
from distsim.workload.graph import ALL_REDUCE

PAYLOAD_RATE = 50 * 4096 / 4202           # 48.74 GB/s of data in full packets at 400 Gb/s
WITH_ACKS = 50 * 4096 / (4202 + 78)       # 47.85: as many packets come in, and each draws an ACK


def ring(members: int, size: int, **more: object) -> int:
    return timed(rack(members), ALL_REDUCE, "ring", members, size, **more)


# ---- one packet a step -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("members", "size", "message", "step", "turn"), [
    # 4 B: 38 B on PCIe, 602.8 ps. 15,000 + 1,555 + 603 + 2 * 110 * 20 + 200,000.
    (2, 8, 4, 221_558, 0),
    # 1 B: 35 B on PCIe, 555.2 ps. 15,000 + 1,555 + 556 + 2 * 107 * 20 + 200,000.
    (8, 8, 1, 221_391, 0), (64, 8, 1, 221_391, 0), (8, 1, 1, 221_391, 0),
    # 512 B: 546 B on PCIe, 8,661.2 ps. 15,000 + 1,555 + 8,662 + 2 * 618 * 20 + 200,000.
    (2, 1024, 512, 249_937, 0),
    # 2048 B: 2184 B on PCIe, 34,644.7 ps, which a message after the first waits for: 19,645 more than the doorbell.
    # 15,000 + 1,555 + 34,645 + 2 * 2154 * 20 + 200,000.
    (8, 16_384, 2048, 337_360, 19_645),
    # 4096 B: READY 85,845 + 2 * 84,040 + 200,000; then 69,290 - 15,000 more.
    (2, 8192, 4096, 453_925, 54_290), (8, 32_768, 4096, 453_925, 54_290), (64, 262_144, 4096, 453_925, 54_290),
])
def test_a_packet_a_step_takes_a_latency_a_step(members, size, message, step, turn):
    assert (one_ps(message), turn_ps(message)) == (step, turn)
    steps = 2 * (members - 1)
    assert ring(members, size) == steps * step + (steps - 1) * turn


# ---- many packets a step ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("members", "packets"), [(2, 64), (2, 4096), (8, 15), (8, 64), (8, 512), (64, 64)])
def test_many_packets_a_step(members, packets):
    # A step: 85,845 + 84,040 + 200,000 + K * 84,040, K - 6 ACKs, a probe and the answer to one: for K = 64 5,748,445 +
    # 90,480 + 2,800 = 5,841,725 ps. All but the first also wait for the write of the last packet. Exact.
    assert both_ways_ps(64) == 5_841_725
    steps = 2 * (members - 1)
    expected = steps * both_ways_ps(packets) + (steps - 1) * TURN
    assert ring(members, members * packets * PACKET) == expected


def test_between_one_packet_and_many():
    # Two packets: the first ACK of the step before is back while the first packet is sent, and its probe goes ahead of
    # the second: 185,451 ps after the step's begin, the packet from 140,135 to 224,175. Four: the probe is gone before
    # (17,371), but the answer to the peer's (219,851) falls on the first packet.
    for packets, extra in ((2, 1_240), (4, 1_560)):
        first = 85_845 + 84_040 + 200_000 + packets * 84_040
        assert ring(8, 8 * packets * PACKET) == 14 * first + 13 * (54_290 + extra)


@pytest.mark.parametrize("message", [5000, 10_000, 40_000, 70_000, 100_001, 1_000_003])
def test_messages_that_do_not_fill_their_packets(message):
    # The last frame follows full ones: its bits are in after READY + full * FRAME + one more FRAME at the switch + its
    # own. The next message's read request waits for the write of the full packet before it and then its own. Which ACKs
    # and probes fall before the short frame is not worked out: between full - 6 ACKs and two more, a probe, an answer.
    full, rest = divmod(message, PACKET)
    last = (rest + 106) * 20
    step = FIRST + full * FRAME + last
    turn = WRITE + lanes_ps(rest + 34 * -(-rest // 512)) - last - DOORBELL
    assert message != 10_000 or (step, turn) == (369_885 + 168_080 + 38_280, 69_290 + 30_838 - 38_280 - 15_000)
    low = 14 * (step + max(0, full - 6) * ACK) + 13 * turn
    assert low <= ring(8, 8 * message) <= low + 14 * (2 * ACK + BOTH)


# ---- across leaves ---------------------------------------------------------------------------------------------------
FAR = 2 * FRAME + 1_000_000               # two links more of 500 ns


def test_64_ranks_over_two_leaves_one_packet_a_step():
    # Ranks 31 to 32 and 63 to 0 go over a spine. A path of 126 steps passes 126 of the ring's 64 edges, twice round but
    # for two, so at most 4 of them are long: 126 * 453,925 + 4 * 1,168,080 + 125 * 54,290.
    got = timed(leaves(2, 32, 32), ALL_REDUCE, "ring", 64, 64 * PACKET)
    assert got == 57_194_550 + 4_672_320 + 6_786_250 == 126 * one_ps(PACKET) + 4 * FAR + 125 * TURN


def test_64_ranks_over_two_leaves_8_bytes():
    # 1 B a step. Members run apart here, so that a frame on the longest path may meet an ACK: less than one in all.
    low = 126 * one_ps(1) + 4 * (2 * 107 * 20 + 1_000_000)
    assert low <= timed(leaves(2, 32, 32), ALL_REDUCE, "ring", 64, 8) < low + ACK


@pytest.mark.parametrize("packets", [16, 64])
def test_64_ranks_over_two_leaves_large(packets):
    # Members that run apart meet other ACKs at the switches: within half a per cent of the sum over the path.
    low = 126 * both_ways_ps(packets) + 4 * FAR + 125 * TURN
    assert low <= timed(leaves(2, 32, 32), ALL_REDUCE, "ring", 64, 64 * packets * PACKET) < 1.005 * low


# ---- bandwidth -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("members", [2, 8])
def test_busbw_of_large_sizes_comes_to_the_payload_rate_less_the_acks(members):
    # 2 S (N - 1) / (N B): B is 4096 B every 4280 * 20 ps, 47.85 GB/s. What is left at 16 MiB a step is the latency,
    # 369,885 + 54,290 of 351,000,000 ps, 0.12 %.
    size = members * (16 << 20)
    got = busbw(2 * (members - 1) / members, size, ring(members, size))
    assert 0.998 * WITH_ACKS < got < WITH_ACKS


@pytest.mark.parametrize(("every", "limit"), [(8, 48.626), (16, 48.682)])
def test_busbw_with_fewer_acks_comes_to_the_payload_rate(every, limit):
    # An ACK for every n-th packet: 4096 B every 84,040 + 1,560 / n ps: 48.626 and 48.682 of 48.739 GB/s. Packets 0, n,
    # 2 n ... draw one; up to packet K - 7 they go before the last packet: 4089 // n + 1 = 512 and 256, K / n, a step.
    packets, rate = 4096, 4096 / (FRAME + ACK / every) * 1000
    assert round(rate, 3) == limit < PAYLOAD_RATE
    kind = nic({"AckRequestEveryNthPacket": every})
    got = ring(2, 2 * packets * PACKET, nic=kind)
    assert got == 2 * (FIRST + packets * FRAME + packets // every * ACK + BOTH) + TURN
    assert 0.997 * rate < busbw(1, 2 * packets * PACKET, got) < rate


@pytest.mark.parametrize("chunk", [64 << 10, 512 << 10])
def test_chunks_that_follow_each_other_hide_the_latency(chunk):
    # 4 MiB among 8 in two channels, chunks in two slices: the port is busy from READY on. 14 * 512 KiB leave as 1792
    # full packets with 1792 - 6 ACKs, and the last is in WIRE and a frame after it left. Latency shows no more than in
    # the pipeline's first filling: less than a round of the ring's slices, 14 times FIRST, and 1 % for probes.
    got = ring(8, 4 << 20, options=Options(channels=2, chunk_bytes=chunk, slices=2))
    low = FIRST + 1792 * FRAME + (1792 - 6) * ACK
    assert low < got < 1.01 * low


# ---- as the program tells it -----------------------------------------------------------------------------------------
def test_what_run_json_says(tmp_path):
    # 8 ranks, 1 MiB: K = 32. 14 * (369,885 + 32 * 84,040 + 26 * 1,560 + 2,800) + 13 * 54,290 ps
    expected = 44_141_120
    run = distsim.run({"simulation": "ring", "fabric": {"kind": "leaf-spine", "racks": 1, "nics_per_rack": 8},
                       "workload": {"kind": "collective", "collective": "all_reduce", "algorithm": "ring",
                                    "size": "1MiB"}}, tmp_path / "out")
    [found] = run.info["collectives"]
    assert found["time_us"] * 1e6 == pytest.approx(expected, abs=0.5)
    assert (found["begin_us"], found["members"], found["size_bytes"]) == (0, 8, 1 << 20)
