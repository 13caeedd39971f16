"""The UET NIC: top level, network interface and PCIe host interface.

Names, nesting, types, defaults and ranges as documented (scala-computing/docs, models/scala-uet-nic/configuration).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from distsim.quantities import Rate, Size, Time

from .fields import AttributeModel, Vector, attribute, flag, rate, section, size, time, whole
from .nic_transport import Transport

Scheduling = Literal["StrictPriority", "RoundRobin", "WeightedRoundRobin"]


class NicUplink(AttributeModel):
    """The NIC's Ethernet port."""

    DataRate: Rate = rate(
        "400Gbps", "Line rate; the link runs at the lower of this and the rack switch's downlink rate.")


class NicMedium(AttributeModel):
    """The link to the rack switch."""

    Delay: Time = time("100ns", "Propagation delay, counted from the end of serialization.")


class IngressBuffer(AttributeModel):
    """The receive buffer."""

    TotalBufferSize: Size = size("4MB", "Size of the receive buffer.", acts="not modelled")
    QueueSchedulingType: Scheduling = attribute("StrictPriority", "Order of received packets.", acts="not modelled")
    PoolAllocationVector: Vector = attribute(
        "[0.9, 0.1, 0, 0, 0, 0, 0, 0]", "Fraction of the buffer of each class.", acts="not modelled")
    PFCEnableVector: Vector = attribute(
        "[0, 0, 0, 0, 0, 0, 0, 0]", "Classes that the NIC sends pause frames for (1).", acts="not modelled")
    WRRQueueWeights: Vector = attribute(
        "[1, 3, 0, 0, 0, 0, 0, 0]", "Weights of WeightedRoundRobin.", acts="not modelled")
    PfcStaticXoffThreshold: Vector = attribute(
        "[0.8, 0.8, 0, 0, 0, 0, 0, 0]", "Fraction of a class's pool that draws a pause.", acts="not modelled")
    PfcXonResumeThreshold: Vector = attribute(
        "[0.4, 0.4, 0, 0, 0, 0, 0, 0]", "Fraction of a class's pool at which the pause ends.", acts="not modelled")
    QuantaValue: Vector = attribute(
        "[65535, 65535, 0, 0, 0, 0, 0, 0]", "Pause quanta (512 bit times) of a pause frame.", acts="not modelled")


class EgressBuffer(AttributeModel):
    """The transmit buffer."""

    TotalBufferSize: Size = size("256KB", "Size of the transmit buffer.", acts="not modelled")
    QueueSchedulingType: Scheduling = attribute(
        "StrictPriority", "How the port chooses the next class.", acts="one value")
    PoolAllocationVector: Vector = attribute(
        "[0.9, 0.1, 0, 0, 0, 0, 0, 0]", "Fraction of the buffer of each class.", acts="not modelled")
    WRRQueueWeights: Vector = attribute(
        "[1, 5, 0, 0, 0, 0, 0, 0]", "Packets a turn of each class (WeightedRoundRobin).", acts="not modelled")


class NicInterface(AttributeModel):
    """Port, link and buffers."""

    UplinkNetworkInterface: NicUplink = section(NicUplink, "The NIC's Ethernet port.")
    TransmissionMedium: NicMedium = section(NicMedium, "The link to the rack switch.")
    IngressBufferManager: IngressBuffer = section(IngressBuffer, "Receive buffer.")
    EgressBufferManager: EgressBuffer = section(EgressBuffer, "Transmit buffer.")


class PcieTransactions(AttributeModel):
    """Buffers of one end of the PCIe link."""

    RXHeaderBufferSize: Size = size("16KB", "Headers received.", acts="not modelled")
    TXHeaderBufferSize: Size = size("16KB", "Headers sent.", acts="not modelled")
    RXDataBufferSize: Size = size("256KB", "Payload received.", acts="not modelled")
    TXDataBufferSize: Size = size("256KB", "Payload sent.", acts="not modelled")


class PcieLanes(AttributeModel):
    """Lanes of one end of the PCIe link."""

    LaneBps: Rate = rate(
        "31.52Gbps", "Rate of one lane in the direction that this end sends.", acts="not modelled", least="1Mbps")
    LaneCount: int = whole(16, "Number of lanes.", 1, 16, acts="not modelled")


class PcieInterface(AttributeModel):
    """Transaction and physical layer of one end."""

    TransactionLayer: PcieTransactions = section(PcieTransactions, "Buffers.")
    PhysicalLayer: PcieLanes = section(PcieLanes, "Lanes.")


class NicDevice(AttributeModel):
    """Device layer at the NIC."""

    NicPCIeInterface: PcieInterface = section(PcieInterface, "The NIC's PCIe interface.")


class HostDevice(AttributeModel):
    """Device layer at the host."""

    HostPCIeInterface: PcieInterface = section(PcieInterface, "The host's PCIe interface.")


class NicPcie(AttributeModel):
    """PCIe container at the NIC; the lane rate, not this name, says the generation."""

    NicDeviceLayer: NicDevice = section(NicDevice, "Device layer.")


class HostPcie(AttributeModel):
    """PCIe container at the host; the lane rate, not this name, says the generation."""

    ScalaHostPCIeDeviceLayer: HostDevice = section(HostDevice, "Device layer.")


class PcieNicSide(AttributeModel):
    """The NIC's end of the PCIe link."""

    pcie: NicPcie = Field(default_factory=NicPcie, alias="PCIeGen3.0", description="PCIe link, NIC's end.")


class PcieHostSide(AttributeModel):
    """The host's end of the PCIe link."""

    pcie: HostPcie = Field(default_factory=HostPcie, alias="PCIeGen3.0", description="PCIe link, host's end.")


class NicHostInterface(AttributeModel):
    """PCIe between NIC and host."""

    NICSide: PcieNicSide = section(PcieNicSide, "The NIC's end.")
    HostSide: PcieHostSide = section(PcieHostSide, "The host's end.")


class Nic(AttributeModel):
    """Attributes of a UET NIC."""

    NumDownLinks: int = whole(1, "Hosts that the NIC serves.", acts="read-only")
    EnableBufferStats: bool = flag(False, "Take part in net-buff-stats.", acts="not modelled")
    EnableTransportStats: bool = flag(True, "Write uet-transport-stats.")
    EnableEventLogging: bool = flag(False, "Write uet-events.", acts="not modelled")
    NetworkInterface: NicInterface = section(NicInterface, "Port, link and buffers.")
    TransportProcessingLayers: Transport = section(Transport, "Transport.")
    HostInterface: NicHostInterface = section(NicHostInterface, "PCIe between NIC and host.")
