"""Where each attribute acts and which test shows it, for the generated table (`describe`). Paths match by prefix."""

from __future__ import annotations

PDS = "nic.TransportProcessingLayers.ScalaUETPdsManager."
CONTROL = "nic.TransportProcessingLayers.ScalaUETCongestionControl."
SPRAYING = "nic.TransportProcessingLayers.PacketSpraying."
MONITOR = "nic.TransportProcessingLayers.ScalaUETMonitor."
PLUGIN = "nic.TransportProcessingLayers.Plugin."
INGRESS = "nic.NetworkInterface.IngressBufferManager."
EGRESS = "nic.NetworkInterface.EgressBufferManager."
BUFFER = "switch.SharedBufferManager."
GLOBAL = "SimulationParameters."

# Beginning of an attribute's path -> module of distsim where it acts; the longest beginning counts.
WHERE = {
    GLOBAL: "config/config.py",
    GLOBAL + "NDStatsReportInterval": "session.py",
    GLOBAL + "NetworkBufferStatsReportingInterval": "session.py",
    GLOBAL + "Enable": "records/record_set.py",
    GLOBAL + "MaxRecordRows": "records/row_limit.py",
    GLOBAL + "MonitorScope": "kernels/monitor.py",
    GLOBAL + "TriggerDelay": "kernels/operations.py",
    "nic.Enable": "records/record_set.py",
    "nic.EnableEventLogging": "kernels/monitor.py",
    "nic.HostInterface.": "kernels/pcie.py",
    "nic.NetworkInterface.UplinkNetworkInterface.": "fabric/links.py",
    "nic.NetworkInterface.TransmissionMedium.": "fabric/links.py",
    INGRESS: "kernels/ingress.py",
    EGRESS: "kernels/egress.py",
    PDS: "kernels/segments.py",
    PDS + "TrimmingEnabled": "kernels/egress.py",
    PDS + "UseDistinctDSCPForRetransmits": "kernels/egress.py",
    PDS + "Prefetch": "kernels/transmit.py",
    PDS + "PDCGroupsEnabled": "kernels/groups.py",
    PDS + "PacketSprayingType": "kernels/spray",
    SPRAYING: "kernels/spray",
    CONTROL: "kernels/cc",
    CONTROL + "PassThrough": "kernels/transmit.py",
    CONTROL + "ReceiverCongestion": "kernels/ingress.py",
    CONTROL + "RestoreCWindEnable": "kernels/receive.py",
    "nic.TransportProcessingLayers.SemanticLayer.": "kernels/segments.py",
    MONITOR: "kernels/monitor.py",
    PLUGIN: "kernels/cc",
    PLUGIN + "Spraying": "kernels/spray",
    "switch.EcmpHashMethod": "kernels/switch.py",
    "switch.LoadBalancing": "kernels/switch.py",
    "switch.NetworkInterface.": "fabric/links.py",
    "switch.PacketTrimmer.": "kernels/switch.py",
    BUFFER: "kernels/switch.py",
    BUFFER + "BufferStatsReportInterval": "session.py",
    "switch.EcnHandler.": "kernels/switch.py",
}

# Path of an attribute, or its beginning -> test that shows that changing it changes what it should.
RUN_TIMES = "test_config_load::test_times_of_a_run"
BUFFER_TIMES = "test_config_load::test_intervals_of_the_buffer_records"
LINKS = "test_config_load::test_link_rules_for_the_builders"
REFUSED = "test_config_errors::test_what_is_not_modelled_is_refused"
ADVISORY = "test_parameters_switch::test_advisory_attributes_change_nothing"
INERT = "test_parameters_nic::test_inert_attributes_change_nothing"
RECORDS = "test_parameters_nic::test_bits_of_the_records"
NIC_POOLS = "test_parameters_nic::test_other_pools"
REPS = "test_parameters_nic::test_recycled_entropies"
PFC = "test_parameters_switch::test_thresholds_of_pfc"
HOST = "nic.HostInterface."
RX_HEADERS = ("NICSide.PCIeGen3.0.NicDeviceLayer.NicPCIeInterface.TransactionLayer.RXHeaderBufferSize",
              "HostSide.PCIeGen3.0.ScalaHostPCIeDeviceLayer.HostPCIeInterface.TransactionLayer.RXHeaderBufferSize")
