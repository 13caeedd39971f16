"""Attributes of the NIC's port, buffers and host interface, and of packet delivery: changing each changes what it
should."""

from __future__ import annotations

from typing import Any

import pytest
from attribute_cases import (
    DATA_PFC,
    HOST_END,
    IN,
    MSS,
    NET,
    NIC_END,
    OUT,
    PDS,
    PORTS,
    REPS,
    Case,
    check,
)

TX_HEADERS, RX_DATA, TX_DATA = (f"TransactionLayer.{name}" for name in (
    "TXHeaderBufferSize", "RXDataBufferSize", "TXDataBufferSize"))
LANES, LANE_RATE = "PhysicalLayer.LaneCount", "PhysicalLayer.LaneBps"
NIC_PAUSES = {IN + "PFCEnableVector": DATA_PFC, IN + "PfcStaticXoffThreshold": [0.4, 0.8, 0, 0, 0, 0, 0, 0],
              IN + "PfcXonResumeThreshold": [0.3, 0.4, 0, 0, 0, 0, 0, 0]}
# Room for one segment in each of the two buffers, at the lanes of one end: the next one waits.
ONE_SEGMENT = {RX_DATA: "4096B", TX_DATA: "0B", LANES: 8}
WEIGHTED = {OUT + "QueueSchedulingType": "WeightedRoundRobin"}
SMALL_WINDOW = {"nic.TransportProcessingLayers.ScalaUETCongestionControl.OverrideUetSpecMaxCWind": True,
                "nic.TransportProcessingLayers.ScalaUETCongestionControl.MaxCongestionWindow": 10}
SEVENTH = {PDS + "AckRequestEveryNthPacket": 7}      # of 49 packets
SMALL = {MSS: 256}            # packets of 362 B: an ACK of 78 B for each has to find its turn among them


def at(end: str, settings: dict[str, Any]) -> dict[str, Any]:
    return {end + name: value for name, value in settings.items()}


def waits(end: str, name: str, value: Any, given: dict[str, Any]) -> Case:
    side = "nic" if end == NIC_END else "host"
    return Case("crowd" if end == NIC_END else "one", value, "pcie-stats total ivl_buffer_wait_usec", ">",
                at(end, given), {"side": side})


