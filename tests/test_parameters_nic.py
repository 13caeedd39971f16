"""NICPAR rows of the buffers, PCIe, PFC, spraying, plug-in and records, and what uet-monitor watches: by hand."""

from __future__ import annotations

from typing import Any

import pytest

from distsim.config import Config, from_dict
from distsim.parameters import MONITOR_DELAY_PS, nic_row, watch_row
from distsim.state import tables as t

BASE: dict[str, Any] = {"simulation": "t1", "fabric": {"kind": "leaf-spine"}, "workload": {"kind": "permutation"}}
IN = "nic.NetworkInterface.IngressBufferManager."
OUT = "nic.NetworkInterface.EgressBufferManager."
PDS = "nic.TransportProcessingLayers.ScalaUETPdsManager."
CC = "nic.TransportProcessingLayers.ScalaUETCongestionControl."
REPS = "nic.TransportProcessingLayers.PacketSpraying.RecycledEntropyPacketSpraying."
MONITOR = "nic.TransportProcessingLayers.ScalaUETMonitor."
PLUGIN = "nic.TransportProcessingLayers.Plugin."
MSS = "nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS"
NIC_END = "nic.HostInterface.NICSide.PCIeGen3.0.NicDeviceLayer.NicPCIeInterface."
HOST_END = "nic.HostInterface.HostSide.PCIeGen3.0.ScalaHostPCIeDeviceLayer.HostPCIeInterface."
SPRAYING = PDS + "PacketSprayingType="
REPS_ON = SPRAYING + "Recycled Entropy Packet Spraying"
GBPS = 10**9


def make(*sets: str) -> Config:
    return from_dict(BASE, sets)


def row(*sets: str, link_bps: int = 400 * GBPS) -> dict[str, Any]:
    config = make(*sets)
    found = nic_row(config.nic, link_bps, config.parameters)
    assert found.dtype == t.NICPAR and found.shape == (1,)
    return {name: found[name][0].item() for name in found.dtype.names}


def pick(par: dict[str, Any], *names: str) -> list[Any]:
    return [par[name] for name in names]


def test_pcie_at_the_defaults() -> None:
    """16 x 31.52 Gb/s = 504.32 Gb/s: 8,000,000 / 504,320 = 3125 / 197 ps a byte.

    98 B take 1,554.6 ps; 4,096 B in 8 transfers are 4,368 B and take 69,289.3 ps (69.29 ns); 4,184 B are held for
    66,370.6 ps (66.4 ns).
    """
    par = row()
    assert pick(par, "up_num", "up_den", "down_num", "down_den") == [3125, 197, 3125, 197]
    assert pick(par, "read_ps", "full_fetch_ps", "full_write_ps", "full_hold_ps") == [1555, 69_290, 69_290, 66_371]
    assert pick(par, "up_data_bytes", "up_header_bytes", "down_data_bytes", "down_header_bytes") == [
        512_000, 16_000, 512_000, 16_000]


def test_each_direction_has_its_sender_s_lanes_and_buffers() -> None:
    """13 lanes carry 409.76 Gb/s: 4,368 B in 85,279.2 ps, more than the 84,040 ps of a packet; 14: 79,187.8 ps, less.

    1 lane of 8 Gb/s is 1,000 ps a byte at the host.
    """
    par = row(NIC_END + "PhysicalLayer.LaneCount=13", HOST_END + "PhysicalLayer.LaneCount=1",
              HOST_END + "PhysicalLayer.LaneBps=8Gbps", NIC_END + "TransactionLayer.TXHeaderBufferSize=8KB",
              NIC_END + "TransactionLayer.RXDataBufferSize=1KB", HOST_END + "TransactionLayer.TXDataBufferSize=30KB")
    assert pick(par, "full_write_ps", "full_fetch_ps", "read_ps") == [85_280, 4_368_000, 1_914]
    assert pick(par, "down_num", "down_den") == [1000, 1]
    assert pick(par, "up_data_bytes", "up_header_bytes", "down_data_bytes", "down_header_bytes") == [
        257_000, 8_000, 286_000, 16_000]
    assert row(NIC_END + "PhysicalLayer.LaneCount=14")["full_write_ps"] == 79_188


def test_a_segment_of_another_size() -> None:
    """1,500 B are 3 transfers: 1,602 B at 3125 / 197 ps are 25,412.4 ps; held 1,588 B: 25,190.4 ps."""
    par = row(MSS + "=1500")
    assert pick(par, "full_write_ps", "full_hold_ps", "mss_bytes") == [25_413, 25_191, 1500]


