"""More identities of the same two runs: packet by packet, interval by interval, message by message."""

from __future__ import annotations

import polars as pl
import pytest
from identity_cases import NIC, by_nic, column, drained_run, frame, grouped, last, packets  # noqa: F401

SAMPLED = {"RTT_ns": ("ivl_min_calc_rtt_usec", "ivl_avg_calc_rtt_usec", "ivl_max_calc_rtt_usec", 1000),
           "receiver_congestion_window_penalty": ("ivl_calc_min_rcvr_cwnd_pen", "ivl_calc_mean_rcvr_cwnd_pen",
                                                  "ivl_calc_max_rcvr_cwnd_pen", 1)}


def in_ps(rows: pl.DataFrame, name: str, per_unit: int) -> pl.Series:
    return (rows[name] * per_unit).round().cast(pl.Int64)


# ---- samples of an interval ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sample", SAMPLED)
def test_samples_of_every_interval_are_those_of_its_acks(run, sample):
    least, mean, greatest, scale = SAMPLED[sample]
    acks = packets(run, "Rx", "ACK_CC").filter(pl.col("RTT_ns").is_not_null())
    checked = 0
    for rows in grouped(frame(run, "uet-transport-stats"), NIC):
        begin_ps = 0
        for row in rows.iter_rows(named=True):
            end_ps = round(row["sim_time_sec"] * 1e12)
            inside = acks.filter(pl.col(NIC) == row[NIC], (pl.col("sim_time_ns") * 1000).round().is_between(
                begin_ps, end_ps, closed="left"))[sample] / scale
            expected = [inside.min(), inside.mean(), inside.max()] if len(inside) else [0, 0, 0]
            assert [row[least], row[mean], row[greatest]] == pytest.approx(expected), row[NIC]
            begin_ps, checked = end_ps, checked + len(inside)
    assert checked == acks.height > 0


def test_samples_lie_between_their_extremes(run):
    rows = frame(run, "uet-transport-stats")
    for least, mean, greatest in (
            ("ivl_calc_min_cwnd_bytes", "ivl_calc_mean_cwnd_bytes", "ivl_calc_max_cwnd_bytes"),
            ("ivl_min_calc_avg_q_delay_usec", "ivl_avg_calc_avg_q_delay_usec", "ivl_max_calc_avg_q_delay_usec"),
            ("ivl_calc_min_bytes_in_flight", "ivl_calc_mean_bytes_in_flight", "ivl_calc_max_bytes_in_flight")):
        assert (rows[least] <= rows[mean] + 1e-6).all() and (rows[mean] <= rows[greatest] + 1e-6).all()
        assert rows[greatest].sum() > 0
    for part in grouped(rows, NIC):
        assert part["max_calc_avg_q_delay_usec"].to_list() == part["ivl_max_calc_avg_q_delay_usec"].cum_max().to_list()
        some = part.filter(pl.col("ivl_calc_max_cwnd_bytes") > 0)
        assert some["calc_min_cwnd_bytes"].to_list() == some["ivl_calc_min_cwnd_bytes"].cum_min().to_list()


def test_rates_are_the_bytes_over_the_interval(run):
    ports = frame(run, "nd-stats")
    pools, pcie = frame(run, "net-buff-stats"), frame(run, "pcie-stats")
    ns = 20_000                                              # both configurations' interval: 20 us
    for way in ("tx", "rx"):
        rate = ports[f"interval_bytes_{way}_MB"] * 8e6 / ns
        assert ports[f"{way}_rate_Gbps"].to_list() == pytest.approx(rate.to_list())
        assert ports[f"{way}_link_percent_util"].to_list() == pytest.approx((rate / 4).to_list())
        assert (rate <= 400 + 4202 * 8 / ns).all() and rate.max() > 200
        on_lanes = pcie[f"ivl_bytes_{way}"] * 8 / ns
        assert pcie[f"{way}_rate_Gbps"].to_list() == pytest.approx(on_lanes.to_list())
    for way in ("enq", "deq"):
        assert pools[f"{way}_Gbps"].to_list() == pytest.approx((pools[f"interval_{way}_B"] * 8 / ns).to_list())
    share = 100 * pools["occupancy_B"] / pools["buffer_max_size_B"]
    assert pools["percent_occupancy"].to_list() == pytest.approx(share.to_list())


