"""The switch: ports, trimmer, load balancing, shared buffer, ECN.

Names, nesting, types, defaults and ranges as documented (scala-computing/docs, models/scala-switch/configuration), but
this version models the UET policy without PFC only, so UETPolicyEnabled, EnablePFC and EnableLoadBalancingStats have
other defaults than the platform's.
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
        "QueueDropThreshold times PlaneBDP.")
    TrimmingStatsEnabled: bool = flag(False, "Write trimming statistics.", acts="not modelled")


class Flowlet(AttributeModel):
    """Parameters of load balancing by flowlet."""

    Gap: Time = time("100us", "Idle time after which a flow may move to another path.", acts="not modelled", most="2s")
    PFCAware: bool = flag(True, "Prefer paths that PFC has not paused.", acts="not modelled")


class SharedBuffer(AttributeModel):
    """The packet buffer that all ports share."""

    TotalSharedBufferSize: Size = size(
        "256MB", "Packet buffer of the switch. The limits of the queues, not the pools, decide in this version.",
        acts="not modelled")
    UETPolicyEnabled: bool = flag(
        True, "Classes by codepoint role and a fixed limit a queue. The platform's default is false; this version "
        "models the UET policy only.", acts="one value")
    PoolAllocationMap: Vector = attribute(
        "[0.9, 0.1, 0, 0, 0, 0, 0, 0]", "Fraction of the buffer of each pool; not used under the UET policy.",
        acts="not modelled")
    TrafficClassPoolMapping: Vector = attribute(
        "[0, 1, 0, 0, 0, 0, 0, 0]", "Pool of each class; not used under the UET policy.", acts="not modelled")
    EnablePFC: Vector = attribute(
        "[0, 0, 0, 0, 0, 0, 0, 0]", "Lossless classes (1). The platform's default is 1 for classes 0 and 1; this "
        "version has no PFC.", acts="one value")
    HeadRoomPerPortLimit: Size = size("256KB", "Headroom a port.", acts="not modelled")
    StaticPoolXoffThreshold: Size = size("700KB", "Ingress occupancy that draws a pause.", acts="not modelled")
    StaticPoolXonThreshold: Size = size("300KB", "Ingress occupancy at which the pause ends.", acts="not modelled")
    LossyAlpha: float = real(
        1.0, "Dynamic limit of a lossy queue; not used under the UET policy.", 0.0, 1e6, acts="not modelled")
    QueueDropThresholdEnable: bool = flag(
        False, "Fixed limit a queue without the UET policy; under it the limit is always fixed.", acts="not modelled")
    QueueDropThreshold: int = whole(5, "Egress limit in multiples of PlaneBDP while trimming is off.", 1, 10000)
    PlaneBDP: Size = size(
        "300KB", "Bandwidth-delay product of the fabric: base RTT times NIC rate. Egress limit with trimming on, and "
        "with QueueDropThreshold without.", least="1B")
    BufferStatsReportInterval: Time = time("1ms", "Interval of the buffer record.", acts="not modelled")


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
        "crc32WithSalt", "Hash that chooses among equal-cost paths.", acts="one value")
    LoadBalancingMethod: Literal["none", "flowlet"] = attribute(
        "none", "none takes the hash modulo the number of paths.", acts="one value")
    EnableLoadBalancingStats: bool = flag(
        False, "Write the load balancing record. The platform's default is true; this version does not write it.",
        acts="not modelled")
    LoadBalancingStatsReportInterval: Time = time(
        "1ms", "Interval of the load balancing record.", acts="not modelled", least="10us")
    NetworkInterface: SwitchInterface = section(SwitchInterface, "Ports and links.")
    PacketTrimmer: Trimmer = section(Trimmer, "Trimming.")
    LoadBalancingFlowlet: Flowlet = section(Flowlet, "Load balancing by flowlet.")
    SharedBufferManager: SharedBuffer = section(SharedBuffer, "Packet buffer.")
    EcnHandler: Ecn = section(Ecn, "ECN marking.")
