"""Single sentences of the records page (scala-computing/docs, models/scala-uet-nic/records), on runs of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from engine_cases import FRAME, HOLD, READY, Run, hold_ps, model, nic, one_rack, send
from simkit import run_rank
from test_analytic_hosts import ARRIVAL, WRITE, slow_receiver, there

import distsim

CONFIGS = Path(__file__).parent.parent / "configs"
CC = "nic.TransportProcessingLayers.ScalaUETCongestionControl."
MONITOR = "nic.TransportProcessingLayers.ScalaUETMonitor."
PARAMETERS = "SimulationParameters."
NIC = "component_name"

# 97 packets and one of 2688 B from each of four NICs: 1.6 MB, which fit in the queue of the receiver's port.
INCAST: dict[str, Any] = {
    "simulation": "incast", "fabric": {"kind": "leaf-spine", "racks": 1, "nics_per_rack": 5, "spines": 0},
    "workload": {"kind": "incast", "receiver": 0, "sources": [1, 2, 3, 4], "size": "400KB"},
    "switch": {"SharedBufferManager": {"UETPolicyEnabled": True, "EnablePFC": [0] * 8}},
    "SimulationParameters": {"StartTime": 0.0, "ClientStartOffset": 0.0, "NDStatsReportInterval": 0.0001}}
SENDERS = ["NIC-1", "NIC-2", "NIC-3", "NIC-4"]


def stats(folder: Path, **sets: Any) -> pl.DataFrame:
    """The senders' counters after the incast."""
    rows = distsim.run(INCAST, folder, set=sets).frame("uet-transport-stats")
    return rows.filter(pl.col("sim_time_sec") == rows["sim_time_sec"].min(), pl.col(NIC).is_in(SENDERS))


# ---- congestion control off ------------------------------------------------------------------------------------------
def test_pass_through_moves_the_window_but_holds_nothing_back(tmp_path):
    # A window of four packets, far less than the sender puts in flight when nothing holds it back: the last frame (of
    # 2794 B) ends right after 97 full ones and the probe.
    last_end = READY + 97 * FRAME + 1_240 + 2_794 * 20
    for off in (False, True):
        sets = {CC + "PassThrough": off, CC + "OverrideUetSpecMaxCWind": True, CC + "MaxCongestionWindow": 4,
                MONITOR + "EnableUETMonitor": True}
        run = distsim.run(INCAST, tmp_path / str(off), set=sets)
        sent = run.frame("uet-monitor").filter(packet_type="RUD_REQUEST", direction="Tx")
        ends = sent.group_by(NIC).agg(pl.col("sim_time_ns").max())["sim_time_ns"]
        ends = (ends * 1000).round().cast(pl.Int64)
        assert ends.to_list() == [last_end] * 4 if off else (ends > last_end).all()
        rows = run.frame("uet-transport-stats").filter(pl.col(NIC).is_in(SENDERS)).head(4)
        assert (rows["calc_min_cwnd_bytes"] < rows["ivl_calc_max_cwnd_bytes"]).all()         # it moves
        assert (rows["num_rtx"] == 0).all()
        over = rows["ivl_calc_max_bytes_in_flight"] > rows["ivl_calc_max_cwnd_bytes"]
        assert over.all() if off else not over.any()


def test_nscc_off_leaves_delays_and_quick_adapts_at_0_and_writes_round_trips(tmp_path):
    for on in (True, False):
        eager = {CC + "QuickAdaptThreshold": "1us", CC + "QuickAdaptGate": 0}
        rows = stats(tmp_path / str(on), **{CC + "NSCCEnable": on}, **eager)
        delays = [name for name in rows.columns if "q_delay" in name]
        assert len(delays) == 5
        for name in [*delays, "num_quick_adapt"]:
            least = name.startswith(("ivl_min", "min"))      # the least delay is 0 with NSCC too
            assert rows[name].sum() > 0 if on and not least else on or (rows[name] == 0).all(), name
        for name in [name for name in rows.columns if "rtt" in name]:
            assert (rows[name] > 0).all(), name


