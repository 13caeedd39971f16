"""Rows of a record for the page's table: some columns, filtered, in an order, a page at a time."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.records.registry import SCHEMAS
from distsim.records.schema import INT, TEXT, RecordSchema
from distsim.results.scan import header_of

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

MOST_ROWS = 500  # of a page
MOST_SORTED = 1_000_000  # rows that a page of another order may stand behind: they are held in memory
MOST_FILTERS = 20
CONTAINS = "contains"
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Wanted:
    """What of a record is wanted. columns : names, all for (). where : filters ``column operator value``, all of which
    hold. order : a column to sort by, "" for the order of the record; descending : greatest first. offset, limit : of
    the rows that are left."""

    columns: Sequence[str] = ()
    where: Sequence[str] = ()
    order: str = ""
    descending: bool = False
    offset: int = 0
    limit: int = 50


def page_of(run: Run, record: str, wanted: Wanted) -> dict[str, Any]:
    """columns (name, unit, meaning, kind), rows (lists), offset. InputError for a record, column or filter that there
    is not. Memory: that of the page, when the record has one shard or a copy in Parquet and the order is its own."""
    schema = run.schema(record)
    rows = _filtered(_ordered(run, schema, wanted), schema, wanted)
    there = rows.collect_schema().names()
    names = _columns(schema, wanted.columns, there)
    found = rows.select(names).slice(wanted.offset, min(wanted.limit, MOST_ROWS)).collect(engine="streaming")
    known = {column.name: column for column in schema.columns}
    return {"record": record, "offset": wanted.offset, "rows": [[_plain(value) for value in row]
                                                                for row in found.iter_rows()],
            "columns": [{"name": name, "unit": known[name].unit, "meaning": known[name].meaning,
                         "kind": known[name].dtype} for name in names]}


def count_of(run: Run, record: str, where: Sequence[str]) -> int:
    """How many rows a record has that the filters leave."""
    import polars as pl

    schema = run.schema(record)
    rows = _filtered(_scanned(run, record), schema, Wanted(where=where))
    return int(rows.select(pl.len()).collect(engine="streaming").item())


def filter_of(schema: RecordSchema, text: str) -> pl.Expr:
    """``tier = 2``, ``component_name contains Rack``, ``tx_drops > 0`` as an expression; InputError for another."""
    import polars as pl

    parts = text.split(maxsplit=2)
    if len(parts) < 2 or parts[1] not in (*OPERATORS, CONTAINS):
        raise InputError(f"{text!r} is no filter; write COLUMN OPERATOR VALUE with one of "
                         f"{' '.join(OPERATORS)} {CONTAINS}", where="where")
    name, sign, value = parts[0], parts[1], parts[2] if len(parts) > 2 else ""
    column = next((column for column in schema.columns if column.name == name), None)
    if column is None:
        raise InputError(_no_column(schema, name), where="where")
    if sign == CONTAINS:
        return pl.col(name).cast(pl.String).str.to_lowercase().str.contains(value.lower(), literal=True)
    wanted: Any = _typed(column.dtype, name, value)
    found: pl.Expr = OPERATORS[sign](pl.col(name), pl.lit(wanted))
    return found


def _typed(dtype: str, name: str, value: str) -> int | float | str:
    if dtype == TEXT:
        return value
    try:
        number = float(value)
        if math.isfinite(number):
            return int(value) if dtype == INT and value.lstrip("+-").isdecimal() else number
    except ValueError:
        pass
    raise InputError(f"{name} holds numbers, and {value!r} is none", where="where")


def _filtered(rows: pl.LazyFrame, schema: RecordSchema, wanted: Wanted) -> pl.LazyFrame:
    if len(wanted.where) > MOST_FILTERS:
        raise InputError(f"{len(wanted.where)} filters are too many; at most {MOST_FILTERS}", where="where")
    there = rows.collect_schema().names()
    for text in wanted.where:
        expression = filter_of(schema, text)
        if text.split(maxsplit=1)[0] not in there:
            raise InputError(f"this run's {schema.name} has no column {text.split(maxsplit=1)[0]!r}", where="where")
        rows = rows.filter(expression)
    return rows


def _ordered(run: Run, schema: RecordSchema, wanted: Wanted) -> pl.LazyFrame:
    """In the order of a column, or that of the record: a single shard has it already."""
    if wanted.order:
        if wanted.order not in schema.header:
            raise InputError(_no_column(schema, wanted.order), where="order")
        if wanted.offset > MOST_SORTED:
            raise InputError(f"only the first {MOST_SORTED:,} rows of another order than the record's can be shown; "
                             "filter, or sort the other way round", where="offset")
        return _scanned(run, schema.name).sort(wanted.order, descending=wanted.descending, nulls_last=True,
                                               maintain_order=True)
    return _scanned(run, schema.name) if len(run.files(schema.name)) == 1 else run.frame(schema.name)


def _scanned(run: Run, record: str) -> pl.LazyFrame:
    from distsim.results.cache import cached

    return cached(run, record)


def _columns(schema: RecordSchema, names: Sequence[str], there: Sequence[str]) -> list[str]:
    wrong = [name for name in names if name not in there]
    if wrong:
        raise InputError(_no_column(schema, wrong[0]), where="columns")
    return list(dict.fromkeys(names)) or list(there)


def _no_column(schema: RecordSchema, name: str) -> str:
    return f"no column {name!r} in {schema.name}; it has {', '.join(schema.header)}"


def _plain(value: Any) -> Any:
    """JSON has no infinities."""
    return None if isinstance(value, float) and not math.isfinite(value) else value



def records_of(run: Run) -> list[dict[str, Any]]:
    """name, row_for, written, columns (name, unit, meaning, kind), files (name, bytes) of each record of a run."""
    return [_record(run, name) for name in run.records() if name in SCHEMAS]


def _record(run: Run, name: str) -> dict[str, Any]:
    schema, files = run.schema(name), run.files(name)
    there = header_of(files[0].path)
    return {"name": name, "row_for": schema.row_for, "written": schema.written,
            "columns": [{"name": column.name, "unit": column.unit, "meaning": column.meaning, "kind": column.dtype}
                        for column in schema.columns if column.name in there],
            "files": [{"name": os.path.basename(file.path), "bytes": os.path.getsize(file.path)} for file in files]}
