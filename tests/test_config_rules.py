"""Rules between attributes that stop a run: buffers, PCIe, PFC, pools, trimming, flowlets, monitor. By hand each."""

from __future__ import annotations

from typing import Any

import pytest

from distsim.config import Config, config_warnings, from_dict, switch_fabric_rules
from distsim.config.rules_nic import part_bytes
from distsim.config.switch import Switch
from distsim.errors import InputError

BASE: dict[str, Any] = {"simulation": "t1", "fabric": {"kind": "leaf-spine"}, "workload": {"kind": "permutation"}}
IN = "nic.NetworkInterface.IngressBufferManager."
OUT = "nic.NetworkInterface.EgressBufferManager."
PDS = "nic.TransportProcessingLayers.ScalaUETPdsManager."
CC = "nic.TransportProcessingLayers.ScalaUETCongestionControl."
MONITOR = "nic.TransportProcessingLayers.ScalaUETMonitor."
MSS = "nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS"
NIC_END = "nic.HostInterface.NICSide.PCIeGen3.0.NicDeviceLayer.NicPCIeInterface."
HOST_END = "nic.HostInterface.HostSide.PCIeGen3.0.ScalaHostPCIeDeviceLayer.HostPCIeInterface."
BUFFER = "switch.SharedBufferManager."
POLICY = (BUFFER + "UETPolicyEnabled=true", BUFFER + "EnablePFC=[0, 0, 0, 0, 0, 0, 0, 0]")
TRIM = "switch.PacketTrimmer.TrimmingEnabled=true"


def make(*sets: str, **more: Any) -> Config:
    return from_dict({**BASE, **more}, sets)


def problems(*sets: str, **more: Any) -> list[str]:
    """(place: message) of each problem."""
    with pytest.raises(InputError) as caught:
        make(*sets, **more)
    return [f"{entry.where}: {entry.message}" for entry in getattr(caught.value, "problems", [caught.value])]


