"""Attribute rows of the kernels, derived from the configuration.

Sources: scala-computing/docs models/scala-uet-nic/congestion-control (The congestion window, Target queue delay, Worked
example), buffers-and-pfc (Buffer pools, PFC, PCIe host interface), multipath (Freezing and exploration, Early failure
detection); models/scala-switch/shared-buffer (How the buffer is initialized, Buffer under the UET policy) and
packet-handling (ECN marking, ECMP path selection). The gains of the increase routines are not printed there; they take
the form of UEC 1.0 section 3.6.13 with the attributes' names (`distsim/README.md`, Decisions).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .config.nic import pcie_ends
from .config.nic_transport import IP_OVERHEAD_BYTES
from .config.parameters import SimulationParameters
from .config.rules_nic import TRANSFER_HEADER_BYTES, part_bytes, segment_transfers
from .config.rules_switch import USED_CLASSES, pool_sizes, queue_limit_bytes, unadjusted_pools
from .state import tables as t
from .state.tables import BUFFER, CLASSES, NICPAR, SWPAR, WATCH

if TYPE_CHECKING:
    from .config import Config
    from .config.nic import Nic, PcieInterface
    from .config.nic_transport import Monitor
    from .config.switch import Switch

READ_REQUEST_BYTES = 98          # a PCIe read request: 64 B and the overhead of a transfer
RTX_LIMIT_FACTOR = (3, 2)        # a trimmable retransmission may use 1.5 times the data limit
TRIM_TARGET = (3, 4)             # target queue delay with trimming: 0.75 of InitialBaseRTT
REPS, PLUGIN_SPRAYING = 2, 3
SPRAYING = {"Default Packet Spraying": 0, "None": 1, "Recycled Entropy Packet Spraying": REPS}
NSCC, PLUGIN_CONTROL = 0, 1
SCHEDULING = {"StrictPriority": t.S_STRICT, "RoundRobin": t.S_ROUND_ROBIN, "WeightedRoundRobin": t.S_WEIGHTED}
HASHES = {"crc32WithSalt": t.HASH_CRC_SALT, "crc32": t.HASH_CRC, "hash": t.HASH_XOR, "hashWithSalt": t.HASH_XOR_SALT,
          "dpr": t.HASH_DPR, "dprWithFallback": t.HASH_DPR_FALLBACK}
LARGEST_CHARGE_BYTES = 65535
ANY, NEVER = -1, -2              # node ids of WATCH
MONITOR_DELAY_PS = 10_000_000    # until the other end of a connection knows that it is monitored


def nic_row(nic: Nic, link_bps: int, parameters: SimulationParameters | None = None) -> np.ndarray:
    """NICPAR[1] of a NIC on a link of `link_bps`. parameters : say which records are on; None: their defaults."""
    layers = nic.TransportProcessingLayers
    pds, cc, spraying = layers.ScalaUETPdsManager, layers.ScalaUETCongestionControl, layers.PacketSpraying
    row = np.zeros(1, NICPAR)
    mss = layers.SemanticLayer.RdmaDataMSS
    mtu = mss + IP_OVERHEAD_BYTES
    row["mss_bytes"] = mss
    row["mtu_bytes"] = mtu
    row["trimming"] = pds.TrimmingEnabled
    row["distinct_rtx"] = pds.UseDistinctDSCPForRetransmits
    row["groups"] = pds.PDCGroupsEnabled
    row["ar_every"] = pds.AckRequestEveryNthPacket
    row["ar_first"] = pds.AckRequestFirstPacket
    row["ar_last"] = pds.AckRequestLastPacket
    plugin = layers.Plugin
    row["spraying"] = PLUGIN_SPRAYING if plugin.Spraying else SPRAYING[pds.PacketSprayingType]
    row["cc"] = PLUGIN_CONTROL if plugin.CongestionControl else NSCC
    for name, value in zip("abcd", plugin.Parameters, strict=True):
        row[f"plug_{name}"] = value
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
    row["restore"] = cc.RestoreCWindEnable
    row["prefetch"] = pds.PrefetchBufferEnable
    row["prefetch_bytes"] = pds.PrefetchBufferSize
    _fill_reps(row, nic)
    _fill_pcie(row, nic)
    _fill_pools(row, nic)
    row["stats"] = record_bits(nic, parameters or SimulationParameters())
    return row


def record_bits(nic: Nic, parameters: SimulationParameters) -> int:
    """STAT_* of the records that are on for a NIC."""
    bits = t.STAT_BUFFERS if nic.EnableBufferStats and parameters.EnableNetworkBufferStatsReporting else 0
    bits |= t.STAT_EVENTS if nic.EnableEventLogging else 0
    bits |= t.STAT_MONITOR if is_monitored(nic.TransportProcessingLayers.ScalaUETMonitor) else 0
    bits |= t.STAT_PCIE if parameters.EnablePCIeStatsLogging else 0
    return bits


def is_monitored(monitor: Monitor) -> bool:
    """Whether uet-monitor is on: by itself or by a trigger."""
    return monitor.EnableUETMonitor or monitor.TriggerLoggingOnRttEnable or monitor.TriggerLoggingOnCWindPen


def _fill_reps(row: np.ndarray, nic: Nic) -> None:
    """Recycled Entropy Packet Spraying: cache, exploration window, early failure detection."""
    layers = nic.TransportProcessingLayers
    spec = layers.PacketSpraying.RecycledEntropyPacketSpraying
    row["reps_room"] = 1 << spec.REPSBufferSizeMaskBits
    row["entropy_values"] = spec.EntropyValueSetSize
    row["freeze_ps"] = spec.FreezingTimeout
    nominal = layers.SemanticLayer.RdmaDataMSS + IP_OVERHEAD_BYTES
    window = int(row["rate_gbps"][0]) * layers.ScalaUETCongestionControl.InitialBaseRTT // (8000 * nominal)
    row["explore_packets"] = min(window, 2**31 - 1)
    if row["spraying"][0] == REPS:
        row["fail_multiplier"] = layers.ScalaUETPdsManager.FailureDetectionRTTMultiplier


def _fill_pcie(row: np.ndarray, nic: Nic) -> None:
    """Rates, transfer times and transmit buffers of both ends of the PCIe link."""
    near, far = pcie_ends(nic)
    mss = nic.TransportProcessingLayers.SemanticLayer.RdmaDataMSS
    segment = mss + TRANSFER_HEADER_BYTES * segment_transfers(mss)
    up, down = ps_per_byte(near), ps_per_byte(far)
    for name, (num, den), end in (("up", up, near), ("down", down, far)):
        buffers = end.TransactionLayer
        row[f"{name}_num"], row[f"{name}_den"] = num, den
        row[f"{name}_data_bytes"] = buffers.RXDataBufferSize + buffers.TXDataBufferSize
        row[f"{name}_header_bytes"] = buffers.TXHeaderBufferSize
    row["read_ps"] = _ceil(READ_REQUEST_BYTES, up)
    row["full_fetch_ps"] = _ceil(segment, down)
    row["full_write_ps"] = _ceil(segment, up)
    row["full_hold_ps"] = _ceil(mss + IP_OVERHEAD_BYTES, up)


def ps_per_byte(end: PcieInterface) -> tuple[int, int]:
    """Picoseconds that a byte takes on the lanes of one end, as a reduced fraction."""
    bps = end.PhysicalLayer.LaneBps * end.PhysicalLayer.LaneCount
    common = math.gcd(8 * 10**12, bps)
    return 8 * 10**12 // common, bps // common


def _ceil(size_bytes: int, fraction: tuple[int, int]) -> int:
    return -(-size_bytes * fraction[0] // fraction[1])


def _fill_pools(row: np.ndarray, nic: Nic) -> None:
    """Pools, scheduling, PFC and receiver penalty."""
    ingress, egress = nic.NetworkInterface.IngressBufferManager, nic.NetworkInterface.EgressBufferManager
    out = [part_bytes(egress.PoolAllocationVector[c], egress.TotalBufferSize) for c in range(t.NIC_CLASSES)]
    into = [part_bytes(ingress.PoolAllocationVector[c], ingress.TotalBufferSize) for c in range(t.NIC_CLASSES)]
    row["egress_bytes"], row["egress_control_bytes"] = out
    row["ingress_bytes"], row["ingress_control_bytes"] = into
    row["scheduling"] = SCHEDULING[egress.QueueSchedulingType]
    for c in range(t.NIC_CLASSES):
        row[f"weight_{c}"] = min(int(egress.WRRQueueWeights[c]), 2**31 - 1)
        row[f"pfc_{c}"] = ingress.PFCEnableVector[c] == 1
        row[f"quanta_{c}"] = int(ingress.QuantaValue[c])
        row[f"xoff_{c}"] = part_bytes(ingress.PfcStaticXoffThreshold[c], into[c])
        row[f"xon_{c}"] = part_bytes(ingress.PfcXonResumeThreshold[c], into[c])
    control = nic.TransportProcessingLayers.ScalaUETCongestionControl
    row["penalty_low_bytes"] = control.ReceiverCongestionLowThreshold / 100 * into[t.NIC_DATA]
    row["penalty_high_bytes"] = control.ReceiverCongestionHighThreshold / 100 * into[t.NIC_DATA]


def target_ps(nic: Nic) -> int:
    """Target queue delay: InitialBaseRTT, 0.75 of it with trimming, or TargetQueueDelay when that overrides it."""
    layers = nic.TransportProcessingLayers
    cc = layers.ScalaUETCongestionControl
    if cc.OverrideSpecTargetQueueDelay:
        return cc.TargetQueueDelay
    if layers.ScalaUETPdsManager.TrimmingEnabled:
        return cc.InitialBaseRTT * TRIM_TARGET[0] // TRIM_TARGET[1]
    return cc.InitialBaseRTT


def switch_row(switch: Switch, buffer_stats: bool = False) -> np.ndarray:
    """SWPAR[1] of a switch. buffer_stats : EnableSwitchBufferStats."""
    buffer, ecn = switch.SharedBufferManager, switch.EcnHandler
    row = np.zeros(1, SWPAR)
    limit = queue_limit_bytes(switch)
    for name in ("data_limit_bytes", "trimmed_limit_bytes", "control_limit_bytes"):
        row[name] = limit
    row["rtx_limit_bytes"] = _rtx_limit(limit)
    row["trimming"] = switch.PacketTrimmer.TrimmingEnabled
    row["ecn"] = ecn.EnableEcn
    row["ecn_min_bytes"] = ecn.MinThreshold * limit
    row["ecn_max_bytes"] = ecn.MaxThreshold * limit
    row["ecn_max_probability"] = ecn.MaxMarkProbability
    row["ecn_weight"] = ecn.EwmaWeight
    row["hash_method"] = HASHES[switch.EcmpHashMethod]
    row["flowlet"] = switch.LoadBalancingMethod == "flowlet"
    row["gap_ps"] = switch.LoadBalancingFlowlet.Gap
    row["pfc_aware"] = switch.LoadBalancingFlowlet.PFCAware
    row["uet_policy"] = buffer.UETPolicyEnabled
    row["control_tc"] = t.TC_CONTROL if buffer.UETPolicyEnabled else 1
    slots, _ = class_slots(switch)
    for c in range(CLASSES):
        row[f"pfc_{c}"] = buffer.EnablePFC[c]
        row[f"slot_{c}"] = slots[c]
    row["alpha"] = 0.0 if buffer.UETPolicyEnabled else buffer.LossyAlpha
    row["xoff_bytes"] = buffer.StaticPoolXoffThreshold
    row["xon_bytes"] = buffer.StaticPoolXonThreshold
    row["headroom_bytes"] = buffer.HeadRoomPerPortLimit
    row["buffer_stats"] = buffer_stats
    return row


def _rtx_limit(limit: int) -> int:
    return limit * RTX_LIMIT_FACTOR[0] // RTX_LIMIT_FACTOR[1]


def class_slots(switch: Switch) -> tuple[list[int], list[int]]:
    """(slot of each of the classes 0..2, pool number of each slot): pools in the order in which classes use them."""
    buffer = switch.SharedBufferManager
    pool_of = list(range(CLASSES)) if buffer.UETPolicyEnabled else [
        int(buffer.TrafficClassPoolMapping[c]) for c in range(USED_CLASSES)]
    pools = list(dict.fromkeys(pool_of))
    return [pools.index(pool) for pool in pool_of], pools


def buffer_rows(switch: Switch, connected_ports: int) -> np.ndarray:
    """BUFFER[CLASSES] of a switch with this many connected ports, by slot; slots that no class uses are zero.

    The fixed limit and the ECN thresholds come from a pool's size before the last pool takes what is left over.
    """
    buffer, ecn = switch.SharedBufferManager, switch.EcnHandler
    sizes, before = pool_sizes(switch, connected_ports), unadjusted_pools(switch, connected_ports)
    rows = np.zeros(CLASSES, BUFFER)
    for row, pool in zip(rows, class_slots(switch)[1], strict=False):
        static = limit = queue_limit_bytes(switch) if buffer.UETPolicyEnabled else (
            buffer.QueueDropThreshold * buffer.PlaneBDP if buffer.QueueDropThresholdEnable
            else before.get(pool, 0) // connected_ports)
        if not buffer.UETPolicyEnabled and buffer.LossyAlpha:
            static, limit = before.get(pool, 0), 0
        row["size_bytes"] = sizes.get(pool, 0)
        row["limit_bytes"] = limit
        row["ecn_min_bytes"] = ecn.MinThreshold * static
        row["ecn_max_bytes"] = ecn.MaxThreshold * static
    return rows


def needs_shared(switch: Switch, connected_ports: int, buffer_stats: bool = False) -> bool:
    """Whether a switch's shared buffer must be counted: PFC, pools that can fill, or buffer records.

    False only when every queue at its fixed limit, and one more packet, leaves room in every pool.
    """
    buffer = switch.SharedBufferManager
    if buffer_stats or not buffer.UETPolicyEnabled or any(buffer.EnablePFC[:CLASSES]):
        return True
    limit = queue_limit_bytes(switch)
    most = {t.TC_DATA: _rtx_limit(limit), t.TC_TRIMMED: limit, t.TC_CONTROL: limit}
    sizes = pool_sizes(switch, connected_ports)
    return any(connected_ports * most[c] + LARGEST_CHARGE_BYTES > sizes[c] for c in most)


def watch_row(config: Config, delay_ps: int = MONITOR_DELAY_PS) -> np.ndarray:
    """WATCH[1]: what uet-monitor selects by. delay_ps : until the other end of a selected connection knows."""
    monitor = config.nic.TransportProcessingLayers.ScalaUETMonitor
    row = np.zeros(1, WATCH)
    filters = (monitor.FilterOnFepId, monitor.FilterOnLocalIp, monitor.FilterOnRemoteIp, monitor.FilterOnPdc)
    row["everything"] = monitor.EnableUETMonitor and all(text == "All" for text in filters)
    row["filtering"] = monitor.EnableUETMonitor and any(text != "All" for text in filters)
    row["fep"] = ANY if monitor.FilterOnFepId == "All" else int(monitor.FilterOnFepId)
    row["local"], row["remote"] = _node(monitor.FilterOnLocalIp), _node(monitor.FilterOnRemoteIp)
    address, _, number = monitor.FilterOnPdc.partition(":")
    row["pdc_node"], row["pdc_id"] = _node(address), int(number or ANY)
    row["rtt"] = monitor.TriggerLoggingOnRttEnable
    row["rtt_least_ps"] = monitor.TriggerLoggingOnRttThreshold
    row["penalty"] = monitor.TriggerLoggingOnCWindPen
    row["penalty_least"] = monitor.TriggerLoggingOnCWindPenThreshold
    row["budget"] = monitor.TriggeredLoggingPDCLimit
    row["delay_ps"] = delay_ps
    return row


def _node(address: str) -> int:
    """Node id behind an address filter: ANY for All, NEVER for an address that no NIC can have."""
    from .fabric.address import node_of_ip

    if address == "All":
        return ANY
    node = node_of_ip(address)
    return node if node >= 0 else NEVER
