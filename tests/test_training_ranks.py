"""What trainings write is equal to the byte on any number of ranks. Real runs under mpirun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from training_cases import settings

COUNTS = ("counts", "flows", "simulated_s", "configuration_sha256", "status")
STEP = {"forward": "20us", "backward": "40us", "layers": 2, "buckets": 2, "optimizer": "5us", "gradients": "300KB",
        "steps": 12, "checkpoint": {"every": 6, "pause": "30us"}, "simulated": 11}
CASES = {
    "servers": settings({**STEP, "scale_up": {"gpus_per_server": 4}, "gradient_sync": "reduce_scatter"}),
    "groups": settings({**STEP, "scale_up": {"gpus_per_server": 2}, "tensor_parallel": 2, "tensor_size": "50KB",
                        "expert_parallel": 2, "expert_size": "20KB"}),
    "two jobs": settings({}) | {"workload": {"kind": "several", "parts": [
        {"kind": "training", "name": "a", **STEP, "hosts": [0, 4, 1], "startup": "10us"},
        {"kind": "training", "name": "b", **STEP, "hosts": [2, 6, 7], "gradients": "500KB"}]}}}


def files(config: Path, out: Path, ranks: int) -> dict[str, object]:
    command = [sys.executable, "-m", "distsim", "run", str(config), "-o", str(out), "--ranks", str(ranks), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = {path.name: path.read_bytes() for path in out.iterdir()
                                if path.name.endswith(("launcher.log", "steps.csv"))}
    results = json.loads((out / "tr-run.json").read_text())
    return found | {name: results[name] for name in COUNTS}


@pytest.mark.ranks
@pytest.mark.parametrize(("case", "ranks"), [("servers", 2), ("groups", 3), ("two jobs", 3)])
def test_a_training_is_equal_on_several_ranks(case, ranks, tmp_path):
    config = tmp_path / "tr.yaml"
    config.write_text(yaml.safe_dump(CASES[case]))
    one = files(config, tmp_path / "1", 1)
    assert sum(name.endswith(".csv") for name in one) == (2 if case == "two jobs" else 1)
    assert one["flows"]["total"] > 0
    assert files(config, tmp_path / str(ranks), ranks) == one
