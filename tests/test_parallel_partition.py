"""Partitions: every rank count, no rank empty, racks whole, balanced, links without delay never cut."""

from __future__ import annotations

import random

import numpy as np
import pytest
from engine_cases import model, send, three_tiers, two_tiers
from simkit import make_fabric

from distsim.errors import InputError
from distsim.fabric.types import Fabric
from distsim.parallel.partition import PARTITIONS, cut, partition, partition_report
from distsim.workload.types import ON_SEND_DONE

FABRICS = {
    "leaf-spine": lambda: two_tiers(4, 3, 2),
    "one rack": lambda: two_tiers(1, 5, 0),
    "uneven": lambda: two_tiers(5, 2, 3),
    "fat tree": lambda: three_tiers(4),
}


@pytest.mark.parametrize("name", PARTITIONS)
@pytest.mark.parametrize("kind", FABRICS)
def test_every_rank_count_up_to_the_number_of_nodes(kind, name):
    fabric = FABRICS[kind]()
    for ranks in range(1, len(fabric.nodes) + 1):
        owner = partition(fabric, ranks, name)
        assert owner.dtype == np.dtype("i4") and len(owner) == len(fabric.nodes)
        assert np.unique(owner).tolist() == list(range(ranks))
        assert (owner == partition(fabric, ranks, name)).all()


def racks_of(fabric: Fabric, owner: np.ndarray) -> list[set[int]]:
    """Ranks that hold a part of each rack."""
    racks = fabric.nodes["rack"]
    return [set(owner[racks == rack].tolist()) for rack in range(int(racks.max()) + 1)]


@pytest.mark.parametrize("kind", FABRICS)
def test_racks_stay_whole_while_there_are_enough(kind):
    fabric = FABRICS[kind]()
    racks = int(fabric.nodes["rack"].max()) + 1
    for ranks in range(1, racks + 1):
        parts = racks_of(fabric, partition(fabric, ranks))
        assert all(len(part) == 1 for part in parts)
        held = np.bincount([rank for part in parts for rank in part], minlength=ranks)
        assert held.max() - held.min() <= 1                    # equal racks: shares differ by one
        order = [min(part) for part in parts]
        assert order == sorted(order)                          # neighbours stay together


def test_switches_above_the_racks_are_spread():
    # 16 NICs in 8 racks, 8 fabric and 4 spine switches on 4 ranks: 2 racks, 2 fabric switches and 1 spine each.
    fabric = three_tiers(4)
    owner = partition(fabric, 4)
    for tier, each in ((3, 4), (2, 2), (1, 2), (0, 1)):
        assert np.bincount(owner[fabric.nodes["tier"] == tier]).tolist() == [each] * 4


def test_more_ranks_than_racks_cut_the_nodes_in_their_order():
    # Two racks of two NICs and a switch, one spine: 7 nodes on 7 and on 3 ranks.
    fabric = two_tiers(2, 2, 1)
    assert partition(fabric, 7).tolist() == [0, 1, 3, 4, 2, 5, 6]
    assert partition(fabric, 3).tolist() == [0, 0, 1, 1, 0, 2, 2]


def test_interleaved_cuts_every_rack():
    fabric = two_tiers(2, 3, 1)
    assert partition(fabric, 2, "interleaved").tolist() == [0, 1] * 4 + [0]


def test_unknown_names_and_too_many_ranks_are_refused(monkeypatch):
    fabric = two_tiers()
    with pytest.raises(InputError, match="'by-luck' is no partition; valid: by-rack, in-order, interleaved"):
        partition(fabric, 2, "by-luck")
    with pytest.raises(InputError, match="6 ranks are more than the 5 nodes"):
        partition(fabric, 6)
    monkeypatch.setenv("DISTSIM_PARTITION", "interleaved")
    assert partition(fabric, 2).tolist() == [0, 1, 0, 1, 0]


