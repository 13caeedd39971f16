"""Records are equal to the byte for every rank count and partition, wall-clock column aside. Real runs under mpirun."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFIGS = Path(__file__).parent.parent / "configs"
WALL_CLOCK = ("mpi-stats", "mpi-profiling", "cpu-mem-stats")      # records that hold times of the machine
COUNTS = ("counts", "flows", "fct_us", "simulated_s", "configuration_sha256", "status")

# 16 senders into one NIC; every second rack's NICs do not mark their packets trimmable, so theirs are dropped and time
# out, the others' are trimmed and NACKed.
INCAST = """
simulation: incast
fabric: {kind: leaf-spine, racks: 6, nics_per_rack: 4, spines: 2}
workload: {kind: incast, receiver: 0, sources: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], size: 200KB}
nic:
  TransportProcessingLayers:
    ScalaUETPdsManager: {TrimmingEnabled: true, UseDistinctDSCPForRetransmits: false}
nic_overrides:
  - racks: [1, 3, 5]
    set: {TransportProcessingLayers: {ScalaUETPdsManager: {TrimmingEnabled: false}}}
switch:
  PacketTrimmer: {TrimmingEnabled: true}
  SharedBufferManager: {UETPolicyEnabled: true, EnablePFC: [0, 0, 0, 0, 0, 0, 0, 0], PlaneBDP: 40KB}
SimulationParameters: {NDStatsReportInterval: 0.0002}
"""
# uet-monitor chooses: three connections by their RTT, or by a filter that both ends of a connection match.
CHOICES = """
simulation: choices
fabric: {kind: leaf-spine, racks: 3, nics_per_rack: 4, spines: 2}
workload: {kind: incast, receiver: 0, sources: [1, 4, 5, 6, 8, 9], size: 300KB}
SimulationParameters: {StartTime: 0.0, ClientStartOffset: 0.0, RunTime: 0.002, NDStatsReportInterval: 0.0005}
nic:
  TransportProcessingLayers:
    ScalaUETMonitor: {%s}
"""
TRIGGERED = "TriggerLoggingOnRttEnable: true, TriggerLoggingOnRttThreshold: 8us, TriggeredLoggingPDCLimit: 3"
FILTERED = "EnableUETMonitor: true, FilterOnPdc: '32.0.0.6:1'"
SMALL = """
simulation: small
fabric: {kind: fat-tree, k: 4}
workload: {kind: permutation, size: 30KB}
SimulationParameters: {NDStatsReportInterval: 0.00001}
"""


def run(config: Path, out: Path, ranks: int = 1, **environment: str) -> dict:
    """A run's record rows without time_utc, merged over shards and sorted, and its results in run.json."""
    command = [sys.executable, "-m", "distsim", "run", str(config), "-o", str(out), "--ranks", str(ranks), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict = {}
    for path in sorted(out.glob("*.csv")):
        record = path.stem.rsplit("-", 1)[0]
        if record.endswith(WALL_CLOCK):
            continue
        with path.open(newline="") as file:
            header, *rows = list(csv.reader(file))
        keep = [i for i, column in enumerate(header) if column != "time_utc"]
        found.setdefault(record, []).extend(tuple(row[i] for i in keep) for row in rows)
    (info,) = out.glob("*-run.json")
    results = json.loads(info.read_text())
    return {name: sorted(rows) for name, rows in found.items()} | {"run": {name: results[name] for name in COUNTS}}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("configs")
    (folder / "incast.yaml").write_text(INCAST)
    (folder / "small.yaml").write_text(SMALL)
    (folder / "triggered.yaml").write_text(CHOICES % TRIGGERED)
    (folder / "filtered.yaml").write_text(CHOICES % FILTERED)
    return {"permutation": CONFIGS / "perm128.yaml", "incast": folder / "incast.yaml",
            "triggers": CONFIGS / "triggers.yaml", "small": folder / "small.yaml",
            "features": CONFIGS / "features.yaml", "lossless": CONFIGS / "lossless.yaml",
            "plugin": CONFIGS / "plugin.yaml",
            "triggered": folder / "triggered.yaml", "filtered": folder / "filtered.yaml"}


@pytest.mark.ranks
@pytest.mark.parametrize("case", ["permutation", "incast", "triggers", "features", "lossless", "plugin"])
def test_records_are_equal_on_1_to_4_ranks_and_under_another_partition(case, cases, tmp_path):
    one = run(cases[case], tmp_path / "1")
    assert all(one[name] for name in one)
    for ranks in (2, 3, 4):
        assert run(cases[case], tmp_path / str(ranks), ranks) == one, f"{ranks} ranks"
    for partition in ("interleaved", "in-order"):
        assert run(cases[case], tmp_path / partition, 3, DISTSIM_PARTITION=partition) == one, partition


@pytest.mark.ranks
@pytest.mark.parametrize("case, connections", [("triggered", 3), ("filtered", 1)])
def test_what_uet_monitor_chooses_is_equal_on_1_to_3_ranks_and_logged_at_both_ends(case, connections, cases, tmp_path):
    one = run(cases[case], tmp_path / "1")
    with next((tmp_path / "1").glob("*-uet-monitor-0.csv")).open(newline="") as file:
        rows = list(csv.DictReader(file))
    ends = {(row["FEP_ID"], *sorted([row["local_PDC_ID"].split(":")[0], row["remote_PDC_ID"].split(":")[0]]))
            for row in rows}
    assert len(ends) == 2 * connections
    for ranks in (2, 3):
        assert run(cases[case], tmp_path / str(ranks), ranks) == one, f"{ranks} ranks"


@pytest.mark.ranks
def test_the_incast_has_trims_nacks_drops_and_timeouts(cases, tmp_path):
    counts = run(cases["incast"], tmp_path / "run")["run"]["counts"]
    assert counts["trimmed"] > 0 and counts["dropped"] > 0
    total = dict.fromkeys(("num_rto", "num_rtx", "nack_pkts_sent"), 0)
    with (tmp_path / "run" / "incast-uet-transport-stats-0.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            total = {name: total[name] + int(row["ivl_" + name]) for name in total}
    assert total["num_rto"] > 0 and total["nack_pkts_sent"] > 0
    assert total["num_rtx"] == counts["retransmitted"] > 0


@pytest.mark.ranks
def test_plain_python_and_eager_switches_give_the_same_records(cases, tmp_path):
    compiled = run(cases["small"], tmp_path / "compiled")
    assert run(cases["small"], tmp_path / "plain", NUMBA_DISABLE_JIT="1") == compiled
    assert run(cases["small"], tmp_path / "plain2", 2, NUMBA_DISABLE_JIT="1") == compiled
    assert run(cases["small"], tmp_path / "eager", DISTSIM_EAGER="1") == compiled
