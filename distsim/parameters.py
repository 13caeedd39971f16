"""Attribute rows of the kernels, derived from the configuration.

Sources: scala-computing/docs models/scala-uet-nic/congestion-control (The congestion window, Target queue delay, Worked
example), models/scala-switch/shared-buffer (Buffer under the UET policy) and packet-handling (ECN marking). The gains
of the increase routines are not printed there; they take the form of UEC 1.0 section 3.6.13 with the attributes' names
(`distsim/README.md`, Decisions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .state.tables import NICPAR, SWPAR

if TYPE_CHECKING:
    from .config.nic import Nic
    from .config.switch import Switch

NOMINAL_HEADER_BYTES = 88
RTX_LIMIT_FACTOR = (3, 2)        # a trimmable retransmission may use 1.5 times the data limit
TRIM_TARGET = (3, 4)             # target queue delay with trimming: 0.75 of InitialBaseRTT
SPRAYING = {"Default Packet Spraying": 0}


def nic_row(nic: Nic, link_bps: int) -> np.ndarray:
    """NICPAR[1] of a NIC on a link of `link_bps`."""
    layers = nic.TransportProcessingLayers
    pds, cc, spraying = layers.ScalaUETPdsManager, layers.ScalaUETCongestionControl, layers.PacketSpraying
    row = np.zeros(1, NICPAR)
    mss = layers.SemanticLayer.RdmaDataMSS
    mtu = mss + NOMINAL_HEADER_BYTES
    row["mss_bytes"] = mss
    row["mtu_bytes"] = mtu
    row["trimming"] = pds.TrimmingEnabled
    row["distinct_rtx"] = pds.UseDistinctDSCPForRetransmits
    row["groups"] = pds.PDCGroupsEnabled
    row["ar_every"] = pds.AckRequestEveryNthPacket
    row["ar_first"] = pds.AckRequestFirstPacket
    row["ar_last"] = pds.AckRequestLastPacket
    row["spraying"] = SPRAYING[pds.PacketSprayingType]
    row["entropy_mask"] = (1 << spraying.DefaultPacketSpraying.EntropyMaskBits) - 1
    row["entropy_offset"] = spraying.DefaultPacketSpraying.StartingPortOffset
    row["rto_fixed"] = pds.FixedRexmitTimeEnable
    row["rto_ps"] = pds.FixedRexmitTimeout if pds.FixedRexmitTimeEnable else pds.InitialRetransmitTimeout
    row["rto_max_backoff"] = pds.MaxExponentialRTOBackoffCount
    rate_gbps = link_bps // 10**9
    base = cc.InitialBaseRTT
    row["rate_gbps"] = rate_gbps
    row["base_rtt_ps"] = base
    row["target_ps"] = target_ps(nic)
    row["margin_ps"] = cc.TargetQueueDelayMargin
    row["qa_threshold_ps"] = cc.QuickAdaptThreshold
    row["qa_disable"] = cc.DisableQuickAdapt
    row["qa_gate"] = cc.QuickAdaptGate
    row["pass_through"] = cc.PassThrough
    row["nscc_enable"] = cc.NSCCEnable
    row["max_window_bytes"] = 1.5 * rate_gbps * base / 8000
    if cc.OverrideUetSpecMaxCWind:
        row["max_window_bytes"] = cc.MaxCongestionWindow * mtu
    scale = rate_gbps * base / (cc.ReferenceNetworkLinkSpeed / 10**9 * cc.ReferenceNetworkRTT)
    row["alpha"] = cc.AlphaMultiplier * scale * mtu / cc.ReferenceNetworkRTT
    row["fair_bytes"] = cc.FairIncreaseMultiplier * scale * mtu
    row["eta_bytes"] = cc.EtaMultiplier * scale * mtu
    row["fast"] = cc.FastIncreaseMultiplier
    row["gamma"] = cc.Gamma
    row["max_md_jump"] = cc.MaxMultiplicativeDecreaseJump
    row["delay_alpha"] = cc.DelayAlpha
    return row


def target_ps(nic: Nic) -> int:
    """Target queue delay: InitialBaseRTT, 0.75 of it with trimming, or TargetQueueDelay when that overrides it."""
    layers = nic.TransportProcessingLayers
    cc = layers.ScalaUETCongestionControl
    if cc.OverrideSpecTargetQueueDelay:
        return cc.TargetQueueDelay
    if layers.ScalaUETPdsManager.TrimmingEnabled:
        return cc.InitialBaseRTT * TRIM_TARGET[0] // TRIM_TARGET[1]
    return cc.InitialBaseRTT


def switch_row(switch: Switch) -> np.ndarray:
    """SWPAR[1] of a switch under the UET policy."""
    buffer, ecn = switch.SharedBufferManager, switch.EcnHandler
    row = np.zeros(1, SWPAR)
    trimming = switch.PacketTrimmer.TrimmingEnabled
    limit = buffer.PlaneBDP * (1 if trimming else buffer.QueueDropThreshold)
    for name in ("data_limit_bytes", "trimmed_limit_bytes", "control_limit_bytes"):
        row[name] = limit
    row["rtx_limit_bytes"] = limit * RTX_LIMIT_FACTOR[0] // RTX_LIMIT_FACTOR[1]
    row["trimming"] = trimming
    row["ecn"] = ecn.EnableEcn
    row["ecn_min_bytes"] = ecn.MinThreshold * limit
    row["ecn_max_bytes"] = ecn.MaxThreshold * limit
    row["ecn_max_probability"] = ecn.MaxMarkProbability
    row["ecn_weight"] = ecn.EwmaWeight
    return row