# ---- links without delay ---------------------------------------------------------------------------------------------
def without_delay(fabric: Fabric, *pairs: tuple[str, str]) -> Fabric:
    """The fabric with no delay on the cables between these devices."""
    names = fabric.names
    for one, two in pairs:
        ends = {names.index(one), names.index(two)}
        for row, link in enumerate(fabric.links):
            if {int(link["src"]), int(link["dst"])} == ends:
                fabric.links["delay_ps"][row] = 0
    return fabric


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_link_without_delay_is_never_cut(name):
    fabric = without_delay(two_tiers(3, 2, 2), ("NIC-0", "RackSwitch-0"), ("RackSwitch-0", "SpineSwitch-1"),
                           ("NIC-5", "RackSwitch-2"))
    zero = fabric.links[fabric.links["delay_ps"] == 0]
    for ranks in range(1, 9):                                  # 11 nodes; 3 and 2 of them are one part each
        owner = partition(fabric, ranks, name)
        assert (owner[zero["src"]] == owner[zero["dst"]]).all()
        assert np.unique(owner).tolist() == list(range(ranks))
    with pytest.raises(InputError, match="9 ranks are more than the 8 parts"):
        partition(fabric, 9, name)


@pytest.mark.parametrize("seed", range(5))
def test_random_fabrics_with_links_without_delay(seed):
    fabric = make_fabric(random.Random(seed), 3, 3, 2)
    zero = fabric.links[fabric.links["delay_ps"] == 0]
    for ranks in range(1, len(fabric.nodes) + 1):
        try:
            owner = partition(fabric, ranks)
        except InputError:
            assert len(zero)
            break
        assert np.unique(owner).tolist() == list(range(ranks))
        assert (owner[zero["src"]] == owner[zero["dst"]]).all()


# ---- shares ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("weights, parts, expected", [
    ([1, 1, 1, 1], 2, [0, 0, 1, 1]), ([1, 1, 1], 3, [0, 1, 2]), ([3, 1, 1, 1], 2, [0, 1, 1, 1]),
    ([9, 1, 1], 3, [0, 1, 2]), ([1, 1, 9], 3, [0, 1, 2]), ([2, 2, 2, 2, 2], 1, [0] * 5),
])
def test_shares_of_equal_weight_in_order(weights, parts, expected):
    assert cut(np.array(weights, float), parts).tolist() == expected


def test_no_share_is_empty_whatever_the_weights():
    rng = np.random.default_rng(4)
    for _ in range(300):
        items = int(rng.integers(1, 12))
        parts = int(rng.integers(1, items + 1))
        shares = cut(rng.choice([1.0, 1.0, 2.0, 50.0, 100.0], items), parts)
        assert np.unique(shares).tolist() == list(range(parts)) and (np.diff(shares) >= 0).all()


# ---- the report ------------------------------------------------------------------------------------------------------
def test_the_report_of_a_cut():
    # Two racks on two ranks: the spine goes with one of them, so a rack switch has its cable to it cut, both ways.
    made = model(two_tiers(2, 2, 1), [send(0, 3, 1)])
    report = partition_report(made, 2)
    assert (report["lookahead_ps"], report["window_ps"]) == (101_240, 501_240)
    assert (report["cut_links"], report["triggers"]) == (2, 0)
    assert [part["nics"] for part in report["parts"]] == [2, 2]
    assert sum(part["switches"] for part in report["parts"]) == 3
    assert [part["nodes"] for part in report["parts"]] == [part["nics"] + part["switches"] for part in report["parts"]]
    assert partition_report(made, 1)["window_ps"] is None


def test_the_report_counts_triggers_between_ranks():
    # A trigger from NIC-0 to NIC-3, 100 ns, is shorter than the links that are cut; one inside a rack is not cut.
    for host, window in ((3, 100_000), (1, 501_240)):
        made = model(two_tiers(2, 2, 1), [send(0, 2, 1), send(host, 0, 1, deps=1)], [(0, 1, ON_SEND_DONE)])
        report = partition_report(made, 2)
        assert (report["lookahead_ps"], report["window_ps"], report["triggers"]) == (100_000, window, 1)
        assert report["cut_links"] == 2


def test_servers_whose_nics_are_on_several_leaves_stay_whole():
    # Two leaves of four NICs; a server has NICs k and k + 4. By rack each leaf is a rank, which splits every server.
    fabric = two_tiers(2, 4, 1)
    near = np.array([[k, k + 4, 50_000] for k in range(4)] + [[k + 4, k, 50_000] for k in range(4)])
    owner = partition(fabric, 2, "by-rack", near=near)
    assert owner[:8].tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert set(owner[8:10].tolist()) == {0, 1}
    # Already whole, or more ranks than servers: as without them.
    inside = np.array([[0, 1, 50_000], [1, 0, 50_000]])
    assert partition(fabric, 2, "by-rack", near=inside).tolist() == partition(fabric, 2, "by-rack").tolist()
    assert partition(fabric, 5, "by-rack", near=near).tolist() == partition(fabric, 5, "by-rack").tolist()
