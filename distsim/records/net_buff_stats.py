"""`net-buff-stats`: one row a buffer pool of a NIC every NetworkBufferStatsReportingInterval.

Columns: scala-computing/docs, models/scala-uet-nic/records, net-buff-stats. Rows need EnableBufferStats on the NIC
beside the simulation parameter. A receive pool holds packets at their IP size, a transmit pool reserves wire sizes.

Decisions: a NIC has the pools of classes 0 and 1, receive then transmit (pools of further classes, which no packet
uses, have no rows). `max_occupancy_B` is the greatest since the start. `overflow` counts the packets that did not fit:
lost by a receive pool; in TX_TC1 control packets that wait for room beyond it (data wait at the host).
`percent_occupancy` is occupancy_B as a percentage of buffer_max_size_B. A rate is the interval's bytes over the
interval. `job_id` is the simulation's name, as in perf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, seconds
from distsim.records.types import BUFFERS, Shard, Tick
from distsim.state.tables import BUFF, NIC_BUFFERS, RX_TC0, RX_TC1, TX_TC0, TX_TC1

POOLS = {RX_TC0: "RX_TC0_BUFFER", RX_TC1: "RX_TC1_BUFFER", TX_TC0: "TX_TC0_BUFFER", TX_TC1: "TX_TC1_BUFFER"}
CLASS = {RX_TC0: 0, RX_TC1: 1, TX_TC0: 0, TX_TC1: 1}

SCHEMA = RecordSchema(
    name="net-buff-stats",
    row_for="each receive and transmit pool of a NIC whose EnableBufferStats is true",
    written="every NetworkBufferStatsReportingInterval",
    switch="EnableNetworkBufferStatsReporting",
    default=False,
    global_switch=True,
    order=("sim_time_sec", "node_id", "buffer_id"),
    clock=BUFFERS,
    component="node_id",
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time of the row"),
        Column("component_name", TEXT, "", "name of the NIC"),
        Column("node_id", INT, "", "FEP id of the NIC, which is its node id"),
        Column("buffer_id", TEXT, "", ", ".join(POOLS.values())),
        Column("tc", INT, "", "traffic class of the pool"),
        Column("occupancy_B", INT, "B", "held now"),
        Column("max_occupancy_B", INT, "B", "most held since the start"),
        Column("buffer_max_size_B", INT, "B", "size of the pool"),
        Column("num_enq", INT, "packets", "packets that entered since the start"),
        Column("num_deq", INT, "packets", "packets that left since the start"),
        Column("interval_num_enq", INT, "packets", "packets that entered since the previous row"),
        Column("interval_num_deq", INT, "packets", "packets that left since the previous row"),
        Column("interval_enq_B", INT, "B", "bytes that entered since the previous row"),
        Column("interval_deq_B", INT, "B", "bytes that left since the previous row"),
        Column("interval_max_occupancy_B", INT, "B", "most held since the previous row"),
        Column("enq_Gbps", FLOAT, "Gb/s", "interval_enq_B over the interval"),
        Column("deq_Gbps", FLOAT, "Gb/s", "interval_deq_B over the interval"),
        Column("overflow", INT, "packets", "packets that did not fit, since the start"),
        Column("percent_occupancy", FLOAT, "%", "occupancy_B of buffer_max_size_B"),
    ),
)


class NetBuffStats(Record):
    """Keeps the previous tick's counters."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._chosen = np.flatnonzero(np.asarray(shard.nic_buffers, bool))
        self._previous = np.zeros(len(self._chosen) * NIC_BUFFERS, BUFF)
        self._previous_ps = shard.start_ps

    def on_tick(self, tick: Tick) -> Columns | None:
        """NIC_BUFFERS rows a NIC whose EnableBufferStats is true, in order of node id."""
        if not len(self._chosen) or not len(tick.buff):
            return None
        now, before = tick.buff[self._chosen].ravel(), self._previous  # fancy indexing: a copy
        elapsed_ps = tick.time_ps - self._previous_ps
        self._previous, self._previous_ps = now, tick.time_ps
        columns = self._who()
        size_bytes = columns["buffer_max_size_B"]
        columns |= {
            "sim_time_sec": seconds(tick.time_ps),
            "occupancy_B": now["now_bytes"],
            "max_occupancy_B": now["most_bytes"],
            "interval_max_occupancy_B": now["ivl_most_bytes"],
            "overflow": now["overflow"],
            "percent_occupancy": 100 * now["now_bytes"] / np.maximum(size_bytes, 1),
        }
        for way in ("enq", "deq"):
            bytes_ = now[f"{way}_bytes"] - before[f"{way}_bytes"]
            columns |= {f"num_{way}": now[way], f"interval_num_{way}": now[way] - before[way],
                        f"interval_{way}_B": bytes_, f"{way}_Gbps": bytes_ * 8000 / elapsed_ps}
        return columns

    def _who(self) -> dict[str, Any]:
        shard, nics = self._shard, self._chosen
        pools = np.concatenate([shard.nic_ingress_pools[nics], shard.nic_egress_pools[nics]], axis=1)
        return {
            "job_id": shard.simulation,
            "component_name": [shard.nic_name[nic] for nic in nics for _ in POOLS],
            "node_id": np.repeat(np.asarray(shard.nic_node_id)[nics], NIC_BUFFERS),
            "buffer_id": list(POOLS.values()) * len(nics),
            "tc": list(CLASS.values()) * len(nics),
            "buffer_max_size_B": pools.ravel(),
        }
