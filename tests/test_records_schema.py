"""Columns of the records: counts, names and order as documented, and the README that is made from them."""

from distsim.records import RECORDS
from distsim.records.describe import README, with_columns
from distsim.state.tables import COUNTERS

DOCUMENTED_ND = (
    "time_utc,sim_time_sec,component_name,nd_name,component_type,ifid,uldl,node_id,tier,subtier,total_packets_tx,"
    "total_packets_rx,total_bytes_tx_GB,total_bytes_rx_GB,interval_bytes_tx_MB,interval_bytes_rx_MB,tx_rate_Gbps,"
    "rx_rate_Gbps,tx_link_percent_util,rx_link_percent_util,tx_drops,rx_drops")
DOCUMENTED_PERF = (
    "job_id,time_utc,sim_time_sec,metric_name,perf_metric_usec,metric_path,metric_aggregation_id,node_id,"
    "transaction_number,start_time_sec,transfer_size_b,application_name")
COUNTER_ORDER = [
    "total_pkts_sent", "total_pkts_rcvd", "write_pkts_sent", "write_pkts_rcvd", "ack_pkts_sent", "ack_pkts_rcvd",
    "nack_pkts_sent", "nack_pkts_rcvd", "wqes_created", "wqes_completed", "num_out_of_order_events_on_nic",
    "max_out_of_order_on_flow", "num_dup_events_on_nic", "probe_sent", "probe_ack_rcvd", "num_rto", "num_rtx",
    "max_tx_count", "m_marked_pkts_sent", "m_marked_pkts_rcvd", "num_quick_adapt"]
DOCUMENTED_SAMPLES = (
    "ivl_calc_min_rcvr_cwnd_pen,calc_mean_rcvr_cwnd_pen,ivl_calc_mean_rcvr_cwnd_pen,ivl_calc_max_rcvr_cwnd_pen,"
    "calc_min_cwnd_bytes,ivl_calc_min_cwnd_bytes,calc_mean_cwnd_bytes,ivl_calc_mean_cwnd_bytes,ivl_calc_max_cwnd_bytes,"
    "ivl_min_calc_avg_q_delay_usec,avg_calc_avg_q_delay_usec,ivl_avg_calc_avg_q_delay_usec,max_calc_avg_q_delay_usec,"
    "ivl_max_calc_avg_q_delay_usec,ivl_min_calc_rtt_usec,max_calc_rtt_usec,ivl_max_calc_rtt_usec,avg_calc_rtt_usec,"
    "ivl_avg_calc_rtt_usec,ivl_calc_min_bytes_in_flight,calc_mean_bytes_in_flight,ivl_calc_mean_bytes_in_flight,"
    "ivl_calc_max_bytes_in_flight")


def header(record):
    return RECORDS[record].schema.header


def test_widths_and_no_repeated_column():
    for record, width in (("uet-transport-stats", 69), ("nd-stats", 22), ("perf", 12)):
        assert len(header(record)) == len(set(header(record))) == width


def test_documented_order():
    assert header("nd-stats") == DOCUMENTED_ND.split(",")
    assert header("perf") == DOCUMENTED_PERF.split(",")
    counters = [name for counter in COUNTER_ORDER for name in (counter, "ivl_" + counter)]
    identity = ["time_utc", "sim_time_sec", "component_name", "fep_id"]
    assert header("uet-transport-stats") == identity + counters + DOCUMENTED_SAMPLES.split(",")


def test_every_counter_column_has_its_field():
    for name in COUNTER_ORDER[2:]:
        assert name in COUNTERS.names or "ivl_" + name in COUNTERS.names


def test_switches():
    nd = RECORDS["nd-stats"].schema
    assert nd.is_on({}) and not nd.is_on({"EnableNetDeviceStatLogging": False})
    # an attribute of the NICs, not of the run
    assert RECORDS["uet-transport-stats"].schema.is_on({"EnableTransportStats": False})
    assert RECORDS["perf"].schema.is_on({})


def test_readme_lists_the_columns():
    text = README.read_text()
    assert with_columns(text) == text
    assert "| 69 | `ivl_calc_max_bytes_in_flight` |" in text
