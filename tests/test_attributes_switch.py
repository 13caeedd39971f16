"""Attributes of the switch: changing each changes what it should."""

from __future__ import annotations

import pytest
from attribute_cases import BUFFER, ECN, NO_PFC, Case, check, run

FLOWLETS = {"switch.LoadBalancingMethod": "flowlet"}
PORT = "switch.NetworkInterface."
MARKS = "ecn-pfc-stats most pkts_ecn_marked"
DROPS = "nd-stats most tx_drops"
PAUSES = "ecn-pfc-stats total pfcxoff_tx"
FIXED = {BUFFER + "LossyAlpha": 0.0}

TABLE = {
    "switch.EcmpHashMethod": Case("one", "dpr", "nd-stats rows total_packets_tx", "!=", only={"tier": 0}),
    "switch.LoadBalancingMethod": Case("crowd", "flowlet", "nd-stats rows total_packets_tx", "!=", only={"tier": 0}),
    "switch.LoadBalancingFlowlet.Gap": Case("crowd", "0s", "nd-stats rows total_packets_tx", "!=", FLOWLETS,
                                            {"tier": 0}),
    "switch.LoadBalancingFlowlet.PFCAware": Case("paused", False, "nd-stats rows total_packets_tx", "!=", FLOWLETS),
    PORT + "UplinkNetworkInterface.DataRate": Case("one", "100Gbps", "perf total perf_metric_usec", ">"),
    PORT + "DownlinkNetworkInterface.DataRate": Case("one", "100Gbps", "perf total perf_metric_usec", ">"),
    PORT + "TransmissionMedium.Delay": Case("one", "2us", "perf total perf_metric_usec", ">"),
    "switch.PacketTrimmer.TrimmingEnabled": Case("trimmed", False, "uet-transport-stats total ivl_nack_pkts_sent",
                                                 "<"),
    BUFFER + "TotalSharedBufferSize": Case("lossy", "256MB", DROPS, "<"),
    BUFFER + "UETPolicyEnabled": Case("lossy", True, "scala-switch-buff-stats kinds pool_num", "!="),
    BUFFER + "PoolAllocationMap": Case("lossy", [0.2, 0.8, 0, 0, 0, 0, 0, 0], DROPS, ">"),
    BUFFER + "TrafficClassPoolMapping": Case("lossy", [1, 0, 0, 0, 0, 0, 0, 0], DROPS, ">"),
    BUFFER + "EnablePFC": Case("paused", NO_PFC, PAUSES, "<"),
    BUFFER + "HeadRoomPerPortLimit": Case("paused", "4KB", "nd-stats most rx_drops", ">"),
    BUFFER + "StaticPoolXoffThreshold": Case("paused", "200KB", PAUSES, "<"),
    BUFFER + "StaticPoolXonThreshold": Case("paused", "4KB", PAUSES, "<"),
    BUFFER + "LossyAlpha": Case("lossy", 0.2, DROPS, ">"),
    BUFFER + "QueueDropThresholdEnable": Case("lossy", True, DROPS, "<", FIXED),
    BUFFER + "QueueDropThreshold": Case("dropped", 10, DROPS, "<"),
    BUFFER + "PlaneBDP": Case("dropped", "600KB", DROPS, "<"),
    ECN + "EnableEcn": Case("marked", False, MARKS, "<"),
    ECN + "EwmaWeight": Case("marked", 0.5, MARKS, "!="),
    ECN + "MinThreshold": Case("marked", 0.2, MARKS, "<"),
    ECN + "MaxThreshold": Case("marked", 1.0, MARKS, "<"),
    ECN + "MaxMarkProbability": Case("marked", 0.1, MARKS, "<"),
}


@pytest.mark.parametrize("path", TABLE)
def test_switch(path: str) -> None:
    check(path, TABLE[path])




def test_every_hash_method_chooses_paths_of_its_own() -> None:
    """What each of three spines has sent at the end, data of 5 senders and their ACKs: six methods, six outcomes."""
    methods = ["crc32WithSalt", "crc32", "hash", "hashWithSalt", "dpr", "dprWithFallback"]
    sent = set()
    for method in methods:
        frame = run("crowd", {"switch.EcmpHashMethod": method, "fabric.spines": 3}).frame("nd-stats")
        frame = frame.filter(frame["tier"] == 0)
        sent.add(tuple(frame["total_packets_tx"].to_list()))
    assert len(sent) == len(methods)
