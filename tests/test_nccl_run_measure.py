"""A simulated nccl-tests job and its measurement, from the command line to the files and back."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nccl_run_cases import log_lines, report, simulate, table, times_us, write

from distsim.cli.app import app
from distsim.measure import RunMeasurement
from distsim.measure.status import Status

KIB, MIB = 1 << 10, 1 << 20
SWEEP = "all_reduce_perf -b 64K -e 1M -f 4 -n 1 -w 0"


def distsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], standalone_mode=False)


def read_back(folder: Path) -> dict[str, Any]:
    done = distsim("bandwidth", folder / "bench-launcher.log", "-o", "json")
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_the_log_read_back_says_what_was_simulated(tmp_path):
    simulate(tmp_path, f"{SWEEP} -N 2 -J report.json", {"network": "IB"})
    status = read_back(tmp_path)
    rows = report(tmp_path)["results"]
    assert [row["size"] for row in rows] == [64 * KIB, 256 * KIB, MIB] * 2
    assert status["transport"] == ["IB"]
    assert status["results"] == [
        {"sizeBytes": row["size"], "algBW": f"{row['out_of_place']['alg_bw']:.2f}",
         "busBW": f"{row['out_of_place']['bus_bw']:.2f}", "samples": 2} for row in rows[:3]]


def test_a_measurement_of_the_run_ends_with_what_its_log_says(tmp_path):
    done = simulate(tmp_path, SWEEP, bandwidthMeasurement={"sampleInterval": "100us"})
    document = json.loads((tmp_path / "bench-bandwidth.json").read_text())
    status, alone = document["status"], read_back(tmp_path)
    assert document["spec"]["testType"] == "all_reduce"
    assert len(status["results"]) == 3
    assert (status["results"], status["transport"]) == (alone["results"], alone["transport"])
    (complete,) = [one for one in status["conditions"] if one["type"] == "Complete"]
    assert (complete["status"], complete["reason"]) == ("True", "JobSucceeded")
    assert status["startTime"] == "1970-01-01T00:00:00.002Z"           # StartTime and ClientStartOffset
    gauges = (tmp_path / "bench-metrics.prom").read_text()
    for one in status["results"]:
        (line,) = [line for line in gauges.splitlines() if line.startswith("nvcre_nccl_busbw_gbs{")
                   and f'message_size_bytes="{one["sizeBytes"]}"' in line]
        assert 'nccl_test="all_reduce"' in line and float(line.split()[-1]) == float(one["busBW"])
    assert done.exit_code == 0


def test_samples_while_the_job_runs_are_provisional(tmp_path, monkeypatch):
    seen: list[tuple[int, list[int], bool]] = []
    feed = RunMeasurement.feed

    def spy(self: RunMeasurement, lines: Any, time_ps: int) -> None:
        feed(self, lines, time_ps)
        status: Status = self.job.status
        seen.append((time_ps, [one.size_bytes for one in status.results], self.job.complete))

    monkeypatch.setattr(RunMeasurement, "feed", spy)
    simulate(tmp_path, "all_reduce_perf -b 1M -e 4M -f 2 -n 1 -w 0", bandwidthMeasurement={"sampleInterval": "100us"})
    # a phase takes 50 to 170 us: each row has been sampled by the time the next is written, the last one not yet
    assert next(sizes for _, sizes, _ in seen if sizes) == [MIB]
    assert seen[-1][1] == [MIB, 2 * MIB] and not seen[-1][2]
    assert all(before[1] == after[1][:len(before[1])] for before, after in pairwise(seen))
    status = json.loads((tmp_path / "bench-bandwidth.json").read_text())["status"]
    assert [one["sizeBytes"] for one in status["results"]] == [MIB, 2 * MIB, 4 * MIB]


def test_a_run_that_is_too_short_leaves_a_log_and_a_failed_job(tmp_path):
    # 64 KiB and 256 KiB are through after 0.2 ms, 1 MiB is not
    config = write(tmp_path, f"{SWEEP} -J report.json", bandwidthMeasurement={},
                   SimulationParameters={"StartTime": 0.0, "ClientStartOffset": 0.0, "RunTime": 0.00015})
    done = distsim("run", config, "-o", tmp_path / "out")
    assert done.return_value == 3
    rows = table(tmp_path / "out")
    assert [row[0] for row in rows] == ["65536", "262144"]
    assert "concluded" not in "\n".join(log_lines(tmp_path / "out"))
    status = json.loads((tmp_path / "out" / "bench-bandwidth.json").read_text())["status"]
    assert [one["reason"] for one in status["conditions"]] == ["JobFailed", "JobFailed"]
    assert [one["sizeBytes"] for one in status["results"]] == [64 * KIB, 256 * KIB]
    assert len(read_back(tmp_path / "out")["results"]) == 2
    assert len(report(tmp_path / "out")["results"]) == 2 and "end_time" not in report(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "bench-run.json").read_text())["status"] == "unfinished"
    assert "rank 0: COLL node 2, all_reduce of 1,048,576 bytes in group 'world'" in done.output


def test_steady_extrapolates_what_a_simulation_would_give(tmp_path):
    command = "all_reduce_perf -b 1M -e 64M -f 2 -n 1 -w 0 -J report.json"
    workload = {"hosts": 4, "steady_from": "1MiB"}
    config = write(tmp_path, command, workload)
    assert distsim("run", config, "-o", tmp_path / "steady", "--steady", "--quiet").return_value == 0
    simulate(tmp_path / "full", command, workload)
    assert not list((tmp_path / "full").glob("*extrapolated*"))
    with (tmp_path / "steady" / "bench-nccl-tests-extrapolated.csv").open(newline="") as file:
        marks = list(csv.DictReader(file))
    marked = {int(mark["size"]) for mark in marks if mark["extrapolated"] == "1"}
    assert len(marks) == 14 and 64 * MIB in marked and MIB not in marked
    said = [line for line in log_lines(tmp_path / "steady") if "was not simulated" in line]
    assert {int(line.split()[3]) for line in said} == marked
    for row, steady, full in zip(report(tmp_path / "steady")["results"], times_us(tmp_path / "steady"),
                                 times_us(tmp_path / "full"), strict=True):
        assert steady == (pytest.approx(full, rel=0.03) if row["size"] in marked else full)


def test_a_long_run_is_refused_unless_allowed(tmp_path):
    config = write(tmp_path, SWEEP)
    refused = distsim("run", config, "-o", tmp_path / "out", "--max-hops", "10000")
    said = str(refused.exception)
    assert "that is above the limit of 1e+04 hops (--max-hops): --yes runs it all the same" in said
    assert not (tmp_path / "out").exists()
    allowed = distsim("run", config, "-o", tmp_path / "out", "--max-hops", "10000", "--yes", "--quiet")
    assert allowed.return_value == 0
    projected = float(said.split("projected: ")[1].split()[0])
    hops = json.loads((tmp_path / "out" / "bench-run.json").read_text())["counts"]["hops"]
    assert projected == pytest.approx(hops, rel=0.1)