@pytest.mark.parametrize(("sets", "message"), [
    ([IN + "PoolAllocationVector=[1, 0, 0, 0, 0, 0, 0, 0]"], IN + "PoolAllocationVector: fewer than two entries are "
     "not 0; classes 0 (data) and 1 (control) need a pool each"),
    ([OUT + "PoolAllocationVector=[0, 0.5, 0.5, 0, 0, 0, 0, 0]"], OUT + "PoolAllocationVector: a 0 stands before an "
     "entry that is not 0; the entries that are not 0 come first, from class 0 on"),
    ([OUT + "PoolAllocationVector=[1.5, 0.5, 0, 0, 0, 0, 0, 0]"],
     OUT + "PoolAllocationVector: 1.5 is not a fraction; valid: 0 to 1"),
    # 0.9 x 4,668 B = 4,201.2 B, a data packet is 4,096 + 106 B on the wire.
    ([OUT + "TotalBufferSize=4668B"], OUT + "TotalBufferSize: the data class's transmit pool, 0.9 x 4668B = 4201 B, "
     "cannot hold one data packet of 4202 B"),
    # 0.015 x 5,199 B = 77.985 B, an ACK is 78 B.
    ([OUT + "TotalBufferSize=5199B", OUT + "PoolAllocationVector=[0.985, 0.015, 0, 0, 0, 0, 0, 0]"],
     OUT + "TotalBufferSize: the control class's transmit pool, 0.015 x 5199B = 77 B, cannot hold one ACK of 78 B"),
    # 0.9 x 4,648 B = 4,183.2 B, a data packet without Ethernet is 4,184 B.
    ([IN + "TotalBufferSize=4648B"], IN + "TotalBufferSize: the data class's receive pool, 0.9 x 4648B = 4183 B, "
     "cannot hold one data packet of 4184 B"),
    ([IN + "TotalBufferSize=5900B", IN + "PoolAllocationVector=[0.99, 0.01, 0, 0, 0, 0, 0, 0]"],
     IN + "TotalBufferSize: the control class's receive pool, 0.01 x 5900B = 59 B, cannot hold one ACK of 60 B"),
    ([OUT + "QueueSchedulingType=WeightedRoundRobin", OUT + "WRRQueueWeights=[0, 5, 0, 0, 0, 0, 0, 0]"],
     OUT + "WRRQueueWeights: the weight of class 0 is 0; WeightedRoundRobin needs a whole number of 1 to 1000000 for "
     "classes 0 and 1"),
    ([OUT + "QueueSchedulingType=WeightedRoundRobin", OUT + "WRRQueueWeights=[1, 1.5, 0, 0, 0, 0, 0, 0]"],
     OUT + "WRRQueueWeights: the weight of class 1 is 1.5; WeightedRoundRobin needs a whole number of 1 to 1000000 for "
     "classes 0 and 1"),
    ([IN + "PFCEnableVector=[1, 0, 0, 0, 0, 0, 0, 0]", IN + "QuantaValue=[0, 0, 0, 0, 0, 0, 0, 0]"],
     IN + "QuantaValue: the entry of class 0 is 0; valid: whole numbers 1 to 65535 for a class with PFC"),
    ([IN + "QuantaValue=[1, 65536, 0, 0, 0, 0, 0, 0]"],
     IN + "QuantaValue: the entry of class 1 is 65536; valid: whole numbers 0 to 65535"),
    ([IN + "PfcStaticXoffThreshold=[80, 0.8, 0, 0, 0, 0, 0, 0]"],
     IN + "PfcStaticXoffThreshold: the entry of class 0 is 80, not a fraction; valid: 0 to 1"),
    ([IN + "PfcXonResumeThreshold=[0.4, 40, 0, 0, 0, 0, 0, 0]"],
     IN + "PfcXonResumeThreshold: the entry of class 1 is 40, not a fraction; valid: 0 to 1"),
    # 8,192 + 106 B = 8,298 B.
    ([PDS + "PrefetchBufferEnable=true", PDS + "PrefetchBufferSize=8297", MSS + "=8192"],
     PDS + "PrefetchBufferSize: 8297 B cannot hold one data packet of 8298 B (RdmaDataMSS + 106)"),
    ([CC + "ReceiverCongestionLowThreshold=75.5"], CC + "ReceiverCongestionLowThreshold: 75.5 is above "
     "ReceiverCongestionHighThreshold 75"),
    # 4,096 B are 8 transfers of 512 B; 8 x 34 B = 272 B.
    ([NIC_END + "TransactionLayer.TXHeaderBufferSize=271B"], NIC_END + "TransactionLayer.TXHeaderBufferSize: 271 B "
     "cannot hold the headers of one segment: 8 transfers x 34 B = 272 B (RdmaDataMSS 4096)"),
    # 4,097 B are 9 transfers; 9 x 34 B = 306 B.
    ([HOST_END + "TransactionLayer.TXHeaderBufferSize=305B", MSS + "=4097"], HOST_END + "TransactionLayer."
     "TXHeaderBufferSize: 305 B cannot hold the headers of one segment: 9 transfers x 34 B = 306 B (RdmaDataMSS 4097)"),
    ([NIC_END + "TransactionLayer.RXHeaderBufferSize=33B"], NIC_END + "TransactionLayer.RXHeaderBufferSize: 33 B "
     "cannot hold the header of one transfer, 34 B"),
    ([HOST_END + "TransactionLayer.TXDataBufferSize=4000B", HOST_END + "TransactionLayer.RXDataBufferSize=95B"],
     HOST_END + "TransactionLayer.TXDataBufferSize: RXDataBufferSize + TXDataBufferSize = 4095 B cannot hold one "
     "segment of 4096 B (RdmaDataMSS)"),
    ([NIC_END + "PhysicalLayer.LaneBps=31520000001bps"],
     NIC_END + "PhysicalLayer.LaneBps: 31520000001bps is not a whole number of Mbps"),
    ([NIC_END + "PhysicalLayer.LaneCount=17"],
     NIC_END + "PhysicalLayer.LaneCount: 17 is out of range; valid: 1 to 16 (default 16)"),
    ([MONITOR + "FilterOnFepId=NIC-3"], MONITOR + "FilterOnFepId: 'NIC-3' is not a FEP id; valid: All, or a decimal "
     "number such as 3"),
    ([MONITOR + "FilterOnLocalIp=32.0.0"], MONITOR + "FilterOnLocalIp: '32.0.0' is not an address; valid: All, or "
     "dotted IPv4 such as 32.0.0.2"),
    ([MONITOR + "FilterOnRemoteIp=32.0.0.256"], MONITOR + "FilterOnRemoteIp: '32.0.0.256' is not an address; valid: "
     "All, or dotted IPv4 such as 32.0.0.2"),
    ([MONITOR + "FilterOnPdc=32.0.0.2:65536"], MONITOR + "FilterOnPdc: '32.0.0.2:65536' is not a PDC; valid: All, or "
     "<IPv4>:<PDC id 0 to 65535> such as 32.0.0.2:4500"),
])
def test_rules_of_a_nic(sets: list[str], message: str) -> None:
    assert problems(*sets) == [message]


