"""The UET NIC: top level, network interface and PCIe host interface.

Names, nesting, types, defaults and ranges as documented (scala-computing/docs, models/scala-uet-nic/configuration).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from distsim.quantities import Rate, Size, Time

from .fields import AttributeModel, Vector, attribute, flag, rate, section, size, time, whole
from .nic_transport import Transport
from .yaml_reader import Place


def _no_probabilistic(value: Any) -> Any:
    if value == "ProbabilisticWeightedRoundRobin":
        raise ValueError("'ProbabilisticWeightedRoundRobin' stops a run on this NIC; valid values: StrictPriority, "
                         "RoundRobin, WeightedRoundRobin")
    return value


Scheduling = Annotated[Literal["StrictPriority", "RoundRobin", "WeightedRoundRobin"],
                       BeforeValidator(_no_probabilistic)]


class NicUplink(AttributeModel):
    """The NIC's Ethernet port."""

    DataRate: Rate = rate(
        "400Gbps", "Line rate; the link runs at the lower of this and the rack switch's downlink rate.")


class NicMedium(AttributeModel):
    """The link to the rack switch."""

    Delay: Time = time("100ns", "Propagation delay, counted from the end of serialization.")


class IngressBuffer(AttributeModel):
    """The receive buffer."""

    TotalBufferSize: Size = size(
        "4MB", "Size of the receive buffer; a packet that its class's pool cannot hold is dropped (rx_drops).")
    QueueSchedulingType: Scheduling = attribute(
        "StrictPriority", "Received data is written to the host in order of arrival with any of the values.",
        acts="inert")
    PoolAllocationVector: Vector = attribute(
        "[0.9, 0.1, 0, 0, 0, 0, 0, 0]", "Fraction of TotalBufferSize that each class's pool gets; data is class 0, "
        "control class 1. The pools are sized one by one, their sum may differ from 1.",
        valid="8 fractions 0 to 1, at least two not 0 and these first")
    PFCEnableVector: Vector = attribute(
        "[0, 0, 0, 0, 0, 0, 0, 0]", "Classes that the NIC sends pause frames for (1; any other value: not). Pauses "
        "that it receives are honoured whatever stands here.",
        valid="8 numbers, 1: on, any other: off")
    WRRQueueWeights: Vector = attribute(
        "[1, 3, 0, 0, 0, 0, 0, 0]", "Weights of WeightedRoundRobin; received data stays in order of arrival.",
        acts="inert",
        valid="8 numbers, 0 or more")
    PfcStaticXoffThreshold: Vector = attribute(
        "[0.8, 0.8, 0, 0, 0, 0, 0, 0]", "Fraction of a class's pool that, reached with the arriving packet, draws a "
        "pause.",
        valid="8 fractions 0 to 1")
    PfcXonResumeThreshold: Vector = attribute(
        "[0.4, 0.4, 0, 0, 0, 0, 0, 0]", "Fraction of a class's pool at or below which the pause ends.",
        valid="8 fractions 0 to 1")
    QuantaValue: Vector = attribute(
        "[65535, 65535, 0, 0, 0, 0, 0, 0]", "Pause quanta (512 bit times) of a pause frame; the pause is looked at "
        "again every half of that time plus Delay.",
        valid="8 whole numbers 0 to 65535")


class EgressBuffer(AttributeModel):
    """The transmit buffer."""

    TotalBufferSize: Size = size(
        "256KB", "Size of the transmit buffer; a full pool stops fetching, nothing is dropped.")
    QueueSchedulingType: Scheduling = attribute("StrictPriority", "How the port chooses the class that sends next.")
    PoolAllocationVector: Vector = attribute(
        "[0.9, 0.1, 0, 0, 0, 0, 0, 0]", "Fraction of TotalBufferSize that each class's pool gets.",
        valid="8 fractions 0 to 1, at least two not 0 and these first")
    WRRQueueWeights: Vector = attribute(
        "[1, 5, 0, 0, 0, 0, 0, 0]", "Most packets that a class sends in one turn of WeightedRoundRobin.",
        valid="8 numbers; whole, 1 or more for classes 0 and 1")


class NicInterface(AttributeModel):
    """Port, link and buffers."""

    UplinkNetworkInterface: NicUplink = section(NicUplink, "The NIC's Ethernet port.")
    TransmissionMedium: NicMedium = section(NicMedium, "The link to the rack switch.")
    IngressBufferManager: IngressBuffer = section(IngressBuffer, "Receive buffer.")
    EgressBufferManager: EgressBuffer = section(EgressBuffer, "Transmit buffer.")


class PcieTransactions(AttributeModel):
    """Buffers of one end of the PCIe link."""

    RXHeaderBufferSize: Size = size(
        "16KB", "Headers received. The receiving end takes a transfer at once, so more than one header's room changes "
        "nothing.", acts="inert")
    TXHeaderBufferSize: Size = size("16KB", "Headers of transfers waiting to go out at this end, 34 B each.")
    RXDataBufferSize: Size = size(
        "256KB", "Payload buffers; together with TXDataBufferSize the room for payload waiting to go out at this end.")
    TXDataBufferSize: Size = size(
        "256KB", "Payload buffers; together with RXDataBufferSize the room for payload waiting to go out at this end.")


class PcieLanes(AttributeModel):
    """Lanes of one end of the PCIe link."""

    LaneBps: Rate = rate(
        "31.52Gbps", "Rate of one lane in the direction that this end sends, in whole Mbps.", least="1Mbps")
    LaneCount: int = whole(16, "Number of lanes in that direction.", 1, 16)


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
    EnableBufferStats: bool = flag(
        False, "Take part in net-buff-stats, when EnableNetworkBufferStatsReporting is true as well.")
    EnableTransportStats: bool = flag(True, "Write uet-transport-stats.")
    EnableEventLogging: bool = flag(False, "Write uet-events.")
    NetworkInterface: NicInterface = section(NicInterface, "Port, link and buffers.")
    TransportProcessingLayers: Transport = section(Transport, "Transport.")
    HostInterface: NicHostInterface = section(NicHostInterface, "PCIe between NIC and host.")


NIC_END: Place = ("HostInterface", "NICSide", "PCIeGen3.0", "NicDeviceLayer", "NicPCIeInterface")
HOST_END: Place = ("HostInterface", "HostSide", "PCIeGen3.0", "ScalaHostPCIeDeviceLayer", "HostPCIeInterface")


def pcie_ends(nic: Nic) -> tuple[PcieInterface, PcieInterface]:
    """The NIC's end of the PCIe link and the host's."""
    sides = nic.HostInterface
    return (sides.NICSide.pcie.NicDeviceLayer.NicPCIeInterface,
            sides.HostSide.pcie.ScalaHostPCIeDeviceLayer.HostPCIeInterface)
