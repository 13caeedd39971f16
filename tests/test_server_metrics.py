"""/metrics and /healthz: requests, simulations, what runs measured, what cluster runs did."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
import server_cases as cases
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from distsim.measure.gauges import Series, write_gauges
from distsim.measure.status import Result
from distsim.server.app import create_app
from distsim.server.settings import Settings

TIMELINE = """time_ms,kind,job,pod,node,message
0,submitted,a,,,
1000,bound,a,a-0,n1,
1000,bound,a,a-1,n2,"two, of them"
5000,completed,a,,,
"""


@pytest.fixture
def client(tmp_path):
    runs = (tmp_path / "runs").resolve()
    cases.make_run(runs / "cluster" / "records" / "one")
    with TestClient(create_app(Settings(runs)), base_url="http://127.0.0.1") as found:
        yield found


def families(client):
    answer = client.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    return {family.name: family for family in text_string_to_metric_families(answer.text)}


def samples(found, name):
    return {tuple(sorted(one.labels.items())): one.value for one in found[name].samples}


def test_requests_and_simulations(client):
    for path in ("/api/v1/simulations", "/api/v1/simulations", "/api/v1/simulations/sim_" + "a" * 26, "/nothing"):
        client.get(path)
    found = families(client)
    counted = samples(found, "distsim_http_requests")
    key = {"method": "GET", "route": "/api/v1/simulations", "status": "200"}
    assert counted[tuple(sorted(key.items()))] == 2
    key = {"method": "GET", "route": "/api/v1/simulations/{sim_id}", "status": "404"}
    assert counted[tuple(sorted(key.items()))] == 1
    assert not any("sim_aaa" in str(labels) for labels in counted)
    states = samples(found, "distsim_simulations")
    assert states[(("status", "completed"),)] == 1 and sum(states.values()) == 1
    assert client.get("/healthz").json()["status"] == "ok"


def test_the_gauges_of_a_run_are_told_by_run(client):
    simulation = cases.only_id(client)
    runs = client.app.state.context.settings.runs_dir
    result = Result(size_bytes=1048576, algbw=Decimal("48.5"), busbw=Decimal("95.25"), samples=1)
    write_gauges(str(runs / "cluster" / "records" / "one" / "small-metrics.prom"),
                 [Series("bandwidth", [result], test_type="all_reduce", job="j")])
    (runs / "cluster" / "records" / "one" / "broken-metrics.prom").write_text("{{{\n")
    (runs / "cluster" / "records" / "one" / "away-metrics.prom").symlink_to("/etc/passwd")
    found = families(client)
    (labels, value), = samples(found, "nvcre_nccl_busbw_gbs").items()
    assert value == 95.25 and dict(labels) == {
        "simulation": simulation, "namespace": "", "measurement": "bandwidth", "job": "j", "workflow": "",
        "nccl_test": "all_reduce", "message_size_bytes": "1048576"}
    assert list(samples(found, "nvcre_nccl_algbw_gbs").values()) == [48.5]


def test_what_a_cluster_run_did(client):
    folder = client.app.state.context.settings.runs_dir / "cluster"
    assert samples(families(client), "distsim_schedule_jobs") == {}
    (folder / "timeline.csv").write_text(TIMELINE)
    (folder / "goodput.json").write_text(json.dumps({"jobs": {}, "all": {
        "goodput": 0.75, "chip_wall_ps": 4 * 10**12, "chip_parts_ps": {"useful": 3 * 10**12, "lost": 10**12}}}))
    (folder / "report.json").write_text(json.dumps({"sessions": 6, "jobs": [
        {"name": "a", "state": "Completed"}, {"name": "b", "state": "Pending"}, {"name": "c", "state": "Pending"}]}))
    found = families(client)
    run = ("run", "cluster")
    assert samples(found, "distsim_schedule_jobs") == {(run, ("state", "Completed")): 1, (run, ("state", "Pending")): 2}
    assert samples(found, "distsim_schedule_sessions") == {(run,): 6}
    assert samples(found, "distsim_schedule_happenings") == {
        (("kind", kind), run): count for kind, count in (("submitted", 1), ("bound", 2), ("completed", 1))}
    assert samples(found, "distsim_schedule_goodput_ratio") == {(run,): 0.75}
    assert samples(found, "distsim_schedule_chip_seconds") == {(("part", "useful"), run): 3, (("part", "lost"), run): 1}
    for name in ("report.json", "goodput.json", "timeline.csv"):
        (folder / name).write_text("[1, {")
    assert client.get("/metrics").status_code == 200
