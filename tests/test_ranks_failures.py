"""Runs that go wrong or end early, as a user sees them: exit codes, one line, complete rows, no rank left behind."""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.ranks

# Several seconds of work, with a row of every NIC and port each 20 us of simulated time.
LONG = """
simulation: long
fabric: {kind: fat-tree, k: 8}
workload: {kind: permutation, size: 1GB}
SimulationParameters: {NDStatsReportInterval: 0.00002, StartTime: 0.0, ClientStartOffset: 0.0}
"""
SHORT = """
simulation: short
fabric: {kind: leaf-spine, racks: 2, nics_per_rack: 2, spines: 1}
workload: {kind: flows, flows: [{from: 0, to: 3, size: 40KB, id: 7}]}
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "distsim", "run", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120)


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "long.yaml"
    path.write_text(LONG)
    return path


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "short.yaml"
    path.write_text(SHORT)
    return path


def started(config: Path, out: Path, ranks: int) -> subprocess.Popen[str]:
    """A run whose every rank has written rows."""
    process = subprocess.Popen(command(config, "-o", out, "--ranks", ranks, "--quiet"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        files = list(out.glob("long-nd-stats-*.csv")) if out.exists() else []
        if len(files) == ranks and all(path.stat().st_size > 20_000 for path in files):
            return process
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    raise AssertionError("the run did not start")


def rank_processes(parent: int) -> list[int]:
    """Process ids of the ranks below a launcher."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            status = (entry / "status").read_text()
        except OSError:
            continue
        if b"distsim" in line and b"run" in line and b"mpirun" not in b" ".join(line) and int(entry.name) != parent:
            ancestor = int(status.split("PPid:")[1].split()[0])
            while ancestor > 1 and ancestor != parent:
                try:
                    ancestor = int(Path(f"/proc/{ancestor}/status").read_text().split("PPid:")[1].split()[0])
                except OSError:
                    break
            if ancestor == parent:
                found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended may wait to be reaped."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def complete_rows(out: Path) -> int:
    """Rows of all record files; each has as many fields as its header and ends with a line break."""
    rows = 0
    for path in out.glob("*.csv"):
        assert path.read_bytes().endswith(b"\n")
        with path.open(newline="") as file:
            header, *body = csv.reader(file)
        assert all(len(row) == len(header) for row in body)
        rows += len(body)
    return rows


@pytest.mark.parametrize("ranks", [1, 2])
def test_ctrl_c_keeps_complete_rows_and_says_interrupted(long, tmp_path, ranks):
    process = started(long, tmp_path / "out", ranks)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130
    info = json.loads((tmp_path / "out" / "long-run.json").read_text())
    assert info["status"] == "interrupted"
    assert info["flows"]["unfinished"] == 128
    assert complete_rows(tmp_path / "out") > 0


def test_a_killed_rank_ends_all_within_10_seconds(long, tmp_path):
    process = started(long, tmp_path / "out", 2)
    victims = rank_processes(process.pid)
    assert len(victims) >= 2
    begin = time.monotonic()
    os.kill(max(victims), signal.SIGKILL)
    _, said = process.communicate(timeout=15)
    assert time.monotonic() - begin < 10
    assert process.returncode not in (0, 2, 3)
    assert "Traceback" not in said
    assert [pid for pid in victims if alive(pid)] == []


def test_more_ranks_than_nodes_are_refused(short, tmp_path):
    done = run(short, "-o", tmp_path / "out", "--ranks", 8)
    assert done.returncode == 2
    assert "8 ranks are more than the 7 nodes" in done.stderr
    assert len([line for line in done.stderr.splitlines() if "8 ranks" in line]) == 1


def test_as_many_ranks_as_nodes_work(short, tmp_path):
    assert run(short, "-o", tmp_path / "out", "--ranks", 7).returncode == 0


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_output_that_cannot_be_written_is_named(short, tmp_path, ranks):
    (tmp_path / "file").write_text("")
    done = run(short, "-o", tmp_path / "file" / "out", "--ranks", ranks)
    assert done.returncode == 2
    assert str(tmp_path / "file" / "out") in done.stderr and "Traceback" not in done.stderr


