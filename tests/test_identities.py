"""Accounting identities over the records of real runs: configs/features.yaml and configs/lossless.yaml, all on.

Both runs drain, so that at the last tick nothing is on a wire or in a buffer. The records are independent accounts of
the same packets, kept at different places of the kernels: any two have to agree.
"""

from __future__ import annotations

import polars as pl
import pytest
from identity_cases import (  # noqa: F401
    NIC,
    both_ends,
    by_nic,
    column,
    drained_run,
    frame,
    grouped,
    last,
    packets,
    whole_bytes,
)

from distsim.records.uet_transport_stats import COUNTER_COLUMNS, MAXIMA

KINDS = ["PDC_CREATED", "WQE_CREATED", "SEND_COMPLETE", "WQE_COMPLETE", "RECV_COMPLETE", "PDC_TERMINATED"]
MOST_FRAME = 4202


# ---- uet-transport-stats ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["sent", "rcvd"])
def test_a_total_is_data_acks_and_nacks(run, way):
    rows = frame(run, "uet-transport-stats")
    for prefix in ("", "ivl_"):
        parts = sum(rows[f"{prefix}{kind}_pkts_{way}"] for kind in ("write", "ack", "nack"))
        assert (rows[f"{prefix}total_pkts_{way}"] == parts).all()
    assert sum(rows[f"total_pkts_{way}"]) > 0


def test_cumulative_counters_are_sums_of_their_intervals_or_maxima(run):
    for rows in grouped(frame(run, "uet-transport-stats"), NIC):
        for name in COUNTER_COLUMNS:
            interval = rows["ivl_" + name]
            expected = interval.cum_max() if name in MAXIMA else interval.cum_sum()
            assert rows[name].to_list() == expected.to_list(), name
        assert (rows["max_calc_rtt_usec"] == rows["ivl_max_calc_rtt_usec"].cum_max()).all()


def test_work_requests_messages_and_perf_rows(run):
    rows, perf, events = last(run, "uet-transport-stats"), frame(run, "perf"), frame(run, "uet-events")
    sent = by_nic(perf.select(NIC=pl.format("NIC-{}", "node_id")).rename({"NIC": NIC}))
    completed = column(rows, "wqes_completed")
    assert completed == sent == by_nic(events.filter(ev_type="WQE_COMPLETE")) == column(rows, "wqes_created")
    assert sum(completed.values()) == run.info["flows"]["finished"] == 24


# ---- uet-monitor against uet-transport-stats -------------------------------------------------------------------------
@pytest.mark.parametrize("direction, kind, counter", [
    ("Tx", "RUD_REQUEST", "write_pkts_sent"), ("Rx", "RUD_REQUEST", "write_pkts_rcvd"),
    ("Tx", "ACK_CC", "ack_pkts_sent"), ("Rx", "ACK_CC", "ack_pkts_rcvd"), ("Tx", "NACK", "nack_pkts_sent"),
    ("Rx", "NACK", "nack_pkts_rcvd"), ("Tx", "CTRL", "probe_sent"),
])
def test_logged_packets_are_the_counted_ones(run, direction, kind, counter):
    assert by_nic(packets(run, direction, kind)) == column(last(run, "uet-transport-stats"), counter)


def test_what_rows_say_is_what_was_counted(run):
    stats, rows = last(run, "uet-transport-stats"), frame(run, "uet-monitor")
    acks_in, acks_out = packets(run, "Rx", "ACK_CC"), packets(run, "Tx", "ACK_CC")
    assert by_nic(rows.filter(direction="ReTx")) == column(stats, "num_rtx")
    assert by_nic(acks_out, pl.col("M_Flag")) == column(stats, "m_marked_pkts_sent")
    sampled = acks_in.filter(pl.col("RTT_ns").is_not_null())
    assert by_nic(sampled, pl.col("M_Flag")) == column(stats, "m_marked_pkts_rcvd")
    trimmed = packets(run, "Rx", "RUD_REQUEST").filter(pl.col("DSCP_type").str.starts_with("TRIMMED"))
    assert by_nic(trimmed) == column(stats, "nack_pkts_sent")
    assert trimmed.height == run.info["counts"]["trimmed"]
    for name, of, scale in (("avg_calc_rtt_usec", "RTT_ns", 1000), ("max_calc_rtt_usec", "RTT_ns", 1000),
                            ("calc_mean_rcvr_cwnd_pen", "receiver_congestion_window_penalty", 1)):
        value = pl.col(of).max() if name.startswith("max") else pl.col(of).mean()
        expected = dict(sampled.group_by(NIC).agg(value / scale).iter_rows())
        assert column(stats, name) == pytest.approx(expected)


