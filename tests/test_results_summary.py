"""Summary, series and the copies of large records, against figures worked out from the CSV files."""

from __future__ import annotations

import math
from collections import defaultdict

import pytest
from results_cases import (  # noqa: F401
    change_row,
    copied,
    copy_of_small,
    file_of,
    numbers,
    results,
    results_json,
    rows_of,
    run_on_two_ranks,
    small_run,
)

from distsim.errors import InputError
from distsim.records import claim_directory
from distsim.records.registry import SCHEMAS
from distsim.results import cache, open_run
from distsim.results.columns import figures, is_since_start, over_nodes
from distsim.results.series import series
from distsim.results.summary import summary

TIER = {"spine": 0, "rack": 2, "nic": 3}


def nearest_rank(values, percent):
    return sorted(values)[math.ceil(percent * len(values) / 100) - 1]


def check(line, rows):
    values = numbers(rows, line["column"])
    assert line["count"] == len(values)
    assert (line["min"], line["max"]) == (min(values), max(values)), line
    assert line["mean"] == pytest.approx(math.fsum(values) / len(values))
    assert (line["p50"], line["p99"]) == (nearest_rank(values, 50), nearest_rank(values, 99)), line


@pytest.mark.parametrize("record", ["uet-transport-stats", "nd-stats", "perf", "uet-monitor", "net-buff-stats",
                                    "pcie-stats", "tier-hop", "scala-switch-buff-stats", "cpu-mem-stats"])
def test_figures_of_a_whole_record(small, record):
    lines = open_run(small).summary(record).to_dicts()
    rows = rows_of(small, record)
    assert len(lines) >= 1 and len(rows) > 1
    for line in lines:
        check(line, rows)
        assert line["unit"] == next(c.unit for c in SCHEMAS[record].columns if c.name == line["column"])
    assert not {line["column"] for line in lines} & {"node_id", "fep_id", "ifid", "tier", "sim_time_sec", "PSN",
                                                     "packet_UID", "priority", "transaction_number", "time_utc"}


@pytest.mark.parametrize("tier", ["nic", 2, "0"])
def test_figures_of_a_tier(small, tier):
    number = TIER.get(tier, tier)
    rows = [row for row in rows_of(small, "nd-stats") if row["tier"] == str(number)]
    lines = summary(open_run(small), "nd-stats", tier).to_dicts()
    assert len(rows) and len(lines) == 12
    for line in lines:
        check(line, rows)
    assert summary(open_run(small), "nd-stats", "all").equals(summary(open_run(small), "nd-stats"))


def test_totals_are_what_the_run_came_to(small):
    lines = {line["column"]: line["total"] for line in summary(open_run(small), "uet-transport-stats").to_dicts()}
    last: dict[str, dict[str, str]] = {row["fep_id"]: row for row in rows_of(small, "uet-transport-stats")}
    for name in ("total_pkts_sent", "wqes_completed", "num_rtx"):
        assert lines[name] == lines[f"ivl_{name}"] == sum(int(row[name]) for row in last.values())
    assert lines["wqes_completed"] == 13 and lines["total_pkts_sent"] > 1000
    assert lines["max_tx_count"] is lines["avg_calc_rtt_usec"] is lines["ivl_calc_max_cwnd_bytes"] is None
    ports = {line["column"]: line["total"] for line in summary(open_run(small), "nd-stats").to_dicts()}
    assert ports["interval_bytes_tx_MB"] == pytest.approx(ports["total_bytes_tx_GB"] * 1000)
    assert ports["tx_rate_Gbps"] is None


def test_which_columns_count_from_the_start():
    counted = {name for schema in SCHEMAS.values() for column in schema.columns
               for name in [column.name] if is_since_start(column)}
    assert {"pfcxoff_rx", "tx_drops", "rx_drops", "pkts_ecn_marked", "num_enq", "total_bytes_tx_GB", "spine"} <= counted
    assert not {name for name in counted if name.startswith(("ivl_", "interval_", "max_", "percent"))}


