"""What differs between two runs is found with its unit; what belongs to the machine is left out."""

from __future__ import annotations

import json

import pytest
from results_cases import (  # noqa: F401
    change_info,
    change_row,
    copied,
    copy_of_small,
    file_of,
    results,
    rows_of,
    run_on_two_ranks,
    small_run,
)

from distsim.errors import InputError
from distsim.results import open_run
from distsim.results.compare import compare, match_key


def differences(one, other, tolerance=0.01, records=None):
    return compare(open_run(one), open_run(other), tolerance, records).differences


@pytest.mark.ranks
def test_the_number_of_ranks_makes_no_difference(small, shards):
    found = compare(open_run(small), open_run(shards), 0.0)
    assert found.differences == [] and {"perf", "nd-stats", "uet-monitor", "net-buff-stats"} <= set(found.records)
    assert found.notes == ["cpu-mem-stats is of the machine and not compared",
                           "mpi-stats is of the machine and not compared"]


def test_time_utc_makes_no_difference(small, copy):
    for record in ("perf", "nd-stats", "uet-events"):
        for at in range(len(rows_of(copy, record))):
            change_row(copy, record, at, {"time_utc": "2001-01-01T00:00:00Z"})
    assert rows_of(copy, "perf") != rows_of(small, "perf")
    assert differences(small, copy, 0.0) == []


@pytest.mark.parametrize("factor", [1.03, 0.9])
def test_a_changed_completion_time(small, copy, factor):
    row = rows_of(small, "perf")[4]
    before = float(row["perf_metric_usec"])
    after = before * factor
    end = float(row["start_time_sec"]) + after / 1e6
    change_row(copy, "perf", 4, {"perf_metric_usec": repr(after), "sim_time_sec": repr(end)})
    found = differences(small, copy)
    one = next(one for one in found if one.column == "perf_metric_usec")
    assert (one.record, one.unit, one.rows, one.compared) == ("perf", "us", 1, 13)
    assert (one.left, one.right) == (before, after)
    assert one.relative == pytest.approx(abs(factor - 1) / max(1, factor))
    assert one.at == (f"node_id {row['node_id']}, transaction_number {row['transaction_number']}, "
                      f"metric_path {row['metric_path']}")
    assert {one.column for one in found} == {"perf_metric_usec", "sim_time_sec"} and {one.record for one in found} == {
        "perf"}
    assert differences(small, copy, 0.11) == []
    assert differences(small, copy, records=["nd-stats"]) == []


def test_the_tolerance_is_of_the_greater_value(small, copy):
    row = rows_of(small, "nd-stats")[0]
    change_row(copy, "nd-stats", 0, {"tx_rate_Gbps": repr(float(row["tx_rate_Gbps"]) / 0.9)})
    assert [one.column for one in differences(small, copy, 0.0999)] == ["tx_rate_Gbps"]
    assert differences(small, copy, 0.1001) == []
    with pytest.raises(InputError, match="tolerance -1 is below 0"):
        differences(small, copy, -1)
    with pytest.raises(InputError, match="tolerance nan"):
        differences(small, copy, float("nan"))


def test_texts_and_empty_values(small, copy):
    change_row(copy, "perf", 2, {"application_name": "other"})
    at = next(n for n, row in enumerate(rows_of(small, "uet-events")) if row["wqe_ID"])
    change_row(copy, "uet-events", at, {"wqe_size_bytes": ""})
    found = {one.column: one for one in differences(small, copy, 1.0)}
    assert set(found) == {"application_name", "wqe_size_bytes"}
    assert found["application_name"].right == "other" and found["application_name"].relative is None
    assert found["wqe_size_bytes"].right is None and found["wqe_size_bytes"].unit == "B"


def test_rows_and_records_of_one_run_alone(small, copy):
    lines = file_of(copy, "nd-stats").read_text().splitlines(keepends=True)
    file_of(copy, "nd-stats").write_text("".join(lines[:1] + lines[3:]))
    file_of(copy, "tier-hop").unlink()
    found = differences(small, copy)
    assert [(one.record, one.column, one.rows, one.left, one.right) for one in found] == [
        ("nd-stats", "", 2, "a row", None), ("tier-hop", "", 0, "there", None)]
    assert [(one.left, one.right) for one in differences(copy, small)] == [(None, "a row"), (None, "there")]


def test_figures_of_run_json(small, copy):
    def change(info):
        info["counts"]["dropped"] = 5
        info["fct_us"]["p99"] *= 2
        info["wall"]["loop_s"] = 1e6                         # of the machine
        info["status"] = "unfinished"

    change_info(copy, change)
    found = {one.column: one for one in differences(small, copy)}
    assert set(found) == {"counts.dropped", "fct_us.p99", "status"}
    assert (found["counts.dropped"].unit, found["fct_us.p99"].unit) == ("packets", "us")
    assert (found["fct_us.p99"].relative, found["status"].right) == (0.5, "unfinished")


def test_how_rows_are_matched():
    from distsim.records.registry import SCHEMAS

    assert match_key(SCHEMAS["perf"]) == ["node_id", "transaction_number", "metric_path"]
    assert match_key(SCHEMAS["nd-stats"]) == ["sim_time_sec", "node_id", "ifid"]
    assert match_key(SCHEMAS["chakra-cdf"]) == ["sim_time_sec"]
    assert match_key(SCHEMAS["chakra-comm-collective-stats"]) == ["collective_hash"]


def test_the_command(small, copy, tmp_path, capsys):
    code, out, _ = results(capsys, "compare", small, copy, "--tolerance", "0")
    assert code == 0 and "are alike within 0: ecn-pfc-stats, nd-stats" in out
    before = float(rows_of(small, "perf")[0]["perf_metric_usec"])
    change_row(copy, "perf", 0, {"perf_metric_usec": repr(before * 1.5)})
    same = copied(small, tmp_path / "same")
    code, out, _ = results(capsys, "compare", small, same, copy)
    assert code == 5 and "perf_metric_usec" in out and " us " in out and "33.3 %" in out
    assert "figures that differ by more than 0.01: 1\n" in out
    code, out, _ = results(capsys, "compare", small, copy, "--tolerance", "0.4")
    assert code == 0
    code, out, _ = results(capsys, "compare", small, same, copy, "-o", "json")
    said = json.loads(out)
    assert code == 5 and not said["alike"] and [len(one["differences"]) for one in said["comparisons"]] == [0, 1]
    assert said["comparisons"][1]["differences"][0]["unit"] == "us"
    code, _, err = results(capsys, "compare", small)
    assert code == 2 and "give two runs or more" in err
    code, _, err = results(capsys, "compare", small, copy, "--metric", "x")
    assert code == 2 and "no record 'x' in either run" in err