def test_every_packet_that_came_was_sent_by_its_peer(run):
    rows = frame(run, "uet-monitor")
    sent, came = (rows.filter((pl.col("direction") == "Rx") == is_rx) for is_rx in (False, True))
    assert sent["packet_UID"].n_unique() == sent.height and came["packet_UID"].n_unique() == came.height
    pairs = sent.join(came, on=["packet_UID", "packet_type", "PSN"], suffix="_there")
    assert pairs.height == came.height == sent.height - run.info["counts"]["dropped"]       # drained
    address = [pl.col(end).str.split(":").list.first() for end in ("local_PDC_ID", "remote_PDC_ID_there")]
    assert pairs.select((address[0] == address[1]).all()).item()
    assert (pairs["sim_time_ns"] < pairs["sim_time_ns_there"]).all()
    size, there = pairs["packet_size"], pairs["packet_size_there"]
    assert ((size == there) | pairs["DSCP_type_there"].str.starts_with("TRIMMED") & (there == 62)).all()
    same = pairs.filter(pl.col("packet_type") != "NACK")
    for name in ("entropy_value", "AR_bit", "CACK_PSN", "SACK_base_PSN", "ACK_bitmap_PSNs", "M_Flag",
                 "receiver_congestion_window_penalty"):
        assert same[name].equals(same[name + "_there"], null_equal=True), name


@pytest.mark.parametrize("record", ["uet-monitor", "uet-events"])
def test_only_the_sending_end_may_not_know_the_other_id(run, record):
    local, remote = (frame(run, record)[f"{end}_PDC_ID"].str.split(":").list.last().cast(pl.Int64)
                     for end in ("local", "remote"))
    assert (local > 0).all()
    assert ((local > 32_768) == (remote.is_between(1, 32_767))).all() and (remote == 0).any()


# ---- uet-events ------------------------------------------------------------------------------------------------------
def test_events_of_every_message_in_order(run):
    sender = ["PDC_CREATED", "WQE_CREATED", "SEND_COMPLETE", "WQE_COMPLETE", "PDC_TERMINATED"]
    receiver = ["PDC_CREATED", "RECV_COMPLETE", "PDC_TERMINATED"]
    seen = {"sender": 0, "receiver": 0}
    for part in frame(run, "uet-events").partition_by("local_PDC_ID"):
        at_sender = int(part["local_PDC_ID"][0].split(":")[1]) < 32_768
        rows = part.sort("sim_time_ns", pl.col("ev_type").replace_strict(KINDS, range(6), return_dtype=pl.Int64))
        assert rows["ev_type"].to_list() == (sender if at_sender else receiver)
        assert part["sim_time_ns"].is_sorted()               # written as they happen
        has_request = rows["ev_type"].is_in(KINDS[1:4])
        assert (rows["wqe_ID"].is_not_null() == has_request).all()
        assert (rows["wqe_size_bytes"].is_not_null() == has_request).all()
        assert rows["wqe_ID"].drop_nulls().n_unique() == at_sender
        seen["sender" if at_sender else "receiver"] += 1
    assert seen == {"sender": 24, "receiver": 24}


