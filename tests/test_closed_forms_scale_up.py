"""Collectives over the scale-up fabric, and hierarchical ones over both, exact.

At 800 Gb/s a byte takes 10 ps; each packet of up to 4096 B has 24 B of header: a full one 41,200 ps. Between any two of
a server one switch hop of 100 ns and two cables of 25 ns: 150,000 ps. A rank sends as soon as it may: there is no
doorbell, no host to fetch from, and no ACK in the way. A transfer is in 150,000 ps after its last byte has left.
"""

from __future__ import annotations

import pytest
from closed_form_cases import (
    PACKET,
    WHOLE,
    both_ways_ps,
    busbw,
    one_ps,
    rack,
    servers,
    timed,
)

from distsim.workload.collectives import Options
from distsim.workload.graph import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST

LATENCY = 150_000
FOURS = Options(server=4)


def inside(collective: int, algorithm: str, size: int, members: int = 8) -> int:
    """In one server of as many ranks."""
    return timed(rack(members), collective, algorithm, members, size, scale_up=servers(members, members))


def two_servers(collective: int, algorithm: str, size: int, options: Options = WHOLE) -> int:
    """Eight ranks, four in each server."""
    return timed(rack(8), collective, algorithm, 8, size, options, scale_up=servers(8, 4))


def local(payload: int) -> int:
    """Time to send."""
    return 10 * (payload + 24 * max(1, -(-payload // PACKET)))


# ---- one server ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("members", "size", "step"), [
    (8, 8, 250),                           # 1 B and a header
    (2, 8, 280),                           # 4 B
    (8, 8 * 4097, 41_450),                 # 4097 B: two packets
    (8, 8 << 20, 10_547_200),              # 1 MiB: 256 packets
    (8, 1 << 30, 1_350_041_600),           # 128 MiB: 32,768 packets
])
def test_a_ring_in_one_server(members, size, step):
    assert local(size // members) == step
    assert inside(ALL_REDUCE, "ring", size, members) == 2 * (members - 1) * (step + LATENCY)


def test_busbw_in_one_server_comes_to_its_payload_rate():
    # 100 * 4096 / 4120 = 99.417 GB/s; 14 * 150 ns of 18.9 ms.
    got = busbw(2 * 7 / 8, 1 << 30, inside(ALL_REDUCE, "ring", 1 << 30))
    assert 99.40 < got < 100 * 4096 / 4120


@pytest.mark.parametrize("size", [8, 8 * PACKET, 64 << 20])
def test_other_algorithms_in_one_server(size):
    # all_to_all: seven blocks through the port, each in 150 ns after it has left, or seven steps. A tree: ten times
    # all the data through ports on the longest path, six latencies. Broadcast: seven copies leave.
    block, whole = local(size // 8), local(size)
    assert inside(ALL_TO_ALL, "interleaved", size) == inside(ALL_TO_ALL, "sequential", size) == 7 * block + LATENCY
    assert inside(ALL_TO_ALL, "pairwise", size) == 7 * (block + LATENCY)
    assert inside(ALL_REDUCE, "tree", size) == 10 * whole + 6 * LATENCY
    assert inside(ALL_REDUCE, "halving-doubling", size) == 2 * sum(
        local(size // part) + LATENCY for part in (2, 4, 8))
    assert inside(BROADCAST, "interleaved", size) == 7 * whole + LATENCY
    assert inside(ALL_GATHER, "ring", size) == 7 * (whole + LATENCY)


# ---- two servers of four ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("size", "rail"), [
    # 8 B: 2 B a rail, 1 B a block.
    (8, 2 * 221_391),
    # 32 KiB: blocks of one packet; the second waits for the write of the first.
    (8 * PACKET, 2 * 453_925 + 54_290),
    # 64 and 512 packets a block: as in a ring of two.
    (8 * PACKET * 64, 2 * 5_841_725 + 54_290),
    (8 * PACKET * 512, 2 * 44_190_525 + 54_290),
])
def test_a_hierarchical_all_reduce(size, rail):
    # Inside: each sends the others their quarters, one after another: 3 quarters and 150 ns. Then two steps on each of
    # four rails at once, S / 8 each, and three quarters inside again.
    assert one_ps(1) == 221_391 and [both_ways_ps(count) for count in (64, 512)] == [5_841_725, 44_190_525]
    quarter = local(size // 4)
    assert size != 8 * PACKET or quarter == 82_400
    expected = 2 * (3 * quarter + LATENCY) + rail
    assert two_servers(ALL_REDUCE, "hierarchical", size, FOURS) == expected


def test_a_hierarchical_all_gather():
    # One step on each rail, 64 packets, then two members' blocks to each of three others.
    expected = both_ways_ps(64) + 3 * local(2 * 64 * PACKET) + LATENCY
    assert two_servers(ALL_GATHER, "hierarchical", 64 * PACKET, FOURS) == expected


def test_a_ring_through_two_servers():
    # Members 3 and 7 send through their NICs, the others inside. Every path of 14 steps has 3 or 4 long ones, where 4
    # of 16 edges are long and two are left out: 10 * (S / 8 inside) + 4 NIC messages. The member that sends through its
    # NIC gets none there but from the scale-up fabric, so nothing is written to the host before: no TURN.
    def expected(nic: int, near: int) -> int:
        return 4 * nic + 10 * (near + LATENCY)

    assert two_servers(ALL_REDUCE, "ring", 8) == expected(one_ps(1), 250)
    assert two_servers(ALL_REDUCE, "ring", 8 * PACKET) == expected(one_ps(PACKET), 41_200)