def test_the_least_values_that_a_nic_accepts() -> None:
    """4,669 x 0.9 = 4,202.1 B and 4,669 x 0.1 = 466.9 B; 4,649 x 0.9 = 4,184.1 B; 272 B of headers; 4,096 B of data."""
    ends = [f"{end}TransactionLayer.{name}" for end in (NIC_END, HOST_END)
            for name in ("TXHeaderBufferSize=272B", "RXHeaderBufferSize=34B", "RXDataBufferSize=0",
                         "TXDataBufferSize=4096B")]
    config = make(OUT + "TotalBufferSize=4669B", IN + "TotalBufferSize=4649B", *ends, NIC_END + "PhysicalLayer."
                  "LaneBps=1Mbps", PDS + "PrefetchBufferEnable=true", PDS + "PrefetchBufferSize=4202",
                  MONITOR + "FilterOnFepId=3", MONITOR + "FilterOnPdc=32.0.0.2:4500",
                  CC + "ReceiverCongestionLowThreshold=75.0",
                  OUT + "QueueSchedulingType=WeightedRoundRobin", OUT + "WRRQueueWeights=[1, 1, 0, 0, 0, 0, 0, 0]",
                  OUT + "PoolAllocationVector=[0.9, 0.9, 0.9, 0, 0, 0, 0, 0]")
    assert config.nic.TransportProcessingLayers.ScalaUETMonitor.FilterOnFepId == "3"


def test_a_small_prefetch_buffer_is_no_error_while_it_is_off() -> None:
    make(MSS + "=8192", PDS + "PrefetchBufferSize=4202")


def test_fractions_count_as_they_are_written() -> None:
    assert part_bytes(0.29, 100) == 29            # in binary 0.29 x 100 is 28.999...
    assert (part_bytes(0.9, 256_000), part_bytes(0.1, 256_000)) == (230_400, 25_600)
    assert part_bytes(1 / 3, 10) == 3


def test_monitor_settings_are_the_same_for_every_nic() -> None:
    override = {"racks": [1], "set": {"TransportProcessingLayers": {"ScalaUETMonitor": {"EnableUETMonitor": True}}}}
    (found,) = problems(nic_overrides=[override])
    assert found == ("nic_overrides.0.set.TransportProcessingLayers.ScalaUETMonitor: differs from the nic section's; a "
                     "run has one monitor, so every NIC needs the same settings: set them under nic")
    make(MONITOR + "EnableUETMonitor=true", nic_overrides=[override])