def test_pools_and_thresholds_at_the_defaults() -> None:
    par = row()
    assert pick(par, "egress_bytes", "egress_control_bytes") == [230_400, 25_600]
    assert par["egress_bytes"] // 4202 == 54 and par["egress_control_bytes"] // 78 == 328
    assert pick(par, "ingress_bytes", "ingress_control_bytes") == [3_600_000, 400_000]
    assert pick(par, "xoff_0", "xoff_1", "xon_0", "xon_1") == [2_880_000, 320_000, 1_440_000, 160_000]
    assert par["ingress_bytes"] - par["xoff_0"] == 720_000          # headroom
    assert pick(par, "penalty_low_bytes", "penalty_high_bytes") == [900_000.0, 2_700_000.0]
    assert pick(par, "pfc_0", "pfc_1", "quanta_0", "quanta_1") == [0, 0, 65_535, 65_535]
    assert pick(par, "scheduling", "weight_0", "weight_1") == [t.S_STRICT, 1, 5]
    assert pick(par, "restore", "prefetch", "prefetch_bytes") == [0, 0, 262_144]


def test_other_pools() -> None:
    par = row(IN + "TotalBufferSize=100KB", IN + "PoolAllocationVector=[0.29, 0.5, 0, 0, 0, 0, 0, 0]",
              IN + "PFCEnableVector=[1, 0.5, 0, 0, 0, 0, 0, 0]", IN + "QuantaValue=[100, 7, 0, 0, 0, 0, 0, 0]",
              IN + "PfcStaticXoffThreshold=[0.5, 1, 0, 0, 0, 0, 0, 0]",
              IN + "PfcXonResumeThreshold=[0.1, 0, 0, 0, 0, 0, 0, 0]", OUT + "TotalBufferSize=50KB",
              OUT + "WRRQueueWeights=[2, 9, 0, 0, 0, 0, 0, 0]", OUT + "QueueSchedulingType=WeightedRoundRobin",
              CC + "ReceiverCongestionLowThreshold=10.0", CC + "ReceiverCongestionHighThreshold=50.0",
              CC + "RestoreCWindEnable=true", PDS + "PrefetchBufferEnable=true", PDS + "PrefetchBufferSize=9000")
    assert pick(par, "ingress_bytes", "ingress_control_bytes", "egress_bytes") == [29_000, 50_000, 45_000]
    assert pick(par, "pfc_0", "pfc_1", "quanta_0", "quanta_1") == [1, 0, 100, 7]
    assert pick(par, "xoff_0", "xoff_1", "xon_0", "xon_1") == [14_500, 50_000, 2_900, 0]
    assert pick(par, "penalty_low_bytes", "penalty_high_bytes") == [2_900.0, 14_500.0]
    assert pick(par, "scheduling", "weight_0", "weight_1") == [t.S_WEIGHTED, 2, 9]
    assert pick(par, "restore", "prefetch", "prefetch_bytes") == [1, 1, 9000]
    assert row(OUT + "QueueSchedulingType=RoundRobin")["scheduling"] == t.S_ROUND_ROBIN


def test_inert_attributes_change_nothing() -> None:
    assert row(IN + "QueueSchedulingType=RoundRobin", IN + "WRRQueueWeights=[7, 7, 0, 0, 0, 0, 0, 0]",
               NIC_END + "TransactionLayer.RXHeaderBufferSize=34B",
               HOST_END + "TransactionLayer.RXHeaderBufferSize=34B") == row()


def test_spraying_types() -> None:
    assert [row(SPRAYING + name)["spraying"] for name in
            ("Default Packet Spraying", "None", "Recycled Entropy Packet Spraying")] == [0, 1, 2]


def test_recycled_entropies() -> None:
    """400 Gb/s x 6 us / 8 = 300,000 B are 71.7 packets of 4,184 B; 100 Gb/s: 17.9; 12 us and 8,280 B: 72.5."""
    par = row(REPS_ON)
    assert pick(par, "reps_room", "entropy_values", "freeze_ps", "explore_packets", "fail_multiplier") == [
        8, 65_536, 100_000_000, 71, 3]
    assert row(REPS_ON, link_bps=100 * GBPS)["explore_packets"] == 17
    assert row(REPS_ON, CC + "InitialBaseRTT=12us", MSS + "=8192")["explore_packets"] == 72
    par = row(REPS_ON, REPS + "REPSBufferSizeMaskBits=16", REPS + "EntropyValueSetSize=100",
              REPS + "FreezingTimeout=1us", PDS + "FailureDetectionRTTMultiplier=5")
    assert pick(par, "reps_room", "entropy_values", "freeze_ps", "fail_multiplier") == [65_536, 100, 1_000_000, 5]


