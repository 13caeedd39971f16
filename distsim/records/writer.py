"""The writer of one record of one shard: `{simulation}-{record}-{shard}.csv`, complete rows only."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from distsim.errors import InputError, RunError
from distsim.records.schema import FLOAT, INT, WALL_CLOCK, Column, Columns, RecordSchema

if TYPE_CHECKING:
    import polars as pl

Clock = Callable[[], float]  # seconds since the epoch


def utc_text(epoch_seconds: float) -> str:
    """Wall-clock time as ISO 8601 in whole seconds, e.g. ``2026-01-13T19:11:39Z``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch_seconds))


def file_name(simulation: str, record: str, shard: int) -> str:
    """Name of a record file."""
    return f"{simulation}-{record}-{shard}.csv"


class ShardWriter:
    """Appends batches of rows to one CSV file.

    Each batch is formatted in memory and handed to the operating system in one call, so a run that is interrupted
    leaves complete rows. Integers are written in full, floats with the fewest digits that read back as the same
    number (polars), so equal values give equal bytes on every machine.

    Raises InputError when the file cannot be created, RunError when it cannot be written later (the rows that do not
    fit are taken back first).
    """

    def __init__(self, schema: RecordSchema, directory: str, simulation: str, shard: int, clock: Clock = time.time):
        self.schema = schema
        self.name = file_name(simulation, schema.name, shard)
        self.path = os.path.join(directory, self.name)
        self.rows = 0
        self.bytes = 0
        self._digest = hashlib.sha256()
        self._clock = clock
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InputError(f"cannot write the record file: {error.strerror}", file=self.path) from error
        self._write((",".join(schema.header) + "\n").encode())

    @property
    def sha256(self) -> str:
        """Hex digest of everything written so far."""
        return self._digest.hexdigest()

    def append(self, columns: Columns) -> None:
        """Writes one batch: every column of the schema but `time_utc`, as an array, a polars Series or one value."""
        count = batch_size(columns)
        if count == 0:
            return
        self._write(format_rows(self.schema, {WALL_CLOCK: utc_text(self._clock()), **columns}, count))
        self.rows += count

    def close(self) -> None:
        """Closes the file; may be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _write(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view):]
        except OSError as error:
            os.ftruncate(self._fd, self.bytes)
            raise RunError(f"{self.path}: cannot write the record file: {error.strerror}") from error
        self._digest.update(data)
        self.bytes += len(data)


def batch_size(columns: Columns) -> int:
    """Number of rows of a batch, given by its first column that is not a single value."""
    for values in columns.values():
        if not is_single(values):
            return len(values)
    raise ValueError("a batch of rows needs at least one array")


def is_single(values: Any) -> bool:
    return isinstance(values, (str, int, float, np.generic))


def load_polars() -> None:
    """Import polars, which writes the rows. Its import takes over Ctrl-C when a handler stands already: a Ctrl-C while
    rows are written would then end the run without run.json. So whoever handles Ctrl-C calls this first."""
    import polars as pl

    assert pl


def format_rows(schema: RecordSchema, columns: Columns, count: int) -> memoryview:
    """CSV text of `count` rows in the schema's column order; ValueError when a column is missing or unknown."""
    import polars as pl  # imported with a run: 0.15 s that `--help` and a wrong configuration need not pay

    given = {name for key in columns for name in key.split(",")}
    wrong = sorted((given ^ set(schema.header)) - (given & {WALL_CLOCK}))
    if wrong:
        raise ValueError(f"{schema.name}: columns that do not match the schema: {', '.join(wrong)}")
    joined = {key.partition(",")[0]: key for key in columns if "," in key}
    inside = {name for key in joined.values() for name in key.split(",")[1:]}
    series = []
    for column in schema.columns:
        if column.name in joined:
            series.append(columns[joined[column.name]].alias(column.name))
        elif column.name not in inside:
            series.append(_series(column, columns[column.name], count))
    text = io.BytesIO()
    pl.DataFrame(series).write_csv(text, include_header=False, quote_style="never" if joined else "necessary")
    return text.getbuffer()


def _series(column: Column, values: Any, count: int) -> pl.Series:
    import polars as pl

    dtype = {INT: pl.Int64, FLOAT: pl.Float64}.get(column.dtype, pl.String)
    if is_single(values):
        return pl.Series(column.name, [values], dtype=dtype).new_from_index(0, count)
    if not isinstance(values, pl.Series):
        values = pl.Series(column.name, np.ascontiguousarray(values) if isinstance(values, np.ndarray) else values)
    if values.dtype != dtype and not (column.dtype == INT and values.dtype.is_integer()):
        values = values.cast(dtype)
    return values.alias(column.name)
