"""`distsim cluster show`, and how long a large cluster takes."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from cluster_cases import load_text

from distsim.cli import run_cli

CLUSTER12 = str(Path(__file__).parents[1] / "configs" / "cluster12.yaml")


def test_the_table(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["cluster", "show", CLUSTER12]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[:2] == ["cluster  cluster12, platform sim", "nodes    12, 96 chips, 96 NICs"]
    for line in ("nodes     12: node000 .. node011", "labels    nvidia.com/gpu.present=true",
                 "capacity  cpu=192 memory=2199023255552 nvidia.com/gpu=8", "rack-3  node006 node007  RackSwitch-3",
                 "high-priority  2       100", "RackSwitch                6", "SpineSwitch               16",
                 "RackSwitch - SpineSwitch  96 links, 400 Gbps, delay 500 ns, oversubscription 1:1"):
        assert line in lines
    assert not any(line.startswith("node003") for line in lines)


def test_json_and_yaml_hold_every_node(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["cluster", "show", CLUSTER12, "-o", "json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert run_cli(["cluster", "show", CLUSTER12, "-o", "yaml"]) == 0
    assert yaml.safe_load(capfd.readouterr().out) == data
    assert data["nodes"][5] == {
        "name": "node005", "pool": "gpu", "rack": "rack-2", "platform": "sim", "cordoned": False, "chips": 8,
        "nics": [40, 41, 42, 43, 44, 45, 46, 47],
        "labels": {"kubernetes.io/hostname": "node005", "nvidia.com/gpu.present": "true",
                   "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8",
                   "topology.kubernetes.io/rack": "rack-2"},
        "annotations": {}, "taints": [], "capacity": {"cpu": 192, "memory": 2**41, "nvidia.com/gpu": 8},
        "allocatable": {"cpu": 192, "memory": 2**41, "nvidia.com/gpu": 8}}
    assert data["racks"][2] == {"name": "rack-2", "nodes": ["node004", "node005"], "switches": ["RackSwitch-2"]}
    assert data["queues"][1] == {"name": "high-priority", "weight": 2, "priority": 100}
    assert data["fabric"] == {"kind": "leaf-spine", "racks": 6, "nics_per_rack": 16}
    assert data["fabricSummary"]["SpineSwitch"] == "16"


def test_what_nodes_differ_in(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_text(tmp_path, """\
        pools: [{name: a, count: 6, nics: {count: 2}, taints: [{key: t, effect: NoExecute}]}]
        overrides:
          - {nodes: [node002], allocatable: {nvidia.com/gpu: 1}, taints: [{key: u, value: v, effect: NoExecute}]}
        cordoned: [node004]
        """)
    assert run_cli(["cluster", "show", str(tmp_path / "cluster.yaml"), "--nodes"]) == 0
    lines = capfd.readouterr().out.splitlines()
    for line in ("nodes     6, 41 chips, 12 NICs", "cordoned  node004", "chips        8 (5 nodes), 1 (1 node)",
                 "taints       t:NoExecute", "node002  a     rack-0  1      4-5    t:NoExecute u=v:NoExecute",
                 "node004  a     rack-1  8      8-9    cordoned t:NoExecute", "free ports                4"):
        assert line in lines, line


def test_errors_end_with_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("pools:\n  - {name: a, count: 0}\n")
    assert run_cli(["cluster", "show", str(path)]) == 2
    assert capfd.readouterr().err == (f"distsim: error: {path}:2: pools.0.count: 0 is out of range; valid: 1 to "
                                      "200000\n")


def test_ten_thousand_nodes(tmp_path: Path) -> None:
    begin = time.process_time()
    cluster = load_text(tmp_path, "pools: [{name: a, count: 10000}]\nnetwork: {kind: rack, nodes_per_rack: 8}")
    took_s = time.process_time() - begin
    assert len(cluster.nodes) == 10_000 and cluster.nodes[9999].nics == tuple(range(79_992, 80_000))
    assert cluster.nodes[9999].rack == "rack-1249"
    assert took_s < 4          # about 1 s on an idle core


def test_showing_loads_neither_numba_nor_polars_nor_mpi() -> None:
    program = (f"import sys; from distsim.cli import run_cli; run_cli(['cluster', 'show', {CLUSTER12!r}]); "
               "print([name for name in ('numba', 'polars', 'mpi4py') if name in sys.modules])")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == "[]"