PORT = {
    NET + "UplinkNetworkInterface.DataRate": Case("one", "200Gbps", "perf total perf_metric_usec", ">"),
    NET + "TransmissionMedium.Delay": Case("one", "1us", "perf total perf_metric_usec", ">"),
}
RECEIVE = {
    IN + "TotalBufferSize": Case("slow host", "60KB", "nd-stats total rx_drops", ">"),
    IN + "PoolAllocationVector": Case("slow host", [0.4, 0.1, 0, 0, 0, 0, 0, 0], "nd-stats total rx_drops", ">"),
    IN + "PFCEnableVector": Case("slow host", DATA_PFC, "ecn-pfc-stats total pfcxoff_tx", ">", only={"tier": 3}),
    IN + "PfcStaticXoffThreshold": Case(
        "slow host", [0.8, 0.8, 0, 0, 0, 0, 0, 0], "ecn-pfc-stats total pfcxoff_tx", "<", NIC_PAUSES, {"tier": 3}),
    IN + "PfcXonResumeThreshold": Case(
        "slow host", [0.1, 0.4, 0, 0, 0, 0, 0, 0], "ecn-pfc-stats most pfcxoff_tx", "<", NIC_PAUSES, {"tier": 3}),
    IN + "QuantaValue": Case(
        "slow host", [100, 100, 0, 0, 0, 0, 0, 0], "ecn-pfc-stats most pfcxoff_tx", ">", NIC_PAUSES, {"tier": 3}),
}
TRANSMIT = {
    OUT + "TotalBufferSize": Case("one", "10KB", "net-buff-stats most max_occupancy_B", "<",
                                  only={"buffer_id": "TX_TC0_BUFFER"}),
    OUT + "PoolAllocationVector": Case("one", [0.1, 0.9, 0, 0, 0, 0, 0, 0], "net-buff-stats most max_occupancy_B", "<",
                                       only={"buffer_id": "TX_TC0_BUFFER"}),
    OUT + "QueueSchedulingType": Case("both ways", "RoundRobin", "uet-monitor mean RTT_ns", ">", SMALL),
    OUT + "WRRQueueWeights": Case("both ways", [9, 1, 0, 0, 0, 0, 0, 0], "uet-monitor mean RTT_ns", ">",
                                  {**SMALL, **WEIGHTED}),
}
HOST = {
    NIC_END + LANES: Case("one", 8, "perf total perf_metric_usec", ">"),
    NIC_END + LANE_RATE: Case("one", "15Gbps", "perf total perf_metric_usec", ">"),
    HOST_END + LANES: Case("one", 8, "perf total perf_metric_usec", ">"),
    HOST_END + LANE_RATE: Case("one", "15Gbps", "perf total perf_metric_usec", ">"),
    NIC_END + TX_HEADERS: waits(NIC_END, TX_HEADERS, "272B", {LANES: 8}),
    HOST_END + TX_HEADERS: waits(HOST_END, TX_HEADERS, "272B", {LANES: 8}),
    NIC_END + RX_DATA: waits(NIC_END, RX_DATA, "0B", {LANES: 8, TX_DATA: "4096B"}),
    NIC_END + TX_DATA: waits(NIC_END, TX_DATA, "0B", {LANES: 8, RX_DATA: "4096B"}),
    HOST_END + RX_DATA: waits(HOST_END, RX_DATA, "0B", {LANES: 8, TX_DATA: "4096B"}),
    HOST_END + TX_DATA: waits(HOST_END, TX_DATA, "0B", {LANES: 8, RX_DATA: "4096B"}),
}
DELIVERY = {
    PDS + "TrimmingEnabled": Case("trimmed", False, "uet-transport-stats total ivl_nack_pkts_sent", "<"),
    PDS + "UseDistinctDSCPForRetransmits": Case("trimmed", False, "uet-monitor kinds DSCP_type", "<"),
    PDS + "PDCGroupsEnabled": Case("two", False, "perf most perf_metric_usec", "<", SMALL_WINDOW),
    PDS + "PrefetchBufferEnable": Case("one", True, "uet-monitor most NIC_prefetched_bytes", ">"),
    PDS + "PrefetchBufferSize": Case("one", 4202, "uet-monitor most NIC_prefetched_bytes", "<",
                                     {PDS + "PrefetchBufferEnable": True}),
    PDS + "PacketSprayingType": Case("one", "None", "uet-monitor kinds entropy_value", "<"),
    PDS + "FailureDetectionRTTMultiplier": Case("reps", 0, "perf total perf_metric_usec", "!="),
    PDS + "InitialRetransmitTimeout": Case("dropped", "60us", "perf most perf_metric_usec", "<"),
    PDS + "MaxExponentialRTOBackoffCount": Case("no way", 0, "uet-transport-stats total ivl_num_rto", ">"),
    PDS + "FixedRexmitTimeEnable": Case("no way", True, "uet-transport-stats total ivl_num_rto", ">"),
    PDS + "FixedRexmitTimeout": Case("no way", "300us", "uet-transport-stats total ivl_num_rto", "<",
                                     {PDS + "FixedRexmitTimeEnable": True}),
    PDS + "AckRequestFirstPacket": Case("one", False, "uet-transport-stats total ivl_ack_pkts_sent", "<", SEVENTH),
    PDS + "AckRequestLastPacket": Case("one", False, "perf total perf_metric_usec", ">", SEVENTH),      # by a timeout
    PDS + "AckRequestEveryNthPacket": Case("one", 8, "uet-transport-stats total ivl_ack_pkts_sent", "<"),
    MSS: Case("one", 1024, "uet-transport-stats total ivl_write_pkts_sent", ">"),
}
SPRAYING = {
    PORTS + "EntropyMaskBits": Case("one", 2, "uet-monitor kinds entropy_value", "<"),
    PORTS + "StartingPortOffset": Case("one", 1000, "uet-monitor most entropy_value", ">"),
    REPS + "REPSBufferSizeMaskBits": Case("reps", 0, "uet-monitor rows entropy_value", "!="),
    REPS + "EntropyValueSetSize": Case("reps", 1000, "uet-monitor most entropy_value", "<"),
    REPS + "FreezingTimeout": Case("reps", "1us", "uet-monitor rows entropy_value", "!="),
}
TABLE = {**PORT, **RECEIVE, **TRANSMIT, **HOST, **DELIVERY, **SPRAYING}


@pytest.mark.parametrize("path", TABLE)
def test_nic(path: str) -> None:
    check(path, TABLE[path])
