"""Diagnose mode: which groups are tested, and what is found, with a network whose faults are known."""

from __future__ import annotations

import pytest

from distsim.workloadrun.diagnose import Diagnosis


def racks(count, per_rack=2):
    """Nodes r0n0, r0n1, r1n0, ... and the rack of each."""
    return {f"r{rack}n{at}": f"r{rack}" for rack in range(count) for at in range(per_rack)}


def diagnosed(domains, fails, least=2, keyed=True):
    """Run a diagnosis to its end; `fails` says whether a set of nodes fails. It, and the groups of each round."""
    found = Diagnosis(list(domains), domains if keyed else {}, least)
    rounds = []
    while not found.over:
        assert len(rounds) < 12
        rounds.append([(group.name, group.nodes) for group in found.groups])
        found.advance([group.name for group in found.groups if fails(set(group.nodes))])
    return found, rounds


def slow_uplink(rack, domains):
    """A rack whose links to the others are slow: what spans it and another fails."""
    def fails(nodes):
        inside = {domains[name] for name in nodes}
        return rack in inside and len(inside) > 1
    return fails


def test_all_well():
    found, rounds = diagnosed(racks(3), lambda nodes: False)
    assert rounds == [[("screen-0", ("r0n0", "r0n1")), ("screen-1", ("r1n0", "r1n1")), ("screen-2", ("r2n0", "r2n1"))],
                      [("inter-domain", ("r0n0", "r1n0", "r2n0"))]]
    assert (found.message, found.failed) == ("All screening passed, no faults detected", False)
    assert found.status()["representativeNodes"] == ["r0n0", "r1n0", "r2n0"]


@pytest.mark.parametrize("count", [4, 5, 6, 8, 13])
def test_the_rack_with_a_slow_uplink_is_found_wherever_it_is(count):
    domains = racks(count)
    for rack in {f"r{at}" for at in range(count)}:
        found, _ = diagnosed(domains, slow_uplink(rack, domains))
        assert (found.faulty_domains, found.suspects) == ([rack], [f"{rack}n0"]), rack
        assert set(found.healthy) == set(domains) - {f"{rack}n0"}
        assert found.message == f"Diagnosis complete: 1 faulty nodes confirmed; links of {rack} to other domains"


def test_the_rounds_that_lead_to_a_slow_uplink():
    domains = racks(4)
    _, rounds = diagnosed(domains, slow_uplink("r2", domains))
    assert rounds[1:] == [
        [("inter-domain", ("r0n0", "r1n0", "r2n0", "r3n0"))],
        [("bisect-2-0a", ("r0n0", "r1n0")), ("bisect-2-0b", ("r2n0", "r3n0"))],
        [("confirm-0", ("r2n0", "r0n0")), ("confirm-1", ("r3n0", "r1n0"))]]     # references that passed between racks


def test_three_racks_are_told_apart_in_a_ring():
    domains = racks(3)
    found, rounds = diagnosed(domains, slow_uplink("r0", domains))
    assert [nodes for _, nodes in rounds[2]] == [("r0n0", "r1n0"), ("r1n0", "r2n0"), ("r2n0", "r0n0")]
    assert found.faulty_domains == ["r0"]


def test_two_racks_cannot_be_told_apart():
    domains = racks(2)
    found, _ = diagnosed(domains, slow_uplink("r1", domains))
    assert (found.suspects, sorted(found.healthy)) == (["r0n0", "r1n0"], ["r0n1", "r1n1"])
    assert found.message.startswith("No healthy reference node; 2 suspects marked failed")


def test_a_bad_node_is_found_in_its_rack():
    domains = racks(3, 8)
    found, rounds = diagnosed(domains, lambda nodes: "r1n5" in nodes)
    assert (found.suspects, found.faulty_domains) == (["r1n5"], [])
    assert rounds[1] == [("inter-domain", ("r0n0", "r2n0"))]                    # the failed rack is not represented
    assert rounds[2] == [("bisect-2-0a", tuple(f"r1n{at}" for at in range(4))),
                         ("bisect-2-0b", tuple(f"r1n{at}" for at in range(4, 8)))]
    assert rounds[4] == [("confirm-0", ("r1n4", "r1n0")), ("confirm-1", ("r1n5", "r1n1"))]
    assert found.screening["r1"] == {"nodes": [f"r1n{at}" for at in range(8)], "passed": False}


