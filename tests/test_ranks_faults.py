"""A run with failing links, switches and NICs and random loss gives the same bytes on every number of processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from test_ranks_workloads import run

pytestmark = pytest.mark.ranks

CONFIG = {
    "simulation": "faulty", "seed": 5,
    "SimulationParameters": {"StartTime": 0.0, "ClientStartOffset": 0.0, "NDStatsReportInterval": 0.00005},
    "fabric": {"kind": "leaf-spine", "racks": 4, "nics_per_rack": 2, "spines": 2},
    "workload": {"kind": "permutation", "size": "1MB"},
    "nic": {"TransportProcessingLayers": {"ScalaUETPdsManager": {
        "PacketSprayingType": "Recycled Entropy Packet Spraying", "TrimmingEnabled": True}}},
    "faults": {"detection_time": "10us", "packet_loss_rate": 0.001, "bit_error_rate": 1e-8, "events": [
        {"target": "link", "between": ["RackSwitch-0", "SpineSwitch-1"], "at": "5us", "duration": "40us"},
        {"target": "switch", "name": "SpineSwitch-0", "at": "30us", "duration": "20us"},
        {"target": "nic", "name": "NIC-5", "at": "12us", "duration": "15us"}]},
}


def faults_of(folder: Path) -> dict:
    return json.loads(next(folder.glob("*-run.json")).read_text())["faults"]


def test_faults_give_the_same_bytes_on_one_to_four_ranks(tmp_path):
    path = tmp_path / "faulty.yaml"
    path.write_text(yaml.safe_dump(CONFIG))
    one = run(path, tmp_path / "1")
    lost = faults_of(tmp_path / "1")
    assert lost["lost_packets"] > 50 and one["counts"]["dropped"] >= lost["lost_packets"]
    for ranks in (2, 3, 4):
        assert run(path, tmp_path / str(ranks), ranks) == one
        assert faults_of(tmp_path / str(ranks)) == lost
    assert run(path, tmp_path / "eager", 2, DISTSIM_EAGER="1") == one
