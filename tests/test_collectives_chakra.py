"""The whole form of the algorithms is the table of Chakra's page: counts and bytes worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from collective_cases import bytes_out, check_waits, total

from distsim.workload.collectives import ALGORITHMS, ALGORITHMS_OF, expand
from distsim.workload.graph import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BARRIER,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCATTER,
)


def pairs(waits):
    return {(int(row["transfer"]), int(row["on"])) for row in waits}


# collective, algorithm, members, S, transfers, bytes of each by step (the last one for all further steps), total
TABLE = [
    (ALL_REDUCE, "ring", 8, 1000, 112, [125], 14000),
    (ALL_REDUCE, "tree", 8, 1000, 14, [1000], 14000),
    (ALL_REDUCE, "halving-doubling", 8, 1000, 48, [500, 250, 125, 125, 250, 500], 14000),
    (ALL_REDUCE, "double-tree", 8, 1001, 28, [501], 14028),
    (ALL_REDUCE, "ring", 3, 1000, 12, [334], 4008),
    (ALL_REDUCE, "halving-doubling", 4, 1001, 16, [502, 251, 251, 502], 6024),
    (REDUCE, "ring", 8, 1000, 7, [1000], 7000),
    (REDUCE, "tree", 8, 1000, 7, [1000], 7000),
    (ALL_GATHER, "ring", 8, 1000, 56, [1000], 56000),
    (REDUCE_SCATTER, "ring", 8, 1000, 56, [125], 7000),
    (REDUCE_SCATTER, "ring", 8, 1001, 56, [126], 7056),
    (REDUCE_SCATTER, "halving", 8, 1000, 24, [500, 250, 125], 7000),
    (REDUCE_SCATTER_BLOCK, "ring", 8, 1000, 56, [125], 7000),
    (BROADCAST, "sequential", 8, 1000, 7, [1000], 7000),
    (BROADCAST, "interleaved", 8, 1000, 7, [1000], 7000),
    (GATHER, "direct", 8, 1000, 7, [1000], 7000),
    (SCATTER, "direct", 8, 1000, 7, [125], 875),
    (ALL_TO_ALL, "sequential", 8, 1000, 56, [125], 7000),
    (ALL_TO_ALL, "interleaved", 8, 1003, 56, [126], 7056),
    (BARRIER, "ring", 8, 1000, 112, [0], 0),
    (BARRIER, "tree", 8, 1000, 14, [0], 0),
    (BARRIER, "double-tree", 8, 1000, 28, [0], 0),
    (BARRIER, "halving-doubling", 8, 1000, 48, [0], 0),
]


@pytest.mark.parametrize(("collective", "algorithm", "members", "size", "count", "by_step", "all_bytes"), TABLE)
def test_table(collective, algorithm, members, size, count, by_step, all_bytes):
    schedule = expand(collective, algorithm, members, size)
    check_waits(schedule)
    rows = schedule.transfers
    assert len(rows) == count and total(schedule) == all_bytes
    for step in np.unique(rows["step"]):
        expected = by_step[min(step, len(by_step) - 1)]
        assert (rows["size_bytes"][rows["step"] == step] == expected).all()
    assert (rows["channel"] == 0).all() or algorithm == "double-tree"


def test_zero_bytes_are_sent_everywhere_that_bytes_would_be():
    for collective, algorithm, members, size, *_ in TABLE:
        some, none = expand(collective, algorithm, members, size), expand(collective, algorithm, members, 0)
        assert len(some.transfers) == len(none.transfers) and total(none) == 0


def test_ring_of_three_by_hand():
    """4 steps; transfer (step t, member m) is row 3 t + m, waits for what member m - 1 sent in step t - 1, no more."""
    schedule = expand(ALL_REDUCE, "ring", 3, 6)
    rows = schedule.transfers
    assert rows["src"].tolist() == [0, 1, 2] * 4 and rows["dst"].tolist() == [1, 2, 0] * 4
    assert rows["step"].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert pairs(schedule.after_received) == {(3, 2), (4, 0), (5, 1), (6, 5), (7, 3), (8, 4), (9, 8), (10, 6), (11, 7)}
    assert len(schedule.after_sent) == 0


def test_tree_of_eight_by_hand():
    """0 above 4; 4 above 2 and 6; 2 above 1 and 3; 6 above 5 and 7. Leaves send first, and hear last."""
    schedule = expand(ALL_REDUCE, "tree", 8, 10)
    rows = schedule.transfers
    up, down = rows[rows["step"] < 3], rows[rows["step"] >= 3]
    parent = {1: 2, 3: 2, 5: 6, 7: 6, 2: 4, 6: 4, 4: 0}
    assert dict(zip(up["src"].tolist(), up["dst"].tolist())) == parent
    assert dict(zip(down["dst"].tolist(), down["src"].tolist())) == parent
    assert up["step"][np.argsort(up["src"])].tolist() == [0, 1, 0, 2, 0, 1, 0]
    assert down["step"][np.argsort(down["dst"])].tolist() == [5, 4, 5, 3, 5, 4, 5]
    ends = {(int(rows["src"][t]), int(rows["dst"][t]), int(rows["src"][on]))
            for t, on in pairs(schedule.after_received)}
    assert ends == {(2, 4, 1), (2, 4, 3), (6, 4, 5), (6, 4, 7), (4, 0, 2), (4, 0, 6), (0, 4, 4),
                    (4, 2, 0), (4, 6, 0), (2, 1, 4), (2, 3, 4), (6, 5, 4), (6, 7, 4)}


def test_double_tree_has_its_roots_at_the_ends():
    rows = expand(ALL_REDUCE, "double-tree", 8, 10).transfers
    first, second = rows[rows["channel"] == 0], rows[rows["channel"] == 1]
    assert first["src"][first["step"] == 3].tolist() == [0] and second["src"][second["step"] == 3].tolist() == [7]
    assert sorted(7 - second["src"]) == sorted(first["src"])


def test_reduce_ring_ends_at_the_root():
    schedule = expand(REDUCE, "ring", 4, 10, root=1)
    rows = schedule.transfers[np.argsort(schedule.transfers["step"])]
    assert rows["src"].tolist() == [2, 3, 0] and rows["dst"].tolist() == [3, 0, 1]
    assert len(schedule.after_received) == 2


def test_broadcast_one_after_another_or_at_once():
    one_by_one = expand(BROADCAST, "sequential", 4, 10, root=2)
    assert one_by_one.transfers["dst"].tolist() == [3, 0, 1]
    assert pairs(one_by_one.after_sent) == {(1, 0), (2, 1)} and len(one_by_one.after_received) == 0
    at_once = expand(BROADCAST, "interleaved", 4, 10, root=2)
    assert len(at_once.after_sent) == len(at_once.after_received) == 0


def test_all_to_all_by_distance():
    """Member m, step s: row 2 m + s - 1 of 3 members; only the own sends are ordered."""
    schedule = expand(ALL_TO_ALL, "sequential", 3, 30)
    assert schedule.transfers["dst"].tolist() == [1, 2, 2, 0, 0, 1]
    assert pairs(schedule.after_sent) == {(1, 0), (3, 2), (5, 4)} and len(schedule.after_received) == 0
    at_once = expand(ALL_TO_ALL, "interleaved", 3, 30)
    assert (at_once.transfers["dst"] == schedule.transfers["dst"]).all() and len(at_once.after_sent) == 0


def test_halving_doubling_of_four_by_hand():
    """Partners 2 away, then 1, then 1, then 2; a step waits for the last one's receive and send."""
    schedule = expand(ALL_REDUCE, "halving-doubling", 4, 400)
    rows = schedule.transfers
    assert [(rows["src"] ^ rows["dst"])[rows["step"] == step].tolist() for step in range(4)] == [
        [2] * 4, [1] * 4, [1] * 4, [2] * 4]
    assert (bytes_out(schedule) == 600).all()
    place = {(int(row["src"]), int(row["step"])): number for number, row in enumerate(rows)}
    assert pairs(schedule.after_received) == {(place[m, s], place[m ^ far, s - 1]) for m in range(4)
                                              for s, far in ((1, 2), (2, 1), (3, 1))}
    assert pairs(schedule.after_sent) == {(place[m, s], place[m, s - 1]) for m in range(4) for s in (1, 2, 3)}


