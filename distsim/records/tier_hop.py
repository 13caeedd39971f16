"""`tier-hop`: the packets that arrived at the switches of each tier, every NDStatsReportInterval.

Columns: scala-computing/docs, simulation-output-files, Tier Hop. Difference from that page: a row is one switch instead
of one process, with `component_name` and `node_id` after `sim_time_sec`, and counts only in the columns of the switch's
own tier, 0 in the other two. So the merged rows are the same for every number of ranks, and the documented row of an
instant is the sum of its rows.

A packet counts at each switch it arrives at, those dropped or trimmed there and PFC frames included: a column is the
sum of `total_packets_rx` of nd-stats over the switch's ports. A two-tier fabric has no fabric tier, so 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import ND, Shard, Tick

TIERS = ("spine", "fabric", "rack")  # column names by tier number

SCHEMA = RecordSchema(
    name="tier-hop",
    row_for="each switch",
    written="every NDStatsReportInterval",
    switch="EnableTierHop",
    default=False,
    global_switch=True,
    order=("sim_time_sec", "node_id"),
    clock=ND,
    component="node_id",
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("component_name", TEXT, "", "name of the switch (ours)"),
        Column("node_id", INT, "", "node id of the switch (ours)"),
        *(Column(tier, INT, "packets", f"packets arrived since the start; 0 when it is no {tier} switch")
          for tier in TIERS),
        *(Column(f"{tier}Int", INT, "packets", f"packets arrived since the previous row; 0 when it is no {tier} switch")
          for tier in TIERS),
    ),
)


class TierHop(Record):
    """Keeps the counts of the previous row."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._job = shard.simulation
        self._ports = np.flatnonzero(~np.asarray(shard.port_is_nic, bool))
        owners = np.asarray(shard.port_node_id, np.int64)[self._ports]
        self._node_id, first, self._switch_of = np.unique(owners, return_index=True, return_inverse=True)
        self._name = [shard.port_name[port] for port in self._ports[first]]
        self._tier = np.asarray(shard.port_tier, np.int64)[self._ports][first]
        self._previous = np.zeros(len(self._node_id), np.int64)

    def on_tick(self, tick: Tick) -> Columns | None:
        """One row a switch of the shard, in order of node id."""
        if not len(self._node_id):
            return None
        total = np.zeros(len(self._node_id), np.int64)
        np.add.at(total, self._switch_of, tick.ports["rx_packets"][self._ports])
        columns: dict[str, Any] = {"job_id": self._job, "sim_time_sec": seconds(tick.time_ps),
                                   "component_name": self._name, "node_id": self._node_id}
        for number, tier in enumerate(TIERS):
            own = self._tier == number
            columns[tier] = np.where(own, total, 0)
            columns[f"{tier}Int"] = np.where(own, total - self._previous, 0)
        self._previous = total
        return columns
