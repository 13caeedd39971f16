"""Tables: allocated as zeroed structured arrays, as rows of plain objects for the uncompiled twin, and grown.

The twin (NUMBA_DISABLE_JIT=1) runs the same kernels on lists of `__slots__` objects: fifteen times faster than NumPy
records in plain Python, and the same integers and floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .tables import (
    P_CHOSEN,
    P_EVENT,
    P_GROUP,
    P_MONITOR,
    P_OPLOG,
    P_PACKET,
    P_PERF,
    P_RING,
    P_RX,
    P_SLOT,
    P_TX,
    P_WORD,
)
from .view import DTYPES, State

# The table behind each pool.
POOL_TABLE = {P_PACKET: "packets", P_GROUP: "groups", P_TX: "tx", P_RX: "rx", P_SLOT: "slots", P_WORD: "words",
              P_PERF: "perf", P_RING: "rings", P_EVENT: "events", P_MONITOR: "monitor", P_CHOSEN: "chosen",
              P_OPLOG: "oplog"}

LINE_BYTES = 64

_ROW_CLASSES: dict[np.dtype, type] = {}


def zeros(rows: int, dtype: np.dtype) -> np.ndarray:
    """A zeroed table whose first row begins a cache line; memory that is never touched is never committed."""
    size = rows * dtype.itemsize
    raw = np.zeros(size + LINE_BYTES, "u1")
    skip = -raw.ctypes.data % LINE_BYTES
    return raw[skip:skip + size].view(dtype)


def row_class(dtype: np.dtype) -> type:
    """A class with the dtype's fields as slots, all zero at first."""
    known = _ROW_CLASSES.get(dtype)
    if known is None:
        names = tuple(dtype.names or ())
        zeros = {name: (0.0 if dtype[name].kind == "f" else 0) for name in names}

        def __init__(self: Any) -> None:
            for name, zero in zeros.items():
                setattr(self, name, zero)

        known = type("Row", (), {"__slots__": names, "__init__": __init__})
        _ROW_CLASSES[dtype] = known
    return known


def to_rows(table: np.ndarray) -> list[Any]:
    """The twin's form of a table: row objects, or plain integers for a table of one number a row."""
    if table.dtype.names is None:
        return [int(value) for value in table]
    cls = row_class(table.dtype)
    rows = []
    for values in table.tolist():
        row = cls()
        for name, value in zip(table.dtype.names, values, strict=True):
            setattr(row, name, value)
        rows.append(row)
    return rows


def to_array(table: Any, dtype: np.dtype) -> np.ndarray:
    """A table of either form as a structured array (a copy for the twin, the table itself when compiled)."""
    if isinstance(table, np.ndarray):
        return table
    names = dtype.names or ()
    return np.array([tuple(getattr(row, name) for name in names) for row in table], dtype=dtype)


def cell(table: Any, row: int, name: str) -> int:
    """One integer field of a table of either form."""
    return int(table[name][row]) if isinstance(table, np.ndarray) else int(getattr(table[row], name))


def set_cell(table: Any, row: int, name: str, value: int) -> None:
    """Set one field of a table of either form."""
    if isinstance(table, np.ndarray):
        table[name][row] = value
    else:
        setattr(table[row], name, value)


def to_twin(state: State) -> State:
    """The same state as lists."""
    return State(*[to_rows(table) for table in state])


def grown(table: Any, dtype: np.dtype, rows: int) -> Any:
    """The table with `rows` rows, the new ones zero."""
    if isinstance(table, np.ndarray):
        larger = zeros(rows, dtype)
        larger[: len(table)] = table
        return larger
    cls = row_class(dtype)
    table.extend(cls() for _ in range(rows - len(table)))
    return table


def ensure_room(state: State, pool_number: int, rows: int) -> State:
    """The state with at least `rows` rows in the pool's table (doubled when it must grow)."""
    if rows <= cell(state.pools, pool_number, "room"):
        return state
    name = POOL_TABLE[pool_number]
    table = getattr(state, name)
    room = max(rows, 2 * len(table))
    larger = grown(table, DTYPES[name], room)
    set_cell(state.pools, pool_number, "room", room)
    return state._replace(**{name: larger})
