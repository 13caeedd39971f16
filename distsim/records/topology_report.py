"""`topology-report`: the links of the fabric, one row a port, written once before the first event.

Columns: scala-computing/docs, simulation-output-files, Topology Report. Decisions: each direction of a cable has a row,
at the port that sends on it, so a row is found by the (node_id, dev_id) of nd-stats, each shard writes the ports of its
own nodes, and the two directions may differ in rate or delay; a cable is two rows. `dev_id` is the `ifid` of the other
records. `prop_delay_ns` is the delay the model uses: propagation and the fixed latency of the receiving switch.
Device classes, types and `subtier` are written as in nd-stats.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsim.records.nd_stats import NIC_DEVICE, NO_SUBTIER, SWITCH_DEVICE
from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, nanoseconds
from distsim.records.types import ON_START, Shard, Tick

TIER_NIC = 3


def _end(prefix: str, whose: str) -> tuple[Column, ...]:
    return (
        Column(f"{prefix}component_name", TEXT, "", f"name of {whose}"),
        Column(f"{prefix}component_type", TEXT, "", "NIC or Switch"),
        Column(f"{prefix}tier", INT, "", "0 spine, 1 fabric, 2 rack, 3 NIC"),
        Column(f"{prefix}subtier", INT, "", f"always {NO_SUBTIER}: none"),
        Column(f"{prefix}node_id", INT, "", f"node id of {whose}"),
        Column(f"{prefix}net_device", TEXT, "", f"device class: {NIC_DEVICE} or {SWITCH_DEVICE}"),
        Column(f"{prefix}dev_id", INT, "", f"interface index on {whose}, from 0"),
    )


SCHEMA = RecordSchema(
    name="topology-report",
    row_for="each port: one direction of a cable, from the node that sends on it to its peer",
    written="once, at the start",
    switch="EnableTopologyReport",
    default=False,
    global_switch=True,
    order=("node_id", "dev_id"),
    clock=ON_START,
    component="node_id",
    columns=(
        *_end("", "the sending node"),
        *_end("peer_", "the peer"),
        Column("linkspeed_Gbps", FLOAT, "Gb/s", "rate of this direction"),
        Column("prop_delay_ns", FLOAT, "ns", "propagation delay and the fixed latency of a receiving switch"),
    ),
)


class TopologyReport(Record):
    """Written once; keeps nothing."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    def on_tick(self, tick: Tick) -> Columns | None:
        """One row a port of the shard, in order of (node id, ifid)."""
        shard = self._shard
        if not len(shard.port_node_id):
            return None
        return {
            **_columns("", shard.port_name, shard.port_node_id, shard.port_ifid, shard.port_tier),
            **_columns("peer_", shard.port_peer_name, shard.port_peer_node_id, shard.port_peer_ifid,
                       shard.port_peer_tier),
            "linkspeed_Gbps": np.asarray(shard.port_rate_bps, np.float64) / 1e9,
            "prop_delay_ns": nanoseconds(np.asarray(shard.port_delay_ps)),
        }


def _columns(prefix: str, names: Sequence[str], node_id: np.ndarray, ifid: np.ndarray, tier: np.ndarray) -> Columns:
    is_nic = np.asarray(tier) == TIER_NIC
    return {
        f"{prefix}component_name": names,
        f"{prefix}component_type": np.where(is_nic, "NIC", "Switch"),
        f"{prefix}tier": np.asarray(tier, np.int64),
        f"{prefix}subtier": NO_SUBTIER,
        f"{prefix}node_id": np.asarray(node_id, np.int64),
        f"{prefix}net_device": np.where(is_nic, NIC_DEVICE, SWITCH_DEVICE),
        f"{prefix}dev_id": np.asarray(ifid, np.int64),
    }
