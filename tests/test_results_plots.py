"""Data of plots against the CSV files read by other means."""

from __future__ import annotations

import bisect
from collections import defaultdict

import polars as pl
import pytest
from plot_cases import copied, grouped, in_two_shards, rows, shipped_runs  # noqa: F401
from polars.testing import assert_frame_equal

from distsim.results import open_run
from distsim.results.plots import PLOTS, Choice, NotInRun, plot_named

TIERS = {"3": "NIC", "2": "rack", "1": "fabric", "0": "spine"}


def data(run, name, **choice):
    return plot_named(name).data_of(run, Choice(**choice))


def test_completion_times_are_those_of_perf_in_order(shipped):
    run = shipped("features")
    expected = sorted(float(row["perf_metric_usec"]) for row in rows(run, "perf"))
    found = data(run, "completion-cdf")
    assert found["completion_us"].to_list() == expected
    assert found["fraction"].to_list() == [(n + 1) / len(expected) for n in range(len(expected))]
    assert set(found["messages"]) == {len(expected)}
    one = data(run, "completion-cdf", nodes=("NIC-0", "3"))
    mine = sorted(float(row["perf_metric_usec"]) for row in rows(run, "perf") if row["node_id"] in ("0", "3"))
    assert one["completion_us"].to_list() == mine


def test_of_many_messages_some_points_are_drawn_and_every_one_is_true(shipped, tmp_path):
    directory = copied(shipped("features"), tmp_path)
    path = directory / "features-perf-0.csv"
    header, first = path.read_text().splitlines()[:2]
    fields = first.split(",")
    times = [1 + (n * 7919 % 30011) / 7 for n in range(30011)]
    place = header.split(",").index("perf_metric_usec")
    path.write_text("\n".join([header, *(",".join([*fields[:place], repr(time), *fields[place + 1:]])
                                         for time in times)]) + "\n")
    found = data(open_run(directory), "completion-cdf")
    ordered = sorted(times)
    assert found.height < 2100 and set(found["messages"]) == {len(times)}
    assert found["completion_us"][0] == ordered[0] and found["completion_us"][-1] == ordered[-1]
    for time, share in found.select("completion_us", "fraction").iter_rows():
        assert share == bisect.bisect_right(ordered, time) / len(times)
    assert (found["fraction"] > 0.999).sum() > 20  # the slowest are seen one by one


def utilisation_of(run) -> dict[tuple[str, str, float], list[float]]:
    found = defaultdict(list)
    for row in rows(run, "nd-stats"):
        key = TIERS[row["tier"]], {"ul": "up", "dl": "down"}[row["uldl"]], float(row["sim_time_sec"])
        found[key].append(float(row["tx_link_percent_util"]))
    return found


def test_utilisation_is_mean_and_greatest_of_the_ports_of_a_tier(shipped):
    run = shipped("features")
    expected, found = utilisation_of(run), data(run, "utilisation")
    assert found.height == len(expected)
    times = sorted({time for _, _, time in expected})
    begins = dict(zip(times, [0.00002, *times], strict=False))  # StartTime + ClientStartOffset
    for row in found.iter_rows(named=True):
        values = expected[row["tier"], row["direction"], row["end_s"]]
        assert row["begin_s"] == begins[row["end_s"]] and row["ports"] == len(values)
        assert row["mean_percent"] == pytest.approx(sum(values) / len(values), rel=1e-12)
        assert row["max_percent"] == max(values)


def test_utilisation_of_joined_intervals_and_of_chosen_nodes(shipped):
    from distsim.results.plots import utilisation

    run = shipped("lossless")
    found = utilisation.data_of(run, Choice(nodes=("NIC-5",)), 4)
    mine = [row for row in rows(run, "nd-stats") if row["node_id"] == "5"]
    assert set(found["tier"]) == {"NIC"} and found.height <= 4 and set(found["ports"]) == {1}
    assert found["begin_s"][0] == 0.00002 and found["end_s"][-1] == float(mine[-1]["sim_time_sec"])
    assert found["begin_s"][1:].to_list() == found["end_s"][:-1].to_list()
    for begin, end, mean, most in found.select("begin_s", "end_s", "mean_percent", "max_percent").iter_rows():
        values = [float(row["tx_link_percent_util"]) for row in mine if begin < float(row["sim_time_sec"]) <= end]
        assert (mean, most) == (pytest.approx(sum(values) / len(values)), max(values))