@pytest.mark.ranks
def test_figures_do_not_depend_on_the_shards(small, shards):
    for record in ("uet-transport-stats", "nd-stats", "perf", "uet-monitor"):
        one, two = (open_run(path).summary(record) for path in (small, shards))
        assert one.drop("mean", "total").equals(two.drop("mean", "total"))
        assert one["mean"].to_list() == pytest.approx(two["mean"].to_list())
        assert open_run(small).series(record, nodes="all").shape == open_run(shards).series(record, nodes="all").shape


def test_what_is_refused(small):
    run = open_run(small)
    with pytest.raises(InputError, match=r"no tier 'core'; there are spine \(0\), fabric \(1\), rack \(2\), nic \(3\)"):
        run.summary("nd-stats", "core")
    with pytest.raises(InputError, match="perf has no tiers"):
        run.summary("perf", "nic")
    with pytest.raises(InputError, match="topology-report has no simulation time; cpu-mem-stats, "):
        run.series("topology-report")
    with pytest.raises(InputError, match=r"no node 'NIC-99' in nd-stats; there are NIC-0, NIC-1, .* more names"):
        run.series("nd-stats", nodes=["NIC-0", "NIC-99"])
    with pytest.raises(InputError, match="no figure 'rtt' in perf; it has perf_metric_usec, transfer_size_b"):
        run.series("perf", columns=["rtt"])


def test_a_record_without_rows_has_empty_figures(copy):
    text = file_of(copy, "perf").read_text().splitlines(keepends=True)
    file_of(copy, "perf").write_text(text[0])
    assert summary(open_run(copy), "perf").rows()[0] == ("perf_metric_usec", "us", 0, *[None] * 6)
    assert series(open_run(copy), "perf").height == 0


# ---- over time -------------------------------------------------------------------------------------------------------

RULE = {"sum": math.fsum, "min": min, "max": max, "mean": lambda values: math.fsum(values) / len(values)}


@pytest.mark.parametrize(("record", "tier"), [("uet-transport-stats", None), ("nd-stats", "rack"), ("perf", None)])
def test_all_nodes_together(small, record, tier):
    found = series(open_run(small), record, tier)
    at = defaultdict(list)
    for row in rows_of(small, record):
        if tier is None or row["tier"] == str(TIER[tier]):
            at[float(row["sim_time_sec"])].append(row)
    assert found["sim_time_sec"].to_list() == sorted(at)
    for column in figures(SCHEMAS[record]):
        wanted = [RULE[over_nodes(column)](numbers(at[time], column.name)) for time in sorted(at)]
        assert found[column.name].to_list() == pytest.approx(wanted), column


def test_how_columns_are_put_together():
    of = {column.name: over_nodes(column) for name in ("uet-transport-stats", "nd-stats") for column in
          SCHEMAS[name].columns}
    assert {name: of[name] for name in (
        "ivl_num_rtx", "tx_rate_Gbps", "tx_link_percent_util", "ivl_min_calc_avg_q_delay_usec", "avg_calc_rtt_usec",
        "max_calc_avg_q_delay_usec", "ivl_calc_mean_cwnd_bytes")} == {
        "ivl_num_rtx": "sum", "tx_rate_Gbps": "sum", "tx_link_percent_util": "mean",
        "ivl_min_calc_avg_q_delay_usec": "min", "avg_calc_rtt_usec": "mean", "max_calc_avg_q_delay_usec": "max",
        "ivl_calc_mean_cwnd_bytes": "mean"}


def test_chosen_nodes_and_columns(small):
    found = series(open_run(small), "uet-transport-stats", nodes=["NIC-3", 5],
                   columns=["ivl_num_rtx", "write_pkts_sent"])
    assert found.columns == ["sim_time_sec", "fep_id", "component_name", "ivl_num_rtx", "write_pkts_sent"]
    wanted = [(float(row["sim_time_sec"]), int(row["fep_id"]), f"NIC-{row['fep_id']}", int(row["ivl_num_rtx"]),
               int(row["write_pkts_sent"])) for row in rows_of(small, "uet-transport-stats")
              if row["fep_id"] in ("3", "5")]
    assert found.rows() == sorted(wanted) and len(wanted) > 6
    every = series(open_run(small), "uet-transport-stats", nodes="all", columns=["ivl_num_rtx"])
    assert every.height == len(rows_of(small, "uet-transport-stats"))


