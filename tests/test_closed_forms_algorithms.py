"""Times of the other algorithms on an idle rack of 8, exact: paths of messages worked out by hand.

Constants and what they come from: closed_form_cases.py. In each case 8 B and large sizes of K full packets.
"""

from __future__ import annotations

import pytest
from closed_form_cases import (
    ACK,
    BOTH,
    FIRST,
    FRAME,
    PACKET,
    PROBE,
    TURN,
    both_ways_ps,
    one_ps,
    one_way_ps,
    rack,
    timed,
)

from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)


def time(collective: int, algorithm: str, size: int, members: int = 8) -> int:
    return timed(rack(members), collective, algorithm, members, size)


def packets(count: int) -> int:
    return count * PACKET


# ---- trees -----------------------------------------------------------------------------------------------------------
# Members 1 to 7 are a balanced tree, 4 above 2 and 6, above 1, 3, 5 and 7; 0 is above 4. The longest path goes up 1 or
# 3 -> 2 -> 4 -> 0 and down again: six messages' latencies, and at 2, at 4, and again on the way down at 4 and at 2 two
# messages share a port. So the frames of 2 + 2 + 1 messages follow each other on the way up and 1 + 2 + 2 down.

@pytest.mark.parametrize(("algorithm", "message"), [("tree", 8), ("double-tree", 4)])
def test_trees_of_small_messages(algorithm, message):
    # Six latencies, and a frame each of the four times when two share a port. Of two trees each carries half, and the
    # inner members of one are the leaves of the other.
    assert time(ALL_REDUCE, algorithm, 8) == 6 * one_ps(message) + 4 * (message + 106) * 20


@pytest.mark.parametrize("count", [32, 128, 512])
def test_a_tree(count):
    # Six first packets (369,885 less one frame that is counted with the others), ten messages' frames; the five that
    # are passed on wait for the write of the last packet; each of the ten has a probe before its last packet.
    expected = 6 * FIRST + 10 * count * FRAME + 5 * TURN + 10 * PROBE
    assert count != 32 or expected == 2_219_310 + 26_892_800 + 271_450 + 12_400 == 29_395_960
    assert time(ALL_REDUCE, "tree", packets(count)) == expected


@pytest.mark.parametrize("count", [64, 256])
def test_two_trees(count):
    # As a tree of half the size, since the other tree uses other ports at the same time, but for the ACKs of leaves
    # that are inner members of the other tree: those of their K packets pass the same port in the first and last stage.
    expected = 6 * FIRST + 10 * count * FRAME + 5 * TURN + 10 * PROBE + 2 * count * ACK
    assert time(ALL_REDUCE, "double-tree", 2 * packets(count)) == expected


def test_a_tree_of_two_members_is_there_and_back():
    # 0 is the root, 1 its child.
    assert time(ALL_REDUCE, "tree", 8, 2) == 2 * one_ps(8)
    assert time(ALL_REDUCE, "tree", packets(64), 2) == 2 * one_way_ps(64) + TURN


def test_a_reduce_by_tree_is_the_way_up():
    assert time(REDUCE, "tree", 8) == 3 * one_ps(8) + 2 * 114 * 20
    assert time(REDUCE, "tree", packets(64)) == 3 * FIRST + 5 * 64 * FRAME + 2 * TURN + 5 * PROBE


# ---- partners at powers of two ---------------------------------------------------------------------------------------
def exchanges(*counts: int) -> int:
    """Steps of so many packets each way between partners."""
    return sum(both_ways_ps(count) for count in counts) + (len(counts) - 1) * TURN


def test_halving_and_doubling_of_small_messages():
    halves = one_ps(4) + one_ps(2) + one_ps(1)                          # 8 B: 4, 2, 1, and back
    assert time(ALL_REDUCE, "halving-doubling", 8) == 2 * halves
    assert time(REDUCE_SCATTER, "halving", 8) == halves
    assert time(ALL_GATHER, "hypercube", 1) == halves                   # 1, 2, 4


@pytest.mark.parametrize("count", [16, 64])
def test_halving_and_doubling(count):
    # A block of K packets: 4, 2, 1, 1, 2 and 4 blocks.
    halves = exchanges(4 * count, 2 * count, count)
    assert time(ALL_REDUCE, "halving-doubling", packets(8 * count)) == 2 * halves + TURN
    assert time(REDUCE_SCATTER, "halving", packets(8 * count)) == halves
    assert time(ALL_GATHER, "hypercube", packets(count)) == halves


def test_halving_and_doubling_is_as_much_as_a_ring_less_latency():
    # Both send 14 blocks of 64 packets; six steps against fourteen.
    ring, halving = (time(ALL_REDUCE, name, packets(512)) for name in ("ring", "halving-doubling"))
    assert ring - halving == 8 * (FIRST + TURN + BOTH - 6 * ACK)