def test_another_run_is_not_overwritten_unasked(short, tmp_path):
    assert run(short, "-o", tmp_path / "out").returncode == 0
    done = run(short, "-o", tmp_path / "out")
    assert done.returncode == 2 and "--overwrite" in done.stderr
    assert run(short, "-o", tmp_path / "out", "--overwrite").returncode == 0


@pytest.mark.parametrize("ranks", [1, 3])
def test_unfinished_flows_are_counted_listed_and_said_last(short, tmp_path, ranks):
    changes = ("workload.flows.0.size=4MB", "SimulationParameters.RunTime=0.00101",
               "SimulationParameters.NDStatsReportInterval=0.0001")
    options = [part for change in changes for part in ("--set", change)]
    done = run(short, "-o", tmp_path / "out", "--ranks", ranks, *options)
    assert done.returncode == 3, done.stderr
    assert done.stdout.splitlines()[-1].startswith("unfinished: 1 of 1 flows")
    assert " 7  NIC-0" in done.stdout
    info = json.loads((tmp_path / "out" / "short-run.json").read_text())
    assert info["status"] == "unfinished" and info["flows"] == {"total": 1, "finished": 0, "unfinished": 1}
    assert info["counts"]["created"] == info["counts"]["delivered"] + info["counts"]["in_flight"]


def test_flows_that_start_after_the_end_are_warned_of(short, tmp_path):
    done = run(short, "-o", tmp_path / "out", "--set", "workload.flows.0.start=2s")
    assert done.returncode == 3
    assert "1 flows start after the run has stopped (first: id 7)" in done.stderr


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


@pytest.mark.parametrize("ranks", [1, 2])
def test_records_that_cannot_be_written_end_every_rank(long, tmp_path, ranks):
    """A file size limit stands for a full disk: one rank meets it first, none may wait for it for ever."""
    done = subprocess.run(command(long, "-o", tmp_path / "out", "--ranks", ranks, "--quiet"), capture_output=True,
                          text=True, timeout=90, preexec_fn=limit_file_size)
    assert done.returncode == 1
    assert "cannot write the record file" in done.stderr and "Traceback" not in done.stderr
    assert json.loads((tmp_path / "out" / "long-run.json").read_text())["status"] == "failed"
    assert complete_rows(tmp_path / "out") > 0


def test_ranks_with_different_configurations_are_refused(short, tmp_path):
    mpirun = Path(sys.executable).parent / "mpirun"
    if not mpirun.exists():
        pytest.skip("mpirun is not beside this Python")
    one = command(short, "-o", tmp_path / "out", "--quiet")
    other = command(short, "-o", tmp_path / "out", "--quiet", "--seed", 5)
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([mpirun, "--oversubscribe", "-n", "1", *one, ":", "-n", "1", *other], capture_output=True,
                          text=True, timeout=60, env={**os.environ, **root})
    assert done.returncode == 2
    assert "rank 1 was started with another configuration" in done.stderr


def test_delays_longer_than_the_widest_window(short, tmp_path):
    """300 s a link: four links there and four back, 2,400 s and a little, on any rank count."""
    options = ["--set", 'fabric.link_overrides=[{between: ["*", "*"], delay: 300s}]',
               "--set", "SimulationParameters.RunTime=10000",
               "--set", "SimulationParameters.NDStatsReportInterval=10000"]
    timer = "nic.TransportProcessingLayers.ScalaUETPdsManager.InitialRetransmitTimeout=100s"
    found = []
    for ranks in (1, 3):
        assert run(short, "-o", tmp_path / str(ranks), "--ranks", ranks, *options, "--set", timer).returncode == 0
        info = json.loads((tmp_path / str(ranks) / "short-run.json").read_text())
        found.append((info["counts"], info["fct_us"]))
    assert found[0] == found[1]
    assert 2.4e9 < found[0][1]["max"] < 2.4e9 + 10