TESTS: dict[str, str] = {
    **dict.fromkeys((GLOBAL + name for name in ("StartTime", "ClientStartOffset", "WarmUp", "RunTime", "CoolDown",
                                                "NDStatsReportInterval", "TriggerDelay")), RUN_TIMES),
    GLOBAL + "NetworkBufferStatsReportingInterval": BUFFER_TIMES,
    GLOBAL + "EnableNetworkBufferStatsReporting": RECORDS,
    GLOBAL + "EnablePCIeStatsLogging": RECORDS,
    "nic.NumDownLinks": REFUSED,
    "nic.EnableBufferStats": RECORDS,
    "nic.EnableEventLogging": RECORDS,
    HOST: "test_parameters_nic::test_each_direction_has_its_sender_s_lanes_and_buffers",
    **dict.fromkeys((HOST + path for path in RX_HEADERS), INERT),
    "nic.NetworkInterface.UplinkNetworkInterface.": LINKS,
    "nic.NetworkInterface.TransmissionMedium.": LINKS,
    INGRESS: NIC_POOLS,
    INGRESS + "QueueSchedulingType": INERT,
    INGRESS + "WRRQueueWeights": INERT,
    EGRESS: NIC_POOLS,
    PDS + "Prefetch": NIC_POOLS,
    PDS + "PacketSprayingType": "test_parameters_nic::test_spraying_types",
    PDS + "FailureDetectionRTTMultiplier": REPS,
    PDS + "InitialRetransmitTimeout": "test_nscc_constants::test_fixed_timeouts_replace_the_initial_one",
    PDS + "FixedRexmit": "test_nscc_constants::test_fixed_timeouts_replace_the_initial_one",
    SPRAYING + "RecycledEntropyPacketSpraying.": REPS,
    CONTROL + "ReceiverCongestion": NIC_POOLS,
    CONTROL + "RestoreCWindEnable": NIC_POOLS,
    CONTROL + "OverrideSpecTargetQueueDelay": "test_nscc_constants::test_the_target",
    CONTROL + "TargetQueueDelay": "test_nscc_constants::test_the_target",
    CONTROL + "InitialBaseRTT": "test_nscc_constants::test_the_target",
    CONTROL + "OverrideUetSpecMaxCWind": "test_nscc_constants::test_the_maximum_window_in_packets",
    CONTROL + "MaxCongestionWindow": "test_nscc_constants::test_the_maximum_window_in_packets",
    CONTROL + "Reference":
        "test_nscc_constants::test_the_gains_follow_the_ratio_of_the_bandwidth_delay_products",
    **dict.fromkeys((f"{CONTROL}{name}Multiplier" for name in ("Alpha", "FairIncrease", "FastIncrease", "Eta")),
                    "test_nscc_constants::test_multipliers"),
    "nic.TransportProcessingLayers.SemanticLayer.": "test_parameters_nic::test_a_segment_of_another_size",
    MONITOR + "EnableUETMonitor": "test_parameters_nic::test_everything_or_what_the_filters_choose",
    MONITOR + "FilterOn": "test_parameters_nic::test_everything_or_what_the_filters_choose",
    MONITOR + "Trigger": "test_parameters_nic::test_triggers",
    PLUGIN: "test_parameters_nic::test_a_plug_in",
    "switch.EnableLoadBalancingStats": REFUSED,
    "switch.LoadBalancingStatsReportInterval": REFUSED,
    "switch.PacketTrimmer.TrimmingStatsEnabled": REFUSED,
    "switch.NumUpLinks": ADVISORY,
    "switch.NumDownLinks": ADVISORY,
    "switch.SwitchingCapacity": ADVISORY,
    "switch.EcmpHashMethod": "test_parameters_switch::test_hashes",
    "switch.LoadBalancingMethod": "test_parameters_switch::test_flowlets",
    "switch.LoadBalancingFlowlet.": "test_parameters_switch::test_flowlets",
    "switch.NetworkInterface.": LINKS,
    "switch.PacketTrimmer.TrimmingEnabled": "test_parameters_switch::test_pools_under_the_uet_policy",
    BUFFER + "TotalSharedBufferSize": "test_parameters_switch::test_the_last_pool_takes_the_difference",
    BUFFER + "PoolAllocationMap": "test_parameters_switch::test_the_last_pool_takes_the_difference",
    BUFFER + "UETPolicyEnabled": "test_parameters_switch::test_pools_under_the_uet_policy",
    BUFFER + "TrafficClassPoolMapping": "test_parameters_switch::test_slots_are_the_pools_in_order_of_first_use",
    **dict.fromkeys((BUFFER + name for name in ("EnablePFC", "HeadRoomPerPortLimit", "StaticPool", "LossyAlpha")), PFC),
    BUFFER + "QueueDropThreshold": "test_parameters_switch::test_fixed_limits_of_the_worked_example",
    BUFFER + "PlaneBDP": "test_config_rules::test_rules_of_a_switch",
    BUFFER + "BufferStatsReportInterval": BUFFER_TIMES,
    "switch.EcnHandler.": "test_parameters_switch::test_ecn",
}


def longest(path: str, table: dict[str, str]) -> str:
    """The entry with the longest beginning of `path`, empty if there is none."""
    best = max((start for start in table if path.startswith(start)), key=len, default=None)
    return "" if best is None else table[best]
