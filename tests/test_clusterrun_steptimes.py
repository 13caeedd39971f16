"""Which simulations are made: what is known is used again; jobs that share links; the fabric's faults in each."""

from __future__ import annotations

import pytest
from clusterrun_cases import MS, S, Steps, cluster_file, faults_file

from distsim.cluster import load_cluster
from distsim.clusterrun.fabric_faults import FabricFaults
from distsim.clusterrun.links import Links, groups
from distsim.clusterrun.progress import Plan
from distsim.clusterrun.steptimes import OPEN_PS, Member, StepTimes
from distsim.clusterrun.work import Work
from distsim.scheduler.faults import read_script

A, B = Member("a", (0, 1)), Member("b", (2, 3))
WORKS = {name: Work({"kind": "collective"}, Plan(1)) for name in "ab"}


@pytest.fixture
def cluster(tmp_path):
    return load_cluster(cluster_file(tmp_path))


def fabric(tmp_path, cluster, *faults, **more) -> FabricFaults:
    script = read_script(faults_file(tmp_path, *faults, **more), cluster)
    return FabricFaults.of(cluster, script.faults, script.fabric)


def times_of(works, faults, steps, *members) -> StepTimes:
    found = StepTimes(works, faults, steps)
    for member in members:
        found.begins(member)
    return found


def test_what_is_known_is_not_simulated_again(cluster):
    steps = Steps()
    times = times_of(WORKS, FabricFaults(cluster), steps, A, B)
    first, change = times.at("a", (A,), 5 * S)
    assert (first.ps, first.base_ps, first.simulation, first.alone, change) == (S, S, "sim-0001", False, None)
    assert times.at("a", (A,), 900 * S)[0] == first and times.made == 1
    assert (steps.asked[0].at_ps, steps.asked[0].limit_ps, steps.asked[0].faults) == (5 * S, OPEN_PS, {})
    elsewhere = Member("a", (4, 5))
    assert times.at("a", (elsewhere,), 6 * S)[0].simulation == "sim-0002"         # other nodes
    both = times.at("b", (A, B), 7 * S)[0]
    assert both.simulation == "sim-0003" and times.at("a", (A, B), 8 * S)[0].simulation == "sim-0003"
    assert times.made == 4                                                        # and b by itself, for its base
    assert times.at("b", (B,), 9 * S)[0].alone and times.made == 4                # known from that


def test_a_step_beside_others_is_measured_by_that_alone_on_the_first_placement(cluster):
    steps = Steps(lambda request, name: S * len(request.members) + S * (request.members[0].hosts == (4, 5)))
    times = times_of(WORKS, FabricFaults(cluster), steps, A, B)
    assert times.at("a", (A, B), 0)[0].base_ps == S
    moved = times.at("a", (Member("a", (4, 5)),), 0)[0]
    assert (moved.ps, moved.base_ps) == (2 * S, S)


def test_sharing_adds_to_the_simulated_step(cluster):
    works = {"a": Work({"kind": "training"}, Plan(1), S // 2)}
    slowed = Member("a", (0,), factor=3.0)
    times = times_of(works, FabricFaults(cluster), Steps(), Member("a", (0,)))
    found = times.at("a", (slowed,), 0)[0]
    assert (found.ps, found.sharing_ps, found.base_ps) == (2 * S, S, S) and times.made == 1


def test_a_job_that_cannot_end_does_not_hold_up_its_neighbour(tmp_path, cluster):
    """Together nothing is told of b, since the simulation ends with its last job; alone b ends, and so it does without
    a."""
    faults = fabric(tmp_path, cluster, {"target": "nic", "name": "NIC-0", "at": "1s"})
    steps = Steps(lambda request, name: None if request.faults and request.members[0].job == "a" else S)
    times = times_of(WORKS, faults, steps, A, B)
    assert times.at("a", (A, B), 2 * S)[0].ps is None
    assert times.at("b", (A, B), 2 * S)[0].ps == S
    assert {request.limit_ps for request in steps.asked if request.faults} == {10 * (S + S) + S}


def test_the_section_of_a_steady_fabric_and_of_one_that_changes(tmp_path, cluster):
    link = {"target": "link", "between": ["RackSwitch-0", "SpineSwitch-0"], "at": "2s", "duration": "3s",
            "detection_time": "2ms"}
    faults = fabric(tmp_path, cluster, link, {"target": "switch", "name": "SpineSwitch-1", "at": "4s"},
                    {"target": "node", "node": "node0", "at": "1s"}, packet_loss_rate=0.0001, detection_time="5ms")
    rates = {"packet_loss_rate": 0.0001, "detection_time": "5ms"}
    at_link = {"target": "link", "between": ["RackSwitch-0", "SpineSwitch-0"]}
    assert faults.at(S) == () and faults.at(2 * S) == (0,) and faults.at(4 * S) == (0, 1) and faults.at(5 * S) == (1,)
    assert [faults.next_change(at * S) for at in (0, 2, 4, 5)] == [2 * S, 4 * S, 5 * S, None]
    assert faults.steady(S) == rates
    assert faults.steady(3 * S) == {**rates, "events": [{**at_link, "at": "0ps", "detection_time": "0ps"}]}
    assert faults.across(19 * S // 10, 6 * S)["events"] == [
        {**at_link, "at": "100ms", "duration": "3s", "detection_time": "2ms"},
        {"target": "switch", "name": "SpineSwitch-1", "at": "2100ms"}]
    assert faults.across(3 * S, 35 * S // 10)["events"] == [
        {**at_link, "at": "0ps", "duration": "2s", "detection_time": "0ps"}]


def test_losses_at_random_are_no_part_of_the_base(tmp_path, cluster):
    faults = fabric(tmp_path, cluster, packet_loss_rate=0.0001)
    steps = Steps(lambda request, name: 2 * S if request.faults else S)
    found = times_of(WORKS, faults, steps, A).at("a", (A,), 0)[0]
    assert (found.ps, found.base_ps) == (2 * S, S)


def test_a_step_across_a_change_has_a_simulation_of_its_own(tmp_path, cluster):
    faults = fabric(tmp_path, cluster, {"target": "nic", "name": "NIC-0", "at": "2500ms", "duration": "1s"})
    steps = Steps()
    times = times_of(WORKS, faults, steps, A)
    times.across("a", (A,), 2 * S)
    request = steps.asked[-1]
    assert request.faults["events"] == [{"target": "nic", "name": "NIC-0", "at": "500ms", "duration": "1s"}]
    assert request.limit_ps == 10 * S + S + 500 * MS and request.at_ps == 2 * S


def test_links_of_jobs_in_one_rack_and_across_the_spines(tmp_path):
    """Racks of two nodes with two NICs each, two spines: a job across the racks passes all four links of the spines in
    either direction, besides the two directions of each of its NICs."""
    links = Links(load_cluster(cluster_file(tmp_path, network={"spines": 2})))
    assert links.between([0, 1]).bit_count() == 4
    assert links.between([0, 4]).bit_count() == 4 + 8
    assert not links.between([0, 1]) & links.between([2, 3])
    assert not links.between([0, 4]) & links.between([2, 3])
    assert links.between([0, 4]) & links.between([1, 5])


def test_groups_of_jobs_that_share_links():
    assert groups({"a": 0b001, "b": 0b010, "c": 0b110}) == [("a",), ("b", "c")]
    assert groups({"a": 0b001, "b": 0b010, "c": 0b011, "d": 0b100}) == [("a", "b", "c"), ("d",)]
    assert groups({}) == []
