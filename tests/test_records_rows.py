"""Rows of the three records, with every number worked out by hand."""

import csv

import numpy as np
import pytest
from records_cases import MS, ONE, counters, messages, ports, shard

from distsim.records import PORT_COUNTERS, Tick, merge, open_records, port_counters
from distsim.records.nd_stats import NdStats
from distsim.records.perf import Perf, rows_of
from distsim.records.uet_transport_stats import UetTransportStats
from distsim.state.tables import IN, PORT


def tick(k, counted, nics=1):
    return Tick((2 + k) * MS, "nd", counted, np.zeros(2 * nics, PORT_COUNTERS))


def row(columns, index=0):
    return {name: values if np.isscalar(values) else values[index] for name, values in columns.items()}


# ---- uet-transport-stats ---------------------------------------------------------------------------------------------

def test_identity_and_totals():
    record = UetTransportStats(shard(nics=2, nic_node_id=np.array([4, 9]), nic_name=["NIC-4", "NIC-9"]))
    columns = record.on_tick(tick(1, counters(2, write_pkts_sent=[100, 7], ack_pkts_sent=[20, 0], nack_pkts_sent=[3, 0],
                                              probe_sent=50, write_pkts_rcvd=5, ack_pkts_rcvd=6, nack_pkts_rcvd=7), 2))
    first, second = row(columns, 0), row(columns, 1)
    assert (first["sim_time_sec"], first["component_name"], first["fep_id"]) == (0.003, "NIC-4", 4)
    assert (second["component_name"], second["fep_id"]) == ("NIC-9", 9)
    assert first["total_pkts_sent"] == 123 and second["total_pkts_sent"] == 7  # the probes are not in the total
    assert first["total_pkts_rcvd"] == 18


def test_intervals_are_differences_and_the_first_covers_everything():
    record = UetTransportStats(shard())
    one = row(record.on_tick(tick(1, counters(num_rtx=5, write_pkts_sent=10, ack_pkts_sent=2))))
    two = row(record.on_tick(tick(2, counters(num_rtx=12, write_pkts_sent=25, ack_pkts_sent=2))))
    assert (one["num_rtx"], one["ivl_num_rtx"]) == (5, 5)
    assert (two["num_rtx"], two["ivl_num_rtx"]) == (12, 7)
    assert (one["ivl_total_pkts_sent"], two["ivl_total_pkts_sent"], two["total_pkts_sent"]) == (12, 15, 27)


def test_maxima_of_the_interval_and_of_the_run():
    record = UetTransportStats(shard())
    rows = [row(record.on_tick(tick(k, counters(ivl_max_tx_count=tries, ivl_max_out_of_order_on_flow=held))))
            for k, (tries, held) in enumerate([(1, 30), (4, 8), (2, 31)], 1)]
    assert [r["ivl_max_tx_count"] for r in rows] == [1, 4, 2]
    assert [r["max_tx_count"] for r in rows] == [1, 4, 4]
    assert [r["max_out_of_order_on_flow"] for r in rows] == [30, 30, 31]


def test_means_over_interval_and_run():
    record = UetTransportStats(shard())
    # three windows 300, 600, 900 bytes, then one of 200
    one = row(record.on_tick(tick(1, counters(tx_samples=3, cwnd_sum=1800, ivl_cwnd_min=300, ivl_cwnd_max=900,
                                              inflight_sum=30, ivl_inflight_min=5, ivl_inflight_max=15))))
    two = row(record.on_tick(tick(2, counters(tx_samples=4, cwnd_sum=2000, ivl_cwnd_min=200, ivl_cwnd_max=200,
                                              inflight_sum=90, ivl_inflight_min=60, ivl_inflight_max=60))))
    assert (one["calc_mean_cwnd_bytes"], one["ivl_calc_mean_cwnd_bytes"]) == (600, 600)
    assert (two["calc_mean_cwnd_bytes"], two["ivl_calc_mean_cwnd_bytes"]) == (500, 200)
    extremes = ("calc_min_cwnd_bytes", "ivl_calc_min_cwnd_bytes", "ivl_calc_max_cwnd_bytes")
    assert [one[name] for name in extremes] == [300, 300, 900]
    assert [two[name] for name in extremes] == [200, 200, 200]
    assert (two["calc_mean_bytes_in_flight"], two["ivl_calc_mean_bytes_in_flight"]) == (22.5, 60)
    assert (one["ivl_calc_min_bytes_in_flight"], one["ivl_calc_max_bytes_in_flight"]) == (5, 15)


