"""Counting without expanding, ideal times, what is refused, and how fast and small an expansion is."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from collective_cases import CASES, bytes_in, bytes_out, check_waits, fits, total, with_server
from hypothesis import given, settings
from hypothesis import strategies as st

from distsim.workload.collectives import Options, expand, ideal_time_ps, message_count, wire_bytes
from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    COLLECTIVES,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)

OPTIONS = st.builds(Options, channels=st.integers(1, 5), chunk_bytes=st.sampled_from([0, 1, 7, 64, 4096]),
                    slices=st.integers(1, 3), protocol=st.sampled_from(["simple", "ll", "ll128"]),
                    p2p_channels=st.sampled_from([1, 4, 32]))


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(CASES), st.integers(1, 17), st.one_of(st.integers(0, 400), st.just(20_000)), OPTIONS, st.data())
def test_counts_without_expanding(case, members, size, options, data):
    """message_count and wire_bytes are those of expand; and every schedule is well formed."""
    collective, algorithm = case
    if not fits(algorithm, members):
        members = 1 << (members.bit_length() - 1)
    if size > 400 and options.chunk_bytes < 4096:
        options = Options(options.channels, 0, options.slices, options.protocol)
    options = with_server(options, algorithm, members)
    root = data.draw(st.integers(0, members - 1))
    schedule = expand(collective, algorithm, members, size, root, options)
    assert message_count(collective, algorithm, members, size, root, options) == len(schedule.transfers)
    assert wire_bytes(collective, algorithm, members, size, root, options) == total(schedule)
    check_waits(schedule)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["sequential", "interleaved", "pairwise", "nccl", "hierarchical"]), st.integers(1, 9), OPTIONS,
       st.data())
def test_counts_of_all_to_all_v(algorithm, members, options, data):
    rows = data.draw(st.lists(st.lists(st.sampled_from([0, 1, 5, 90]), min_size=members, max_size=members),
                              min_size=members, max_size=members))
    counts = np.array(rows)
    options = with_server(options, algorithm, members)
    schedule = expand(ALL_TO_ALL, algorithm, members, 0, options=options, counts=counts)
    assert message_count(ALL_TO_ALL, algorithm, members, 0, 0, options, counts) == len(schedule.transfers)
    assert wire_bytes(ALL_TO_ALL, algorithm, members, 0, 0, options, counts) == total(schedule)
    check_waits(schedule)
    if algorithm != "hierarchical" and options.protocol == "simple":
        off = counts * ~np.eye(members, dtype=bool)
        rows = schedule.transfers
        sent = np.zeros((members, members), "i8")
        np.add.at(sent, (rows["src"], rows["dst"]), rows["size_bytes"])
        assert (sent == off).all()


def test_counting_takes_no_room():
    """9,216 members and 1 TiB in chunks of 512 KiB: 4 channels of 256 GiB are 57 full loops and one that is not.

    256 GiB = 274,877,906,944; a loop is 9,216 x 524,288 = 4,831,838,208; 56 full ones leave 4,294,967,296, in blocks of
    466,034: 9,215 full ones and a smaller one. 4 x 57 x 9,216 blocks of 2 slices, 2 x 9,215 steps.
    """
    options = Options(channels=4, chunk_bytes=512 * 1024, slices=2)
    blocks = 4 * (56 * 9216 + -(-4_294_967_296 // -(-4_294_967_296 // 9216)))
    assert message_count(ALL_REDUCE, "ring", 9216, 2**40, 0, options) == blocks * 2 * 2 * 9215
    assert wire_bytes(ALL_REDUCE, "ring", 9216, 2**40, 0, options) == 2 * 9215 * 2**40
    assert message_count(ALL_TO_ALL, "interleaved", 9216, 9216) == 9216 * 9215
    with pytest.raises(ValueError, match="transfers, at most 134217728 are possible"):
        expand(ALL_REDUCE, "ring", 9216, 2**40, 0, options)


# 800 bytes at 8 Gb/s (1 byte a ns): ns
IDEAL = [
    (ALL_REDUCE, "ring", 8, Options(), 2 * 800 * 7 / 8),
    (ALL_REDUCE, "halving-doubling", 8, Options(), 2 * 800 * 7 / 8),
    (ALL_REDUCE, "tree", 2, Options(), 2 * 800),
    (ALL_REDUCE, "tree", 8, Options(), 10 * 800),            # up 2 + 2 + 1, down 1 + 2 + 2
    (ALL_REDUCE, "tree", 8, Options(chunk_bytes=1), 3 * 800),  # two children up, one parent down, through one port
    (ALL_REDUCE, "double-tree", 8, Options(), 2 * 800),
    (ALL_REDUCE, "double-binary-tree", 8, Options(), 2 * 800),
    (ALL_REDUCE, "hierarchical", 8, Options(server=4), 2 * 200 / 2),
    (REDUCE, "tree", 8, Options(), 5 * 800),
    (REDUCE, "ring", 8, Options(), 7 * 800),
    (REDUCE, "chain", 8, Options(chunk_bytes=100), 800 + 6 * 100),
    (BROADCAST, "chain", 8, Options(channels=2, chunk_bytes=50), 800 + 6 * 50),
    (BROADCAST, "chain", 8, Options(chunk_bytes=100, slices=2), 800 + 6 * 50),
    (BROADCAST, "sequential", 8, Options(), 7 * 800),
    (BROADCAST, "interleaved", 8, Options(), 7 * 800),
    (ALL_GATHER, "ring", 8, Options(), 7 * 800),
    (ALL_GATHER, "hypercube", 8, Options(), 7 * 800),
    (ALL_GATHER, "hierarchical", 8, Options(server=4), 800),
    (REDUCE_SCATTER, "ring", 8, Options(), 7 * 100),
    (REDUCE_SCATTER, "halving", 8, Options(), 7 * 100),
    (REDUCE_SCATTER, "hierarchical", 8, Options(server=4), 200 / 2),
    (GATHER, "direct", 8, Options(), 7 * 800),
    (SCATTER, "direct", 8, Options(), 7 * 100),
    (ALL_TO_ALL, "nccl", 8, Options(), 7 * 100),
    (ALL_TO_ALL, "pairwise", 8, Options(protocol="ll"), 14 * 100),
    (ALL_TO_ALL, "hierarchical", 8, Options(server=4), 400),
    (ALL_TO_ALL, "sendrecv", 8, Options(), 800),
    (BARRIER, "ring", 8, Options(), 0),
    (BARRIER, "dissemination", 8, Options(), 0),
]
# Algorithms whose messages keep the busiest port busy from start to end.
PORT_BOUND = {"ring", "halving-doubling", "halving", "double-tree", "double-binary-tree", "sequential", "interleaved",
              "direct", "pairwise", "nccl", "sendrecv", "hypercube"}


@pytest.mark.parametrize(("collective", "algorithm", "members", "options", "ns"), IDEAL)
def test_ideal_times(collective, algorithm, members, options, ns):
    assert ideal_time_ps(collective, algorithm, members, 800, 8 * 10**9, options) == ns * 1000
    if algorithm in PORT_BOUND and collective != REDUCE:
        schedule = expand(collective, algorithm, members, 800, 0, options)
        assert max(bytes_in(schedule).max(), bytes_out(schedule).max()) == ns


def test_ideal_times_are_rounded_up():
    """1 B of 3 on a 3 Tb/s port, 4 times: 8 / 3 ps each, 32 / 9 = 3.56 in all."""
    assert ideal_time_ps(ALL_REDUCE, "ring", 3, 1, 3 * 10**12) == 4
    counts = np.array([[0, 5, 6], [1, 0, 1], [1, 1, 0]])
    assert ideal_time_ps(ALL_TO_ALL, "nccl", 3, 0, 8 * 10**12, counts=counts) == 11
    assert ideal_time_ps(ALL_TO_ALL, "hierarchical", 2, 10, 8 * 10**12, Options(server=2)) == 0


@pytest.mark.parametrize(("arguments", "message"), [
    ((ALL_REDUCE, "rings", 4, 10), "all_reduce has no algorithm 'rings', valid are ring, tree, double-tree, "),
    ((GATHER, "ring", 4, 10), "gather has no algorithm 'ring', valid are direct$"),
    ((10, "ring", 4, 10), "no collective has number 10, valid are 0 to 9"),
    ((ALL_REDUCE, "ring", 0, 10), "at least 1 member, got 0"),
    ((ALL_REDUCE, "ring", 4, -1), "0 to 281474976710656 bytes, got -1"),
    ((ALL_REDUCE, "ring", 4, 2**49), "0 to 281474976710656 bytes, got 562949953421312"),
    ((BROADCAST, "chain", 4, 10, 4), "root must be a member, 0 to 3, got 4"),
    ((ALL_GATHER, "ring", 4, 10, 0, Options(), np.zeros(4, int)), "counts are for all_to_all, not for all_gather ring"),
    ((ALL_TO_ALL, "sendrecv", 4, 10, 0, Options(), np.zeros(4, int)), "not for all_to_all sendrecv"),
    ((ALL_TO_ALL, "nccl", 4, 10, 0, Options(), np.zeros(3, int)), r"shape \(4,\) or \(4, 4\), got \(3,\)"),
    ((ALL_TO_ALL, "nccl", 2, 10, 0, Options(), np.array([3, -1])), "counts are 0 to 2814.* bytes, got -1 to 3"),
])
def test_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        expand(*arguments)
    with pytest.raises(ValueError, match=message):
        message_count(*arguments)


@pytest.mark.parametrize(("values", "message"), [
    ({"channels": 0}, "channels must be at least 1, got 0"), ({"chunk_bytes": -1}, "chunk_bytes must be at least 0"),
    ({"protocol": "LL"}, "protocol must be one of simple, ll, ll128, got 'LL'"), ({"server": 0}, "server must be"),
])
def test_refused_options(values, message):
    with pytest.raises(ValueError, match=message):
        Options(**values)


def test_a_ring_of_1024_takes_little_room():
    """2 x 1,023 x 1,024 transfers of 24 bytes and as many waits of 8 and 8: 84 MB; about twice as much on the way."""
    tracemalloc.start()
    schedule = expand(ALL_REDUCE, "ring", 1024, 64 << 20, options=Options(chunk_bytes=512 * 1024))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(schedule.transfers) == 2 * 1023 * 1024 == len(schedule.after_sent) + 1024
    assert len(schedule.after_received) == 2045 * 1024
    assert peak < 170e6


def test_every_collective_has_an_algorithm_that_any_group_can_use():
    for collective in range(len(COLLECTIVES)):
        assert len(expand(collective, next(name for number, name in CASES if number == collective), 6, 60).transfers)
