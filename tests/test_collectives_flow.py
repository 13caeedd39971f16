"""Every algorithm, executed: data that must get somewhere does, and nothing waits for itself."""

from __future__ import annotations

import numpy as np
import pytest
from collective_cases import (
    CASES,
    CHANNELS,
    CUT,
    WHOLE,
    bytes_in,
    carried,
    check_waits,
    fits,
    got,
    least_in,
    made,
    pieces,
    total,
    with_server,
)

from distsim.workload.collectives import Options, expand, message_count, wire_bytes
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
    REDUCE_SCATTER_BLOCK,
    SCATTER,
)

NAMES = [f"{COLLECTIVES[collective]}-{algorithm}" for collective, algorithm in CASES]
EVERY = (ALL_REDUCE, ALL_GATHER, BARRIER)
ONE_PIECE_A_WAY = ("ring", "chain", "tree", "double-tree", "double-binary-tree")


@pytest.mark.parametrize(("collective", "algorithm"), CASES, ids=NAMES)
def test_data_gets_where_it_must(collective, algorithm):
    for members in range(2, 18):
        if not fits(algorithm, members):
            continue
        everyone = (1 << members) - 1
        for number, size in enumerate((0, 1, members - 1, 320)):
            for options in (WHOLE, CUT) if number else (CUT,):
                root = (members * 3 + number) % members
                schedule = made(collective, algorithm, members, size, options, root)
                order = check_waits(schedule)
                known = carried(schedule, order)
                has = got(schedule, known)
                what = (members, size, options)
                if collective in EVERY:
                    assert has == [everyone] * members, what
                elif collective in (REDUCE, GATHER):
                    assert has[root] == everyone, what
                elif collective in (BROADCAST, SCATTER):
                    blocks = bytes_in(schedule) > 0 if size and collective == SCATTER else np.ones(members, bool)
                    assert all(mask >> root & 1 for mask, some in zip(has, blocks) if some), what
                elif algorithm != "sendrecv":       # those with a block of their own
                    whole = size == 0 or (options == WHOLE and algorithm != "hierarchical")
                    some = (np.arange(members) * -(-size // members) < size) | whole
                    assert all(mask == everyone for mask, mine in zip(has, some) if mine), what
                if algorithm == "sendrecv":
                    assert (bytes_in(schedule) == size).all(), what
                elif collective != BARRIER:
                    assert (bytes_in(schedule) >= least_in(collective, members, size, root)).all(), what


@pytest.mark.parametrize(("collective", "algorithm"),
                         [case for case in CASES if case[1] in ONE_PIECE_A_WAY and case[0] != BARRIER])
def test_every_piece_goes_the_whole_way(collective, algorithm):
    """Pieces are what waits for receipts join: each alone brings about the collective, together they are the data."""
    for members in (2, 3, 4, 7, 8, 13):
        everyone = (1 << members) - 1
        for size, options in ((5, CUT), (400, CUT), (397, CHANNELS), (2 * members, WHOLE)):
            root = members // 2
            schedule = made(collective, algorithm, members, size, options, root)
            known = carried(schedule, check_waits(schedule))
            rows = schedule.transfers
            data = 0
            for way in pieces(schedule):
                bare = np.unique(rows["size_bytes"][way])
                assert len(bare) == 1 and len(np.unique(rows["channel"][way])) == 1
                data += int(bare[0])
                inside = set(way)
                reached = set(rows["dst"][way].tolist())
                alone = carried_inside(schedule, inside)
                has = got(schedule, alone, way)
                if collective in (ALL_REDUCE, BARRIER):
                    assert has == [everyone] * members
                elif collective == REDUCE:
                    assert has[root] == everyone and len(way) == members - 1
                elif collective == BROADCAST:
                    assert all(mask >> root & 1 for mask in has) and len(reached) == members - 1
                elif collective == ALL_GATHER:
                    origin = set(range(members)) - reached
                    assert len(origin) == 1 and len(way) == members - 1
                else:
                    assert len(way) == members - 1 and everyone in has
            assert data == size * (members if collective == ALL_GATHER else 1)
            assert len(known) == len(rows)


def carried_inside(schedule, inside):
    """`carried` when only the waits for receipts of these transfers count."""
    waits = {row: [] for row in inside}
    for transfer, on in schedule.after_received.tolist():
        if transfer in inside:
            waits[transfer].append(on)
    known = {}

    def know(row):
        if row not in known:
            known[row] = 1 << int(schedule.transfers["src"][row])
            for on in waits[row]:
                known[row] |= know(on)
        return known[row]

    for row in sorted(inside):
        know(row)
    return known


@pytest.mark.parametrize("members", [2, 4, 8, 16])
@pytest.mark.parametrize("options", [WHOLE, CUT])
def test_halving_doubling_sends_only_finished_sums_back(members, options):
    schedule = made(ALL_REDUCE, "halving-doubling", members, 4096, options)
    known = carried(schedule, check_waits(schedule))
    ways = members.bit_length() - 1
    for row, step in enumerate(schedule.transfers["step"].tolist()):
        have = bin(known[row]).count("1")
        assert have == (2 ** step if step < ways else members)


@pytest.mark.parametrize(("collective", "last"), [(ALL_REDUCE, 3), (ALL_GATHER, 2), (REDUCE_SCATTER, 2),
                                                  (ALL_TO_ALL, 2)])
@pytest.mark.parametrize("options", [Options(server=4), Options(channels=2, chunk_bytes=40, slices=2, server=4)])
def test_hierarchical_phases_wait_for_the_one_before(collective, last, options):
    """12 members in 3 servers: what leaves in the rail's and in the last phase holds all that was to be collected."""
    schedule = expand(collective, "hierarchical", 12, 960, options=options)
    known = carried(schedule, check_waits(schedule))
    rows = schedule.transfers
    inside = rows["src"] // 4 == rows["dst"] // 4
    assert (rows["src"][~inside] % 4 == rows["dst"][~inside] % 4).all()
    for row in np.flatnonzero(~inside):
        server = 0b1111 << int(rows["src"][row] // 4 * 4)
        if collective != ALL_GATHER:
            assert known[row] & server == server
    final = rows["step"] == rows["step"].max()
    if collective == ALL_REDUCE:
        assert inside[final].all() and all(known[row] == 0xFFF for row in np.flatnonzero(final))
    if collective == ALL_GATHER:
        rail = [0b000100010001 << member for member in range(4)]
        assert all(known[row] & rail[rows["src"][row] % 4] == rail[rows["src"][row] % 4]
                   for row in np.flatnonzero(inside))
    assert last == 1 + len(np.flatnonzero(np.diff(inside.astype(int))))


@pytest.mark.parametrize(("collective", "algorithm"), CASES, ids=NAMES)
def test_one_member_has_nothing_to_do(collective, algorithm):
    schedule = expand(collective, algorithm, 1, 1000, options=CUT)
    assert schedule.members == 1
    assert len(schedule.transfers) == len(schedule.after_received) == len(schedule.after_sent) == 0
    assert message_count(collective, algorithm, 1, 1000) == wire_bytes(collective, algorithm, 1, 1000) == 0


@pytest.mark.parametrize(("collective", "algorithm"), CASES, ids=NAMES)
def test_cutting_keeps_the_bytes(collective, algorithm):
    """And where the data divides evenly, they are those of the whole form."""
    members = 8
    for size in (8 * 9 * 5 * 7, 999):
        totals = {total(made(collective, algorithm, members, size, options))
                  for options in (CUT, CHANNELS, Options(slices=4), Options(chunk_bytes=64), Options(5, 9, 3))}
        assert len(totals) == 1
        whole = total(made(collective, algorithm, members, size))
        assert whole in totals if size % members == 0 else whole >= max(totals)


@pytest.mark.parametrize("collective", [REDUCE, BROADCAST, GATHER, SCATTER])
def test_the_root_may_be_any_member(collective):
    for algorithm in [name for number, name in CASES if number == collective]:
        for root in range(5):
            schedule = made(collective, algorithm, 5, 500, WHOLE, root)
            there = schedule.transfers["dst"] if collective in (REDUCE, GATHER) else schedule.transfers["src"]
            away = schedule.transfers["src"] if collective in (REDUCE, GATHER) else schedule.transfers["dst"]
            assert root in there and root not in away


def test_reduce_scatter_block_is_reduce_scatter():
    for algorithm in ("ring", "hierarchical"):
        options = with_server(CUT, algorithm, 6)
        one = expand(REDUCE_SCATTER, algorithm, 6, 1000, options=options)
        other = expand(REDUCE_SCATTER_BLOCK, algorithm, 6, 1000, options=options)
        assert (one.transfers == other.transfers).all() and (one.after_sent == other.after_sent).all()