def test_delay_and_rtt_are_microseconds():
    record = UetTransportStats(shard())
    # RTTs 6.5 us and 9.5 us, average delays 0.25 us and 0.75 us, penalties 1 and 4
    one = row(record.on_tick(tick(1, counters(
        ack_samples=2, rtt_sum=16_000_000, ivl_rtt_min=6_500_000, ivl_rtt_max=9_500_000, delay_sum=1_000_000,
        ivl_delay_min=250_000, ivl_delay_max=750_000, penalty_sum=5, ivl_penalty_min=1, ivl_penalty_max=4))))
    assert (one["ivl_min_calc_rtt_usec"], one["avg_calc_rtt_usec"], one["max_calc_rtt_usec"]) == (6.5, 8.0, 9.5)
    assert (one["ivl_min_calc_avg_q_delay_usec"], one["ivl_avg_calc_avg_q_delay_usec"],
            one["ivl_max_calc_avg_q_delay_usec"]) == (0.25, 0.5, 0.75)
    assert (one["ivl_calc_min_rcvr_cwnd_pen"], one["calc_mean_rcvr_cwnd_pen"],
            one["ivl_calc_max_rcvr_cwnd_pen"]) == (1, 2.5, 4)
    # a later interval with one smaller sample: the run's greatest values stay
    two = row(record.on_tick(tick(2, counters(
        ack_samples=3, rtt_sum=22_000_000, ivl_rtt_min=6_000_000, ivl_rtt_max=6_000_000, delay_sum=1_000_000,
        ivl_delay_min=0, ivl_delay_max=0, penalty_sum=5, ivl_penalty_min=0, ivl_penalty_max=0))))
    assert (two["ivl_avg_calc_rtt_usec"], two["max_calc_rtt_usec"], two["ivl_max_calc_rtt_usec"]) == (6.0, 9.5, 6.0)
    assert (two["max_calc_avg_q_delay_usec"], two["ivl_avg_calc_avg_q_delay_usec"]) == (0.75, 0.0)


def test_no_samples_write_zero():
    record = UetTransportStats(shard())
    samples = UetTransportStats.schema.header[46:]
    assert len(samples) == 23
    empty = row(record.on_tick(tick(1, counters())))
    assert all(empty[name] == 0 for name in samples)
    record.on_tick(tick(2, counters(tx_samples=1, cwnd_sum=800, ivl_cwnd_min=800, ivl_cwnd_max=800, inflight_sum=40,
                                    ivl_inflight_min=40, ivl_inflight_max=40)))
    idle = row(record.on_tick(tick(3, counters(tx_samples=1, cwnd_sum=800, inflight_sum=40, ivl_cwnd_min=0))))
    assert all(idle[name] == 0 for name in samples if name.startswith("ivl_"))
    # a run's figures stay although this interval has none
    stay = ("calc_min_cwnd_bytes", "calc_mean_cwnd_bytes", "calc_mean_bytes_in_flight")
    assert [idle[name] for name in stay] == [800, 800, 40]


def test_only_nics_with_transport_stats():
    record = UetTransportStats(shard(nics=3, nic_stats=np.array([True, False, True])))
    columns = record.on_tick(tick(1, counters(3, num_rto=[1, 2, 3]), 3))
    assert list(columns["fep_id"]) == [0, 2] and list(columns["num_rto"]) == [1, 3]
    assert list(columns["component_name"]) == ["NIC-0", "NIC-2"]
    assert UetTransportStats(shard(nic_stats=np.array([False]))).on_tick(tick(1, counters())) is None


# ---- nd-stats --------------------------------------------------------------------------------------------------------

def test_nd_identity():
    columns = NdStats(shard()).on_tick(Tick(3 * MS, "nd", counters(), ports()))
    nic, switch = row(columns, 0), row(columns, 1)
    assert [nic[name] for name in ("component_name", "nd_name", "component_type", "ifid", "uldl", "node_id", "tier",
                                   "subtier")] == ["NIC-0", "distsim::UetNicDevice", "NIC", 0, "ul", 0, 3, 4294967295]
    assert [switch[name] for name in ("component_name", "nd_name", "component_type", "uldl", "node_id", "tier")] == [
        "RackSwitch-0", "distsim::SwitchPortDevice", "Switch", "dl", 1, 2]


def test_nd_rates_and_utilisation():
    record = NdStats(shard())
    # the NIC (400 Gb/s) sends 10 MB in the first ms, 25 MB in the second: 80 and 200 Gb/s, 20 % and 50 %;
    # the switch (800 Gb/s) receives the same: 10 % and 25 %
    one = record.on_tick(Tick(3 * MS, "nd", counters(), ports(tx_bytes=[10_000_000, 0], rx_bytes=[0, 10_000_000])))
    assert row(one, 0)["tx_rate_Gbps"] == 80 and row(one, 0)["tx_link_percent_util"] == 20
    assert row(one, 1)["rx_rate_Gbps"] == 80 and row(one, 1)["rx_link_percent_util"] == 10
    two = record.on_tick(Tick(4 * MS, "nd", counters(), ports(tx_bytes=[35_000_000, 0], rx_bytes=[0, 35_000_000],
                                                        tx_packets=[9, 0], tx_drops=[0, 3], rx_drops=[2, 0])))
    nic, switch = row(two, 0), row(two, 1)
    assert (nic["total_bytes_tx_GB"], nic["interval_bytes_tx_MB"], nic["tx_rate_Gbps"]) == (0.035, 25, 200)
    assert (nic["tx_link_percent_util"], switch["rx_link_percent_util"]) == (50, 25)
    assert (nic["total_packets_tx"], nic["rx_drops"], switch["tx_drops"], nic["rx_rate_Gbps"]) == (9, 2, 3, 0)


