"""MaxRecordRows: at most so many rows of each component in a record, the rest left out and counted.

The limit is a component's (a NIC's or switch's, with all its ports), because a limit of a file would leave out other
rows on another number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from distsim.records.schema import Columns
from distsim.records.writer import batch_size, is_single


class RowLimit:
    """The limit of one record: counts the rows of each component; `left_out` is how many were left out so far."""

    def __init__(self, max_rows: int, component: str) -> None:
        self.left_out = 0
        self._max_rows, self._component = max_rows, component
        self._written: np.ndarray = np.zeros(0, np.int64)  # rows by node id

    def cut_rows(self, rows: np.ndarray) -> np.ndarray:
        """Those rows of a drained table that are within the limit; its field `node` names the component."""
        if not self._max_rows or not len(rows):
            return rows
        keep = self._keep(rows["node"])
        return rows if keep.all() else rows[keep]

    def cut_columns(self, columns: Columns) -> Columns:
        """The rows of a batch that are within the limit."""
        if not self._max_rows:
            return columns
        count = batch_size(columns)
        of = columns[self._component] if self._component else 0
        keep = self._keep(np.broadcast_to(np.asarray(of, np.int64), count))
        if keep.all():
            return columns
        return {name: values if is_single(values) else _cut(values, keep) for name, values in columns.items()}

    def _keep(self, component: np.ndarray) -> np.ndarray:
        """bool[rows]: whether each row is within its component's limit; counts them all."""
        if len(component) == 0:
            return np.zeros(0, bool)
        room = int(component.max()) + 1
        if room > len(self._written):
            self._written = np.concatenate([self._written, np.zeros(room - len(self._written), np.int64)])
        order = np.argsort(component, kind="stable")
        sorted_ = component[order]
        begin = np.flatnonzero(np.diff(sorted_, prepend=-1))
        counts = np.diff(begin, append=len(sorted_))
        place = np.empty(len(component), np.int64)  # of a row among its component's
        place[order] = np.arange(len(component)) - np.repeat(begin, counts)
        keep = np.asarray(place + self._written[component] < self._max_rows)
        self._written[sorted_[begin]] += counts
        self.left_out += int(np.count_nonzero(~keep))
        return keep


def _cut(values: Any, keep: np.ndarray) -> Any:
    if isinstance(values, np.ndarray):
        return values[keep]
    if isinstance(values, (list, tuple)):
        return [value for value, kept in zip(values, keep, strict=True) if kept]
    return values.filter(keep)  # polars Series


def limit_warnings(files: Iterable[Mapping[str, Any]], max_rows: int) -> list[str]:
    """A line for each record that was cut short. files : RecordSet.files(), of one rank or of all of them."""
    left_out: dict[str, int] = {}
    for file in files:
        left_out[file["record"]] = left_out.get(file["record"], 0) + file["rows_left_out"]
    return [f"{record}: {count:,} rows left out, because MaxRecordRows lets each component write {max_rows:,}"
            for record, count in left_out.items() if count]
