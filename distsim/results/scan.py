"""Record files as lazy frames: of shards that may still be written to, complete rows only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distsim.records.files import RecordFile
from distsim.records.schema import FLOAT, INT, RecordSchema

if TYPE_CHECKING:
    import polars as pl

CHUNK_BYTES = 1 << 24


def scan_shards(schema: RecordSchema, files: Sequence[RecordFile], growing: bool) -> pl.LazyFrame:
    """The rows of a record's shards one after the other, typed by the schema; empty when there are none.

    growing : the run is still going on. Then, and where a file does not end with a whole row, only the complete rows
    that are there now are taken.
    """
    import polars as pl

    frames = [frame for file in files if (frame := _scan(schema, file.path, growing)) is not None]
    if not frames:
        return pl.LazyFrame(schema=dtypes(schema, schema.header))
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def dtypes(schema: RecordSchema, header: Sequence[str]) -> dict[str, Any]:
    """Polars types of the columns of a file, in its order: 64-bit integers, 64-bit floats, texts."""
    import polars as pl

    types: dict[str, Any] = {INT: pl.Int64, FLOAT: pl.Float64}
    known = {column.name: types.get(column.dtype, pl.String) for column in schema.columns}
    return {name: known.get(name, pl.String) for name in header}


def complete_rows(path: str) -> int:
    """Rows of a record file that end with a newline, the header not among them; -1: not even the header is there."""
    lines = 0
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            lines += chunk.count(b"\n")
    return lines - 1


def ends_whole(path: str) -> bool:
    """Whether the last byte of a file is a newline."""
    with open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def header_of(path: str) -> list[str]:
    """Column names in a file's first line, whatever its bytes are."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n").split(",")


def _scan(schema: RecordSchema, path: str, growing: bool) -> pl.LazyFrame | None:
    import polars as pl

    rows: int | None = None
    if growing or not ends_whole(path):
        rows = complete_rows(path)
        if rows < 0:
            return None
    return pl.scan_csv(path, schema=dtypes(schema, header_of(path)), n_rows=rows)
