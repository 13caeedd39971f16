"""The switch: ports, trimmer, load balancing, shared buffer, ECN.

Names, nesting, types, defaults and ranges as documented (scala-computing/docs, models/scala-switch/configuration).
One default differs from the platform's: EnableLoadBalancingStats is false, because that record is not written.
"""

from __future__ import annotations

from typing import Literal

from distsim.quantities import Rate, Size, Time

from .fields import AttributeModel, Vector, attribute, flag, rate, real, section, size, time, whole

HashMethod = Literal["dpr", "hash", "hashWithSalt", "crc32", "crc32WithSalt", "dprWithFallback"]


class SwitchPort(AttributeModel):
    """The ports on one side of the switch."""

    DataRate: Rate = rate("400Gbps", "Port rate; a link runs at the lower of the rates of its two ends.")


class SwitchMedium(AttributeModel):
    """The links to the switches above."""

    Delay: Time = time("500ns", "Propagation delay of the uplinks; a link takes its delay from its lower end.")


class SwitchInterface(AttributeModel):
    """Ports and links."""

    UplinkNetworkInterface: SwitchPort = section(SwitchPort, "Ports towards the spines.")
    DownlinkNetworkInterface: SwitchPort = section(SwitchPort, "Ports towards the NICs.")
    TransmissionMedium: SwitchMedium = section(SwitchMedium, "Links to the switches above.")


class Trimmer(AttributeModel):
    """Cutting packets that do not fit down to their headers."""

    TrimmingEnabled: bool = flag(
        False, "Trim eligible packets instead of dropping them; then the egress limit is PlaneBDP instead of "
        "QueueDropThreshold times PlaneBDP. Needs UETPolicyEnabled and every EnablePFC entry 0.")
    TrimmingStatsEnabled: bool = flag(False, "Write trimming statistics; that record is not written.", acts="refused")


class Flowlet(AttributeModel):
    """Parameters of load balancing by flowlet."""

    Gap: Time = time("100us", "Idle time after which a flow may move to another path; 0 chooses for every packet.",
                     most="2s")
    PFCAware: bool = flag(True, "Prefer paths that PFC has not paused for the packet's class.")


class SharedBuffer(AttributeModel):
    """The packet buffer that all ports share."""

    TotalSharedBufferSize: Size = size(
        "256MB", "Packet buffer of the switch; headroom is taken from it first, the pools get the rest.")
    UETPolicyEnabled: bool = flag(
        False, "Classes by codepoint role, three pools 1.5 : 1 : 1 and a fixed limit a queue, instead of "
        "PoolAllocationMap, TrafficClassPoolMapping and LossyAlpha.")
    PoolAllocationMap: Vector = attribute(
        "[0.9, 0.1, 0, 0, 0, 0, 0, 0]", "Fraction of the buffer without headroom that each pool gets; 0: no such pool. "
        "Not used under the UET policy.",
        valid="8 fractions 0 to 1, one not 0")
    TrafficClassPoolMapping: Vector = attribute(
        "[0, 1, 0, 0, 0, 0, 0, 0]", "Pool of each class; not used under the UET policy.",
        valid="8 whole numbers 0 to 7")
    EnablePFC: Vector = attribute("[1, 1, 0, 0, 0, 0, 0, 0]", "Lossless classes (1), the others are lossy (0).",
        valid="8 times 0 or 1")
    HeadRoomPerPortLimit: Size = size(
        "256KB", "Headroom reserved for every connected port, and the most that a paused port may hold in it in each "
        "lossless pool.")
    StaticPoolXoffThreshold: Size = size(
        "700KB", "Ingress occupancy of a port in a pool above which a pause is sent.")
    StaticPoolXonThreshold: Size = size(
        "300KB", "Ingress occupancy of a port in a pool at or below which the pause ends.")
    LossyAlpha: float = real(
        1.0, "Limit of a lossy queue in multiples of its pool's free bytes; 0: a fixed limit. Not used under the UET "
        "policy.", 0.0, 1e6)
    QueueDropThresholdEnable: bool = flag(
        False, "With LossyAlpha 0: limit every lossy queue to QueueDropThreshold times PlaneBDP instead of its pool "
        "divided by the connected ports.")
    QueueDropThreshold: int = whole(
        5, "Limit of a lossy queue in multiples of PlaneBDP, under the UET policy without trimming or with "
        "QueueDropThresholdEnable.", 1, 10000)
    PlaneBDP: Size = size(
        "300KB", "Bandwidth-delay product of the fabric: base RTT times NIC rate. It sets the fixed limits and their "
        "ECN thresholds.", least="1B")
    BufferStatsReportInterval: Time = time(
        "1ms", "Interval of the switch buffer records; the same for every switch when they are on.", least="1ns")


class Ecn(AttributeModel):
    """ECN marking at the start of transmission, from an average updated at admission."""

    EnableEcn: bool = flag(True, "Mark ECN-capable packets.")
    EwmaWeight: float = real(0.10, "Weight of the newest queue length in the average.", 0.0, 1.0)
    MinThreshold: float = real(0.2, "Fraction of the queue's limit below which nothing is marked.", 0.0, 1.0)
    MaxThreshold: float = real(0.8, "Fraction of the queue's limit from which everything is marked.", 0.0, 1.0)
    MaxMarkProbability: float = real(1.0, "Marking probability reached at MaxThreshold.", 0.0, 1.0)


class Switch(AttributeModel):
    """Attributes of a switch."""

    NumUpLinks: int = whole(64, "Uplink ports; advisory, a topology may use more.", acts="advisory")
    NumDownLinks: int = whole(64, "Downlink ports; advisory, a topology may use more.", acts="advisory")
    NumUpLinksPerSwitch: int = whole(
        8, "Parallel links to each switch above; advisory, the fabric section says how many.", acts="advisory")
    SwitchingCapacity: Rate = rate(
        "51200Gbps", "Advisory: to compare with the sum of the port rates.", acts="advisory", most=None)
    EcmpHashMethod: HashMethod = attribute(
        "crc32WithSalt", "Hash that says which packets are one flow, for the choice among equal-cost paths.")
    LoadBalancingMethod: Literal["none", "flowlet"] = attribute(
        "none", "none takes the hash modulo the number of paths; flowlet moves a flow after a gap to the path with the "
        "least egress occupancy.")
    EnableLoadBalancingStats: bool = flag(
        False, "Write the load balancing record. The platform's default is true; this version does not write it.",
        acts="refused")
    LoadBalancingStatsReportInterval: Time = time(
        "1ms", "Interval of the load balancing record; that record is not written.", acts="refused", least="10us")
    NetworkInterface: SwitchInterface = section(SwitchInterface, "Ports and links.")
    PacketTrimmer: Trimmer = section(Trimmer, "Trimming.")
    LoadBalancingFlowlet: Flowlet = section(Flowlet, "Load balancing by flowlet.")
    SharedBufferManager: SharedBuffer = section(SharedBuffer, "Packet buffer.")
    EcnHandler: Ecn = section(Ecn, "ECN marking.")
