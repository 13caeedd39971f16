"""`distsim schedule run` gives the same files on 1 to 4 processes, with faults and rescheduling. Runs under mpirun."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from clusterrun_cases import cluster_file, faults_file, job_file
from test_ranks_workloads import OF_THE_PROCESS

pytestmark = pytest.mark.ranks


def files(folder: Path) -> dict[str, str]:
    """All files of a run but the packets' records, by path."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.relative_to(folder).parts[0] != "records"}


def rows(folder: Path) -> dict[str, list[tuple[str, ...]]]:
    """The rows of the packets' records, shards put together, without the columns of wall clock and process; and what
    run.json says of the packets."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for path in sorted((folder / "records").glob("*/*-[0-9].csv")):
        with path.open(newline="") as file:
            header, *body = csv.reader(file)
        keep = [at for at, column in enumerate(header) if column not in OF_THE_PROCESS]
        name = f"{path.parent.name}/{path.stem.rsplit('-', 1)[0]}"
        found.setdefault(name, [tuple(header[at] for at in keep)]).extend(tuple(row[at] for at in keep) for row in body)
    for path in sorted((folder / "records").glob("*/*-run.json")):
        info = json.loads(path.read_text())
        facts = [info[key] for key in ("counts", "flows", "fct_us", "simulated_s")] + [info.get("faults")]
        found[str(path.relative_to(folder))] = [(json.dumps(facts),)]
    return {name: [body[0], *sorted(body[1:])] for name, body in found.items()}


def start(arguments: list[str], out: Path, ranks: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "distsim", "schedule", "run", *arguments, "-o", str(out), "--ranks", str(ranks),
               "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_faults_and_rescheduling_give_equal_files_on_1_to_4_ranks(tmp_path):
    """Two jobs, one over two racks and one of nccl-tests in the third; random losses, a link that fails and comes back
    in mid-step, and a node whose job moves."""
    cluster = cluster_file(tmp_path, nodes=7, network={"spines": 2}, workloads={"train": {
        "training": {"compute": "50ms", "gradients": "2MB"},
        "job": {"steps": 14, "checkpoint_every": 3, "checkpoint_time": "20ms", "restart_time": "100ms"}}})
    faults = faults_file(
        tmp_path, {"target": "link", "between": ["RackSwitch-0", "SpineSwitch-0"], "at": "1230ms", "duration": "400ms"},
        {"target": "node", "node": "node1", "at": "1510ms", "duration": "3s"},
        {"target": "nic", "node": "node2", "index": 1, "at": "2330ms", "duration": "40ms"}, packet_loss_rate=0.0001)
    bench = ["all_reduce_perf", "-b", "64K", "-e", "64K", "-n", "1", "-w", "0"]
    jobs = [job_file(tmp_path, pods=4, labels={"fault-scheduling": "force"}),
            job_file(tmp_path, "verify", command=bench)]
    arguments = [*jobs, "--cluster", cluster, "--faults", faults]
    found = {}
    for ranks in (1, 2, 3, 4):
        done = start(arguments, tmp_path / str(ranks), ranks)
        assert done.returncode == 0, done.stderr
        found[ranks] = files(tmp_path / str(ranks)), done.stdout, rows(tmp_path / str(ranks))
    one = found[1]
    assert "resumed" in one[0]["timeline.csv"] and "simulated" in one[0]["steps.csv"]
    assert "measurements/verify-bandwidth.yaml" in one[0]
    assert {"sim-0001/sim-0001-nd-stats", "sim-0001/sim-0001-perf"} <= set(one[2])
    assert sum(len(body) for body in one[2].values()) > 100
    for ranks in (2, 3, 4):
        assert found[ranks] == one, f"{ranks} ranks"


def test_an_error_of_rank_0_ends_all_ranks(tmp_path):
    done = start([job_file(tmp_path), "--cluster", cluster_file(tmp_path)], tmp_path / "out", 2)
    assert done.returncode == 2 and "job 'train'" in done.stderr and "maps to no workload" in done.stderr
    assert done.stderr.count("maps to no workload") == 1 and not (tmp_path / "out").exists()


def test_an_error_of_a_simulation_ends_all_ranks(tmp_path):
    """Three ranks cannot form pairs; it is told when the workload is built."""
    cluster = cluster_file(tmp_path, nodes=3, chips=1, workloads={"train": {"training": {
        "compute": "1ms", "gradients": "1MB", "tensor_parallel": 2}}})
    done = start([job_file(tmp_path, pods=3, chips=1), "--cluster", cluster], tmp_path / "out", 2)
    assert done.returncode == 2
    assert "tensor_parallel 2 times expert_parallel 1 does not divide the 3 ranks" in done.stderr
