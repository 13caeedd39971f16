"""Runs, servers and clients for the tests of distsim/server."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import zstandard
from fastapi.testclient import TestClient

from distsim.server.app import create_app
from distsim.server.settings import Settings

TOKEN = "a-token-of-the-tests"
SMALL = """simulation: small
seed: 3
fabric: {kind: leaf-spine, racks: 2, nics_per_rack: 4, spines: 2}
workload: {kind: incast, receiver: 0, senders: 5, size: 300KB}
SimulationParameters: {NDStatsReportInterval: 0.000005}
"""
# Some 10 s on this machine, with a row every 50 us; LONG would take minutes.
MIDDLE = """simulation: middle
fabric: {kind: leaf-spine, racks: 4, nics_per_rack: 8, spines: 4}
workload: {kind: permutation, size: 200MB}
SimulationParameters: {NDStatsReportInterval: 0.00005}
"""
LONG = MIDDLE.replace("200MB", "20GB")
PATIENCE_S = 90.0


def make_run(directory: Path, text: str = SMALL, *arguments: str) -> Path:
    """Runs a configuration with the command; its directory."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    config = directory.parent.parent / f"{directory.name}.yaml"
    config.write_text(text)
    subprocess.run([sys.executable, "-m", "distsim", "run", str(config), "-o", str(directory), "--quiet", *arguments],
                   check=True, timeout=300)
    return directory


def copy_of(run: Path, folder: Path) -> Path:
    """A new runs directory in a folder, with a copy of a run."""
    (folder / "runs").mkdir()
    shutil.copytree(run, folder / "runs" / run.name)
    return folder / "runs"


def serve(runs: Path, **settings: Any) -> TestClient:
    """A client of a server in this process."""
    return TestClient(create_app(Settings(runs.resolve(), **settings)), base_url="http://127.0.0.1:8765")


class Server:
    """`distsim serve` in a child process on a free port of loopback."""

    def __init__(self, runs: Path, *arguments: str, token: str = "") -> None:
        self.runs = runs
        environment = {**os.environ, "DISTSIM_API_TOKEN": token}
        self.child = subprocess.Popen([sys.executable, "-m", "distsim", "serve", str(runs), "--port", "0", *arguments],
                                      env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.child.stdout is not None
        line = self.child.stdout.readline()
        found = re.search(r"http://[\w.:\[\]]+", line)
        assert found is not None, line
        self.url = found[0]
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.client = httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exception: object) -> None:
        self.end(signal.SIGTERM)

    def end(self, number: signal.Signals) -> int:
        """Ends the server with a signal; its exit code."""
        self.client.close()
        self.child.send_signal(number)
        code = self.child.wait(30)
        if self.child.stdout is not None:
            self.child.stdout.close()
        return code


def started(client: Any, text: str, name: str, **more: Any) -> str:
    """The id of a simulation of a text, created, validated and started."""
    made = client.post("/api/v1/configurations", json={"name": name, "text": text})
    assert made.status_code == 201, made.text
    found = client.post(f"/api/v1/configurations/{made.json()['id']}/validate").json()
    assert found["valid"], found
    answer = client.post("/api/v1/simulations", json={"configurationId": made.json()["id"], "name": name, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def wait_for(client: Any, simulation: str, *statuses: str) -> dict[str, Any]:
    """The simulation once it has one of the statuses."""
    end = time.monotonic() + PATIENCE_S
    while True:
        found: dict[str, Any] = client.get(f"/api/v1/simulations/{simulation}").json()
        if found["status"] in statuses:
            return found
        assert time.monotonic() < end, found
        assert found["status"] in ("validating", "provisioning", "running"), found
        time.sleep(0.1)


def wait_for_rows(directory: Path, record: str, count: int) -> None:
    """Waits until a record of a run in progress has so many rows."""
    end = time.monotonic() + PATIENCE_S
    while sum(len(rows) for rows in map(rows_of, directory.glob(f"*-{record}-*.csv"))) < count:
        assert time.monotonic() < end
        time.sleep(0.1)


def rows_of(path: Path) -> list[dict[str, str]]:
    """The complete rows of a record file."""
    text = path.read_text()
    return list(csv.DictReader(text[:text.rfind("\n") + 1].splitlines()))


def computed(client: Any, url: str) -> dict[str, Any]:
    """The JSON in a computed file."""
    answer = client.get(url)
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/zstd"
    found: dict[str, Any] = json.loads(zstandard.ZstdDecompressor().stream_reader(answer.content).read())
    return found


def only_id(client: Any) -> str:
    """The id of the one simulation that there is."""
    found = client.get("/api/v1/simulations").json()["simulations"]
    assert len(found) == 1
    return str(found[0]["id"])