# ---- messages --------------------------------------------------------------------------------------------------------
def test_events_and_packets_of_a_message_agree_with_its_perf_row(run):
    events = frame(run, "uet-events").filter(pl.col("wqe_ID").is_not_null())
    created, completed = (events.filter(ev_type=kind).sort("wqe_ID") for kind in ("WQE_CREATED", "WQE_COMPLETE"))
    assert created["wqe_ID"].to_list() == completed["wqe_ID"].to_list() and created["wqe_ID"].is_unique().all()
    duration_ps = in_ps(completed, "sim_time_ns", 1000) - in_ps(created, "sim_time_ns", 1000)
    fetched = events.filter(ev_type="SEND_COMPLETE").sort("wqe_ID")
    assert (fetched["sim_time_ns"] > created["sim_time_ns"]).all()
    assert (fetched["sim_time_ns"] < completed["sim_time_ns"]).all()

    def message(node, at_ps, lasted_ps, size):
        return sorted(zip(node.to_list(), at_ps.to_list(), lasted_ps.to_list(), size.to_list(), strict=True))

    perf = frame(run, "perf")
    assert message(perf["node_id"], in_ps(perf, "sim_time_sec", 10**12), in_ps(perf, "perf_metric_usec", 10**6),
                   perf["transfer_size_b"]) == message(
        completed["FEP_ID"], in_ps(completed, "sim_time_ns", 1000), duration_ps, completed["wqe_size_bytes"])
    # First transmissions carry the message once.
    sent = frame(run, "uet-monitor").filter(packet_type="RUD_REQUEST", direction="Tx")
    payload = dict(sent.group_by("job_ID").agg((pl.col("packet_size") - 106).sum()).iter_rows())
    assert payload == dict(created.select("wqe_ID", "wqe_size_bytes").iter_rows())


def test_reads_and_writes_over_pcie_are_the_packets_that_carry_payload(run):
    rows = last(run, "pcie-stats").filter(side="nic")
    first = frame(run, "uet-monitor").filter(packet_type="RUD_REQUEST", direction="Tx")
    whole = packets(run, "Rx", "RUD_REQUEST").filter(~pl.col("DSCP_type").str.starts_with("TRIMMED"))
    assert column(rows, "read_requests") == by_nic(first)
    again = column(last(run, "uet-transport-stats"), "num_dup_events_on_nic")
    assert column(rows, "mem_writes") == {k: n - again[k] for k, n in by_nic(whole).items()}
    for part in grouped(frame(run, "pcie-stats"), NIC, "side"):
        for name in ("read_requests", "completions", "mem_writes"):
            assert part[name].to_list() == part["ivl_" + name].cum_sum().to_list()


# ---- packets ---------------------------------------------------------------------------------------------------------
def test_answers_echo_the_mark_of_the_packet_that_drew_them(run):
    data = packets(run, "Rx", "RUD_REQUEST")
    asked = data.filter(pl.col("AR_bit") == 1, ~pl.col("DSCP_type").str.starts_with("TRIMMED"))
    trimmed = data.filter(pl.col("DSCP_type").str.starts_with("TRIMMED"))
    for drawn, answers in ((asked, packets(run, "Tx", "ACK_CC")), (trimmed, packets(run, "Tx", "NACK"))):
        pairs = drawn.join(answers, on=["remote_PDC_ID", "PSN"], suffix="_answer").filter(
            pl.col("sim_time_ns_answer") >= pl.col("sim_time_ns"))
        nearest = pairs.sort("sim_time_ns_answer").unique("packet_UID", keep="first")
        assert nearest.height == drawn.height
        assert nearest["M_Flag"].is_null().all() and (nearest["ECN_marked"] == nearest["M_Flag_answer"]).all()
    marks = last(run, "ecn-pfc-stats")["pkts_ecn_marked"].sum()
    seen = frame(run, "uet-monitor")["ECN_marked"].sum()
    assert 0 <= seen <= marks and (marks > 0) == run.path.name.startswith("features")


def test_rows_of_a_sender_say_what_its_group_can_hold(run):
    rows = frame(run, "uet-monitor").filter(pl.col("bytes_in_flight").is_not_null())
    assert set(rows["packet_type"].unique()) == {"RUD_REQUEST", "ACK_CC", "CTRL"}
    assert (rows["bytes_in_flight"] >= 0).all() and (rows["bytes_in_flight"] <= rows["bytes_fetched"]).all()
    assert (rows["PDC_prefetched_bytes"] >= 0).all()
    assert (rows["PDC_prefetched_bytes"] <= rows["NIC_prefetched_bytes"]).all()
    assert (rows["NIC_prefetched_bytes"] <= 65_536).all()
    prefetching = {f"NIC-{k}" for k in (0, 1, 2, 3, 8, 9, 10, 11)} if run.path.name.startswith("features") else set()
    assert set(rows.filter(pl.col("NIC_prefetched_bytes") > 0)[NIC].unique()) == prefetching
    assert (rows["congestion_window"] <= 450_000).all()


def test_a_sender_s_last_acks_leave_nothing_in_flight(run):
    rows = frame(run, "uet-monitor").filter(packet_type="ACK_CC", direction="Rx").sort("sim_time_ns")
    ended = rows.group_by(NIC, pl.col("remote_PDC_ID").str.split(":").list.first()).agg(
        pl.col("bytes_in_flight").last(), pl.col("bytes_fetched").last())
    assert (ended["bytes_in_flight"] == 0).all() and (ended["bytes_fetched"] == 0).all()
