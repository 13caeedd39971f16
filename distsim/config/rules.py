"""Rules between attributes, each with the place of the attribute to change: congestion control, times of a run, and
the rules of a NIC together.

Source: scala-computing/docs, models/scala-uet-nic/configuration, "Configuration rules that stop a simulation".
"""

from __future__ import annotations

from distsim.quantities import spell_rate, spell_time

from .nic import Nic
from .nic_transport import IP_OVERHEAD_BYTES
from .parameters import SimulationParameters, seconds_to_ps
from .plugin_file import plugin_rules
from .problems import Rules
from .rules_nic import CONTROL, monitor_rules, nic_buffer_rules, pcie_rules
from .yaml_reader import Place

UINT32_MAX = 2**32 - 1


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
    """All rules of a NIC that need no fabric."""
    yield from control_rules(nic)
    yield from nic_buffer_rules(nic)
    yield from pcie_rules(nic)
    yield from monitor_rules(nic.TransportProcessingLayers.ScalaUETMonitor)
    yield from plugin_rules(nic.TransportProcessingLayers.Plugin)


def control_rules(nic: Nic) -> Rules:
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


def parameter_rules(parameters: SimulationParameters) -> Rules:
    """Rules of the global parameters."""
    length = parameters.WarmUp + parameters.RunTime + parameters.CoolDown
    if seconds_to_ps(length) <= seconds_to_ps(parameters.ClientStartOffset):
        yield ("RunTime",), (
            f"the run is over {length:g} s after StartTime, the workload starts {parameters.ClientStartOffset:g} s "
            "after it; WarmUp + RunTime + CoolDown must be more than ClientStartOffset")
