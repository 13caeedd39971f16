"""What the engine hands to the records: who is on this shard, and the counters at an instant.

Arrays stand in order of (node id) for NICs and (node id, ifid) for ports, the same order at every tick, so a record
subtracts the previous tick's arrays from this one's to get an interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

PORT_COUNTERS = np.dtype([
    # complete frames only: a frame still being serialized at the tick is not in the tx figures
    ("tx_packets", "i8"), ("tx_bytes", "i8"), ("tx_drops", "i8"),
    ("rx_packets", "i8"), ("rx_bytes", "i8"), ("rx_drops", "i8"),
])


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


@dataclass(frozen=True)
class Tick:
    """State at one periodic instant.

    time_ps : simulation time. counters : state.tables.COUNTERS[nics]; the engine resets the `ivl_` extremes after the
    tick. ports : PORT_COUNTERS[ports]. The records copy what they keep.
    """

    time_ps: int
    counters: np.ndarray
    ports: np.ndarray
