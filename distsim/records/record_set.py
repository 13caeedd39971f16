"""The records that one rank writes: opened together, fed by the engine, closed together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from distsim.records.registry import RECORDS
from distsim.records.row_limit import RowLimit, limit_warnings
from distsim.records.schema import Record
from distsim.records.types import Shard, Tick
from distsim.records.writer import Clock, ShardWriter

BATCH_ROWS = 1 << 15  # drained rows formatted and written at once


class RecordSet:
    """The open records of a shard. Use `open_records` to make one; also a context manager that closes it."""

    def __init__(self, shard: Shard, open_: list[tuple[Record, ShardWriter]]) -> None:
        self._shard = shard
        self._open = open_
        self._limits = {record.schema.name: RowLimit(shard.max_rows, record.schema.component) for record, _ in open_}

    def on_tick(self, tick: Tick) -> None:
        """Writes the rows of an instant of `tick.clock`, in order of node id. Ticks of a clock come in time order."""
        for record, writer in self._open:
            if record.schema.clock == tick.clock:
                columns = record.on_tick(tick)
                if columns is not None:
                    writer.append(self._limits[record.schema.name].cut_columns(columns))

    def on_rows(self, name: str, rows: np.ndarray) -> None:
        """Writes drained rows, after all rows given before.

        name : types.PERF_ROWS (rows in order of (time, node, op)), EVENT_ROWS or MONITOR_ROWS (in order of
        (time, node), a node's as they happened).
        """
        for record, writer in self._open:
            if record.schema.rows == name:
                kept = self._limits[record.schema.name].cut_rows(rows)
                for begin in range(0, len(kept), BATCH_ROWS):
                    columns = record.on_rows(kept[begin:begin + BATCH_ROWS])
                    if columns is not None:
                        writer.append(columns)

    def has(self, name: str) -> bool:
        """Whether a record takes the ticks of a clock, or a drained table, of this name."""
        return any(name in (record.schema.clock, record.schema.rows) for record, _ in self._open)

    def files(self) -> list[dict[str, Any]]:
        """What has been written: record, shard, file (base name), rows, rows left out by the limit, bytes, sha256."""
        return [{"record": writer.schema.name, "shard": self._shard.index, "file": writer.name, "rows": writer.rows,
                 "rows_left_out": self._limits[writer.schema.name].left_out, "bytes": writer.bytes,
                 "sha256": writer.sha256} for _, writer in self._open]

    def warnings(self) -> list[str]:
        """A line for each record of this shard that MaxRecordRows has cut short."""
        return limit_warnings(self.files(), self._shard.max_rows)

    def close(self) -> None:
        """Closes every file; may be called again. Every row given so far is complete on disk."""
        for _, writer in self._open:
            writer.close()

    def __enter__(self) -> RecordSet:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_records(shard: Shard, config_switches: Mapping[str, bool] | None = None, *,
                 clock: Clock = time.time) -> RecordSet:
    """Creates the files of the records that are on, each with its header row.

    shard : the rank's nodes and where it writes; the directory exists (see `claim_directory`).
    config_switches : by name what turns records on or off: simulation parameters, e.g.
    ``{"EnableNetDeviceStatLogging": False}``, and for NIC attributes whether any NIC of the run (of all ranks) has it
    on: EnableEventLogging; EnableUETMonitor (that or a trigger). One that is not given has its default.
    clock : wall-clock time for `time_utc`, seconds since the epoch.

    Raises InputError when a file cannot be created; the files created before are closed.
    """
    opened: list[tuple[Record, ShardWriter]] = []
    try:
        for kind in RECORDS.values():
            if kind.schema.is_on(config_switches or {}):
                writer = ShardWriter(kind.schema, shard.directory, shard.simulation, shard.index, clock)
                opened.append((kind(shard), writer))
    except BaseException:
        for _, writer in opened:
            writer.close()
        raise
    return RecordSet(shard, opened)
