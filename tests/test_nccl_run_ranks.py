"""What a simulated nccl-tests job writes is equal to the byte on any number of ranks. Real runs under mpirun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nccl_run_cases import write

COUNTS = ("counts", "flows", "fct_us", "simulated_s", "configuration_sha256", "status", "collectives")
FILES = ("launcher.log", "bandwidth.json", "metrics.prom", "nccl-tests-report.json")

CASES = {
    "trees and rings": ("all_reduce_perf -b 2K -e 128K -f 64 -n 2 -w 1 -J report.json", {"hosts": 7}),
    "servers": ("all_reduce_perf -b 16K -e 1M -f 64 -n 1 -w 0 -a 3 -J report.json",
                {"scale_up": {"gpus_per_server": 2}}),
    "steady": ("reduce_scatter_perf -b 128K -e 2M -f 2 -n 1 -w 0 -J report.json",
               {"hosts": [6, 1, 4, 3], "steady": True, "steady_from": "128KiB"}),
    "everyone to everyone": ("alltoall_perf -b 1K -e 32K -f 32 -n 2 -N 2 -w 0 -J report.json",
                             {"launch": "500ns", "barrier": "500ns"})}


def files(config: Path, out: Path, ranks: int) -> dict[str, object]:
    command = [sys.executable, "-m", "distsim", "run", str(config), "-o", str(out), "--ranks", str(ranks), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = {name: (out / f"bench-{name}").read_bytes() for name in FILES}
    extrapolated = out / "bench-nccl-tests-extrapolated.csv"
    found["extrapolated"] = extrapolated.read_bytes() if extrapolated.exists() else None
    results = json.loads((out / "bench-run.json").read_text())
    return found | {name: results[name] for name in COUNTS}


@pytest.mark.ranks
@pytest.mark.parametrize("case", CASES)
def test_a_job_is_equal_on_1_to_3_ranks(case, tmp_path):
    command, workload = CASES[case]
    config = write(tmp_path, command, workload, bandwidthMeasurement={"sampleInterval": "100us"})
    one = files(config, tmp_path / "1", 1)
    assert b"concluded" in one["launcher.log"] and one["flows"]["total"] > 0
    assert (one["extrapolated"] is not None) == (case == "steady")
    for ranks in (2, 3):
        assert files(config, tmp_path / str(ranks), ranks) == one, f"{ranks} ranks"