def test_early_failures_are_for_recycled_entropies_only() -> None:
    assert row()["fail_multiplier"] == row(SPRAYING + "None")["fail_multiplier"] == 0


def test_a_plug_in(tmp_path: Any) -> None:
    from distsim.config.plugin_file import CONGESTION_CONTROL
    from distsim.config.plugin_file import SPRAYING as HOOKS

    (tmp_path / "p.py").write_text("".join(f"def {name}({', '.join(names)}):\n    return 0\n"
                                           for name, names in {**CONGESTION_CONTROL, **HOOKS}.items()))
    file = f"{PLUGIN}File={tmp_path}/p.py"
    assert pick(row(), "cc", "spraying", "plug_a") == [0, 0, 0.0]
    par = row(file, PLUGIN + "CongestionControl=true", PLUGIN + "Parameters=[1, 0.5, -2, 4]")
    assert pick(par, "cc", "spraying", "plug_a", "plug_b", "plug_c", "plug_d") == [1, 0, 1.0, 0.5, -2.0, 4.0]
    assert pick(row(file, PLUGIN + "Spraying=true", REPS_ON), "cc", "spraying", "fail_multiplier") == [0, 3, 0]


@pytest.mark.parametrize(("sets", "bits"), [
    ([], 0),
    (["nic.EnableBufferStats=true"], 0),
    (["SimulationParameters.EnableNetworkBufferStatsReporting=true"], 0),
    (["nic.EnableBufferStats=true", "SimulationParameters.EnableNetworkBufferStatsReporting=true"], t.STAT_BUFFERS),
    (["nic.EnableEventLogging=true"], t.STAT_EVENTS),
    ([MONITOR + "EnableUETMonitor=true"], t.STAT_MONITOR),
    ([MONITOR + "TriggerLoggingOnRttEnable=true"], t.STAT_MONITOR),
    ([MONITOR + "TriggerLoggingOnCWindPen=true"], t.STAT_MONITOR),
    (["SimulationParameters.EnablePCIeStatsLogging=true", "nic.EnableEventLogging=true"],
     t.STAT_PCIE | t.STAT_EVENTS),
])
def test_bits_of_the_records(sets: list[str], bits: int) -> None:
    assert row(*sets)["stats"] == bits


def watch(*sets: str, **more: int) -> dict[str, int]:
    found = watch_row(make(*(MONITOR + entry for entry in sets)), **more)
    assert found.dtype == t.WATCH and found.shape == (1,)
    return {name: int(found[name][0]) for name in found.dtype.names}


def test_nothing_is_watched_by_default() -> None:
    assert watch() == {"everything": 0, "filtering": 0, "fep": -1, "local": -1, "remote": -1, "pdc_node": -1,
                       "pdc_id": -1, "rtt": 0, "penalty": 0, "penalty_least": 127, "budget": 1,
                       "rtt_least_ps": 100_000_000, "delay_ps": MONITOR_DELAY_PS}
    assert watch(delay_ps=5)["delay_ps"] == 5


def test_everything_or_what_the_filters_choose() -> None:
    on = "EnableUETMonitor=true"
    assert pick(watch(on), "everything", "filtering") == [1, 0]
    chosen = watch(on, "FilterOnFepId='7'", "FilterOnLocalIp=32.0.0.2", "FilterOnRemoteIp=32.0.1.0",
                   "FilterOnPdc=32.0.0.1:4500")
    assert pick(chosen, "everything", "filtering", "fep", "local", "remote", "pdc_node", "pdc_id") == [
        0, 1, 7, 1, 255, 0, 4500]
    assert pick(watch("FilterOnFepId='7'"), "everything", "filtering") == [0, 0]     # the monitor itself is off
    assert pick(watch(on, "FilterOnLocalIp=10.0.0.1"), "filtering", "local") == [1, -2]


def test_triggers() -> None:
    found = watch("TriggerLoggingOnRttEnable=true", "TriggerLoggingOnRttThreshold=20us", "TriggeredLoggingPDCLimit=9")
    assert pick(found, "rtt", "rtt_least_ps", "penalty", "budget") == [1, 20_000_000, 0, 9]
    found = watch("TriggerLoggingOnCWindPen=true", "TriggerLoggingOnCWindPenThreshold=0")
    assert pick(found, "rtt", "penalty", "penalty_least") == [0, 1, 0]