def test_two_bad_nodes_in_different_racks():
    domains = racks(4, 4)
    found, _ = diagnosed(domains, lambda nodes: bool({"r0n1", "r3n2"} & nodes))
    assert sorted(found.suspects) == ["r0n1", "r3n2"]
    assert found.message == "Diagnosis complete: 2 faulty nodes confirmed"


def test_a_bad_node_and_a_slow_uplink():
    domains = racks(6, 4)
    slow = slow_uplink("r4", domains)
    found, _ = diagnosed(domains, lambda nodes: "r1n3" in nodes or slow(nodes))
    assert (sorted(found.suspects), found.faulty_domains) == (["r1n3", "r4n0"], ["r4"])


def test_a_group_that_fails_though_its_nodes_pass_beside_others_is_a_fault_of_what_joins_them():
    found = Diagnosis(list(racks(2, 2)), racks(2, 2))
    found.advance(["screen-0"])
    assert [group.nodes for group in found.groups] == [("r0n0", "r1n0"), ("r0n1", "r1n1")]
    found.advance([])
    assert (found.over, found.suspects) == (True, [])
    assert found.faults == [{"domain": "r0", "groupA": ["r0n0"], "groupB": ["r0n1"], "stage": "bisection"}]
    assert found.message == "Diagnosis complete: 1 infrastructure faults detected"


def test_of_several_groups_that_failed_the_smallest_is_told():
    domains = racks(8)
    found, rounds = diagnosed(domains, lambda nodes: {"r0n0", "r1n0", "r3n0"} <= nodes)
    assert rounds[2][0] == ("bisect-2-0a", ("r0n0", "r1n0", "r2n0", "r3n0"))
    assert [(fault["groupA"], fault["groupB"]) for fault in found.faults] == [(["r0n0", "r1n0"], ["r2n0", "r3n0"])]


def test_halves_that_pass_alone_and_fail_together():
    names = [f"n{at}" for at in range(8)]
    domains = dict.fromkeys(names, "r0")

    def trunk(nodes):                                   # what spans n0..n3 and n4..n7 fails
        return any(name in nodes for name in names[:4]) and any(name in nodes for name in names[4:])

    found, rounds = diagnosed(domains, trunk)
    assert rounds[2] == [("cross-0-mix0", ("n0", "n1", "n4", "n5")), ("cross-0-mix1", ("n2", "n3", "n6", "n7"))]
    assert found.faults == [{"domain": "r0", "groupA": names[:4], "groupB": names[4:], "stage": "bisection"}]
    assert (found.failed, found.message) == (True, "Diagnosis complete: 1 infrastructure faults detected")


def test_a_boundary_of_which_one_part_is_bad_is_narrowed_down():
    names = [f"n{at}" for at in range(8)]
    found, rounds = diagnosed(dict.fromkeys(names, "r0"), lambda nodes: {"n2", "n6"} <= nodes)
    assert rounds[3] == [("cross-0-mix0", ("n2", "n6")), ("cross-0-mix1", ("n3", "n7"))]
    assert found.faults == [{"domain": "r0", "groupA": ["n2", "n3"], "groupB": ["n6", "n7"], "stage": "bisection"}]


def test_without_a_topology_groups_are_of_the_square_root():
    found = Diagnosis([f"n{at:02d}" for at in range(12)], {})
    assert [len(group.nodes) for group in found.groups] == [4, 4, 4]
    assert [len(group.nodes) for group in Diagnosis([f"n{at:03d}" for at in range(232)], {}).groups] == [16] * 14 + [8]
    assert [len(group.nodes) for group in Diagnosis(["a", "b"], {}).groups] == [2]


def test_without_a_topology_a_slow_uplink_is_a_fault_between_halves_of_a_group():
    domains = {name: f"r{at // 2}" for at, name in enumerate([f"n{at:02d}" for at in range(12)])}
    found, _ = diagnosed(domains, slow_uplink("r3", domains), keyed=False)
    assert found.faults == [{"domain": "", "groupA": ["n04", "n05"], "groupB": ["n06", "n07"], "stage": "bisection"}]


def test_minGroupSize_stops_halving():
    domains = racks(2, 8)
    found, rounds = diagnosed(domains, lambda nodes: "r0n0" in nodes, least=8)
    assert [name for name, _ in rounds[1]] == [f"confirm-{at}" for at in range(8)]
    assert found.suspects == ["r0n0"]
