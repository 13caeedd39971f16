"""The NIC's `TransportProcessingLayers`: packet delivery, spraying, congestion control, segmentation, monitor.

Names, nesting, types, defaults and ranges as documented (scala-computing/docs, models/scala-uet-nic/configuration).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from distsim.quantities import Rate, Time

from .fields import AttributeModel, Four, attribute, flag, rate, real, section, time, whole

MAX_WIRE_BYTES = 65535
WIRE_OVERHEAD_BYTES = 106  # Ethernet 14 + FCS 4 + IPv4 20 + UDP 8 + PDS 16 + SES 44
IP_OVERHEAD_BYTES = 88     # the same without Ethernet header and FCS: the nominal packet
Spraying = Literal["None", "Default Packet Spraying", "Recycled Entropy Packet Spraying"]


class PdsManager(AttributeModel):
    """Packet delivery: marking, PDC groups, retransmission timer, ACK requests."""

    TrimmingEnabled: bool = flag(
        False, "Mark first transmissions as trimmable; also sets the target queue delay to 0.75 of InitialBaseRTT and "
        "leaves Quick Adapt to trimmed packets alone.")
    UseDistinctDSCPForRetransmits: bool = flag(
        True, "Mark every retransmission as a trimmable retransmission, whatever TrimmingEnabled says.")
    PDCGroupsEnabled: bool = flag(True, "All PDCs to one remote address share a window, a load balancer and a turn.")
    PrefetchBufferEnable: bool = flag(
        False, "Hold payloads fetched from the host in a buffer that the NIC's PDCs share, and reserve egress room "
        "only when they go to the wire.")
    PrefetchBufferSize: int = whole(
        262144, "Size of the prefetch buffer when PrefetchBufferEnable is true; it must hold one data packet, "
        "RdmaDataMSS + 106 bytes.", 4202, unit="bytes")
    DefaultDeliveryMethod: Literal["Reliable Unordered Delivery (RUD)"] = attribute(
        "Reliable Unordered Delivery (RUD)", "Delivery mode; only RUD exists.", acts="inert")
    PacketSprayingType: Spraying = attribute(
        "Default Packet Spraying", "How the entropy value (UDP source port) of each data packet is chosen: one value a "
        "group, a range of ports in turn, or values that ACKs reported as uncongested.")
    FailureDetectionRTTMultiplier: int = whole(
        3, "Base RTTs after which an unacknowledged packet counts as a path failure (Recycled Entropy Packet Spraying "
        "only; 0 off).")
    InitialRetransmitTimeout: Time = time(
        "150us", "Timeout of a packet's first transmission; doubles with each retransmission of that packet up to the "
        "cap.", least="1ns")
    MaxExponentialRTOBackoffCount: int = whole(
        5, "Number of doublings after which a packet's timeout stays the same.", 0, 15)
    FixedRexmitTimeEnable: bool = flag(False, "Use FixedRexmitTimeout for every transmission, without doubling.")
    FixedRexmitTimeout: Time = time(
        "150us", "Timeout of every transmission when FixedRexmitTimeEnable is true.", least="1ns")
    AckRequestFirstPacket: bool = flag(
        True, "Count ACK requests from a PDC's first transmission (1, N + 1, ...) instead of from its N-th (N, 2N, "
        "...).")
    AckRequestLastPacket: bool = flag(True, "The last packet of a message also requests an ACK.")
    AckRequestEveryNthPacket: int = whole(1, "N: every N-th data transmission of a PDC requests an ACK.", 1, 1024)


class DefaultSpraying(AttributeModel):
    """Round robin over a range of UDP source ports."""

    EntropyMaskBits: int = whole(7, "2 to this power ports are taken in turn.", 0, 8)
    StartingPortOffset: int = whole(
        256, "First UDP source port of the range; a range past 65535 goes on from 0.", 0, 65535)


class RecycledSpraying(AttributeModel):
    """Reuse of entropy values that ACKs report as uncongested (REPS)."""

    REPSBufferSizeMaskBits: int = whole(
        3, "2 to this power values are kept; one packet in as many explores after freezing.", 0,
        16)
    EntropyValueSetSize: int = whole(65536, "Number of values that exploring draws from, from 0 on.", 1, 65536)
    FreezingTimeout: Time = time("100us", "Shortest stay in freezing after a path failure.")


class SprayingTypes(AttributeModel):
    """Attributes of each spraying type."""

    DefaultPacketSpraying: DefaultSpraying = section(DefaultSpraying, "Default Packet Spraying.")
    RecycledEntropyPacketSpraying: RecycledSpraying = section(RecycledSpraying, "Recycled Entropy Packet Spraying.")


class CongestionControl(AttributeModel):
    """NSCC, one window a PDC group (models/scala-uet-nic/congestion-control; UEC 1.0 section 3.6.13)."""

    PassThrough: bool = flag(False, "Compute the window but let it hold back no packet.")
    NSCCEnable: bool = flag(True, "Adjust the window; false leaves it at its maximum, where it still limits sending.")
    InitialBaseRTT: Time = time(
        "6us", "Base RTT that a window starts from; with the link rate it gives the BDP, the maximum window (1.5 "
        "BDP), the target queue delay and the increase gains.")
    ReferenceNetworkRTT: Time = time("6us", "RTT of the reference network that the increase gains are scaled by.")
    ReferenceNetworkLinkSpeed: Rate = rate("400Gbps", "Link rate of the reference network.")
    OverrideSpecTargetQueueDelay: bool = flag(False, "Take TargetQueueDelay instead of the derived target.")
    TargetQueueDelay: Time = time("4500ns", "Target queue delay when OverrideSpecTargetQueueDelay is true.")
    TargetQueueDelayMargin: Time = time("1us", "Queue delay below which ACKs count towards fast increase.")
    DisableQuickAdapt: bool = flag(False, "Never run Quick Adapt.")
    QuickAdaptGate: int = whole(3, "Quick Adapt cuts only below the maximum window divided by 2 to this power.", 0, 31)
    QuickAdaptThreshold: Time = time(
        "24us", "Average queue delay above which Quick Adapt is triggered (trimming off only).")
    OverrideUetSpecMaxCWind: bool = flag(False, "Start with a maximum window of MaxCongestionWindow nominal packets.")
    MaxCongestionWindow: int = whole(
        107, "Maximum window in nominal packets when OverrideUetSpecMaxCWind is true, until a lower base RTT is "
        "measured.", 1, 4096, unit="packets")
    ReceiverCongestionLowThreshold: float = real(
        25.0, "Receive pool occupancy below which there is no receiver penalty.", 0.0, 100.0, unit="percent")
    ReceiverCongestionHighThreshold: float = real(
        75.0, "Receive pool occupancy from which the receiver penalty is full.", 0.0, 100.0, unit="percent")
    RestoreCWindEnable: bool = flag(
        False, "Ask senders to restore their window once the receiver penalty is gone.")
    MaxMultiplicativeDecreaseJump: float = real(
        0.5, "Smallest fraction of the window that one decrease keeps.", 0.001, 1.0)
    AlphaMultiplier: float = real(4.0, "Scales proportional increase.", 1.0, 100.0)
    FairIncreaseMultiplier: float = real(5.0, "Scales fair increase.", 1.0, 100.0)
    FastIncreaseMultiplier: float = real(1.0, "Scales fast increase.", 0.01, 100.0)
    EtaMultiplier: float = real(0.15, "Scales the additive term of each periodic update.", 0.0, 1.0)
    Gamma: float = real(0.8, "Strength of multiplicative decrease.", 0.001, 1.0)
    DelayAlpha: float = real(0.25, "Weight of a new sample in the average queue delay.", 0.0, 1.0)


class Semantics(AttributeModel):
    """Segmentation of messages."""

    RdmaDataMSS: int = whole(
        4096, "Largest payload of a data packet; 106 bytes more on the wire, which must fit 65535.", 1,
        MAX_WIRE_BYTES - WIRE_OVERHEAD_BYTES, unit="bytes")


def _decimal(value: Any) -> Any:
    """A FEP id written as a number is as good as one in quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Monitor(AttributeModel):
    """Filters and triggers of the per-packet record; the same for every NIC of a configuration."""

    EnableUETMonitor: bool = flag(False, "Log every packet of the connections that the filters select.")
    FilterOnFepId: Annotated[str, BeforeValidator(_decimal)] = attribute(
        "All", "All, or the FEP id (node id) of one NIC.", strict=True,
        valid="All, or a decimal number")
    FilterOnLocalIp: str = attribute("All", "All, or the IPv4 address of a packet's local end.", strict=True,
        valid="All, or a dotted IPv4 address")
    FilterOnRemoteIp: str = attribute("All", "All, or the IPv4 address of a packet's remote end.", strict=True,
        valid="All, or a dotted IPv4 address")
    FilterOnPdc: str = attribute("All", "All, or the PDC at either end as <IPv4>:<PDC id>.", strict=True,
        valid="All, or <IPv4>:<0 to 65535>")
    TriggerLoggingOnRttEnable: bool = flag(False, "Select connections by their RTT.")
    TriggerLoggingOnRttThreshold: Time = time("100us", "RTT at or above which a connection is selected.")
    TriggerLoggingOnCWindPen: bool = flag(False, "Select connections by their receiver penalty.")
    TriggerLoggingOnCWindPenThreshold: int = whole(
        127, "Receiver penalty at or above which a connection is selected.", 0, 127)
    TriggeredLoggingPDCLimit: int = whole(
        1, "Most connections that the two triggers select: in the run with MonitorScope global, in each process with "
        "process.", 0, 100)