def test_nd_documented_example_row():
    """The example of the page: 73,062 B sent and 74,146 B received in 1 ms at 800 Gb/s."""
    record = NdStats(shard(port_rate_bps=np.array([800, 800]) * 10**9))
    got = row(record.on_tick(Tick(3 * MS, "nd", counters(), ports(tx_bytes=73062, rx_bytes=74146))))
    assert got["total_bytes_tx_GB"] == pytest.approx(7.3062e-05, abs=0)
    assert (got["interval_bytes_tx_MB"], got["tx_rate_Gbps"]) == (0.073062, 0.584496)
    assert (got["tx_link_percent_util"], got["rx_link_percent_util"]) == pytest.approx((0.073062, 0.074146), rel=1e-15)
    assert got["rx_rate_Gbps"] == 0.593168


def test_nd_a_skipped_interval_divides_by_the_time_since_the_last_row():
    record = NdStats(shard())
    record.on_tick(Tick(3 * MS, "nd", counters(), ports()))
    got = row(record.on_tick(Tick(8 * MS, "nd", counters(), ports(tx_bytes=10_000_000))))
    assert got["tx_rate_Gbps"] == 16  # 80 Mbit in 5 ms
    with pytest.raises(ValueError, match="not after"):
        record.on_tick(Tick(8 * MS, "nd", counters(), ports()))


def test_frame_in_service_is_left_out():
    rows, ins = np.zeros(3, PORT), np.zeros(3, IN)
    rows["tx_packets"], rows["tx_bytes"], rows["service_bytes"] = 4, 16808, 4202
    rows["free_ps"] = [MS - 1, MS, MS + 1]  # ended, ends at the tick, still on its way
    rows["tx_drops"], ins["rx_packets"], ins["rx_bytes"], ins["rx_drops"] = 6, 2, 124, 1
    got = port_counters(rows, ins, MS)
    assert got["tx_packets"].tolist() == [4, 4, 3]
    assert got["tx_bytes"].tolist() == [16808, 16808, 12606]
    assert got[0].tolist() == (4, 16808, 6, 2, 124, 1)


# ---- perf ------------------------------------------------------------------------------------------------------------

def test_perf_row():
    got = row(Perf(shard()).on_rows(messages(ONE)))
    assert got == {"job_id": "sim", "sim_time_sec": 0.00206424, "metric_name": "FCT", "perf_metric_usec": 64.24,
                   "metric_path": "NIC-3>NIC-7", "metric_aggregation_id": "part-0", "node_id": 3,
                   "transaction_number": 41, "start_time_sec": 0.002, "transfer_size_b": 2_000_000,
                   "application_name": "flow"}


def test_perf_names_and_parts():
    names = [f"host-{i}" for i in range(8)]
    record = Perf(shard(names=names, parts=[(0, "permutation"), (5, "incast")]))
    columns = record.on_rows(messages({**ONE, "op": 4}, ONE, {**ONE, "op": 99}))
    assert columns["metric_path"] == ["host-3>host-7"] * 3
    assert columns["application_name"] == ["permutation", "incast", "incast"]
    assert columns["metric_aggregation_id"] == ["part-0", "part-1", "part-1"]


def test_perf_rows_can_be_read_back_exactly(tmp_path):
    far = 1_999_999_999_999_999  # just under 2,000 s, odd picoseconds
    rows = messages(ONE, {**ONE, "time_ps": far, "start_ps": far - 1, "dst": 2, "node": 1}, {**ONE, "dst": 2})
    with open_records(shard(tmp_path)) as records:
        records.on_rows("perf", rows)
    back = rows_of(merge(tmp_path, "perf").sort("start_time_sec", maintain_order=True))
    assert sorted(back["time_ps"]) == sorted(rows["time_ps"]) and sorted(back["start_ps"]) == sorted(rows["start_ps"])
    assert len(set(back["dst"])) == 2 and back["op"].tolist() == [-1] * 3
    with open(tmp_path / "sim-perf-0.csv", newline="") as file:
        assert next(csv.DictReader(file))["perf_metric_usec"] == "64.24"
