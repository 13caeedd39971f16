"""Rules between attributes, each with the place of the attribute to change.

Sources: scala-computing/docs, models/scala-uet-nic/configuration and models/scala-switch/configuration, sections
"Configuration rules that stop a simulation".
"""

from __future__ import annotations

from collections.abc import Iterator

from distsim.quantities import spell_rate, spell_size, spell_time

from .nic import Nic
from .nic_transport import IP_OVERHEAD_BYTES
from .parameters import SimulationParameters, seconds_to_ps
from .switch import Switch
from .yaml_reader import Place

UINT32_MAX = 2**32 - 1
MOST_LIMIT_BYTES = 2**30
CONTROL: Place = ("TransportProcessingLayers", "ScalaUETCongestionControl")
Rules = Iterator[tuple[Place, str]]


def bdp_bytes(rate_bps: int, rtt_ps: int) -> float:
    """Bandwidth-delay product in bytes."""
    return rate_bps * rtt_ps / 8e12


def nic_link_rules(nic: Nic, link_bps: int) -> Rules:
    """Rules on the rate of the NIC's link, the lower of its DataRate and the rack switch's downlink rate."""
    control = nic.TransportProcessingLayers.ScalaUETCongestionControl
    nominal = nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS + IP_OVERHEAD_BYTES
    whole_bps = link_bps // 10**9 * 10**9      # the window counts whole Gbps
    window = 1.5 * bdp_bytes(whole_bps, control.InitialBaseRTT)
    shown = f"1.5 x {spell_rate(whole_bps)} x {spell_time(control.InitialBaseRTT)} is {window:.0f} B"
    if link_bps < 10**9:
        rate: Place = ("NetworkInterface", "UplinkNetworkInterface", "DataRate")
        yield rate, f"the link runs at {spell_rate(link_bps)}; it must be 1Gbps or more"
    if control.InitialBaseRTT and not control.OverrideUetSpecMaxCWind and window < nominal:
        yield (*CONTROL, "InitialBaseRTT"), f"the maximum window {shown}, less than one packet of {nominal} B"
    if window > UINT32_MAX:
        yield (*CONTROL, "InitialBaseRTT"), f"the maximum window {shown}, more than {UINT32_MAX} B"


def nic_rules(nic: Nic) -> Rules:
    """Rules of a NIC's congestion control that need no fabric."""
    control = nic.TransportProcessingLayers.ScalaUETCongestionControl
    if not control.OverrideSpecTargetQueueDelay and control.InitialBaseRTT == 0:
        yield (*CONTROL, "InitialBaseRTT"), "0 makes the target queue delay 0; it must be more than 0"
    if control.OverrideSpecTargetQueueDelay and control.TargetQueueDelay == 0:
        yield (*CONTROL, "TargetQueueDelay"), "the target queue delay must be more than 0"
    if control.OverrideSpecTargetQueueDelay and control.InitialBaseRTT == 0:
        yield (*CONTROL, "InitialBaseRTT"), "0 makes the maximum window 0; it must be more than 0"
    if control.ReferenceNetworkRTT == 0:
        yield (*CONTROL, "ReferenceNetworkRTT"), "the reference RTT must be more than 0"
    reference = bdp_bytes(control.ReferenceNetworkLinkSpeed, control.ReferenceNetworkRTT)
    if reference > UINT32_MAX:
        yield (*CONTROL, "ReferenceNetworkRTT"), (
            f"{spell_rate(control.ReferenceNetworkLinkSpeed)} x {spell_time(control.ReferenceNetworkRTT)} is "
            f"{reference:.0f} B, more than {UINT32_MAX} B")
    yield from nic_link_rules(nic, nic.NetworkInterface.UplinkNetworkInterface.DataRate)


def queue_limit_bytes(switch: Switch) -> int:
    """Egress limit of a queue under the UET policy: PlaneBDP with trimming, QueueDropThreshold times that without."""
    shared = switch.SharedBufferManager
    return shared.PlaneBDP * (1 if switch.PacketTrimmer.TrimmingEnabled else shared.QueueDropThreshold)


def switch_rules(switch: Switch, largest_mss_bytes: int) -> Rules:
    """Rules of a switch; the largest data packet of any NIC must fit an empty queue, or it could never be delivered."""
    limit, packet = queue_limit_bytes(switch), largest_mss_bytes + IP_OVERHEAD_BYTES
    plane: Place = ("SharedBufferManager", "PlaneBDP")
    if limit < packet:
        yield plane, (f"a queue of {spell_size(limit)} cannot hold one data packet ({packet} B with the largest "
                      "RdmaDataMSS)")
    if limit > MOST_LIMIT_BYTES:
        yield plane, f"a queue of {spell_size(limit)} is more than this version can count ({MOST_LIMIT_BYTES} B)"
    if switch.EcnHandler.MinThreshold > switch.EcnHandler.MaxThreshold:
        yield ("EcnHandler", "MinThreshold"), (
            f"{switch.EcnHandler.MinThreshold} is above MaxThreshold {switch.EcnHandler.MaxThreshold}")


def parameter_rules(parameters: SimulationParameters) -> Rules:
    """Rules of the global parameters."""
    length = parameters.WarmUp + parameters.RunTime + parameters.CoolDown
    if seconds_to_ps(length) <= seconds_to_ps(parameters.ClientStartOffset):
        yield ("RunTime",), (
            f"the run is over {length:g} s after StartTime, the workload starts {parameters.ClientStartOffset:g} s "
            "after it; WarmUp + RunTime + CoolDown must be more than ClientStartOffset")