# ---- copies of large records -----------------------------------------------------------------------------------------

@pytest.fixture(name="large")
def everything_is_large(monkeypatch):
    monkeypatch.setattr(cache, "LARGE_BYTES", 1)


def copies(directory):
    folder = directory / ".cache"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_a_copy_gives_the_same_figures(copy, small, large, monkeypatch):
    run = open_run(copy)
    found = {record: run.summary(record) for record in ("nd-stats", "uet-monitor")}
    assert [name.rpartition("-")[0] for name in copies(copy)] == ["nd-stats", "uet-monitor"]
    monkeypatch.setattr(cache, "build", lambda *arguments: pytest.fail("made again"))
    for record, before in found.items():
        assert open_run(copy).summary(record).equals(before)
        assert open_run(copy).frame(record).collect().equals(open_run(small).frame(record).collect())
    monkeypatch.setattr(cache, "LARGE_BYTES", 1 << 40)
    for record, before in found.items():
        assert open_run(small).summary(record).equals(before)


def test_a_copy_goes_with_its_record(copy, large):
    before = open_run(copy).summary("perf")
    first = copies(copy)
    change_row(copy, "perf", 0, {"perf_metric_usec": "99999.5"})
    after = open_run(copy).summary("perf")
    assert after["max"][0] == 99999.5 != before["max"][0]
    assert len(copies(copy)) == 1 and copies(copy) != first
    (copy / ".cache" / "notes.parquet").write_text("mine")
    claim_directory(copy, overwrite=True)
    assert copies(copy) == ["notes.parquet"]


def test_no_copy_is_made_where_it_cannot_be_or_would_go_stale(copy, large, tmp_path):
    (copy / ".cache").write_text("in the way")
    assert open_run(copy).summary("perf").height == 2
    (copy / ".cache").unlink()
    (copy / "small-run.json").unlink()                       # in progress
    assert open_run(copy).summary("perf").height == 2 and not (copy / ".cache").exists()


# ---- the commands ----------------------------------------------------------------------------------------------------

def test_summary_on_the_command_line(small, capsys):
    found = results_json(capsys, "summary", small, "--metric", "perf", "--metric", "nd-stats")
    assert list(found["metrics"]) == ["perf", "nd-stats"] and found["tier"] == "all"
    for name, lines in found["metrics"].items():
        for line in lines:
            check(line, rows_of(small, name))
    everything = results_json(capsys, "summary", small)["metrics"]
    assert "uet-events" in everything and "ecn-pfc-stats" in everything
    assert set(results_json(capsys, "summary", small, "--tier", "nic")["metrics"]) == {
        name for name in everything if "tier" in SCHEMAS[name].header}
    code, out, _ = results(capsys, "summary", small, "--metric", "perf")
    assert code == 0 and "small: perf" in out and "perf_metric_usec" in out and max(map(len, out.splitlines())) <= 160
    code, _, err = results(capsys, "summary", small, "--metric", "x")
    assert (code, err) == (2, f"distsim: error: {small}: no record 'x'; this run has "
                              f"{', '.join(open_run(small).records())}\n")


def test_series_on_the_command_line(small, capsys):
    found = results_json(capsys, "series", small, "--metric", "uet-transport-stats", "--node", "2", "--node", "NIC-1",
                         "--column", "ivl_total_pkts_sent")
    assert [(row["fep_id"], row["ivl_total_pkts_sent"]) for row in found["rows"] if row["fep_id"] == 2] == [
        (2, int(row["ivl_total_pkts_sent"])) for row in rows_of(small, "uet-transport-stats") if row["fep_id"] == "2"]
    assert [(one["column"], one["unit"], one["over_nodes"]) for one in found["columns"]] == [
        ("sim_time_sec", "s", ""), ("ivl_total_pkts_sent", "count", "sum")]
    code, out, _ = results(capsys, "series", small, "--metric", "nd-stats", "--node", "all", "--limit", "3")
    assert code == 0 and "more rows; --limit 0" in out and "more columns; choose some with --column" in out
    assert max(map(len, out.splitlines())) <= 160
    assert not copies(small)
