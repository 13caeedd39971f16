"""What the engine hands to the records: who is on this shard, and the state at an instant.

Arrays stand in order of node id for NICs and for switches and of (node id, ifid) for ports, the same order at every
tick, so a record subtracts the previous tick's arrays from this one's to get an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from distsim.state.tables import (
    BUFF,
    BUFFER,
    BUFFER_KINDS,
    BUFFER_STATS,
    CLASSES,
    COUNTERS,
    NIC_BUFFERS,
    PCIE,
    PCIE_ENDS,
    PFC,
    QUEUES,
)

PORT_COUNTERS = np.dtype([
    # complete frames only: a frame still being serialized at the tick is not in the tx figures
    ("tx_packets", "i8"), ("tx_bytes", "i8"), ("tx_drops", "i8"),
    ("rx_packets", "i8"), ("rx_bytes", "i8"), ("rx_drops", "i8"),
])

# Clocks that periodic records are written by; ON_START is the one instant before the first event.
ND, BUFFERS, SWITCH_BUFFERS, ON_START = "nd", "buffers", "switch-buffers", "start"
# Tables that kernels fill and the engine drains.
PERF_ROWS, EVENT_ROWS, MONITOR_ROWS = "perf", "events", "monitor"


def _none(dtype: Any, *shape: int) -> Callable[[], np.ndarray]:
    """Makes an array without rows."""
    return partial(np.zeros, (0, *shape), dtype)


@dataclass(frozen=True)
class Shard:
    """The nodes of one rank, and how its files are named.

    nic_node_id : i4[nics]; nic_name : their component names; nic_stats : bool[nics], EnableTransportStats of each.
    port_node_id, port_ifid, port_tier, port_uplink : [ports]; port_name : component name of the owner; port_is_nic :
    bool[ports]; port_rate_bps : i8[ports], rate of the port's own sending direction.
    interval_ps : NDStatsReportInterval. start_ps : StartTime + ClientStartOffset; the first interval of a rate begins
    here, so that the first row, one interval later, divides by a whole interval.
    application : application name of every flow, unless `parts` tells them apart.
    names : component name of every node of the fabric, by node id (Fabric.names); a message's destination may stand
    on another rank. Empty: ``NIC-<node id>``.
    parts : (first global op row, application name) of each part of the workload, ascending, the first at op 0; empty
    for a workload of one part.

    nic_buffers, nic_events, nic_pcie : bool[nics], whether net-buff-stats, uet-events and pcie-stats are on for it.
    nic_egress_pools, nic_ingress_pools : i8[nics, NIC_CLASSES], bytes of the pools of each class.
    nic_lanes, nic_lane_gbps : i8 and f8[nics, PCIE_ENDS], lanes and rate of a lane at each end of the PCIe link.
    port_peer_name, port_peer_node_id, port_peer_ifid, port_peer_tier : component and interface at the far end of each
    port's link; port_delay_ps : i8[ports], delay of its own sending direction.
    switch_node_id, switch_name, switch_tier : [switches]. switch_pools : i8[switches, CLASSES], number of the pool of
    each slot of state.tables.BUFFER, as in PoolAllocationMap.
    buffers_interval_ps : NetworkBufferStatsReportingInterval; switch_buffers_interval_ps : BufferStatsReportInterval.
    max_rows : MaxRecordRows, the most rows that each component writes into a record; 0: no limit.
    """

    simulation: str
    index: int
    count: int
    directory: str
    nic_node_id: np.ndarray
    nic_name: list[str]
    nic_stats: np.ndarray
    port_node_id: np.ndarray
    port_ifid: np.ndarray
    port_tier: np.ndarray
    port_uplink: np.ndarray
    port_is_nic: np.ndarray
    port_rate_bps: np.ndarray
    port_name: list[str]
    interval_ps: int = 1_000_000_000
    start_ps: int = 0
    application: str = "flow"
    names: Sequence[str] = ()
    parts: Sequence[tuple[int, str]] = ()
    nic_buffers: np.ndarray = field(default_factory=_none(bool))
    nic_events: np.ndarray = field(default_factory=_none(bool))
    nic_pcie: np.ndarray = field(default_factory=_none(bool))
    nic_egress_pools: np.ndarray = field(default_factory=_none(np.int64, 2))
    nic_ingress_pools: np.ndarray = field(default_factory=_none(np.int64, 2))
    nic_lanes: np.ndarray = field(default_factory=_none(np.int64, 2))
    nic_lane_gbps: np.ndarray = field(default_factory=_none(np.float64, 2))
    port_peer_name: Sequence[str] = ()
    port_peer_node_id: np.ndarray = field(default_factory=_none(np.int32))
    port_peer_ifid: np.ndarray = field(default_factory=_none(np.int32))
    port_peer_tier: np.ndarray = field(default_factory=_none(np.int8))
    port_delay_ps: np.ndarray = field(default_factory=_none(np.int64))
    switch_node_id: np.ndarray = field(default_factory=_none(np.int32))
    switch_name: Sequence[str] = ()
    switch_tier: np.ndarray = field(default_factory=_none(np.int8))
    switch_pools: np.ndarray = field(default_factory=_none(np.int64, CLASSES))
    buffers_interval_ps: int = 1_000_000_000
    switch_buffers_interval_ps: int = 1_000_000_000
    max_rows: int = 0


@dataclass(frozen=True)
class Tick:
    """State at one instant of a clock. The records copy what they keep; the engine resets `ivl_` fields afterwards.

    time_ps : simulation time. clock : ND, BUFFERS, SWITCH_BUFFERS or ON_START.
    counters : state.tables.COUNTERS[nics]. ports : PORT_COUNTERS[ports].
    pfc : PFC[ports, QUEUES]; waiting : i8[ports, QUEUES], packets that wait in each class.
    buff : BUFF[nics, NIC_BUFFERS]. pcie : PCIE[nics, PCIE_ENDS].
    buffers : BUFFER[switches, CLASSES]; buffer_stats : BUFFER_STATS[switches, CLASSES, BUFFER_KINDS].
    run : figures of the rank by name: hops, windows, packets_sent, packets_received, exchange_s, kernels_s, records_s,
    events and others; a record takes those that it knows and writes 0 for one that is not there.
    """

    time_ps: int
    clock: str
    counters: np.ndarray = field(default_factory=_none(COUNTERS))
    ports: np.ndarray = field(default_factory=_none(PORT_COUNTERS))
    pfc: np.ndarray = field(default_factory=_none(PFC, QUEUES))
    waiting: np.ndarray = field(default_factory=_none(np.int64, QUEUES))
    buff: np.ndarray = field(default_factory=_none(BUFF, NIC_BUFFERS))
    pcie: np.ndarray = field(default_factory=_none(PCIE, PCIE_ENDS))
    buffers: np.ndarray = field(default_factory=_none(BUFFER, CLASSES))
    buffer_stats: np.ndarray = field(default_factory=_none(BUFFER_STATS, CLASSES, BUFFER_KINDS))
    run: Mapping[str, Any] = field(default_factory=dict)
