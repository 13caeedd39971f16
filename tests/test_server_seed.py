"""The calls of the seed (Getting the records) against a server on loopback; figures worked out from the CSV files."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections import defaultdict

import pytest
import server_cases as cases

TOKEN_LINE = ' \\\n  -H "Authorization: Bearer $SCALA_API_TOKEN"'
RESULTS = 'curl -X GET "https://api.scalacomputing.com/api/v1/simulations/$SIM_ID/results'
LIST = RESULTS + '?type=csv"' + TOKEN_LINE
LINK = RESULTS + '/download-url?fileName=$FILE_NAME"' + TOKEN_LINE
DATA = RESULTS + '/data?metric=uet-transport-stats&mode=timeSeries"' + TOKEN_LINE
RECORD = "uet-transport-stats"
# How the columns of the NICs come together at one instant, as the seed's page reads their names.
RULES = {"total_pkts_sent": sum, "ivl_write_pkts_rcvd": sum, "num_rtx": sum, "max_calc_rtt_usec": max,
         "ivl_min_calc_rtt_usec": min, "ivl_calc_min_cwnd_bytes": min, "ivl_calc_max_cwnd_bytes": max,
         "ivl_avg_calc_rtt_usec": lambda values: math.fsum(values) / len(values)}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    runs = tmp_path_factory.mktemp("seed") / "runs"
    cases.make_run(runs / "small")
    with cases.Server(runs, token=cases.TOKEN) as found:
        yield found


@pytest.fixture(scope="module")
def run(server):
    """id and directory of the run."""
    simulation = cases.only_id(server.client)
    return simulation, server.runs / "small"


def curl(server, line, **environment):
    """What a line of the seed prints, host replaced."""
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    line = line.replace("https://api.scalacomputing.com", server.url).replace("curl ", "curl -sS --fail-with-body ")
    done = subprocess.run(["bash", "-c", line], env={"PATH": "/usr/bin:/bin", "SCALA_API_TOKEN": cases.TOKEN,
                                                     **environment}, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_list_has_every_record_file(server, run):
    simulation, directory = run
    found = curl(server, LIST, SIM_ID=simulation)
    assert found["simulationId"] == simulation
    assert {file["name"] for file in found["files"]} == {path.name for path in directory.glob("*.csv")}
    assert {file["type"] for file in found["files"]} == {"csv"}
    assert found["pagination"] == {"count": len(found["files"]), "hasMore": False}
    info = json.loads(next(directory.glob("*-run.json")).read_text())
    assert found["summary"]["totalPackets"] == info["counts"]["created"]


def test_the_link_downloads_the_bytes_of_the_file(server, run):
    simulation, directory = run
    for path in sorted(directory.iterdir()):
        if path.name.startswith("."):
            continue
        found = curl(server, LINK, SIM_ID=simulation, FILE_NAME=path.name)
        assert found["fileName"] == path.name and found["sizeBytes"] == path.stat().st_size
        answer = server.client.get(found["downloadUrl"], headers={"Authorization": ""})  # the link is enough
        assert answer.status_code == 200 and answer.content == path.read_bytes()
        part = server.client.get(found["downloadUrl"], headers={"Range": "bytes=10-19"})
        assert part.status_code == 206 and part.content == path.read_bytes()[10:20]


def test_the_time_series_is_that_of_the_csv(server, run):
    simulation, directory = run
    found = curl(server, DATA, SIM_ID=simulation)
    assert found["mode"] == "timeSeries" and found["metric"] == RECORD
    data = cases.computed(server.client, found["file"]["downloadUrl"])
    rows = cases.rows_of(directory / f"small-{RECORD}-0.csv")
    assert found["metadata"]["rowsProcessed"] == data["rowsProcessed"] == len(rows)
    by_time = defaultdict(list)
    for row in rows:
        by_time[float(row["sim_time_sec"])].append(row)
    assert len(by_time) > 3
    assert data["series"]["sim_time_sec"] == sorted(by_time)
    for column, rule in RULES.items():
        wanted = [rule([float(row[column]) for row in by_time[time]]) for time in sorted(by_time)]
        assert data["series"][column] == pytest.approx(wanted, rel=1e-12), column
    assert sum(data["series"]["ivl_write_pkts_rcvd"]) > 0


def test_the_summary_is_that_of_the_csv(server, run):
    simulation, directory = run
    path = f"/api/v1/simulations/{simulation}/results/data"
    found = server.client.get(path, params={"metric": RECORD, "mode": "summary"}).json()
    data = cases.computed(server.client, found["file"]["downloadUrl"])
    rows = cases.rows_of(directory / f"small-{RECORD}-0.csv")
    figures = {entry["column"]: entry for entry in data["columns"]}
    for column in RULES:
        values = sorted(float(row[column]) for row in rows)
        entry = figures[column]
        assert entry["count"] == len(values)
        assert (entry["min"], entry["max"]) == (values[0], values[-1])
        assert entry["mean"] == pytest.approx(math.fsum(values) / len(values), rel=1e-12)
        for percent in (50, 99):
            assert entry[f"p{percent}"] == values[math.ceil(percent / 100 * len(values)) - 1]
    last = {row["fep_id"]: row for row in rows}
    assert figures["total_pkts_sent"]["total"] == sum(int(row["total_pkts_sent"]) for row in last.values())
    assert figures["ivl_write_pkts_rcvd"]["total"] == sum(int(row["ivl_write_pkts_rcvd"]) for row in rows)
    again = server.client.get(path, params={"metric": RECORD}).json()
    assert again["metadata"]["cached"] and again["file"]["name"] == found["file"]["name"]


def test_a_tier_is_told_apart(server, run):
    simulation, directory = run
    rows = cases.rows_of(directory / "small-nd-stats-0.csv")
    for tier, number in (("rack", "2"), ("NIC", "3"), ("SSW", "0"), ("all", None)):
        found = server.client.get(f"/api/v1/simulations/{simulation}/results/data",
                                  params={"metric": "nd-stats", "tier": tier}).json()
        data = cases.computed(server.client, found["file"]["downloadUrl"])
        values = [float(row["tx_rate_Gbps"]) for row in rows if number in (None, row["tier"])]
        entry = next(entry for entry in data["columns"] if entry["column"] == "tx_rate_Gbps")
        assert (entry["count"], entry["max"]) == (len(values), max(values))


def test_a_series_of_one_node_and_column(server, run):
    simulation, directory = run
    found = server.client.get(f"/api/v1/simulations/{simulation}/results/data", params={
        "metric": RECORD, "mode": "timeSeries", "node": "NIC-0", "column": ["write_pkts_rcvd", "num_rtx"]}).json()
    data = cases.computed(server.client, found["file"]["downloadUrl"])
    rows = [row for row in cases.rows_of(directory / f"small-{RECORD}-0.csv") if row["component_name"] == "NIC-0"]
    assert data["series"]["write_pkts_rcvd"] == [int(row["write_pkts_rcvd"]) for row in rows]
    assert set(data["series"]) == {"sim_time_sec", "fep_id", "component_name", "write_pkts_rcvd", "num_rtx"}


def test_the_fourth_call_changes_a_global_parameter(server):
    made = server.client.post("/api/v1/configurations", json={"name": "mine", "text": cases.SMALL}).json()
    patch = {"SimulationParameters": {"NDStatsReportInterval": {"value": 0.0005, "type": "double"}}}
    answer = server.client.patch(f"/api/v1/configurations/{made['id']}/parameters", json=patch)
    assert answer.status_code == 200 and answer.headers["etag"] == '"2"'
    assert answer.json()["SimulationParameters"]["NDStatsReportInterval"] == {"value": 0.0005, "type": "double"}
    after = server.client.get(f"/api/v1/configurations/{made['id']}").json()
    assert after["version"] == 2 and after["document"]["SimulationParameters"] == {"NDStatsReportInterval": 0.0005}
    assert after["document"]["workload"] == made["document"]["workload"]


@pytest.mark.parametrize("params", [{"metric": "nothing"}, {"metric": RECORD, "mode": "other"}, {},
                                    {"metric": "nd-stats", "tier": "4"}, {"metric": RECORD, "tier": "rack"},
                                    {"metric": RECORD, "column": "num_rtx"},
                                    {"metric": RECORD, "mode": "timeSeries", "column": "none"}])
def test_bad_parameters_are_400(server, run, params):
    answer = server.client.get(f"/api/v1/simulations/{run[0]}/results/data", params=params)
    assert answer.status_code == 400 and answer.json()["error"]["code"] == "VALIDATION_ERROR"


def test_a_record_that_the_run_has_not_is_404(server, run):
    answer = server.client.get(f"/api/v1/simulations/{run[0]}/results/data", params={"metric": "uet-monitor"})
    assert answer.status_code == 404 and "uet-transport-stats" in answer.json()["error"]["message"]