# ---- nd-stats, tier-hop ----------------------------------------------------------------------------------------------
def test_what_one_end_of_a_link_sent_the_other_received(run):
    # Between the end of its serialization and its arrival a frame is on the wire: with the delay, so many bytes and the
    # frame whose end falls into it.
    rows = both_ends(run, "nd-stats")
    assert rows.height == frame(run, "nd-stats").height and rows["total_bytes_rx_GB_peer"].null_count() == 0
    under_way = whole_bytes(rows, "total_bytes_tx_GB") - whole_bytes(rows, "total_bytes_rx_GB_peer")
    wire = rows["linkspeed_Gbps"] * rows["prop_delay_ns"] / 8 + MOST_FRAME
    assert (under_way >= 0).all() and (under_way <= wire).all() and under_way.sum() > 0
    drained = rows.filter(pl.col("sim_time_sec") == pl.col("sim_time_sec").max())
    for name in ("total_packets_{}", "total_bytes_{}_GB"):
        assert drained[name.format("tx")].to_list() == drained[name.format("rx") + "_peer"].to_list()


def test_intervals_of_ports_add_up(run):
    for rows in grouped(frame(run, "nd-stats"), NIC, "ifid"):
        for way in ("tx", "rx"):
            summed = (rows[f"interval_bytes_{way}_MB"] * 1e6).round().cast(pl.Int64).cum_sum()
            assert summed.to_list() == whole_bytes(rows, f"total_bytes_{way}_GB").to_list()


def test_a_nic_port_carries_its_packets_and_pauses(run):
    ports, stats = last(run, "nd-stats").filter(component_type="NIC"), last(run, "uet-transport-stats")
    pauses = last(run, "ecn-pfc-stats").filter(component_type="NIC")
    for way, total, probes in (("tx", "total_pkts_sent", column(stats, "probe_sent")),
                               ("rx", "total_pkts_rcvd", by_nic(packets(run, "Rx", "CTRL")))):
        frames = by_nic(pauses, pl.col(f"pfcxoff_{way}") + pl.col(f"pfcxon_{way}"))
        packets_of, lost = column(stats, total), column(ports, f"{way}_drops")
        assert column(ports, f"total_packets_{way}") == {
            k: n + probes[k] + frames[k] + lost[k] for k, n in packets_of.items()}
    assert (ports["tx_drops"] == 0).all()
    pools = last(run, "net-buff-stats").filter(pl.col("buffer_id").str.starts_with("RX"))
    assert column(ports, "rx_drops") == by_nic(pools, pl.col("overflow"))


def test_tier_hops_are_what_the_switch_ports_received(run):
    ports = frame(run, "nd-stats").filter(component_type="Switch")
    received = ports.group_by("sim_time_sec", "node_id").agg(pl.col("total_packets_rx").sum())
    rows = frame(run, "tier-hop").join(received, on=["sim_time_sec", "node_id"])
    assert rows.height == frame(run, "tier-hop").height == received.height
    assert (rows["spine"] + rows["fabric"] + rows["rack"] == rows["total_packets_rx"]).all()
    for part in grouped(rows, "node_id"):
        for tier in ("spine", "rack"):
            assert part[tier].to_list() == part[tier + "Int"].cum_sum().to_list()


# ---- ecn-pfc-stats ---------------------------------------------------------------------------------------------------
def test_pauses_sent_by_one_end_are_received_by_the_other(run):
    rows = both_ends(run, "ecn-pfc-stats", "priority").fill_null(0)
    drained = rows.filter(pl.col("sim_time_sec") == frame(run, "nd-stats")["sim_time_sec"].max())
    for name in ("pfcxoff", "pfcxon"):
        assert drained[f"{name}_tx"].to_list() == drained[f"{name}_rx_peer"].to_list()
        assert drained[f"{name}_tx"].sum() == drained[f"{name}_rx"].sum()
        assert (drained[f"{name}_tx"].sum() > 0) == run.path.name.startswith("lossless")
    pauses = pl.col("pfcxoff_rx") > 0                        # only who was paused has been paused for some time
    assert frame(run, "ecn-pfc-stats").select((pauses == (pl.col("pfc_time_paused_usec") > 0)).all()).item()