def test_bottlenecks_are_the_last_counts_with_the_names_of_both_ends(shipped):
    run = shipped("features")
    peers = {(row["node_id"], row["dev_id"]): (row["component_name"], row["peer_component_name"])
             for row in rows(run, "topology-report")}
    expected = []
    for (node, ifid), port in grouped(rows(run, "nd-stats"), "node_id", "ifid").items():
        used = [float(row["tx_link_percent_util"]) for row in port]
        last = max(port, key=lambda row: float(row["sim_time_sec"]))
        expected.append((float(last["total_bytes_tx_GB"]), " > ".join(peers[node, ifid]), TIERS[last["tier"]],
                         sum(used) / len(used), max(used)))
    expected.sort(reverse=True)
    found = data(run, "bottlenecks", top=7)
    assert found["sent_GB"].to_list() == [row[0] for row in expected[:7]]
    assert set(found["link"][:6]) <= {row[1] for row in expected}
    for row in found.iter_rows(named=True):
        _, _, tier, mean, most = next(one for one in expected if one[1] == row["link"])
        assert row["tier"] == tier and row["mean_percent"] == pytest.approx(mean) and row["max_percent"] == most


def test_bottlenecks_without_the_topology_report_name_ports(shipped, tmp_path):
    directory = copied(shipped("features"), tmp_path)
    (directory / "features-topology-report-0.csv").unlink()
    found = data(open_run(directory), "bottlenecks")
    assert found["link"][0] == "RackSwitch-1 port 1" and found.height == 20


def grown(table, counter, *key) -> dict[tuple, int]:
    """(port, time) -> what a counter since the start grew by, classes together."""
    found = defaultdict(int)
    for one in grouped(table, *key).values():
        before = 0
        for row in sorted(one, key=lambda row: float(row["sim_time_sec"])):
            place = f"{row['component_name']} port {row['ifid']}", float(row["sim_time_sec"])
            found[place] += int(row[counter]) - before
            before = int(row[counter])
    return {place: value for place, value in found.items() if value}


def cells(found, what) -> dict[tuple, float]:
    part = found.filter(pl.col("what") == what, pl.col("port").is_not_null())
    return {(port, end): value for port, end, value in part.select("port", "end_s", "value").iter_rows()}


def test_heat_map_has_marks_trims_and_queues_by_interval(shipped):
    run = shipped("features")
    found = data(run, "port-heatmap", top=1000)
    marks = grown(rows(run, "ecn-pfc-stats"), "pkts_ecn_marked", "node_id", "ifid", "priority")
    assert marks and cells(found, "packets marked (ECN)") == marks
    nacks = {(f"to {row['component_name']}", float(row["sim_time_sec"])): int(row["ivl_nack_pkts_sent"])
             for row in rows(run, "uet-transport-stats") if int(row["ivl_nack_pkts_sent"])}
    assert nacks and cells(found, "packets trimmed") == nacks
    names = {"ul": "up", "dl": "down"}
    queues = defaultdict(float)
    for row in rows(run, "scala-switch-agg-buff-stats"):
        if row["buff_id"] == "egressQueue" and int(row["ivl_max_bytes"]):
            key = f"{row['component_name']} {names[row['uldl']]} ports", float(row["sim_time_sec"])
            queues[key] = max(queues[key], int(row["ivl_max_bytes"]) / 1e3)
    assert queues and cells(found, "queue depth, greatest") == dict(queues)
    notes = found["note"].drop_nulls().to_list()
    assert "packets dropped: none in this run" in notes and "pauses sent (PFC): none in this run" in notes


def test_heat_map_has_pauses(shipped):
    run = shipped("lossless")
    table = rows(run, "ecn-pfc-stats")
    found = data(run, "port-heatmap", top=1000)
    sent = grown(table, "pfcxoff_tx", "node_id", "ifid", "priority")
    assert sent and cells(found, "pauses sent (PFC)") == sent
    paused = defaultdict(float)
    for row in table:
        place = f"{row['component_name']} port {row['ifid']}", float(row["sim_time_sec"])
        paused[place] = max(paused[place], float(row["interval_total_time_xoff_usec"]) / 20 * 100)  # of 20 us
    shares = cells(found, "paused by the peer (PFC)")
    assert shares == pytest.approx({place: share for place, share in paused.items() if share})
    assert max(shares.values()) <= 100.000001


def test_heat_map_shows_the_ports_with_most_and_joins_intervals(shipped, monkeypatch):
    from distsim.results.plots import port_heatmap

    run = shipped("lossless")
    whole = data(run, "port-heatmap", top=1000).filter(pl.col("what") == "pauses sent (PFC)")
    totals = sorted((-value, port) for port, value in whole.group_by("port").agg(pl.col("value").sum()).iter_rows())
    few = data(run, "port-heatmap", top=3).filter(pl.col("what") == "pauses sent (PFC)")
    assert few["port"].unique(maintain_order=True).to_list() == [port for _, port in totals[:3]]
    assert set(few["ports"]) == {len(totals)}
    monkeypatch.setattr(port_heatmap, "SLOTS", 5)
    joined = data(run, "port-heatmap", top=1000).filter(pl.col("what") == "pauses sent (PFC)")
    assert joined["value"].sum() == whole["value"].sum() and joined["end_s"].n_unique() <= 5


