"""Small real runs and their records as plain rows, read by the csv module: for tests of distsim.results."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

import distsim
from distsim.cli.entry import run_cli

# Four NICs on two racks: all write what they can, every 10 us of a run of some 40 us.
SMALL = {
    "simulation": "small", "seed": 7,
    "SimulationParameters": {
        "StartTime": 0.0, "ClientStartOffset": 0.0, "RunTime": 0.01, "NDStatsReportInterval": 1e-5,
        "NetworkBufferStatsReportingInterval": 2e-5, "EnableNetworkBufferStatsReporting": True,
        "EnablePCIeStatsLogging": True, "EnableTopologyReport": True, "EnableTierHop": True, "EnableMPIStats": True,
        "EnableCPUMemStats": True, "EnableSwitchBufferStats": True},
    "fabric": {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4, "spines": 2},
    "workload": {"kind": "several", "parts": [
        {"kind": "permutation", "size": "300KB"},
        {"kind": "incast", "receiver": 0, "senders": 5, "size": "100KB", "start": "5us"}]},
    "nic": {"EnableBufferStats": True, "EnableEventLogging": True,
            "TransportProcessingLayers": {"ScalaUETMonitor": {"EnableUETMonitor": True}}},
}


@pytest.fixture(scope="session", name="small")
def small_run(tmp_path_factory):
    """Directory of the run on one rank; not to be changed."""
    directory = tmp_path_factory.mktemp("results") / "small"
    assert distsim.run(SMALL, directory).exit_code == 0
    return directory


@pytest.fixture(scope="session", name="shards")
def run_on_two_ranks(tmp_path_factory):
    """Directory of the same run on two ranks; not to be changed."""
    directory = tmp_path_factory.mktemp("results") / "shards"
    assert distsim.run(SMALL, directory, ranks=2).exit_code == 0
    return directory


@pytest.fixture(name="copy")
def copy_of_small(small, tmp_path):
    """A copy of the run on one rank, to be changed."""
    return copied(small, tmp_path / "copy")


def copied(directory: Path, to: Path) -> Path:
    shutil.copytree(directory, to)
    return to


def rows_of(directory: Path, record: str) -> list[dict[str, str]]:
    """The rows of all shards as they stand in the files."""
    found = []
    for path in sorted(directory.glob(f"*-{record}-[0-9]*.csv")):
        if path.name.startswith(f"small-{record}-"):
            with open(path, newline="") as file:
                found += list(csv.DictReader(file))
    return found


def numbers(rows: list[dict[str, str]], column: str) -> list[float]:
    """The values of a column that are not empty."""
    return [float(row[column]) for row in rows if row[column] != ""]


def file_of(directory: Path, record: str, shard: int = 0) -> Path:
    return directory / f"small-{record}-{shard}.csv"


def info_of(directory: Path) -> dict:
    return json.loads((directory / "small-run.json").read_text())


def change_info(directory: Path, change) -> None:
    info = info_of(directory)
    change(info)
    (directory / "small-run.json").write_text(json.dumps(info))


def change_row(directory: Path, record: str, at: int, changes: dict[str, str]) -> None:
    """Replaces values of one row; the file is otherwise the same to the byte."""
    lines = file_of(directory, record).read_text().splitlines(keepends=True)
    header, row = lines[0].rstrip("\n").split(","), lines[at + 1].rstrip("\n").split(",")
    for name, value in changes.items():
        row[header.index(name)] = value
    lines[at + 1] = ",".join(row) + "\n"
    file_of(directory, record).write_text("".join(lines))


def results(capsys, *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `distsim results ...`."""
    capsys.readouterr()
    code = run_cli(["results", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def results_json(capsys, *arguments: object):
    """What `distsim results ... -o json` prints."""
    code, out, err = results(capsys, *arguments, "-o", "json")
    assert code == 0, err
    return json.loads(out)
