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
    both_ways_ps,
    busbw,
    leaves,
    one_ps,
    rack,
    timed,
    turn_ps,
)
from engine_cases import nic

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


@pytest.mark.parametrize("message", [5000, 10_000, 100_001, 1_000_003])
def test_messages_that_do_not_fill_their_packets(message):
    # The last packet's part of a frame is all that is saved. Its ACK, released before those of the full packets ahead
    # of it, and shorter fetches move ACKs and probes around: a tolerance of two ACKs, a probe, and a packet's doorbell
    # a step (0.5 % and less for more than 16 packets).
    full, rest = divmod(message, PACKET)
    step = FIRST + full * FRAME + max(0, full - 5) * ACK - FRAME + (rest + 106) * 20
    got = ring(8, 8 * message)
    low, high = 14 * step, 14 * (step + TURN + 3 * ACK + BOTH)
    assert low < got < high + 14 * FRAME, (got - low) / 14
