"""Columns of the records: counts, names and order as documented, and the README that is made from them."""

from distsim.records import COMPARED, RECORDS
from distsim.records.describe import README, with_columns
from distsim.state.tables import COUNTERS

DOCUMENTED_ND = (
    "time_utc,sim_time_sec,component_name,nd_name,component_type,ifid,uldl,node_id,tier,subtier,total_packets_tx,"
    "total_packets_rx,total_bytes_tx_GB,total_bytes_rx_GB,interval_bytes_tx_MB,interval_bytes_rx_MB,tx_rate_Gbps,"
    "rx_rate_Gbps,tx_link_percent_util,rx_link_percent_util,tx_drops,rx_drops")
DOCUMENTED_PERF = (
    "job_id,time_utc,sim_time_sec,metric_name,perf_metric_usec,metric_path,metric_aggregation_id,node_id,"
    "transaction_number,start_time_sec,transfer_size_b,application_name")
DOCUMENTED_PFC = (
    "job_id,time_utc,sim_time_sec,node_id,component_name,component_type,ifid,uldl,tier,subtier,priority,pfcxoff_tx,"
    "pfcxoff_rx,pfcxon_tx,pfcxon_rx,pfc_time_paused_usec,interval_total_time_xoff_usec,interval_max_time_xoff_usec,"
    "interval_total_time_xoff_egr_occ_usec,interval_max_time_xoff_egr_occ_usec,total_xoff_time_egr_occ_usec,"
    "percent_xon,xoff_egr_occ_ratio,pkts_ecn_marked")
DOCUMENTED_BUFFERS = (
    "job_id,time_utc,sim_time_sec,component_name,node_id,buffer_id,tc,occupancy_B,max_occupancy_B,buffer_max_size_B,"
    "num_enq,num_deq,interval_num_enq,interval_num_deq,interval_enq_B,interval_deq_B,interval_max_occupancy_B,enq_Gbps,"
    "deq_Gbps,overflow,percent_occupancy")
DOCUMENTED_EVENTS = (
    "time_utc,sim_time_ns,component_name,FEP_ID,local_PDC_ID,remote_PDC_ID,wqe_ID,wqe_size_bytes,ev_type")
DOCUMENTED_MONITOR = (
    "sim_time_ns,component_name,FEP_ID,job_ID,packet_UID,packet_size,local_PDC_ID,remote_PDC_ID,entropy_value,RTT_ns,"
    "direction,packet_type,nack_code,AR_bit,ECN_marked,M_Flag,NIC_prefetched_bytes,PDC_prefetched_bytes,bytes_fetched,"
    "bytes_in_flight,congestion_window,receiver_congestion_window_penalty,DSCP_type,PSN,CACK_PSN,SACK_base_PSN,"
    "ACK_bitmap_PSNs")
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
    for record, width in (("uet-transport-stats", 69), ("nd-stats", 22), ("perf", 12), ("ecn-pfc-stats", 24),
                          ("net-buff-stats", 21), ("uet-events", 9), ("uet-monitor", 27), ("pcie-stats", 30)):
        assert len(header(record)) == len(set(header(record))) == width


def test_documented_order():
    assert header("nd-stats") == DOCUMENTED_ND.split(",")
    assert header("perf") == DOCUMENTED_PERF.split(",")
    assert header("ecn-pfc-stats") == DOCUMENTED_PFC.split(",")
    assert header("net-buff-stats") == DOCUMENTED_BUFFERS.split(",")
    assert header("uet-events") == DOCUMENTED_EVENTS.split(",")
    assert header("uet-monitor") == DOCUMENTED_MONITOR.split(",")
    counters = [name for counter in COUNTER_ORDER for name in (counter, "ivl_" + counter)]
    identity = ["time_utc", "sim_time_sec", "component_name", "fep_id"]
    assert header("uet-transport-stats") == identity + counters + DOCUMENTED_SAMPLES.split(",")


def test_every_counter_column_has_its_field():
    for name in COUNTER_ORDER[2:]:
        assert name in COUNTERS.names or "ivl_" + name in COUNTERS.names


def test_switches_and_defaults():
    switches = {name: (record.schema.switch, record.schema.default, record.schema.global_switch)
                for name, record in RECORDS.items()}
    assert {name: switches[name] for name in list(RECORDS)[:8]} == {
        "uet-transport-stats": ("EnableTransportStats", True, False),
        "nd-stats": ("EnableNetDeviceStatLogging", True, True),
        "ecn-pfc-stats": ("EnablePFCECNStatsLogging", True, True),
        "perf": ("", True, True),
        "net-buff-stats": ("EnableNetworkBufferStatsReporting", False, True),
        "uet-events": ("EnableEventLogging", False, False),
        "uet-monitor": ("EnableUETMonitor", False, False),
        "pcie-stats": ("EnablePCIeStatsLogging", False, True)}
    nd = RECORDS["nd-stats"].schema
    assert nd.is_on({}) and not nd.is_on({"EnableNetDeviceStatLogging": False})
    monitor = RECORDS["uet-monitor"].schema
    assert not monitor.is_on({}) and monitor.is_on({"EnableUETMonitor": True})
    assert RECORDS["perf"].schema.is_on({"": False})


def test_every_record_is_fed_by_one_thing_and_counted_by_a_column_of_its_own():
    for name, record in RECORDS.items():
        schema = record.schema
        assert (schema.clock in ("nd", "buffers", "switch-buffers", "start")) != bool(schema.rows), name
        assert schema.rows in ("", "perf", "events", "monitor")
        assert set(schema.order) <= set(schema.header) and "time_utc" not in schema.order
        assert schema.component in (*schema.header, "")
        # without a component the rows left out would depend on the ranks
        assert schema.component or schema.wall_clock, name


def test_records_with_figures_of_the_machine_are_outside_the_equality_rule():
    assert set(RECORDS) - set(COMPARED) == {"mpi-stats", "mpi-profiling", "cpu-mem-stats"}


def test_readme_lists_the_columns():
    text = README.read_text()
    assert with_columns(text) == text
    assert "| 69 | `ivl_calc_max_bytes_in_flight` |" in text