def test_the_penalty_stays_0_at_the_default_pcie(tmp_path):
    rows = stats(tmp_path / "run")
    penalties = [name for name in rows.columns if "rcvr_cwnd_pen" in name]
    assert len(penalties) == 4 and (rows["avg_calc_rtt_usec"] > 0).all()
    assert all((rows[name] == 0).all() for name in penalties)


# ---- PFC -------------------------------------------------------------------------------------------------------------
def test_rows_of_a_nic_begin_when_its_rack_switch_pauses_it(tmp_path):
    # All NICs but NIC-5 have the default PFCEnableVector: none sends, some are paused, some never. A frame is on the
    # wire for 101.28 ns, so the NIC's first row comes at the tick of the switch's first or the next one.
    run = distsim.run(CONFIGS / "lossless.yaml", tmp_path / "run", set={
        PARAMETERS + "NDStatsReportInterval": 1e-6, PARAMETERS + "EnableTopologyReport": True,
        "nic.EnableEventLogging": False, MONITOR + "EnableUETMonitor": False})
    rows = run.frame("ecn-pfc-stats")
    at_nics = rows.filter(pl.col("component_type") == "NIC", pl.col(NIC) != "NIC-5")
    assert (at_nics["pfcxoff_tx"] == 0).all() and (at_nics["pfcxon_tx"] == 0).all()
    assert (at_nics["pfcxoff_rx"] > 0).all()                 # in all its rows
    ports = run.frame("topology-report").filter(peer_component_type="NIC").select(
        "node_id", "peer_component_name", ifid="dev_id")
    pauses = rows.filter(pl.col("pfcxoff_tx") > 0).join(ports, on=["node_id", "ifid"])
    first_sent = dict(pauses.group_by("peer_component_name", "priority").agg(pl.col("sim_time_sec").min()).filter(
        pl.col("peer_component_name") != "NIC-5").select(pl.concat_str("peer_component_name", pl.lit(" "), "priority"),
                                                         "sim_time_sec").iter_rows())
    first_row = dict(at_nics.group_by(NIC, "priority").agg(pl.col("sim_time_sec").min()).select(
        pl.concat_str(NIC, pl.lit(" "), "priority"), "sim_time_sec").iter_rows())
    assert first_row.keys() == first_sent.keys() and 0 < len(first_row) < 15
    for who, at in first_row.items():
        assert 0 <= round((at - first_sent[who]) * 1e6) <= 1, who
    every = rows.filter(pl.col(NIC) == min(first_row).split()[0])["sim_time_sec"].unique().sort()
    assert (every.diff().drop_nulls() < 1.001e-6).all()      # and go on every interval