def test_pause_times_add_up(run):
    ticks = sorted(frame(run, "nd-stats")["sim_time_sec"].unique())
    interval_us = (ticks[1] - ticks[0]) * 1e6
    for rows in grouped(frame(run, "ecn-pfc-stats"), "node_id", "ifid", "priority"):
        assert rows["sim_time_sec"].to_list() == ticks[len(ticks) - rows.height:]      # from its first one on
        for total, interval in (("pfc_time_paused_usec", "interval_total_time_xoff_usec"),
                                ("total_xoff_time_egr_occ_usec", "interval_total_time_xoff_egr_occ_usec")):
            assert rows[total].to_list() == pytest.approx(rows[interval].cum_sum().to_list())
        assert (rows["total_xoff_time_egr_occ_usec"] <= rows["pfc_time_paused_usec"]).all()
        on = 100 * (1 - rows["interval_total_time_xoff_usec"] / interval_us)
        assert rows["percent_xon"].to_list() == pytest.approx(on.to_list())


# ---- net-buff-stats, pcie-stats --------------------------------------------------------------------------------------
def test_pools_are_never_over_full_and_hold_what_entered_and_has_not_left(run):
    for rows in grouped(frame(run, "net-buff-stats"), NIC, "buffer_id"):
        size = rows["buffer_max_size_B"]
        assert ((rows["occupancy_B"] >= 0) & (rows["interval_max_occupancy_B"] >= rows["occupancy_B"])).all()
        assert (rows["max_occupancy_B"] <= size).all()
        assert rows["max_occupancy_B"].to_list() == rows["interval_max_occupancy_B"].cum_max().to_list()
        held = (rows["interval_enq_B"] - rows["interval_deq_B"]).cum_sum()
        assert rows["occupancy_B"].to_list() == held.to_list()
        packets_held = rows["num_enq"] - rows["num_deq"]
        assert ((packets_held > 0) == (held > 0)).all() and (packets_held >= 0).all()
        for way in ("enq", "deq"):
            assert rows[f"num_{way}"].to_list() == rows[f"interval_num_{way}"].cum_sum().to_list()
        assert packets_held[-1] == 0


def test_pools_see_every_packet(run):
    stats, pools = last(run, "uet-transport-stats"), last(run, "net-buff-stats")
    entered = {name: column(pools.filter(buffer_id=f"{name}_BUFFER"), "num_enq")
               for name in ("RX_TC0", "RX_TC1", "TX_TC0", "TX_TC1")}
    n = {name: column(stats, name) for name in ("write_pkts_sent", "total_pkts_sent", "probe_sent", "write_pkts_rcvd",
                                                "total_pkts_rcvd", "nack_pkts_sent")}
    probes_in = by_nic(packets(run, "Rx", "CTRL"))
    for nic in probes_in:
        trimmed = n["nack_pkts_sent"][nic]                   # a NACK each
        assert entered["TX_TC0"][nic] == n["write_pkts_sent"][nic]
        assert entered["TX_TC1"][nic] == n["total_pkts_sent"][nic] - n["write_pkts_sent"][nic] + n["probe_sent"][nic]
        assert entered["RX_TC0"][nic] == n["write_pkts_rcvd"][nic] - trimmed
        assert entered["RX_TC1"][nic] == n["total_pkts_rcvd"][nic] - entered["RX_TC0"][nic] + probes_in[nic]


def test_what_one_end_of_pcie_sent_the_other_received(run):
    rows = frame(run, "pcie-stats")
    ends = rows.filter(side="nic").join(rows.filter(side="host"), on=["sim_time_sec", NIC], suffix="_host")
    for name in ("total_transfers", "ivl_transfers", "total_bytes", "ivl_bytes", "ivl_payload_bytes"):
        for here, there in (("tx", "rx"), ("rx", "tx")):
            assert ends[f"{name}_{here}"].to_list() == ends[f"{name}_{there}_host"].to_list()
    assert ends["read_requests"].to_list() == ends["completions_host"].to_list()
    perf = frame(run, "perf").with_columns(pl.col("metric_path").str.split(">").alias("ends"))
    for side, end in (("host", 0), ("nic", 1)):              # every byte is fetched once and written once
        of = perf.select(pl.col("ends").list.get(end).alias(NIC), "transfer_size_b")
        assert by_nic(rows.filter(side=side), pl.col("ivl_payload_bytes_tx")) == by_nic(of, pl.col("transfer_size_b"))
    for part in grouped(rows, NIC, "side"):
        for name in ("transfers_tx", "bytes_tx"):
            assert part["total_" + name].to_list() == part["ivl_" + name].cum_sum().to_list()
