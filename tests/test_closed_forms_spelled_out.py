"""A ring all_reduce of 8 ranks spelled out in sends, receives and computation, against the collective of its own.

Each rank sends S / 8 to the next, receives from the one before, reduces, and sends on: 14 times, the first seven with
a reduction. In the real trace of this (mlcommons/chakra's example of 1 MB on 8 NPUs) a reduction takes 7 us; without
any duration the two must agree.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from closed_form_cases import (
    ACK,
    BOTH,
    FIRST,
    FRAME,
    TURN,
    both_ways_ps,
    leaves,
    lowered,
    oplog,
    rack,
    simulate,
    timed,
)
from lower_cases import comp, graph, recv, send

from distsim.workload.chakra.reader import read_traceset
from distsim.workload.chakra.writer import write_traceset
from distsim.workload.collectives import Options
from distsim.workload.graph import ALL_REDUCE, RECV, Graph

RANKS, STEPS = 8, 14


def spelled_out(message: int, reduction_ps: int, pieces: int = 1) -> Graph:
    """SEND and RECV wait for what came before them at their rank, as in the trace; pieces of a message go on their own,
    each behind the one before it of its step."""
    nodes, deps = [], []
    for rank in range(RANKS):
        last = [-1] * pieces
        for step in range(STEPS):
            sent = -1
            for piece in range(pieces):
                row = len(nodes)
                nodes += [send(rank, (rank + 1) % RANKS, message // pieces, piece),
                          recv(rank, (rank - 1) % RANKS, message // pieces, piece)]
                deps += [(row, last[piece])] if last[piece] >= 0 else []
                deps += [(row, sent)] if sent >= 0 else []
                deps.append((row + 1, row))
                sent, last[piece] = row, row + 1
                if step < RANKS - 1:
                    nodes.append(comp(rank, reduction_ps))
                    deps.append((row + 2, row + 1))
                    last[piece] = row + 2
    return graph(RANKS, nodes, deps)


def end_ps(case: Graph, network=None) -> int:
    """When the last receive of any rank is complete."""
    network = network or rack(RANKS)
    rows, labels = oplog(simulate(network, lowered(case, {}, network[0].hosts, log_ops="all")))
    receives = case.nodes["kind"][labels["node"]] == RECV
    return int(rows["time_ps"][receives].max())


@pytest.mark.parametrize("message", [1, 512, 4096, 131_072, 1 << 20])
def test_without_durations_it_is_the_native_ring(message):
    spelled, native = end_ps(spelled_out(message, 0)), timed(rack(8), ALL_REDUCE, "ring", 8, 8 * message)
    assert spelled == native


def test_across_leaves_too():
    network = leaves(2, 4, 4)
    spelled, native = end_ps(spelled_out(131_072, 0), network), timed(network, ALL_REDUCE, "ring", 8, 1 << 20)
    assert spelled == pytest.approx(native, rel=0.01)


def test_in_pieces():
    # 128 KiB in two slices, as the native ring's with slices: 2.
    native = timed(rack(8), ALL_REDUCE, "ring", 8, 1 << 20, Options(slices=2))
    assert end_ps(spelled_out(131_072, 0, 2)) == pytest.approx(native, rel=0.01)


def test_with_the_reductions_of_the_real_trace(tmp_path: Path):
    # 131,072 B are 32 packets, 14 steps as of the native ring. After each reduction of 7 us the last packet has long
    # been written (no TURN), and all ACKs and probes of the last step are gone; seven reductions: 49 us.
    case = spelled_out(131_072, 7_000_000)
    assert write_traceset(case, str(tmp_path / "ring")) == []
    read = read_traceset(str(tmp_path / "ring"))
    expected = 14 * both_ways_ps(32) + 6 * TURN + 49_000_000
    assert both_ways_ps(32) == FIRST + 32 * FRAME + 26 * ACK + BOTH == 3_102_525
    assert end_ps(read) == end_ps(case) == pytest.approx(expected, rel=0.0005)
    native = timed(rack(8), ALL_REDUCE, "ring", 8, 1 << 20)
    assert end_ps(case) - 49_000_000 == pytest.approx(native, rel=0.01)
