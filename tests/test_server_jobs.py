"""Simulations that a server starts: watched to their end, ended with rows kept, and found again by the next server."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
import server_cases as cases

from distsim.server.process import identity

RECORD = "uet-transport-stats"


@pytest.fixture
def runs(tmp_path):
    directory = tmp_path / "runs"
    directory.mkdir()
    return directory


def directory_of(runs, found):
    return runs / found["path"]


def process_of(runs, simulation):
    """Number of the process that runs a simulation."""
    return json.loads((runs / ".distsim-server" / "simulations" / simulation / "job.json").read_text())["pid"]


def wait_until_gone(pid):
    end = time.monotonic() + cases.PATIENCE_S
    while identity(pid):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_simulation_from_its_configuration_to_its_files(runs):
    with cases.Server(runs) as server:
        simulation = cases.started(server.client, cases.SMALL, "first", seed=9, duration="20ms")
        found = cases.wait_for(server.client, simulation, "completed")
        assert found["runStatus"] == "finished" and found["seed"] == 9 and found["progress"] == 1.0
        assert found["duration"] == "20ms" and found["flows"] == {"total": 5, "finished": 5, "unfinished": 0}
        info = json.loads((directory_of(runs, found) / "first-run.json").read_text())
        assert info["configuration"]["SimulationParameters"]["RunTime"] == 0.02
        assert found["metrics"]["eventsProcessed"] == info["counts"]["hops"]
        log = server.client.get(f"/api/v1/simulations/{simulation}/logs").json()["logs"]
        assert any("5 of 5 finished" in line["message"] for line in log)
        listed = server.client.get("/api/v1/simulations?status=completed&search=FIR").json()["simulations"]
        assert [one["id"] for one in listed] == [simulation]
        pages = server.client.get(f"/api/v1/simulations/{simulation}/logs?limit=2").json()
        assert [line["message"] for line in pages["logs"]] == [line["message"] for line in log[:2]]
        rest = server.client.get(f"/api/v1/simulations/{simulation}/logs?limit=100&next="
                                 + pages["pagination"]["nextCursor"]).json()
        assert rest["logs"] == log[2:]
        assert server.client.post(f"/api/v1/simulations/{simulation}/terminate").status_code == 409
        gone = server.client.delete(f"/api/v1/simulations/{simulation}")
        assert gone.status_code == 200 and gone.json()["status"] == "deleted"
        assert server.client.get(f"/api/v1/simulations/{simulation}").status_code == 404
        assert not directory_of(runs, found).exists()


@pytest.mark.ranks
def test_a_simulation_on_two_ranks_has_two_shards(runs):
    with cases.Server(runs) as server:
        simulation = cases.started(server.client, cases.SMALL, "pair", ranks=2)
        found = cases.wait_for(server.client, simulation, "completed")
        assert found["ranks"] == 2
        names = [path.name for path in directory_of(runs, found).glob(f"pair-{RECORD}-*.csv")]
        assert len(names) == 2
        one = json.loads((directory_of(runs, found) / "pair-run.json").read_text())
        data = cases.computed(server.client, server.client.get(
            f"/api/v1/simulations/{simulation}/results/data?metric={RECORD}").json()["file"]["downloadUrl"])
        assert data["rowsProcessed"] == sum(file["rows"] for file in one["files"] if file["record"] == RECORD)


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.ranks)])
def test_terminate_keeps_complete_rows(runs, ranks):
    with cases.Server(runs) as server:
        simulation = cases.started(server.client, cases.LONG, "long", ranks=ranks)
        found = cases.wait_for(server.client, simulation, "running")
        directory = directory_of(runs, found)
        cases.wait_for_rows(directory, RECORD, 40)
        running = server.client.get(f"/api/v1/simulations/{simulation}/results/data?metric={RECORD}").json()
        assert running["metadata"]["rowsProcessed"] > 0
        assert server.client.delete(f"/api/v1/simulations/{simulation}").status_code == 409
        assert server.client.post(f"/api/v1/simulations/{simulation}/terminate").status_code == 200
        found = cases.wait_for(server.client, simulation, "terminated")
        assert found["runStatus"] == "interrupted"
        info = json.loads((directory / "long-run.json").read_text())
        assert info["status"] == "interrupted"
        for file in info["files"]:
            text = (directory / file["file"]).read_text()
            assert text.endswith("\n") and text.count("\n") == file["rows"] + 1
        listed = server.client.get(f"/api/v1/simulations/{simulation}/results").json()["files"]
        assert {file["file"] for file in info["files"]} <= {file["name"] for file in listed}


def test_a_run_goes_on_when_the_server_is_killed_and_the_next_one_finds_it(runs):
    first = cases.Server(runs)
    simulation = cases.started(first.client, cases.MIDDLE, "going")
    found = cases.wait_for(first.client, simulation, "running")
    first.end(signal.SIGKILL)
    cases.wait_for_rows(directory_of(runs, found), RECORD, 1)
    with cases.Server(runs) as second:
        assert second.client.get(f"/api/v1/simulations/{simulation}").json()["status"] == "running"
        found = cases.wait_for(second.client, simulation, "completed")
        assert found["runStatus"] == "finished" and found["configurationVersion"] == 1
        files = second.client.get(f"/api/v1/simulations/{simulation}/results?type=csv").json()["files"]
        assert {file["record"] for file in files} >= {RECORD, "nd-stats", "perf"}


def test_a_run_that_ended_while_no_server_watched(runs):
    first = cases.Server(runs)
    short, killed = (cases.started(first.client, text, name) for text, name in
                     ((cases.SMALL, "short"), (cases.LONG, "killed")))
    found = cases.wait_for(first.client, killed, "running")
    directory = directory_of(runs, found)
    cases.wait_for_rows(directory, RECORD, 40)
    first.end(signal.SIGKILL)
    os.killpg(process_of(runs, killed), signal.SIGKILL)
    for simulation in (short, killed):
        wait_until_gone(process_of(runs, simulation))
    (runs / ".distsim-index.sqlite").unlink(missing_ok=True)
    with cases.Server(runs) as second:
        assert second.client.get(f"/api/v1/simulations/{short}").json()["status"] == "completed"
        after = second.client.get(f"/api/v1/simulations/{killed}").json()
        assert (after["status"], after["runStatus"]) == ("terminated", "interrupted")
        assert "killed" in after["failureReason"]
        data = second.client.get(f"/api/v1/simulations/{killed}/results/data?metric={RECORD}").json()
        assert data["metadata"]["rowsProcessed"] == len(cases.rows_of(directory / f"killed-{RECORD}-0.csv")) >= 40
        # Links that the first server made are still good: the key is kept.
        assert (runs / ".distsim-server" / "key").stat().st_mode & 0o777 == 0o600


def test_links_survive_a_restart(runs):
    cases.make_run(runs / "small")
    with cases.Server(runs) as first:
        simulation = cases.only_id(first.client)
        link = first.client.get(f"/api/v1/simulations/{simulation}/results/download-url"
                                "?fileName=small-perf-0.csv").json()["downloadUrl"]
        path = link.removeprefix(first.url)
    with cases.Server(runs) as second:
        assert second.client.get(path).content == (runs / "small" / "small-perf-0.csv").read_bytes()


def test_a_configuration_that_the_run_refuses_is_invalid(runs):
    with cases.Server(runs) as server:
        # Valid, but projected to take longer than a day, which `distsim run` refuses without --yes.
        text = cases.MIDDLE.replace("200MB", "1000GB").replace("nics_per_rack: 8", "nics_per_rack: 128").replace(
            "{NDStats", "{RunTime: 1000, NDStats")
        simulation = cases.started(server.client, text, "huge")
        found = cases.wait_for(server.client, simulation, "invalid")
        assert found["failureReason"]
        errors = server.client.get(f"/api/v1/simulations/{simulation}/logs?level=error").json()["logs"]
        assert errors and all(line["level"] == "error" for line in errors)
        assert server.client.delete(f"/api/v1/simulations/{simulation}").status_code == 200


def test_only_so_many_at_once(runs):
    with cases.Server(runs, "--max-runs", "1") as server:
        simulation = cases.started(server.client, cases.LONG, "one")
        made = server.client.get("/api/v1/configurations").json()["configurations"][0]
        body = {"configurationId": made["id"], "name": "two"}
        answer = server.client.post("/api/v1/simulations", json=body)
        assert answer.status_code == 429 and answer.json()["error"]["code"] == "TOO_MANY_REQUESTS"
        assert "Retry-After" in answer.headers
        server.client.post(f"/api/v1/simulations/{simulation}/terminate")
        cases.wait_for(server.client, simulation, "terminated")


def test_a_run_of_others_is_shown_and_not_ended(runs, tmp_path):
    config = tmp_path / "long.yaml"
    config.write_text(cases.LONG)
    import subprocess
    import sys

    child = subprocess.Popen([sys.executable, "-m", "distsim", "run", str(config), "-o", str(runs / "foreign"),
                              "--quiet"])
    try:
        with cases.Server(runs) as server:
            end = time.monotonic() + cases.PATIENCE_S
            while not (found := server.client.get("/api/v1/simulations").json()["simulations"]):
                assert time.monotonic() < end
                time.sleep(0.2)
            assert found[0]["status"] == "running"
            answer = server.client.post(f"/api/v1/simulations/{found[0]['id']}/terminate")
            assert answer.status_code == 501
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == 130
            assert cases.wait_for(server.client, found[0]["id"], "terminated")["runStatus"] == "interrupted"
    finally:
        child.kill()
        child.wait()
