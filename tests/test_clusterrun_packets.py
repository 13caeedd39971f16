"""A simulation of a step, with the engine: each job's own end, faults, the load of the spines; and the crew of one."""

from __future__ import annotations

import pytest
from clusterrun_cases import S, cluster_file

from distsim.cluster import load_cluster
from distsim.clusterrun.crew import Crew
from distsim.clusterrun.figures import SpineLoad, largest_bus, spine_load
from distsim.clusterrun.packets import Packets
from distsim.clusterrun.progress import Plan
from distsim.clusterrun.steptimes import PS_PER_S, Member, Request
from distsim.clusterrun.work import Work
from distsim.errors import InputError

SMALL, LARGE = (Work({"kind": "collective", "collective": "all_reduce", "size": size}, Plan(1))
                for size in ("256KB", "1MB"))
PAUSE = Work({"kind": "training", "compute": "1s", "gradients": "0B", "steps": 1}, Plan(1), PS_PER_S)
WORKS = {"x/a": SMALL, "x/b": LARGE, "y/a": PAUSE}
# Racks of four NICs on one spine: hosts 0 to 3 and 4 to 7.
ACROSS_A, ACROSS_B, PAUSING = Member("x/a", (0, 4)), Member("x/b", (1, 5)), Member("y/a", (2, 6))


@pytest.fixture
def packets(tmp_path) -> Packets:
    cluster = load_cluster(cluster_file(tmp_path, network={"spines": 1}))
    return Packets(cluster, WORKS, tmp_path / "records", Crew(quiet=True).simulate)


def request(name: str, *members: Member, limit_ps: int = 10 * S, at_ps: int = 5 * S, **faults: object) -> Request:
    return Request(name, members, dict(faults), limit_ps, at_ps)


def test_each_job_of_a_simulation_has_its_own_end(packets):
    together = packets.simulate(request("together", ACROSS_A, ACROSS_B, PAUSING))
    alone = {one.job: packets.simulate(request(f"alone-{at}", one))[one.job]
             for at, one in enumerate((ACROSS_A, ACROSS_B, PAUSING))}
    assert together["y/a"] == alone["y/a"] == PS_PER_S          # sends nothing: exactly its computation
    assert alone["x/a"] < alone["x/b"] < 100 * 10**6            # 1 MB at 400 Gb/s is 20 us a rank, twice
    assert together["x/a"] > 1.2 * alone["x/a"] and together["x/b"] > 1.05 * alone["x/b"]
    assert together["x/a"] < together["x/b"] < together["y/a"]


def test_the_load_of_the_spine_is_what_the_rings_send_over_it(packets):
    """Two ranks: each sends half of 1 MB twice; on the one spine 1 MB goes to either rack, and leaves either rack."""
    packets.simulate(request("ring", ACROSS_B))
    load = packets.figures["ring"].spine
    assert load is not None and load.links == 4
    assert load.max_bytes == pytest.approx(1e6, rel=0.1) and load.mean_bytes == pytest.approx(1e6, rel=0.1)
    assert load.document()["imbalance"] == pytest.approx(1, abs=0.02)
    assert packets.figures["ring"].bus_gbs["x/b"] < 50


def test_a_job_whose_nic_has_no_link_does_not_end_by_the_limit(packets):
    gone = {"events": [{"target": "nic", "name": "NIC-1", "at": "0ps", "detection_time": "0ps"}]}
    assert packets.simulate(request("gone", ACROSS_B, limit_ps=S // 100, **gone)) == {"x/b": None}
    back = {"events": [{"target": "nic", "name": "NIC-1", "at": "0ps", "duration": "5ms"}]}
    assert 5 * 10**9 < packets.simulate(request("back", ACROSS_B, limit_ps=S // 10, **back))["x/b"] < 10**10


def test_the_configuration_of_a_step(packets):
    section = packets.section(request("s", ACROSS_A, PAUSING), None)
    assert section["workload"] == {"kind": "several", "ends": True, "parts": [
        {"kind": "collective", "collective": "all_reduce", "size": "256KB", "name": "a", "hosts": [0, 4]},
        {"kind": "training", "compute": "1s", "gradients": "0B", "steps": 1, "name": "a-2", "hosts": [2, 6]}]}
    assert "bandwidthMeasurement" not in section and "faults" not in section
    parameters = section["SimulationParameters"]
    assert (parameters["StartTime"], parameters["ClientStartOffset"], parameters["NDStatsReportInterval"]) == (5, 0, 10)


def test_an_error_of_the_workload_names_simulation_and_job(packets):
    with pytest.raises(InputError, match=r"single \(x/b\): workload\.parts\.0\.hosts: 1 host given; at least 2 are"):
        packets.simulate(request("single", Member("x/b", (0,))))


def test_spine_load_without_spines_or_records(tmp_path):
    assert spine_load(tmp_path) is None
    assert SpineLoad(4, 0, 0).document() == {"links": 4, "maxBytes": 0, "meanBytes": 0.0, "imbalance": None}
    assert SpineLoad(4, 6, 12).document() == {"links": 4, "maxBytes": 6, "meanBytes": 3.0, "imbalance": 2.0}


def test_bus_bandwidth_of_a_measurement_is_that_of_its_largest_size():
    rows = [{"sizeBytes": 8, "busBW": "1.00"}, {"sizeBytes": 64, "busBW": "7.50"}, {"sizeBytes": 16, "busBW": "9.00"}]
    assert largest_bus(rows) == 7.5 and largest_bus([]) is None
