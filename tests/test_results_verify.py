"""Runs as they were written hold; a flipped byte, a missing shard, a cut row and a wrong sum are found."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from results_cases import (  # noqa: F401
    change_info,
    change_row,
    copied,
    copy_of_small,
    file_of,
    info_of,
    results,
    rows_of,
    run_on_two_ranks,
    small_run,
)

import distsim
from distsim.records.registry import SCHEMAS
from distsim.results import open_run
from distsim.results.identities import running_sums
from distsim.results.verify import verify

CONFIGS = Path(__file__).parent.parent / "configs"


def wrong(directory):
    return [(check.of, check.what) for check in verify(open_run(directory)) if not check.holds]


def note(directory, record):
    """Puts the file as it is now into run.json, as if it had been written so."""
    data = file_of(directory, record).read_bytes()

    def change(info):
        said = next(said for said in info["files"] if said["record"] == record)
        said |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "rows": data.count(b"\n") - 1}

    change_info(directory, change)


def test_a_run_as_it_was_written(small):
    checks = verify(open_run(small))
    assert all(check.holds for check in checks), [check for check in checks if not check.holds]
    done = {(check.of, check.what) for check in checks}
    assert {("small-perf-0.csv", "sha256"), ("small-perf-0.csv", "rows"), ("perf", "shards"),
            ("run.json", "packets created = delivered + dropped + in flight"), ("perf", "rows = finished flows"),
            ("nd-stats", "frames received = packet-hops"),
            ("tier-hop", "packets by tier = frames received by switches"),
            ("uet-transport-stats", "packets sent + probes + PFC frames = packets created"),
            ("uet-transport-stats", "num_rtx is the sum of ivl_num_rtx so far")} <= done


@pytest.mark.ranks
def test_a_run_on_two_ranks(shards, tmp_path):
    assert wrong(shards) == []
    directory = copied(shards, tmp_path / "copy")
    file_of(directory, "nd-stats", 1).unlink()
    assert wrong(directory)[:2] == [("small-nd-stats-1.csv", "is there"), ("nd-stats", "shards")]
    change_info(directory, lambda info: info.update(
        files=[said for said in info["files"] if said["file"] != "small-nd-stats-1.csv"]))
    assert ("nd-stats", "shards") in wrong(directory)        # run.json knows nothing of it, but there were two ranks


@pytest.mark.parametrize("config", ["faults", "lossless", "chakra8", "simai16"])
def test_shipped_configurations(tmp_path, config):
    distsim.run(CONFIGS / f"{config}.yaml", tmp_path / "run")
    assert wrong(tmp_path / "run") == []


def test_a_run_that_was_cut_off_and_one_that_drops(tmp_path):
    cut = distsim.run(CONFIGS / "quickstart.yaml", tmp_path / "cut", set={
        "SimulationParameters.RunTime": 0.00125, "SimulationParameters.NDStatsReportInterval": 0.0001})
    assert cut.exit_code == 3 and cut.info["counts"]["in_flight"] > 0 and wrong(tmp_path / "cut") == []
    buffers = "switch.SharedBufferManager."
    drops = distsim.run(CONFIGS / "quickstart.yaml", tmp_path / "drops", set={
        buffers + "QueueDropThresholdEnable": True, buffers + "QueueDropThreshold": 2, buffers + "PlaneBDP": "20KB",
        "switch.PacketTrimmer.TrimmingEnabled": False,
        "nic.TransportProcessingLayers.ScalaUETPdsManager.TrimmingEnabled": False})
    assert drops.info["counts"]["dropped"] > 0 and wrong(tmp_path / "drops") == []


def test_every_row_limit_holds(tmp_path):
    distsim.run(CONFIGS / "features.yaml", tmp_path / "run", set={"SimulationParameters.MaxRecordRows": 3})
    assert wrong(tmp_path / "run") == []


# ---- damage ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(("record", "at", "bit"), [
    ("perf", 0.5, 0x01), ("uet-monitor", 0.9, 0x01), ("topology-report", 0.5, 0x80), ("nd-stats", 0.0, 0x80)])
def test_a_flipped_byte(copy, record, at, bit):
    data = bytearray(file_of(copy, record).read_bytes())
    data[int(at * len(data))] ^= bit
    file_of(copy, record).write_bytes(data)
    assert (f"small-{record}-0.csv", "sha256") in wrong(copy)
    assert {of for of, _ in wrong(copy)} == {f"small-{record}-0.csv"}


def test_a_missing_file(copy):
    file_of(copy, "nd-stats").unlink()
    assert wrong(copy) == [("small-nd-stats-0.csv", "is there")]


def test_a_cut_row(copy):
    data = file_of(copy, "perf").read_bytes()
    file_of(copy, "perf").write_bytes(data[:-7])
    assert wrong(copy) == [("small-perf-0.csv", what) for what in ("bytes", "rows", "sha256", "whole rows")]
    file_of(copy, "perf").write_bytes(data[:data[:-1].rindex(b"\n") + 1])          # a whole row less
    assert wrong(copy) == [("small-perf-0.csv", what) for what in ("bytes", "rows", "sha256")]
    note(copy, "perf")
    assert wrong(copy)[0] == ("perf", "rows = finished flows")


def test_a_file_that_nobody_wrote_and_one_with_another_header(copy):
    file_of(copy, "perf", 1).write_bytes(file_of(copy, "perf").read_bytes())
    assert wrong(copy)[:2] == [("small-perf-1.csv", "is in run.json"), ("perf", "shards")]
    file_of(copy, "perf", 1).unlink()
    file_of(copy, "nd-stats").write_text(file_of(copy, "nd-stats").read_text().replace("tx_drops", "tx_dropped", 1))
    note(copy, "nd-stats")
    assert wrong(copy) == [("small-nd-stats-0.csv", "header")]


def test_names_of_files_lead_nowhere_else(copy, tmp_path):
    (tmp_path / "secret").write_text("x")
    change_info(copy, lambda info: info["files"].append({"record": "perf", "file": "../secret", "shard": 9, "rows": 0}))
    assert wrong(copy) == [("run.json", "files are below the run's directory")]


@pytest.mark.parametrize(("record", "column", "expected"), [
    ("perf", "perf_metric_usec", ("perf", "completion times are from start to end")),
    ("nd-stats", "total_packets_rx", ("nd-stats", "frames received = packet-hops")),
    ("nd-stats", "total_bytes_tx_GB", ("nd-stats", "total_bytes_tx_GB is the sum of interval_bytes_tx_MB so far")),
    ("uet-transport-stats", "num_rtx", ("uet-transport-stats", "num_rtx is the sum of ivl_num_rtx so far")),
    ("uet-transport-stats", "total_pkts_sent", ("uet-transport-stats", "total_pkts_sent = write + ack + nack")),
    ("pcie-stats", "ivl_bytes_tx", ("pcie-stats", "total_bytes_tx is the sum of ivl_bytes_tx so far")),
    ("tier-hop", "rack", ("tier-hop", "packets by tier = frames received by switches")),
])
def test_a_figure_that_does_not_add_up(copy, record, column, expected):
    last = len(rows_of(copy, record)) - 1
    value = float(rows_of(copy, record)[last][column])
    change_row(copy, record, last, {column: repr(value + 1) if "." in rows_of(copy, record)[last][column]
                                    else str(int(value) + 1)})
    note(copy, record)                                       # the file itself is as run.json says
    assert expected in wrong(copy)


def test_rows_that_go_back_and_rows_that_are_there_twice(copy):
    lines = file_of(copy, "nd-stats").read_text().splitlines(keepends=True)
    file_of(copy, "nd-stats").write_text("".join([*lines, lines[1]]))
    note(copy, "nd-stats")
    assert wrong(copy)[:2] == [("nd-stats", "rows of shard 0 in order of time"),
                               ("nd-stats", "one row a component and instant")]


def test_counts_of_run_json(copy):
    def change(info):
        info["counts"]["delivered"] -= 1
        info["flows"]["finished"] += 1
        info["fct_us"]["max"] += 0.5

    change_info(copy, change)
    assert {what for _, what in wrong(copy)} == {
        "packets created = delivered + dropped + in flight", "flows = finished + unfinished", "rows = finished flows",
        "max of run.json is one of the times"}


def test_a_run_without_run_json(copy):
    (copy / "small-run.json").unlink()
    assert wrong(copy) == []
    file_of(copy, "perf").write_bytes(file_of(copy, "perf").read_bytes()[:-3])
    assert wrong(copy) == [("small-perf-0.csv", "whole rows")]
    change_row(copy, "nd-stats", 3, {"sim_time_sec": "soon"})
    assert ("nd-stats", "rows can be read") in wrong(copy)


def test_columns_that_run_up():
    assert ("num_rtx", "ivl_num_rtx", "sum") in running_sums(SCHEMAS["uet-transport-stats"])
    assert ("max_tx_count", "ivl_max_tx_count", "max") in running_sums(SCHEMAS["uet-transport-stats"])
    assert {total for total, _, _ in running_sums(SCHEMAS["pcie-stats"])} == {
        "total_transfers_tx", "total_transfers_rx", "total_bytes_tx", "total_bytes_rx", "read_requests", "completions",
        "mem_writes"}
    assert [one[:2] for one in running_sums(SCHEMAS["tier-hop"])] == [
        ("spine", "spineInt"), ("fabric", "fabricInt"), ("rack", "rackInt")]


def test_the_command(copy, capsys):
    code, out, _ = results(capsys, "verify", copy)
    assert code == 0 and re.search(r"small \(finished\): (\d+) of \1 checks hold", out)
    code, out, _ = results(capsys, "verify", copy, "--all")
    assert code == 0 and out.count(" yes ") > 50
    change_row(copy, "perf", 0, {"job_id": "SMALL"})
    code, out, _ = results(capsys, "verify", copy)
    assert code == 5 and "sha256" in out and "NO" in out
    code, out, _ = results(capsys, "verify", copy, "-o", "json")
    said = json.loads(out)
    assert code == 5 and not said["holds"] and info_of(copy)["files"][0]["sha256"] in json.dumps(said)
    assert [check["of"] for check in said["checks"] if not check["holds"]] == ["small-perf-0.csv"]


def test_damaged_records_are_one_line_for_the_other_commands(copy, capsys):
    change_row(copy, "nd-stats", 3, {"tx_rate_Gbps": "fast"})
    for command in (["summary", copy], ["series", copy, "--metric", "nd-stats"],
                    ["sql", copy, "select * from nd_stats"], ["compare", copy, copy],
                    ["export", copy, "--metric", "nd-stats", "-o", copy / "x"]):
        code, _, err = results(capsys, *command)
        assert code == 2 and err.startswith("distsim: error: ") and err.count("\n") == 1, err
