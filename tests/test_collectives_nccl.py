"""The cut form and the algorithms that Chakra's page does not have, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from collective_cases import bytes_in, bytes_out, check_waits, total

from distsim.workload.collectives import Options, expand
from distsim.workload.collectives.nccl import rounds
from distsim.workload.collectives.trees import alternating, mirrored, shifted
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


def pairs(waits):
    return {(int(row["transfer"]), int(row["on"])) for row in waits}


def of(schedule, member, channel=0):
    """Sizes that a member sends in a channel, in the order in which they leave."""
    rows = schedule.transfers
    mine = [number for number, row in enumerate(rows) if row["src"] == member and row["channel"] == channel]
    before = {int(row["transfer"]): int(row["on"]) for row in schedule.after_sent}
    first = [number for number in mine if number not in before]
    assert len(first) == 1, "one lane"
    after = {on: transfer for transfer, on in before.items()}
    order = first
    while order[-1] in after:
        order.append(after[order[-1]])
    assert sorted(order) == mine
    return rows["size_bytes"][order].tolist()


def test_ring_in_loops_and_slices():
    """50 B, 2 members, chunks of 10: loops of 20, 20 and 10; each step a block of 10 (5), in 2 slices."""
    schedule = expand(ALL_REDUCE, "ring", 2, 50, options=Options(chunk_bytes=10, slices=2))
    for member in (0, 1):
        assert of(schedule, member) == [5] * 8 + [3, 2, 3, 2]
    rows = schedule.transfers
    assert len(rows) == 24 and len(schedule.after_sent) == 22
    # of each loop, the second step's slice waits for the same slice of the first step, sent by the other member
    assert len(schedule.after_received) == 12
    for row in schedule.after_received:
        one, other = rows[row["transfer"]], rows[row["on"]]
        assert one["step"] == 1 and other["step"] == 0 and one["src"] == other["dst"]
        assert one["size_bytes"] == other["size_bytes"]


def test_ring_sends_blocks_in_nccl_order():
    """10 B in 4 blocks: 3, 3, 3, 1. Member 0 sends blocks 3, 2, 1, then 0, 3, 2; member 2 1, 0, 3, 2, 1, 0."""
    schedule = expand(ALL_REDUCE, "ring", 4, 10, options=Options(chunk_bytes=100))
    assert of(schedule, 0) == [1, 3, 3, 3, 1, 3] and of(schedule, 2) == [3, 3, 1, 3, 3, 3]
    gather = expand(ALL_GATHER, "ring", 4, 10, options=Options(chunk_bytes=100))
    assert of(gather, 0) == [10, 10, 10]
    scatter = expand(REDUCE_SCATTER, "ring", 4, 10, options=Options(chunk_bytes=100))
    assert of(scatter, 0) == [1, 3, 3] and of(scatter, 3) == [3, 3, 3]


def test_channels_are_independent():
    """10 B on 3 channels: 4, 4 and 2 B, each a ring of its own."""
    schedule = expand(ALL_REDUCE, "ring", 2, 10, options=Options(channels=3))
    assert [of(schedule, 0, channel) for channel in range(3)] == [[2, 2], [2, 2], [1, 1]]
    rows = schedule.transfers
    for waits in (schedule.after_received, schedule.after_sent):
        assert (rows["channel"][waits["transfer"]] == rows["channel"][waits["on"]]).all()


def test_empty_blocks_are_left_out():
    """3 B over 8 members: 3 blocks of 1 B go round, 14 steps each."""
    schedule = expand(ALL_REDUCE, "ring", 8, 3, options=Options(chunk_bytes=1000))
    assert len(schedule.transfers) == 42 and total(schedule) == 42
    check_waits(schedule)


def test_trees_of_nccl():
    assert alternating(14).tolist() == [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12]
    assert mirrored(alternating(12)).tolist() == [1, 3, 1, 11, 5, 7, 5, 3, 9, 7, 9, -1]
    assert alternating(5).tolist() == [-1, 2, 4, 2, 0]
    assert shifted(alternating(5)).tolist() == [1, -1, 3, 0, 3]


@pytest.mark.parametrize("members", [2, 4, 6, 12, 16])
def test_a_member_is_a_leaf_in_one_of_two_mirrored_trees(members):
    first = alternating(members)
    second = mirrored(first)
    assert set(first[first >= 0].tolist()) & set(second[second >= 0].tolist()) == set()


@pytest.mark.parametrize(("members", "root"), [(8, 7), (5, 1)])
def test_double_binary_tree(members, root):
    """101 B: 51 and 50; 51 in chunks of 20, 20, 11, 50 in 20, 20, 10; each up and down N - 1 edges."""
    schedule = expand(ALL_REDUCE, "double-binary-tree", members, 101, options=Options(chunk_bytes=20))
    rows = schedule.transfers
    assert len(rows) == 2 * (members - 1) * 6 and total(schedule) == 2 * (members - 1) * 101
    sizes = [sorted(set(rows["size_bytes"][rows["channel"] == channel].tolist())) for channel in (0, 1)]
    assert sizes == [[11, 20], [10, 20]]
    for channel, top in ((0, 0), (1, root)):
        mine = rows[(rows["channel"] == channel)]
        middle = mine["step"].max() // 2
        assert set(mine["dst"][mine["step"] == middle].tolist()) == {top}
    one = (rows["src"] == 0) & (rows["dst"] == 4) & (rows["channel"] == 0)
    lane = {int(row["on"]): int(row["transfer"]) for row in schedule.after_sent}
    ways = np.flatnonzero(one)
    assert [lane[ways[0]], lane[ways[1]]] == ways[1:].tolist() and ways[2] not in lane


def test_chains_are_pipelined():
    """100 B over 4 members in chunks of 50: 2 chunks, 3 connections; a chunk waits for its arrival, and its turn."""
    schedule = expand(BROADCAST, "chain", 4, 100, root=3, options=Options(chunk_bytes=50))
    rows = schedule.transfers
    assert sorted(rows["src"].tolist()) == [0, 0, 1, 1, 3, 3] and (rows["size_bytes"] == 50).all()
    assert set(zip(rows["src"].tolist(), rows["dst"].tolist())) == {(3, 0), (0, 1), (1, 2)}
    assert len(schedule.after_received) == 4 and len(schedule.after_sent) == 3
    back = expand(REDUCE, "chain", 4, 100, root=3, options=Options(chunk_bytes=50))
    assert set(zip(back.transfers["src"].tolist(), back.transfers["dst"].tolist())) == {(0, 1), (1, 2), (2, 3)}


def test_star_pieces_leave_in_order_on_each_connection():
    gather = expand(GATHER, "direct", 3, 100, root=1, options=Options(chunk_bytes=40))
    assert sorted(gather.transfers["size_bytes"].tolist()) == [20, 20, 40, 40, 40, 40]
    assert len(gather.after_sent) == 4
    scatter = expand(SCATTER, "direct", 3, 100, root=1, options=Options(chunk_bytes=1000))
    assert dict(zip(scatter.transfers["dst"].tolist(), scatter.transfers["size_bytes"].tolist())) == {0: 34, 2: 32}


def test_pairwise_waits_for_both():
    schedule = expand(ALL_TO_ALL, "pairwise", 3, 30)
    # rows: member m, step s is 2 m + s; m receives from m - 1 in step 0, row 2 (m - 1)
    assert schedule.transfers["dst"].tolist() == [1, 2, 2, 0, 0, 1]
    assert pairs(schedule.after_received) == {(1, 4), (3, 0), (5, 2)}
    assert pairs(schedule.after_sent) == {(1, 0), (3, 2), (5, 4)}


def test_rounds_of_nccl():
    peers, channel = rounds(16, 1)
    assert peers[0].tolist() == [0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]
    assert channel.tolist() == list(range(16))
    assert rounds(6, 1)[0][1].tolist() == [1, 2, 4, 3, 0, 5]           # distances 0 1 3 2 5 4
    peers, channel = rounds(8, 4)
    assert peers[0].tolist() == [0, 1, 3, 2, 4, 5, 7, 6] and peers[6].tolist() == [6, 7, 5, 4, 2, 3, 1, 0]
    assert channel.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert rounds(6, 4)[0][0].tolist() == [0, 1, 3, 2, 5, 4]            # no whole servers


def test_nccl_parts_are_multiples_of_4_kib():
    """10,000 B to each of 2 on 4 channels: 4096, 4096 and 1808; 300,000 B on one: chunks of 128 KiB."""
    schedule = expand(ALL_TO_ALL, "nccl", 2, 20000, options=Options(channels=4))
    assert schedule.transfers["size_bytes"].tolist() == [4096, 4096, 1808] * 2
    assert schedule.transfers["channel"].tolist() == [1, 2, 3] * 2 and len(schedule.after_sent) == 0
    chunks = expand(ALL_TO_ALL, "nccl", 2, 600000)
    assert of(chunks, 0, 1) == [131072, 131072, 37856]


def test_nccl_works_on_eight_rounds_at_once():
    """17 members, one channel: rounds 0 (to itself) to 16 take places 0 to 7 in turn; round r waits for r - 8."""
    schedule = expand(ALL_TO_ALL, "nccl", 17, 17 * 10, options=Options(p2p_channels=1))
    check_waits(schedule)
    rows = schedule.transfers
    waiting = np.zeros(len(rows), bool)
    waiting[schedule.after_sent["transfer"]] = True
    assert rows["step"][~waiting].tolist() == [1, 2, 3, 4, 5, 6, 7, 8] * 17
    for waits in (schedule.after_sent, schedule.after_received):
        assert len(waits) == 17 * 8
        assert (rows["step"][waits["transfer"]] - rows["step"][waits["on"]] == 8).all()


def test_nccl_waits_for_the_last_chunk():
    """As above in chunks of 8 and 2 B: the first chunk of round r waits for the last one that came in round r - 8."""
    schedule = expand(ALL_TO_ALL, "nccl", 17, 17 * 10, options=Options(chunk_bytes=8, p2p_channels=1))
    rows = schedule.transfers
    assert len(schedule.after_received) == 17 * 8 and len(schedule.after_sent) == 17 * (16 + 8)
    assert (rows["size_bytes"][schedule.after_received["transfer"]] == 8).all()
    assert (rows["size_bytes"][schedule.after_received["on"]] == 2).all()


def test_all_to_all_v():
    counts = np.array([[9, 5, 0], [1, 9, 2], [300, 0, 9]])
    for algorithm in ("sequential", "interleaved", "pairwise", "nccl"):
        schedule = expand(ALL_TO_ALL, algorithm, 3, 0, counts=counts)
        rows = schedule.transfers
        assert sorted(zip(*(rows[name].tolist() for name in ("src", "dst", "size_bytes")))) == [
            (0, 1, 5), (1, 0, 1), (1, 2, 2), (2, 0, 300)]
        check_waits(schedule)
    row = expand(ALL_TO_ALL, "interleaved", 3, 0, counts=np.array([7, 8, 0]))
    assert bytes_in(row).tolist() == [14, 16, 0]
    assert len(expand(ALL_TO_ALL, "nccl", 3, 10, counts=np.zeros(3, int)).transfers) == 0
    # two servers of 2: first to the rail's member at home, then on the rail, all in all the same bytes between servers
    counts = np.arange(16).reshape(4, 4)
    schedule = expand(ALL_TO_ALL, "hierarchical", 4, 0, options=Options(server=2, channels=2), counts=counts)
    check_waits(schedule)
    sent = {}
    for src, dst, size, *_ in schedule.transfers.tolist():
        sent[src, dst] = sent.get((src, dst), 0) + size
    # 0 -> 1: what 0 has for 1 and 3; 0 -> 2: what 0 and 1 have for 2
    assert sent == {(0, 1): 1 + 3, (1, 0): 4 + 6, (2, 3): 9 + 11, (3, 2): 12 + 14,
                    (0, 2): 2 + 6, (1, 3): 3 + 7, (2, 0): 8 + 12, (3, 1): 9 + 13}


def test_sendrecv_and_hypercube_of_nccl_tests():
    ring = expand(ALL_TO_ALL, "sendrecv", 4, 1000, options=Options(chunk_bytes=400))
    assert all(of(ring, member) == [400, 400, 200] for member in range(4))
    assert ((ring.transfers["src"] + 1) % 4 == ring.transfers["dst"]).all()
    cube = expand(ALL_GATHER, "hypercube", 8, 100)
    rows = cube.transfers
    for step in range(3):
        now = rows[rows["step"] == step]
        assert (now["src"] ^ now["dst"] == 1 << step).all() and (now["size_bytes"] == 100 << step).all()
    assert len(rows) == 24 and (bytes_in(cube) == 700).all()


def test_dissemination():
    """5 members: 3 steps, to 1, 2 and 4 places further on."""
    schedule = expand(BARRIER, "dissemination", 5, 0)
    rows = schedule.transfers
    assert [((rows["dst"] - rows["src"]) % 5)[rows["step"] == step].tolist() for step in range(3)] == [
        [1] * 5, [2] * 5, [4] * 5]
    assert len(schedule.after_received) == len(schedule.after_sent) == 10 and total(schedule) == 0


def test_hierarchical_by_hand():
    """4 members, servers of 2, S = 8: 4 B each to the neighbour, rings of 2 with blocks of 2 B, 4 B each back."""
    options = Options(server=2)
    rows = expand(ALL_REDUCE, "hierarchical", 4, 8, options=options).transfers
    got = [(rows["size_bytes"][rows["step"] == step].tolist(),
            (rows["src"] ^ rows["dst"])[rows["step"] == step].tolist()) for step in range(4)]
    assert got == [([4] * 4, [1] * 4), ([2] * 4, [2] * 4), ([2] * 4, [2] * 4), ([4] * 4, [1] * 4)]
    # 3 servers of 2: all_gather 100 B each: 2 steps on the rail, then 3 x 100 B to the neighbour
    gather = expand(ALL_GATHER, "hierarchical", 6, 100, options=options)
    assert len(gather.transfers) == 6 * 2 + 6 and (bytes_in(gather) == 500).all()
    assert (gather.transfers["size_bytes"][gather.transfers["step"] == 2] == 300).all()
    scatter = expand(REDUCE_SCATTER, "hierarchical", 6, 600, options=options)
    assert (scatter.transfers["size_bytes"][scatter.transfers["step"] == 0] == 300).all()
    assert len(scatter.transfers) == 6 + 6 * 2 and (bytes_out(scatter) == 500).all()
    everyone = expand(ALL_TO_ALL, "hierarchical", 6, 600, options=options)
    assert sorted(everyone.transfers["size_bytes"].tolist()) == [200] * 12 + [300] * 6
    with pytest.raises(ValueError, match="6 members are no multiple of the 4 members of a server"):
        expand(ALL_REDUCE, "hierarchical", 6, 8, options=Options(server=4))


def test_hierarchical_loops_leave_in_order():
    """150 B, 6 members, 2 servers, chunks of 10: loops of 60, 60 and 30, of which each rail has 20, 20 and 10."""
    schedule = expand(ALL_REDUCE, "hierarchical", 6, 150, options=Options(chunk_bytes=10, server=3))
    rows = schedule.transfers
    after = {int(row["on"]): int(row["transfer"]) for row in schedule.after_sent}
    sent = set(after.values())
    for first in (number for number, row in enumerate(rows) if row["src"] == 0 and number not in sent):
        lane = [first]
        while lane[-1] in after:
            lane.append(after[lane[-1]])
        inside = rows["dst"][first] < 3
        assert rows["size_bytes"][lane].tolist() == ([20] * 4 + [10] * 2 if inside else [10] * 4 + [5] * 2)


def test_steps_without_bytes_leave_no_gap():
    """1 B, 4 members: 2 > 0 and 3 > 1, 1 > 0, then back 0 > 1, 0 > 2 and 1 > 3: rows 0 to 5."""
    schedule = expand(ALL_REDUCE, "halving-doubling", 4, 1, options=Options(chunk_bytes=8))
    assert list(zip(schedule.transfers["src"].tolist(), schedule.transfers["dst"].tolist())) == [
        (2, 0), (3, 1), (1, 0), (0, 1), (0, 2), (1, 3)]
    assert pairs(schedule.after_received) == {(2, 1), (3, 0), (3, 2), (5, 3)}
    assert pairs(schedule.after_sent) == {(4, 3), (5, 2)}


@pytest.mark.parametrize(("protocol", "wire"), [("simple", 1001), ("ll", 2002), ("ll128", 1068)])
def test_protocols(protocol, wire):
    """1,001 B: twice 1,001; 1,001 x 128 / 120 = 1,067.73, rounded up."""
    schedule = expand(BROADCAST, "interleaved", 3, 1001, options=Options(protocol=protocol))
    assert schedule.transfers["size_bytes"].tolist() == [wire, wire]
