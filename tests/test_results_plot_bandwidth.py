"""Bandwidths and losses by plots against logs and run.json, and the ideal line against what it follows from."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest
from plot_cases import copied, rewrite_json, shipped_runs  # noqa: F401

from distsim.results import open_run
from distsim.results.plots import Choice, plot_named
from distsim.results.plots.bandwidth import ideal_gbs
from distsim.results.plots.jobs import Job


def data(run, name, **choice):
    return plot_named(name).data_of(run, Choice(**choice))


def test_bandwidth_is_that_of_the_log_beside_the_rate_of_the_nics(shipped):
    run = shipped("nccl-tests64")
    text = (run.directory / "nccl-tests64-launcher.log").read_text()
    table = [line.split() for line in text.splitlines() if re.match(r"\s+\d+\s+\d+\s+float", line)]
    found = data(run, "bandwidth")
    assert found["size_bytes"].to_list() == [int(row[0]) for row in table] and len(table) > 4
    assert found["busbw_GBps"].to_list() == [float(row[7]) for row in table]
    assert found["algbw_GBps"].to_list() == [float(row[6]) for row in table]
    assert set(found["ideal_GBps"]) == {50.0} and set(found["ranks"]) == {16} and not found["extrapolated"].any()
    assert (found["busbw_GBps"] <= found["ideal_GBps"]).all()


def test_bandwidth_without_the_log_is_that_of_the_measurement_then_of_collectives(shipped, tmp_path):
    run = shipped("nccl-tests64")
    directory = copied(run, tmp_path)
    (directory / "nccl-tests64-launcher.log").unlink()
    measured = json.loads((directory / "nccl-tests64-bandwidth.json").read_text())["status"]["results"]
    found = data(open_run(directory), "bandwidth")
    assert found["busbw_GBps"].to_list() == [float(one["busBW"]) for one in measured]
    assert set(found["program"]) == {"all_reduce"}
    (directory / "nccl-tests64-bandwidth.json").unlink()
    one = open_run(directory).info["collectives"][0]
    found = data(open_run(directory), "bandwidth")
    assert found["busbw_GBps"][0] == pytest.approx(one["size_bytes"] / 1e3 / one["time_us"] * 2 * 15 / 16)


def test_bandwidth_of_collectives_counts_sizes_as_nccl_tests_does(shipped):
    run = shipped("simai16")
    times = defaultdict(list)
    for one in run.info["collectives"]:
        times[one["collective"], one["size_bytes"], one["members"]].append(one["time_us"])
    found = {row["program"]: row for row in data(run, "bandwidth").iter_rows(named=True)}
    assert len(found) == len(times) == 3
    for (collective, size, members), taken in times.items():
        total = size * members if collective == "all_gather" else size
        factor = {"all_reduce": 2 * (members - 1) / members}.get(collective, (members - 1) / members)
        row = found[collective]
        assert row["size_bytes"] == total and row["samples"] == len(taken)
        assert row["busbw_GBps"] == pytest.approx(factor * total * len(taken) / sum(taken) / 1e3)
        assert row["ideal_GBps"] is None  # NVSwitches stand in the topology's file
    assert found["reduce_scatter"]["busbw_GBps"] < 50 and found["all_gather"]["busbw_GBps"] < 50


def test_extrapolated_sizes_are_told_apart(shipped, tmp_path):
    directory = copied(shipped("nccl-tests64"), tmp_path)
    (directory / "nccl-tests64-nccl-tests-extrapolated.csv").write_text(
        "cycle,size,type,redop,root,in_place,extrapolated,time_us,from_sizes,simulated_operations\n"
        "0,32768,float,sum,-1,0,1,4.5,8;16,0\n0,4096,float,sum,-1,0,0,4.5,,1\n")
    found = data(open_run(directory), "bandwidth")
    assert found.filter("extrapolated")["size_bytes"].to_list() == [32768]


@pytest.mark.parametrize("program, ranks, servers, expected", [
    ("all_reduce", 64, 8, 450.0),     # 2 S 7/8 through 8 NICs of 50: busbw 2 S 63/64 over it
    ("all_gather", 64, 8, 450.0), ("alltoall", 64, 8, 63 / 64 / (7 / 8) * 50), ("broadcast", 64, 8, 400.0),
    ("all_reduce", 8, 1, 450.0), ("all_reduce", 16, 2, 500.0)])  # the last: the NIC and the port of a rank
def test_ideal_line_with_a_scale_up_network(program, ranks, servers, expected):
    assert ideal_gbs(Job("", program, ranks, servers), 50.0, 450.0) == pytest.approx(expected)


def test_ideal_line_is_the_rate_of_the_slowest_nic(shipped, tmp_path):
    run = shipped("nccl-tests64")
    assert ideal_gbs(Job("", "all_reduce", 16, 16), 50.0, 0.0) == 50.0
    assert ideal_gbs(Job("", "all_reduce", 16, 16), None, 0.0) is None
    directory = copied(run, tmp_path)
    (directory / "nccl-tests64-nd-stats-0.csv").unlink()
    slow = {"racks": [0], "set": {"NetworkInterface": {"UplinkNetworkInterface": {"DataRate": "200Gbps"}}}}
    rewrite_json(directory, "nccl-tests64", lambda info: info["configuration"].update(nic_overrides=[slow]))
    assert set(data(open_run(directory), "bandwidth")["ideal_GBps"]) == {25.0}


def test_losses_are_those_of_run_json(shipped):
    run = shipped("faults")
    lost = run.info["faults"]["links"]
    found = data(run, "losses")
    assert found["lost_packets"].to_list() == [one["lost_packets"] for one in lost]
    assert found["link"].to_list() == [f"{one['from']} > {one['to']}" for one in lost]
    assert found["lost_KB"].sum() * 1e3 == pytest.approx(run.info["faults"]["lost_bytes"])
    assert data(run, "losses", top=1).height == 1