@pytest.mark.parametrize(("sets", "message"), [
    ([BUFFER + "EnablePFC=[1, 2, 0, 0, 0, 0, 0, 0]"], BUFFER + "EnablePFC: 2 is not valid; valid: whole numbers 0 to "
     "1"),
    ([BUFFER + "TrafficClassPoolMapping=[0, 1, 0.5, 0, 0, 0, 0, 0]"],
     BUFFER + "TrafficClassPoolMapping: 0.5 is not valid; valid: whole numbers 0 to 7"),
    ([BUFFER + "TrafficClassPoolMapping=[0, 1, 8, 0, 0, 0, 0, 0]"],
     BUFFER + "TrafficClassPoolMapping: 8 is not valid; valid: whole numbers 0 to 7"),
    ([BUFFER + "TrafficClassPoolMapping=[0, 2, 0, 0, 0, 0, 0, 0]"],
     BUFFER + "TrafficClassPoolMapping: class 1 is mapped to pool 2, whose PoolAllocationMap entry is 0"),
    ([BUFFER + "TrafficClassPoolMapping=[0, 1]"],
     BUFFER + "TrafficClassPoolMapping: [0, 1] is not a list of 8 numbers, e.g. [0.9, 0.1, 0, 0, 0, 0, 0, 0]"),
    ([BUFFER + "PoolAllocationMap=[0, 0, 0, 0, 0, 0, 0, 0]"],
     BUFFER + "PoolAllocationMap: every entry is 0; at least one pool is needed"),
    # 0.9 + 0.3 + 0.1 is more than 1 by 0.3, the last has 0.1; 0.9 + 0.2 is more by 0.1, the last has 0.2.
    ([BUFFER + "PoolAllocationMap=[0.9, 0.3, 0.1, 0, 0, 0, 0, 0]"],
     BUFFER + "PoolAllocationMap: the entries sum to 1.3, more than 1 by more than the last of them (0.1)"),
    ([BUFFER + "PoolAllocationMap=[1.1, 0.2, 0, 0, 0, 0, 0, 0]"],
     BUFFER + "PoolAllocationMap: 1.1 is not a fraction; valid: 0 to 1"),
    ([TRIM, BUFFER + "EnablePFC=[0, 0, 0, 0, 0, 0, 0, 0]"], "switch.PacketTrimmer.TrimmingEnabled: trimming needs "
     "SharedBufferManager.UETPolicyEnabled: true"),
    ([TRIM, BUFFER + "UETPolicyEnabled=true"], "switch.PacketTrimmer.TrimmingEnabled: trimming cannot be combined with "
     "PFC; set SharedBufferManager.EnablePFC to [0, 0, 0, 0, 0, 0, 0, 0]"),
    (["switch.LoadBalancingMethod=flowlet", "switch.EcmpHashMethod=dpr"], "switch.LoadBalancingMethod: flowlet cannot "
     "be combined with EcmpHashMethod dpr; valid hashes: hash, hashWithSalt, crc32, crc32WithSalt"),
    (["switch.LoadBalancingMethod=flowlet", "switch.EcmpHashMethod=dprWithFallback"], "switch.LoadBalancingMethod: "
     "flowlet cannot be combined with EcmpHashMethod dprWithFallback; valid hashes: hash, hashWithSalt, crc32, "
     "crc32WithSalt"),
    (["switch.LoadBalancingFlowlet.Gap=2001ms"],
     "switch.LoadBalancingFlowlet.Gap: 2001ms is out of range; valid: at most 2s (default 100us)"),
    # A fixed limit of QueueDropThreshold x PlaneBDP without the UET policy; with LossyAlpha above 0 it is not read.
    ([BUFFER + "LossyAlpha=0.0", BUFFER + "QueueDropThresholdEnable=true", BUFFER + "PlaneBDP=836B"],
     BUFFER + "PlaneBDP: a queue of 4180B cannot hold one data packet (4184 B with the largest RdmaDataMSS)"),
    ([*POLICY, BUFFER + "QueueDropThreshold=3580"], BUFFER + "PlaneBDP: a queue of 1074MB is more than this version "
     "can count (1073741824 B)"),
])
def test_rules_of_a_switch(sets: list[str], message: str) -> None:
    assert problems(*sets) == [message]


def test_what_a_switch_accepts() -> None:
    make(BUFFER + "PoolAllocationMap=[0.9, 0.2, 0, 0, 0, 0, 0, 0]")
    make(BUFFER + "PlaneBDP=100B", BUFFER + "QueueDropThresholdEnable=true")
    make(TRIM, *POLICY)
    make("switch.LoadBalancingMethod=flowlet", "switch.LoadBalancingFlowlet.Gap=0s")
    make(BUFFER + "UETPolicyEnabled=true", BUFFER + "TrafficClassPoolMapping=[5, 5, 5, 5, 5, 5, 5, 5]")


