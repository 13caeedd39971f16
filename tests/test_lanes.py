"""Parts that run in phases side by side: in step, each told what its own phase came to; their jobs' logs and ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_cases import US, model, one_rack, workload
from test_phases import compute, phased, run_phases, with_workload

import distsim
from distsim.errors import InputError
from distsim.workload.lanes import Lanes
from distsim.workload.types import Phase, Workload

CONFIG: dict[str, Any] = {
    "simulation": "two", "fabric": {"kind": "leaf-spine", "racks": 2, "nics_per_rack": 4, "spines": 2},
    "workload": {"kind": "several", "parts": [
        {"kind": "nccl-tests", "name": "a", "hosts": [0, 1], "command": "all_reduce_perf -b 8 -e 8 -n 1 -w 0"},
        {"kind": "nccl-tests", "name": "b", "hosts": [4, 5], "command": "all_reduce_perf -b 8 -e 1K -f 128 -n 1 -w 0"},
        {"kind": "permutation", "size": "1KB", "hosts": [2, 3]}]},
    "bandwidthMeasurement": {"sampleInterval": "1us"},
}


def parts_of(*durations_us: list[int]) -> tuple[list[tuple[str, Workload]], list[list[Phase]]]:
    """Parts whose phases each are one computation of so many us, on host 0, 1, ...; and the phases as they see them."""
    parts, seen = [], []
    for host, durations in enumerate(durations_us):
        phases = [workload([compute(host, length * US)]) for length in durations]
        for phase in phases:
            phase.pause_ps = 2 * US
        seen.append([])
        parts.append((f"part-{host}", phased(phases[0], phases[1:], seen[-1])))
    return parts, seen


def test_phases_go_in_step_and_each_part_hears_of_its_own():
    # 3 and 7 us together, 2 us of pause, 4 us and no more of the second part; the third part has one phase of 1 us.
    parts, seen = parts_of([3, 4], [7], [1])
    lanes = Lanes(parts)
    made = with_workload(model(one_rack(3), [compute(0, 0)]), lanes.join())
    run_phases(made, np.zeros(4, "i4"))
    assert [[(phase.start_ps // US, phase.end_ps // US) for phase in part] for part in seen] == [
        [(0, 3), (9, 13)], [(0, 7)], [(0, 1)]]
    assert [[phase.done_ps.tolist() for phase in part] for part in seen] == [
        [[3 * US], [13 * US]], [[7 * US]], [[1 * US]]]
    assert [lane.end_ps // US for lane in lanes.lanes] == [13, 7, 1]


def test_every_job_has_its_log_and_its_measurement(tmp_path: Path):
    run = distsim.run(CONFIG, tmp_path)
    assert run.exit_code == 0
    ends = {}
    for name, sizes in (("a", [8]), ("b", [8, 1024])):
        log = (tmp_path / f"two-{name}-launcher.log").read_text()
        assert "# Collective test concluded: all_reduce_perf" in log
        status = json.loads((tmp_path / f"two-{name}-bandwidth.json").read_text())["status"]
        assert [row["sizeBytes"] for row in status["results"]] == sizes
        ends[name] = status["completionTime"]
        assert f'measurement="{name}-bandwidth"' in (tmp_path / f"two-{name}-metrics.prom").read_text()
    assert ends["a"] < ends["b"]                  # a ends while b goes on
    assert run.lines[0] == "# job a"
    assert [(job["name"], job["over"]) for job in run.info["jobs"]] == [("a", True), ("b", True), ("part-2", True)]


def test_a_job_that_had_ended_when_the_run_was_stopped_succeeded(tmp_path: Path):
    changed = {**CONFIG, "SimulationParameters": {"RunTime": 0.001 + 100e-6}}
    changed["workload"] = {"kind": "several", "parts": [
        CONFIG["workload"]["parts"][0],
        {"kind": "nccl-tests", "name": "b", "hosts": [4, 5],
         "command": "all_reduce_perf -b 8 -e 1G -f 1024 -n 1 -w 0"}]}
    run = distsim.run(changed, tmp_path)
    assert run.exit_code == 3
    reasons = {}
    for name in ("a", "b"):
        status = json.loads((tmp_path / f"two-{name}-bandwidth.json").read_text())["status"]
        reasons[name] = [one["reason"] for one in status["conditions"] if one["type"] == "Complete"]
    assert reasons == {"a": ["JobSucceeded"], "b": ["JobFailed"]}


def test_names_differ(tmp_path: Path):
    twice = {**CONFIG, "workload": {"kind": "several", "parts": [
        {"kind": "permutation", "name": "part-1"}, {"kind": "permutation"}]}}
    with pytest.raises(InputError, match="two parts are called 'part-1'"):
        distsim.run(twice, tmp_path)


def test_another_run_in_the_place_of_jobs_leaves_none_of_their_files(tmp_path: Path):
    sweep = {**CONFIG, "workload": {"kind": "nccl-tests", "hosts": 2, "steady": True,
                                    "command": "all_reduce_perf -b 8 -e 8 -n 1 -w 0 -J out.json"}}
    distsim.run(sweep, tmp_path)
    assert {"two-launcher.log", "two-bandwidth.json", "two-metrics.prom", "two-nccl-tests-extrapolated.csv",
            "two-nccl-tests-out.json"} <= {path.name for path in tmp_path.iterdir()}
    (tmp_path / "notes-launcher.txt").write_text("the user's own")
    plain = {**CONFIG, "simulation": "plain", "workload": {"kind": "permutation", "size": "1KB"}}
    distsim.run(plain, tmp_path, overwrite=True)
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith("plain-")} == {"notes-launcher.txt"}
