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
    GLOBAL + "BeaconReportInterval": "records/chakra/completion.py",
    GLOBAL + "EnableAnnotatedTraces": "records/chakra/annotated.py",
    GLOBAL + "MonitorScope": "kernels/monitor.py",
    GLOBAL + "TriggerDelay": "kernels/operations.py",
    GLOBAL + "FailedLinks": "assemble.py",
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

# Path of an attribute, or its beginning -> test that shows that changing it changes what it should (or nothing).
RUN, RECORDS = "test_attributes_run::test_times_and_run", "test_attributes_run::test_records_appear_and_disappear"
RANKS = "test_attributes_run::test_records_of_ranks"
INERT = "test_attributes_all::test_inert_attributes_change_no_record"
REFUSED = "test_attributes_all::test_refused_attributes_take_their_default_only"
HOST = "nic.HostInterface."
ENDS = ("NICSide.PCIeGen3.0.NicDeviceLayer.NicPCIeInterface",
        "HostSide.PCIeGen3.0.ScalaHostPCIeDeviceLayer.HostPCIeInterface")
TESTS: dict[str, str] = {
    GLOBAL: RUN,
    GLOBAL + "Enable": RECORDS,
    GLOBAL + "MonitorScope": "test_attributes_run::test_the_limit_of_triggers_counts_in_the_run_or_in_each_process",
    GLOBAL + "BeaconReportInterval": RANKS,
    GLOBAL + "EnableAnnotatedTraces": RANKS,
    "nic.": "test_attributes_hosts::test_nic",
    "nic.Enable": RECORDS,
    CONTROL: "test_attributes_control::test_congestion_control",
    MONITOR + "EnableUETMonitor": RECORDS,
    MONITOR + "FilterOn": "test_attributes_monitor::test_filters",
    MONITOR + "Trigger": "test_attributes_monitor::test_triggers",
    PLUGIN: "test_attributes_plugin::test_plug_in",
    "switch.": "test_attributes_switch::test_switch",
    BUFFER + "BufferStatsReportInterval": RUN,
    **dict.fromkeys((INGRESS + "QueueSchedulingType", INGRESS + "WRRQueueWeights", PDS + "DefaultDeliveryMethod",
                     *(f"{HOST}{end}.TransactionLayer.RXHeaderBufferSize" for end in ENDS),
                     "switch.NumUpLinks", "switch.NumDownLinks", "switch.SwitchingCapacity"), INERT),
    **dict.fromkeys(("nic.NumDownLinks", "switch.EnableLoadBalancingStats", "switch.LoadBalancingStatsReportInterval",
                     "switch.PacketTrimmer.TrimmingStatsEnabled"), REFUSED),
}


def longest(path: str, table: dict[str, str]) -> str:
    """The entry with the longest beginning of `path`, empty if there is none."""
    best = max((start for start in table if path.startswith(start)), key=len, default=None)
    return "" if best is None else table[best]