class UserPlugin(AttributeModel):
    """A user's own congestion control or spraying, in a Python file (ours)."""

    File: str = attribute(
        "", "Path of the Python file with the hooks, relative to the configuration's folder (ours). One file a "
        "configuration.", strict=True,
        valid="path of a Python file")
    CongestionControl: bool = flag(False, "Use the file's congestion control instead of NSCC (ours).")
    Spraying: bool = flag(False, "Use the file's spraying instead of PacketSprayingType (ours).")
    Parameters: Four = attribute(
        "[0, 0, 0, 0]", "Four numbers that the hooks read as par.plug_a to par.plug_d (ours).",
        valid="4 numbers")


class Transport(AttributeModel):
    """The NIC's transport."""

    ScalaUETPdsManager: PdsManager = section(PdsManager, "Packet delivery.")
    PacketSpraying: SprayingTypes = section(SprayingTypes, "Packet spraying.")
    ScalaUETCongestionControl: CongestionControl = section(CongestionControl, "Congestion control (NSCC).")
    SemanticLayer: Semantics = section(Semantics, "Segmentation.")
    ScalaUETMonitor: Monitor = section(Monitor, "Per-packet record.")
    Plugin: UserPlugin = section(UserPlugin, "A user's own congestion control or spraying (ours).")
