"""Reading record files back: the shards of a record as one polars frame, in an order that no partition changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from distsim.errors import InputError
from distsim.records.files import record_files
from distsim.records.registry import SCHEMAS
from distsim.records.schema import FLOAT, INT, WALL_CLOCK, RecordSchema

if TYPE_CHECKING:
    import polars as pl


def scan_record(directory: str | os.PathLike[str], record: str) -> pl.LazyFrame:
    """All shards of a record, in order of shard, read only when collected; dtypes as in the record's schema.

    Raises InputError when the record is unknown or the directory holds none of its files.
    """
    import polars as pl

    if record not in SCHEMAS:
        raise InputError(f"unknown record {record!r}; there are {', '.join(SCHEMAS)}")
    files = [file.path for file in record_files(directory) if file.record == record]
    if not files:
        raise InputError(f"no {record} record here", file=os.fspath(directory))
    schema = SCHEMAS[record]
    return pl.concat([pl.scan_csv(path, schema=_dtypes(schema, path)) for path in files])


def read_record(directory: str | os.PathLike[str], record: str) -> pl.DataFrame:
    """`scan_record`, collected."""
    return scan_record(directory, record).collect()


def merge(directory: str | os.PathLike[str], record: str) -> pl.DataFrame:
    """All shards of a record, sorted by its order (time, node id, ...), then by the rest of its columns; without
    `time_utc` and those that name the simulator's processes.

    Two runs of the same configuration give equal frames whatever the number of ranks, but for records whose schema
    says `wall_clock` (see registry.COMPARED): they hold figures of the machine.
    """
    frame = read_record(directory, record)
    schema = SCHEMAS[record]
    frame = frame.drop(([WALL_CLOCK] if schema.has_time_utc else []) + list(schema.by_process))
    rest = [name for name in frame.columns if name not in schema.order]
    return frame.sort([*schema.order, *rest], maintain_order=True)


def _dtypes(schema: RecordSchema, path: str) -> dict[str, type[pl.DataType]]:
    """Types of the columns that a file has: chakra-mapping may lack its last ones."""
    import polars as pl

    with open(path) as file:
        there = file.readline().rstrip("\n").split(",")
    types = {INT: pl.Int64, FLOAT: pl.Float64}
    return {column.name: types.get(column.dtype, pl.String) for column in schema.columns if column.name in there}