@pytest.mark.parametrize(("collective", "algorithm"), [(ALL_REDUCE, "halving-doubling"), (REDUCE_SCATTER, "halving"),
                                                       (BARRIER, "halving-doubling"), (ALL_GATHER, "hypercube")])
def test_powers_of_two_only(collective, algorithm):
    with pytest.raises(ValueError, match=f"{algorithm} needs a group whose size is a power of two, got 6 members"):
        expand(collective, algorithm, 6, 100)


def test_names_and_defaults():
    """Defaults: Chakra's page, Configuration. Positions stand in records: they must not move."""
    assert [names[0] for names in ALGORITHMS_OF.values()] == [
        "ring", "ring", "ring", "direct", "direct", "interleaved", "interleaved", "ring", "ring", "ring"]
    assert ALGORITHMS == ("ring", "tree", "double-tree", "halving-doubling", "halving", "interleaved", "sequential",
                          "direct", "chain", "double-binary-tree", "hierarchical", "pairwise", "nccl", "sendrecv",
                          "hypercube", "dissemination")
    assert ALGORITHMS_OF[ALL_REDUCE][:4] == ("ring", "tree", "double-tree", "halving-doubling")
    assert ALGORITHMS_OF[BARRIER][:4] == ("ring", "tree", "double-tree", "halving-doubling")
