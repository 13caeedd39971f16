"""`perf`: one row a completed message, written as messages complete.

Columns: scala-computing/docs, simulation-output-files, Performance Metrics. What this simulator puts in them:

- `job_id`: the simulation's name; `metric_name`: ``FCT``, the completion time of a flow (one message);
- `perf_metric_usec`: from the time the message was posted to the acknowledgement of its last byte;
- `metric_path`: ``<sender>><receiver>``, e.g. ``NIC-3>NIC-7``; `node_id`: the sender's node id;
- `transaction_number`: the flow's id in the user's file, or its running number from 1;
- `application_name`: the application of the workload part that the flow belongs to, and `metric_aggregation_id`:
  ``part-<n>``, that part's number in the configuration, from 0 (``part-0`` for a workload of one part).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from distsim.records.schema import (
    FLOAT,
    INT,
    PS_PER_SECOND,
    TEXT,
    Column,
    Columns,
    Record,
    RecordSchema,
    microseconds,
    seconds,
)
from distsim.records.types import PERF_ROWS, Shard
from distsim.state.tables import PERF

if TYPE_CHECKING:
    import polars as pl

METRIC = "FCT"

SCHEMA = RecordSchema(
    name="perf",
    row_for="each completed message, at its sender",
    written="as messages complete",
    switch="",
    default=True,
    global_switch=True,
    order=("sim_time_sec", "node_id", "transaction_number", "metric_path", "start_time_sec"),
    rows=PERF_ROWS,
    component="node_id",
    columns=(
        Column("job_id", TEXT, "", "name of the simulation"),
        Column("time_utc", TEXT, "", "wall-clock time of the row, ISO 8601"),
        Column("sim_time_sec", FLOAT, "s", "simulation time at which the last byte was acknowledged"),
        Column("metric_name", TEXT, "", f"{METRIC}: completion time of a flow"),
        Column("perf_metric_usec", FLOAT, "us", "completion time, from the flow's own start"),
        Column("metric_path", TEXT, "", "sender>receiver, component names"),
        Column("metric_aggregation_id", TEXT, "", "part of the workload: part-0"),
        Column("node_id", INT, "", "node id of the sender"),
        Column("transaction_number", INT, "", "id of the flow in the user's file, or its number from 1"),
        Column("start_time_sec", FLOAT, "s", "simulation time at which the message was posted"),
        Column("transfer_size_b", INT, "B", "size of the message"),
        Column("application_name", TEXT, "", "application of the part of the workload"),
    ),
)


class Perf(Record):
    """Turns PERF rows into columns; keeps no state but names."""

    schema = SCHEMA

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        parts = list(shard.parts) or [(0, shard.application)]
        self._part_begin = np.array([begin for begin, _ in parts], np.int64)
        self._applications = [name for _, name in parts]

    def on_rows(self, rows: np.ndarray) -> Columns:
        """One row a message, in the order given: (time, node, op)."""
        part = np.maximum(np.searchsorted(self._part_begin, rows["op"], side="right") - 1, 0)
        return {
            "job_id": self._shard.simulation,
            "sim_time_sec": seconds(rows["time_ps"]),
            "metric_name": METRIC,
            "perf_metric_usec": microseconds(rows["time_ps"] - rows["start_ps"]),
            "metric_path": [f"{self._name(src)}>{self._name(dst)}"
                            for src, dst in zip(rows["node"].tolist(), rows["dst"].tolist(), strict=True)],
            "metric_aggregation_id": [f"part-{index}" for index in part.tolist()],
            "node_id": rows["node"],
            "transaction_number": rows["user_id"],
            "start_time_sec": seconds(rows["start_ps"]),
            "transfer_size_b": rows["length_bytes"],
            "application_name": [self._applications[index] for index in part.tolist()],
        }

    def _name(self, node: int) -> str:
        return self._shard.names[node] if self._shard.names else f"NIC-{node}"


def rows_of(frame: pl.DataFrame) -> np.ndarray:
    """The state.tables.PERF rows that a perf frame was written from, exact to the picosecond up to 2,000 s.

    `dst` numbers the receivers from 0 (the record has their names only); `op` and `rtx_packets`, which it does not
    have, are -1 and 0.
    """
    rows = np.zeros(len(frame), PERF)
    rows["time_ps"] = np.rint(frame["sim_time_sec"].to_numpy() * PS_PER_SECOND)
    rows["start_ps"] = np.rint(frame["start_time_sec"].to_numpy() * PS_PER_SECOND)
    for field, column in (("length_bytes", "transfer_size_b"), ("user_id", "transaction_number"), ("node", "node_id")):
        rows[field] = frame[column].to_numpy()
    receivers = frame["metric_path"].str.split(">").list.last()
    rows["dst"] = receivers.rank("dense").to_numpy() - 1 if len(frame) else 0
    rows["op"] = -1
    return rows
