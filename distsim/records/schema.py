"""What a record is: its columns, when rows are written and what turns it on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from distsim.records.types import Shard, Tick

INT, FLOAT, TEXT = "int", "float", "text"
WALL_CLOCK = "time_utc"  # the one column that holds wall-clock time; the writer fills it in
PS_PER_SECOND, PS_PER_US, PS_PER_NS = 10**12, 10**6, 10**3

# One value for every row of a batch, or an array (or polars Series) with a value a row. For speed a key may name
# several adjacent columns, "a,b,c": its values are then their CSV text, commas and all, and no text of the batch is
# quoted.
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
    global_switch : the switch is a simulation parameter; otherwise an attribute of each NIC, and the record is on when
    any NIC of the run (not of the rank) sets it.
    order : the columns that rows of all shards are sorted by when they are merged.
    clock : whose ticks it is written at (types.ND, BUFFERS, SWITCH_BUFFERS, ON_START), "" for a record of drained rows.
    rows : which drained table it takes (types.PERF_ROWS, EVENT_ROWS, MONITOR_ROWS), "" for a record of ticks.
    component : the column whose values MaxRecordRows counts by, a node id; "": by the rank's whole record.
    wall_clock : it holds figures of the machine (wall time, memory, ranks), so the rule that runs on different numbers
    of ranks write equal records does not cover it.
    whole_run : rank 0 writes it for the whole run, at its end, as shard 0; only of a workload of ranks (chakra/).
    by_process : columns that name the simulator's processes, which are left out of comparisons as time_utc is.
    """

    name: str
    columns: tuple[Column, ...]
    row_for: str
    written: str
    switch: str
    default: bool
    global_switch: bool
    order: tuple[str, ...]
    clock: str = ""
    rows: str = ""
    component: str = ""
    wall_clock: bool = False
    whole_run: bool = False
    by_process: tuple[str, ...] = ()

    @property
    def header(self) -> list[str]:
        """Column names in file order."""
        return [column.name for column in self.columns]

    @property
    def has_time_utc(self) -> bool:
        """Whether rows carry `time_utc`, which is left out of comparisons."""
        return any(column.name == WALL_CLOCK for column in self.columns)

    def is_on(self, switches: Mapping[str, bool]) -> bool:
        """Whether it is written at all. switches : parameters, and NIC attributes that any NIC of the run sets."""
        return not self.switch or bool(switches.get(self.switch, self.default))


class Record:
    """A record: a subclass with its schema, which turns engine state into columns.

    `on_tick` (records with a clock) and `on_rows` (records of drained rows) return None where the record has nothing to
    write, otherwise a mapping with every column of the schema but `time_utc`; at least one of them is an array, which
    sets the number of rows. A drained record returns one row for each row that it is given, in the same order.
    """

    schema: ClassVar[RecordSchema]

    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    def on_tick(self, tick: Tick) -> Columns | None:
        """Rows of an instant of the record's clock, in order of node id."""
        raise NotImplementedError(f"{self.schema.name} is not written at ticks")

    def on_rows(self, rows: np.ndarray) -> Columns | None:
        """Rows for a drained batch, at least one row of the record's table, in the engine's order."""
        raise NotImplementedError(f"{self.schema.name} is not made from drained rows")


def seconds(time_ps: int | np.ndarray) -> Any:
    """Picoseconds as seconds; exactly rounded below 2**53 ps (2.5 hours of simulated time)."""
    return time_ps / PS_PER_SECOND


def microseconds(time_ps: Any) -> Any:
    """Picoseconds as microseconds."""
    return time_ps / PS_PER_US


def nanoseconds(time_ps: Any) -> Any:
    """Picoseconds as nanoseconds; written with the exact three decimals below 10**15 ps (1,000 s)."""
    return time_ps / PS_PER_NS