def test_the_interval_of_the_switch_buffer_records() -> None:
    override = {"tiers": ["spine"], "set": {"SharedBufferManager": {"BufferStatsReportInterval": "2ms"}}}
    make(switch_overrides=[override])
    assert problems("SimulationParameters.EnableSwitchBufferStats=true", switch_overrides=[override]) == [
        "switch_overrides.0.set.SharedBufferManager.BufferStatsReportInterval: 2ms differs from the switch section's "
        "1ms; with EnableSwitchBufferStats every switch needs the same interval"]
    assert problems(BUFFER + "BufferStatsReportInterval=0") == [
        BUFFER + "BufferStatsReportInterval: 0ps is out of range; valid: 1ns to 100s (default 1ms)"]


def switch(**buffer: Any) -> Switch:
    return Switch.model_validate({"SharedBufferManager": buffer})


@pytest.mark.parametrize(("buffer", "ports", "message"), [
    # 256 KB x 1,001 = 256.256 MB; 1,000 ports leave nothing.
    ({}, 1001, "HeadRoomPerPortLimit: 256KB x 1001 connected ports is 256256KB, more than TotalSharedBufferSize 256MB"),
    ({}, 1000, "TotalSharedBufferSize: 0B without the headroom of 1000 ports leaves a data queue 0 B, less than one "
               "data packet of 4184 B"),
    # 1,000,000 - 3 x 256,000 = 232,000; 0.9 of it is 208,800; a 50th of that, without PFC, is 4,176.
    ({"TotalSharedBufferSize": "1MB", "LossyAlpha": 0.02, "EnablePFC": [0] * 8}, 3, "TotalSharedBufferSize: 232KB "
     "without the headroom of 3 ports leaves a data queue 4176 B, less than one data packet of 4184 B"),
    # 100,000 x 0.9 / 22 = 4,090.9.
    ({"TotalSharedBufferSize": "100KB", "HeadRoomPerPortLimit": "0", "LossyAlpha": 0.0, "EnablePFC": [0] * 8}, 22,
     "TotalSharedBufferSize: 100KB without the headroom of 22 ports leaves a data queue 4090 B, less than one data "
     "packet of 4184 B"),
    ({"TotalSharedBufferSize": "1200MB"}, 4, "TotalSharedBufferSize: a pool of 1079078400 B is more than this version "
     "can count (1073741824 B)"),
])
def test_rules_of_a_switch_in_its_fabric(buffer: dict[str, Any], ports: int, message: str) -> None:
    found = list(switch_fabric_rules(switch(**buffer), ports, 4096))
    assert [f"{'.'.join(map(str, place))}: {text}" for place, text in found] == [f"SharedBufferManager.{message}"]
    with pytest.raises(InputError, match=r"switch\.SharedBufferManager\.\w+: Rack-1: "):
        make().check_switch(switch(**buffer), ports, "Rack-1")


def test_a_lossless_queue_may_use_its_whole_pool() -> None:
    assert not list(switch_fabric_rules(switch(TotalSharedBufferSize="1MB", LossyAlpha=0.02), 3, 4096))
    make().check_switch(switch(), 128, "Spine-0")


def test_warnings() -> None:
    reps = {"TransportProcessingLayers": {"ScalaUETPdsManager": {"PacketSprayingType": "Recycled Entropy Packet "
                                                                                       "Spraying"}}}
    assert config_warnings(make()) == config_warnings(make(nic=reps)) == []
    assert config_warnings(make("switch.LoadBalancingMethod=flowlet")) == []
    (found,) = config_warnings(make(nic_overrides=[{"racks": [0], "set": reps}], switch_overrides=[
        {"tiers": ["spine"], "set": {"LoadBalancingMethod": "flowlet"}}]))
    assert found.startswith("PacketSprayingType is Recycled Entropy Packet Spraying and LoadBalancingMethod flowlet")
    crossed = "switch.SharedBufferManager.TrafficClassPoolMapping=[0, 0, 0, 0, 0, 0, 0, 0]"
    (found,) = config_warnings(make(crossed))
    assert found.startswith("EnablePFC is 1 for class 1, which TrafficClassPoolMapping does not map to pool 1")
    assert config_warnings(make(crossed, BUFFER + "EnablePFC=[1, 0, 0, 0, 0, 0, 0, 0]")) == []