def test_dropped_packets_are_in_the_heat_map(shipped, tmp_path):
    directory = copied(shipped("features"), tmp_path)
    path = directory / "features-nd-stats-0.csv"
    header, *lines = path.read_text().splitlines()
    changed = [f"{line.rsplit(',', 2)[0]},{n % 7},3" if ",NIC-5," in line else line for n, line in enumerate(lines)]
    path.write_text("\n".join([header, *changed]) + "\n")
    run = open_run(directory)
    expected, before = {}, 0
    for row in rows(run, "nd-stats"):
        if row["component_name"] == "NIC-5":
            count = int(row["tx_drops"]) + int(row["rx_drops"])
            expected["NIC-5 port 0", float(row["sim_time_sec"])] = count - before
            before = count
    assert cells(data(run, "port-heatmap"), "packets dropped") == {key: value for key, value in expected.items()
                                                                   if value > 0}


def test_windows_are_those_of_single_flows_where_packets_were_recorded(shipped):
    run = shipped("features")
    sent = [row for row in rows(run, "uet-monitor") if row["congestion_window"]]
    flows = grouped(sent, "FEP_ID", "local_PDC_ID")
    end = max(flows, key=lambda flow: len(flows[flow]))[1]
    found = data(run, "windows", flows=(end,))
    mine = next(flow for key, flow in flows.items() if key[1] == end)
    assert found["flow"].unique().to_list() == [
        f"{mine[0]['component_name']} {end} > {mine[0]['remote_PDC_ID'].split(':')[0]}"]
    assert found["cwnd_B"].to_list() == [float(row["congestion_window"]) for row in mine]
    assert found["end_s"].to_list() == pytest.approx([float(row["sim_time_ns"]) / 1e9 for row in mine])
    assert found["rtt_us"].drop_nulls().to_list() == pytest.approx(
        [float(row["RTT_ns"]) / 1e3 for row in mine if row["RTT_ns"]])
    assert data(run, "windows")["flow"].n_unique() == 6 and data(run, "windows", top=2)["flow"].n_unique() == 2
    assert data(run, "windows", nodes=("NIC-3",))["flow"].str.starts_with("NIC-3 ").all()


def test_a_flow_of_many_packets_is_thinned(shipped, monkeypatch):
    from distsim.results.plots import windows

    whole = data(shipped("features"), "windows", top=1)
    monkeypatch.setattr(windows, "POINTS", 20)
    thin = data(shipped("features"), "windows", top=1)
    assert thin.height <= 21 and thin["end_s"][0] == whole["end_s"][0] and thin["end_s"][-1] == whole["end_s"][-1]
    assert set(thin["cwnd_B"]) <= set(whole["cwnd_B"])


def test_windows_of_nics_by_interval_without_the_packets(shipped):
    run = shipped("faults")
    found = data(run, "windows", nodes=("NIC-2",))
    mine = [row for row in rows(run, "uet-transport-stats") if row["fep_id"] == "2" and int(row["ivl_write_pkts_sent"])]
    for name, column in (("cwnd_B", "ivl_calc_mean_cwnd_bytes"), ("cwnd_min_B", "ivl_calc_min_cwnd_bytes"),
                         ("cwnd_max_B", "ivl_calc_max_cwnd_bytes"), ("rtt_us", "ivl_avg_calc_rtt_usec"),
                         ("rtt_min_us", "ivl_min_calc_rtt_usec"), ("rtt_max_us", "ivl_max_calc_rtt_usec")):
        assert found[name].to_list() == [float(row[column]) for row in mine], name
    assert found["end_s"].to_list() == [float(row["sim_time_sec"]) for row in mine] and found["begin_s"][0] == 0.002


def test_the_data_do_not_depend_on_the_number_of_shards(shipped, tmp_path):
    run = shipped("features")
    directory = copied(run, tmp_path)
    for record in ("perf", "nd-stats", "ecn-pfc-stats", "uet-transport-stats", "uet-monitor", "topology-report",
                   "scala-switch-agg-buff-stats"):
        in_two_shards(directory, "features", record)
    two = open_run(directory)
    for plot in PLOTS:
        if plot.name not in ("bandwidth", "losses"):
            assert_frame_equal(plot.data_of(two), plot.data_of(run), rel_tol=1e-12, abs_tol=1e-12)


def test_a_run_in_progress_is_drawn_from_its_complete_rows(shipped, tmp_path):
    run = shipped("features")
    directory = copied(run, tmp_path)
    (directory / "features-run.json").unlink()
    path = directory / "features-nd-stats-0.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-3]) + lines[-3][:40])
    found = open_run(directory)
    ports = data(found, "utilisation").filter(pl.col("end_s") == pl.col("end_s").max())["ports"].sum()
    whole = data(run, "utilisation")
    assert ports == whole.filter(pl.col("end_s") == pl.col("end_s").max())["ports"].sum() - 3
    with pytest.raises(NotInRun, match=r"no run\.json yet"):
        data(found, "losses")
