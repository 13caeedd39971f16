"""The records that one rank writes: opened together, fed by the engine, closed together."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from distsim.records.registry import RECORDS
from distsim.records.schema import Columns, Record
from distsim.records.types import Shard, Tick
from distsim.records.writer import Clock, ShardWriter


class RecordSet:
    """The open records of a shard. Use `open_records` to make one; also a context manager that closes it."""

    def __init__(self, shard: Shard, open_: list[tuple[Record, ShardWriter]]) -> None:
        self._shard = shard
        self._open = open_

    def on_tick(self, tick: Tick) -> None:
        """Writes the periodic rows of an instant, in order of node id. Ticks come in increasing time."""
        for record, writer in self._open:
            self._append(writer, record.on_tick(tick))

    def on_perf(self, rows: np.ndarray) -> None:
        """Writes completed messages: state.tables.PERF in order of (time, node, op), after all rows given before."""
        for record, writer in self._open:
            self._append(writer, record.on_perf(rows))

    def files(self) -> list[dict[str, Any]]:
        """What has been written: record, shard, file (base name), rows, bytes, sha256 of the file."""
        return [{"record": writer.schema.name, "shard": self._shard.index, "file": writer.name, "rows": writer.rows,
                 "bytes": writer.bytes, "sha256": writer.sha256} for _, writer in self._open]

    def close(self) -> None:
        """Closes every file; may be called again. Every row given so far is complete on disk."""
        for _, writer in self._open:
            writer.close()

    def __enter__(self) -> RecordSet:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @staticmethod
    def _append(writer: ShardWriter, columns: Columns | None) -> None:
        if columns is not None:
            writer.append(columns)


def open_records(shard: Shard, config_switches: Mapping[str, bool] | None = None, *,
                 clock: Clock = time.time) -> RecordSet:
    """Creates the files of the records that are on, each with its header row.

    shard : the rank's nodes and where it writes; the directory exists (see `claim_directory`).
    config_switches : simulation parameters by name that turn records on or off, e.g.
    ``{"EnableNetDeviceStatLogging": False}``; one that is not given has its default.
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
