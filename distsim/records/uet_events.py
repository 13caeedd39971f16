"""`uet-events`: one row a PDC or work-request event of a NIC whose EnableEventLogging is true.

Columns and events: scala-computing/docs, models/scala-uet-nic/records, uet-events. A work request is a message;
`time_utc` is the time at which the row was written, in whole seconds.
"""

from __future__ import annotations

import numpy as np

from distsim.records.labels import PdcLabels, choose, filled, nic_labels
from distsim.records.schema import FLOAT, INT, TEXT, Column, Columns, Record, RecordSchema, nanoseconds
from distsim.records.types import EVENT_ROWS, Shard
from distsim.state import tables as t

EVENT_NAMES = {
    t.E_PDC_CREATED: "PDC_CREATED", t.E_WQE_CREATED: "WQE_CREATED", t.E_SEND_COMPLETE: "SEND_COMPLETE",
    t.E_WQE_COMPLETE: "WQE_COMPLETE", t.E_RECV_COMPLETE: "RECV_COMPLETE", t.E_PDC_TERMINATED: "PDC_TERMINATED",
}

SCHEMA = RecordSchema(
    name="uet-events",
    row_for="each PDC or work-request event of a NIC",
    written="as events happen",
    switch="EnableEventLogging",
    default=False,
    global_switch=False,
    order=("sim_time_ns", "FEP_ID", "local_PDC_ID", "ev_type"),
    rows=EVENT_ROWS,
    component="FEP_ID",
    columns=(
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601, in whole seconds"),
        Column("sim_time_ns", FLOAT, "ns", "simulation time of the event"),
        Column("component_name", TEXT, "", "name of the NIC"),
        Column("FEP_ID", INT, "", "FEP id of the NIC, which is its node id"),
        Column("local_PDC_ID", TEXT, "", "this NIC's end of the PDC, address:id"),
        Column("remote_PDC_ID", TEXT, "", "the other end; its id is 0 at the sender until the first ACK"),
        Column("wqe_ID", INT, "", "work request, from 1; empty for other events"),
        Column("wqe_size_bytes", INT, "B", "its size; empty for other events"),
        Column("ev_type", TEXT, "", ", ".join(EVENT_NAMES.values())),
    ),
)


class UetEvents(Record):
    """Turns EVENT rows into columns; keeps no state but texts."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        super().__init__(shard)
        self._names, self._pdcs = nic_labels(shard), PdcLabels()

    def on_rows(self, rows: np.ndarray) -> Columns:
        """One row an event, in the order given."""
        return {
            "sim_time_ns": nanoseconds(rows["time_ps"]),
            "component_name,FEP_ID": self._names.of(rows["node"]),
            "local_PDC_ID,remote_PDC_ID": self._pdcs.pairs(rows),
            "wqe_ID": filled(rows["wqe"], rows["wqe"] > 0),
            "wqe_size_bytes": filled(rows["size_bytes"], rows["wqe"] > 0),
            "ev_type": choose(tuple(EVENT_NAMES.values()), rows["kind"]),
        }