def test_pause_time_received_is_pause_time_sent_a_delay_later():
    # Pause and XON of a NIC with one lane, at the times of test_analytic_hosts; both go at once and take 101,280 ps.
    pool = {"TotalBufferSize": "100KB", "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0]}
    going = slow_receiver(100, pool=pool, shared=True)
    paused, resumed = there(81), ARRIVAL + 19 * WRITE
    for at, sent, received in ((paused, 0, 0), (paused + 1, 1, 0), (paused + 101_280, 1, 0), (paused + 101_281, 1, 1)):
        going.to(at)
        assert going.pfc("NIC-1", "RackSwitch-0", 0, "xoff_tx") == sent
        assert going.pfc("RackSwitch-0", "NIC-1", 0, "xoff_rx") == received
    going.to(resumed + 101_281)
    assert going.pfc("RackSwitch-0", "NIC-1", 0, "xon_rx") == 1
    assert going.pfc("RackSwitch-0", "NIC-1", 0, "xoff_ps") == resumed - paused


# ---- a slow host -----------------------------------------------------------------------------------------------------
def test_a_slow_host_shows_as_service_time_then_penalty_then_pauses_then_drops():
    # One lane; Xoff at 0.95 of 90,000 B, so that there is no room for what arrives after the pause.
    pool = {"TotalBufferSize": "100KB", "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0],
            "PfcStaticXoffThreshold": [0.95, 0.8, 0, 0, 0, 0, 0, 0]}
    kind = nic(cc={"PassThrough": True}, nic_lanes=1, ingress=pool)
    going = Run(model(one_rack(2), [send(0, 1, 100 * 4096)], nic=kind, shared=True))
    first: dict[str, int] = {}
    for at in range(500_000, 14_000_000, FRAME):
        going.to(at)
        penalty = going.nic(1, "ingress_bytes") >= 22_500
        effects = {"service": going.nic(1, "ingress_bytes") > 0, "penalty": penalty, "drop":
                   going.counter(1, "rx_drops") > 0, "pause": going.pfc("NIC-1", "RackSwitch-0", 0, "xoff_tx") > 0}
        for name, is_there in effects.items():
            if is_there:
                first.setdefault(name, at)
    assert sorted(first, key=lambda name: first[name]) == ["service", "penalty", "pause", "drop"]
    assert len(set(first.values())) == 4


def test_the_slow_nic_of_features_yaml_reports_holds_before_penalties_and_drops_nothing(tmp_path):
    # 12 lanes, 180,000 B: a hold of 128 ns or more (the first reported service time) needs two packets in the pool, a
    # penalty 45,000 B of them.
    run = distsim.run(CONFIGS / "features.yaml", tmp_path / "run")
    rows = run.frame("uet-monitor").filter(NIC_5 := pl.col(NIC) == "NIC-5")
    acks = rows.filter(pl.col("packet_type") == "ACK_CC", pl.col("direction") == "Tx")
    data = rows.filter(pl.col("packet_type") == "RUD_REQUEST", pl.col("AR_bit") == 1,
                       ~pl.col("DSCP_type").str.starts_with("TRIMMED"), pl.col("direction") == "Rx")
    held = acks.join(data, on=["remote_PDC_ID", "PSN", "entropy_value"], suffix="_data")
    assert held.height == data.height > 800
    hold_ns = held["sim_time_ns"] - held["sim_time_ns_data"] - 1.56
    least_ns = 4184 * 8 / (12 * 31.52)                       # an empty pool's: 88.5
    full = held["packet_size_data"] == 4202
    assert (hold_ns.filter(full) > least_ns - 0.01).all()
    first_hold = held["sim_time_ns"].filter(hold_ns >= 128).min()
    penalised = acks.filter(pl.col("receiver_congestion_window_penalty") > 0)
    assert first_hold < penalised["sim_time_ns"].min()
    waits = run.frame("pcie-stats").filter(NIC_5, pl.col("side") == "nic")
    assert waits["ivl_buffer_waits"][0] > 0
    assert run.frame("nd-stats").filter(NIC_5)["rx_drops"].sum() == 0
    others = run.frame("uet-monitor").filter(~NIC_5)
    sent = others.filter(pl.col("direction") == "Tx")["receiver_congestion_window_penalty"]
    assert sent.max() == 0                                   # only the slow one punishes


# ---- when packets are logged -----------------------------------------------------------------------------------------
PAIR: dict[str, Any] = {
    "simulation": "pair", "fabric": {"kind": "leaf-spine", "racks": 1, "nics_per_rack": 2, "spines": 0},
    "workload": {"kind": "flows", "flows": [{"from": 0, "to": 1, "size": "4096B"}]},
    "nic": {"TransportProcessingLayers": {"ScalaUETMonitor": {"EnableUETMonitor": True}}},
    "SimulationParameters": {"StartTime": 0.0, "ClientStartOffset": 0.0, "NDStatsReportInterval": 1e-7}}


def test_packets_are_logged_when_they_have_gone_out_and_when_they_are_processed(tmp_path):
    # Two links of 100 ns and the switch's own serialization; the ACK is held; the probe goes when the ACK is there, its
    # answer is not held.
    rows = distsim.run(PAIR, tmp_path / "run").frame("uet-monitor")
    out = READY + FRAME
    there = out + FRAME + 200_000
    back = there + HOLD + 2 * 1_560 + 200_000
    probed = back + 2 * 1_240 + 200_000
    expected = [(out, "NIC-0", "Tx", "RUD_REQUEST"), (there, "NIC-1", "Rx", "RUD_REQUEST"),
                (there + HOLD + 1_560, "NIC-1", "Tx", "ACK_CC"), (back, "NIC-0", "Rx", "ACK_CC"),
                (back + 1_240, "NIC-0", "Tx", "CTRL"), (probed, "NIC-1", "Rx", "CTRL"),
                (probed + 1_560, "NIC-1", "Tx", "ACK_CC"), (probed + 3_120 + 200_000, "NIC-0", "Rx", "ACK_CC")]
    found = rows.sort("sim_time_ns").select((pl.col("sim_time_ns") * 1000).round().cast(pl.Int64), NIC, "direction",
                                            "packet_type")
    assert found.rows() == expected


@pytest.mark.parametrize("run_time, logged", [(1e-7, []), (1.69884e-7, []), (1.69886e-7, ["Tx"])])
def test_a_packet_that_never_finishes_going_out_is_never_logged(run_time, logged, tmp_path):
    # It is counted when it is handed down, at 85,845 ps, and has gone at 169,885.
    run = distsim.run(PAIR, tmp_path / "run", set={PARAMETERS + "RunTime": run_time})
    sent = run.frame("uet-transport-stats").filter(component_name="NIC-0")["write_pkts_sent"]
    assert sent.to_list() == [1] and run.exit_code == 3
    assert run.frame("uet-monitor")["direction"].to_list() == logged


def test_a_nack_is_logged_when_it_is_sent_not_when_it_has_gone(tmp_path):
    sets = {"nic.TransportProcessingLayers.ScalaUETPdsManager.TrimmingEnabled": True,
            "switch.PacketTrimmer.TrimmingEnabled": True, "switch.SharedBufferManager.PlaneBDP": "40KB",
            MONITOR + "EnableUETMonitor": True}
    rows = distsim.run(INCAST, tmp_path / "run", set=sets).frame("uet-monitor")
    nacks = rows.filter(packet_type="NACK", direction="Tx")
    trimmed = rows.filter(pl.col("DSCP_type").str.starts_with("TRIMMED"))
    pairs = nacks.join(trimmed, on=[NIC, "remote_PDC_ID", "PSN", "sim_time_ns"])
    assert pairs.height == nacks.height == trimmed.height > 10
    assert (pairs["nack_code"] == "UET_TRIMMED_LASTHOP").all()
    came = rows.filter(packet_type="NACK", direction="Rx")
    trips = nacks.join(came, on="packet_UID", suffix="_there")
    assert trips.height == nacks.height
    least_ns = 200 + 2 * 1.24                                # in a rack; its own serialization lies after its row
    duration = trips["sim_time_ns_there"] - trips["sim_time_ns"]
    assert duration.min() >= least_ns - 1e-6


# ---- PDC ids ---------------------------------------------------------------------------------------------------------
def test_a_message_waits_when_all_32767_pdc_ids_are_in_use():
    # Empty messages in a rack: the first is done after the doorbell, two serializations of 106 B, the hold and the ACK;
    # its id goes to the one that has waited longest, then the next one's, a frame later.
    done = 15_000 + 2 * 2_120 + 200_000 + hold_ps(0) + 2 * 1_560 + 200_000
    going = Run(model(one_rack(2), [send(0, 1, 0) for _ in range(32_770)]))
    run_rank(going.rank, 1, None)
    assert (going.nic(0, "open_tx"), going.counter(0, "pdc_waits")) == (32_767, 3)
    assert going.counter(0, "wqes_created") == 32_767
    run_rank(going.rank, done, None)
    assert going.counter(0, "wqes_completed") == 0 and going.counter(0, "wqes_created") == 32_767
    run_rank(going.rank, done + 1, None)
    assert going.done_ps(0) == done and going.started_ps(32_767) == 0
    assert going.counter(0, "wqes_created") == 32_768 and going.sender("id", 32_767) == 1
    run_rank(going.rank, done + 2_120 + 1, None)
    assert going.done_ps(1) == done + 2_120 and going.sender("id", 32_768) == 2
    assert going.counter(0, "pdc_waits") == 3