# ---- rings and chains ------------------------------------------------------------------------------------------------
def test_rings_of_small_messages():
    assert time(ALL_GATHER, "ring", 8) == 7 * one_ps(8)                 # 8 B from each
    assert time(REDUCE_SCATTER, "ring", 8) == 7 * one_ps(1)
    assert time(BROADCAST, "chain", 8) == 7 * one_ps(8)
    assert time(REDUCE, "ring", 8) == 7 * one_ps(8)


@pytest.mark.parametrize("count", [16, 64])
def test_rings_one_round(count):
    expected = 7 * both_ways_ps(count) + 6 * TURN
    assert time(ALL_GATHER, "ring", packets(count)) == expected
    assert time(REDUCE_SCATTER, "ring", packets(8 * count)) == expected


@pytest.mark.parametrize("count", [16, 512])
def test_a_chain_in_whole_messages(count):
    # Each member has all before it passes it on, 7 hops.
    expected = 7 * one_way_ps(count) + 6 * TURN
    assert time(BROADCAST, "chain", packets(count)) == expected
    assert time(REDUCE, "chain", packets(count)) == expected


# ---- stars -----------------------------------------------------------------------------------------------------------
def test_stars_of_small_messages():
    # Interleaved: seven posts at once, frames of 114 B one after the other. Sequential: the next is posted when the
    # fetch of the last has been issued, which is when its transmit process starts, a doorbell after its own post.
    assert time(BROADCAST, "interleaved", 8) == one_ps(8) + 6 * 114 * 20
    assert time(BROADCAST, "sequential", 8) == one_ps(8) + 6 * 15_000
    assert time(SCATTER, "direct", 8) == one_ps(1) + 6 * 107 * 20
    assert time(GATHER, "direct", 8) == one_ps(8) + 6 * 114 * 20        # they wait for the root's port


@pytest.mark.parametrize("algorithm", ["interleaved", "sequential"])
@pytest.mark.parametrize("count", [32, 512])
def test_a_star(algorithm, count):
    # All leave through the root's port without a gap, each message with a probe.
    assert time(BROADCAST, algorithm, packets(count)) == FIRST + 7 * (count * FRAME + PROBE)


def test_a_scatter_of_blocks():
    assert time(SCATTER, "direct", packets(8 * 32)) == FIRST + 7 * (32 * FRAME + PROBE)


def test_a_gather_is_an_incast():
    # 7 * 16 packets through the root's port, which fit in the switch (358 do); of the probes and their answers none
    # to all are on the way.
    low = FIRST + 7 * 16 * FRAME
    assert low <= time(GATHER, "direct", packets(16)) <= low + 7 * BOTH


# ---- all to all ------------------------------------------------------------------------------------------------------
def test_all_to_all_of_small_messages():
    # 1 B to each. Pairwise: seven latencies; at once: seven frames through each port; sequential: a doorbell each.
    assert time(ALL_TO_ALL, "pairwise", 8) == 7 * one_ps(1)
    assert time(ALL_TO_ALL, "interleaved", 8) == one_ps(1) + 6 * 107 * 20
    assert time(ALL_TO_ALL, "sequential", 8) == one_ps(1) + 6 * 15_000


@pytest.mark.parametrize("count", [16, 64])
def test_all_to_all(count):
    # Pairwise steps are those of a ring, with other partners. At once or one after another, ports are never idle: 7 K
    # packets, 7 K - 6 ACKs, seven probes and their answers.
    size = packets(8 * count)
    assert time(ALL_TO_ALL, "pairwise", size) == 7 * both_ways_ps(count) + 6 * TURN
    at_once = FIRST + 7 * count * FRAME + (7 * count - 6) * ACK + 7 * BOTH
    assert time(ALL_TO_ALL, "interleaved", size) == at_once
    assert time(ALL_TO_ALL, "sequential", size) == at_once


# ---- barriers --------------------------------------------------------------------------------------------------------
def test_barriers_by_hand():
    # An empty message: doorbell 15,000, nothing to fetch, 2 * 2,120, 200,000: 219,240 ps.
    assert one_ps(0) == 219_240
    assert time(BARRIER, "dissemination", 0) == 3 * 219_240
    assert time(BARRIER, "dissemination", 0, 9) == 4 * 219_240
    assert time(BARRIER, "ring", 0) == 14 * 219_240
    assert time(BARRIER, "halving-doubling", 0) == 6 * 219_240
    assert time(BARRIER, "tree", 0) == 6 * 219_240 + 4 * 2_120
