"""What a record is: its columns, when rows are written and what turns it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from distsim.records.types import Shard, Tick

INT, FLOAT, TEXT = "int", "float", "text"
WALL_CLOCK = "time_utc"  # the one column that holds wall-clock time; the writer fills it in
PS_PER_SECOND, PS_PER_US = 10**12, 10**6

# One value for every row of a batch, or an array (or polars Series) with a value a row.
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column: `dtype` is INT (64 bits), FLOAT (64 bits) or TEXT; `unit` is "" for names and counts."""

    name: str
    dtype: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class RecordSchema:
    """A record's file.

    name : as in the file name. row_for, written : what one row stands for and when it is written, for the README.
    switch : the attribute that turns it on. default : whether it is on when that attribute is not given.
    global_switch : the switch is a simulation parameter; otherwise an attribute of each NIC, applied by the record.
    order : the columns that rows of all shards are sorted by when they are merged.
    """

    name: str
    columns: tuple[Column, ...]
    row_for: str
    written: str
    switch: str
    default: bool
    global_switch: bool
    order: tuple[str, ...]

    @property
    def header(self) -> list[str]:
        """Column names in file order."""
        return [column.name for column in self.columns]

    @property
    def has_wall_clock(self) -> bool:
        """Whether rows carry `time_utc`, which is left out of comparisons."""
        return any(column.name == WALL_CLOCK for column in self.columns)

    def is_on(self, switches: Mapping[str, bool]) -> bool:
        """Whether the record is written at all, given the simulation parameters that are switches."""
        if not self.global_switch or not self.switch:
            return True
        return bool(switches.get(self.switch, self.default))


class Record(Protocol):
    """What a record's file provides: a class with its schema, which turns engine state into columns.

    `on_tick` and `on_perf` return None where the record has nothing to write, otherwise a mapping with every column
    of the schema but `time_utc`; at least one of them is an array, which sets the number of rows.
    """

    schema: RecordSchema

    def __init__(self, shard: Shard) -> None: ...

    def on_tick(self, tick: Tick) -> Columns | None:
        """Rows of a periodic instant, in order of node id."""

    def on_perf(self, rows: np.ndarray) -> Columns | None:
        """Rows for completed messages: state.tables.PERF in order of (time, node, op)."""


def seconds(time_ps: int | np.ndarray) -> Any:
    """Picoseconds as seconds; exactly rounded below 2**53 ps (2.5 hours of simulated time)."""
    return time_ps / PS_PER_SECOND


def microseconds(time_ps: Any) -> Any:
    """Picoseconds as microseconds."""
    return time_ps / PS_PER_US
