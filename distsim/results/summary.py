"""Figures of a whole run: for each column of a record the least, mean, median, 99th percentile and greatest value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distsim.errors import InputError
from distsim.records.schema import Column, RecordSchema
from distsim.results.cache import cached, is_large
from distsim.results.columns import component_key, figures, is_of_interval, is_since_start, tier_number

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

HEADER = ("column", "unit", "count", "min", "mean", "p50", "p99", "max", "total")
PERCENTS = (50, 99)


def summary(run: Run, metric: str, tier: int | str | None = None) -> pl.DataFrame:
    """One row a figure of the record `metric`, in file order, over all of its rows (of every node and instant).

    Columns: column, unit, count (values that are not empty), min, mean, p50, p99, max, total. Percentiles by nearest
    rank: the value at place ceil(p * count / 100) of the sorted ones. total : what the whole run came to, for columns
    that count since the start (the last value of each node or port, added up) or since the previous row (all values
    added up); empty for others. A column without values has empty figures.
    tier : only rows of that tier, by number or name (spine, fabric, rack, nic; None or all: every one).

    Raises InputError for a record that the run has not, an unknown tier, or a tier of a record without one.
    Memory: that of one column at a time when the record is large (distsim/results/cache.py).
    """
    import polars as pl

    schema = run.schema(metric)
    rows = of_tier(cached(run, metric), schema, tier)
    columns = [column for column in figures(schema) if column.name in rows.collect_schema()]
    if not is_large(run, metric):
        needed = dict.fromkeys([*component_key(schema), *(column.name for column in columns)])
        rows = rows.select(list(needed)).collect().lazy()
    totals = _totals(rows, columns, component_key(schema))
    lines = [_line(rows, column, totals) for column in columns]
    floats = HEADER[3:]
    return pl.DataFrame(lines, schema={"column": pl.String, "unit": pl.String, "count": pl.Int64,
                                       **{name: pl.Float64 for name in floats}}, orient="row")


def of_tier(rows: pl.LazyFrame, schema: RecordSchema, tier: int | str | None) -> pl.LazyFrame:
    """The rows of one tier; all of them for None and "all"."""
    import polars as pl

    number = tier_number(tier)
    if number is None:
        return rows
    if "tier" not in schema.header:
        raise InputError(f"{schema.name} has no tiers; leave the tier out, or give all", where="tier")
    return rows.filter(pl.col("tier") == number)


def _line(rows: pl.LazyFrame, column: Column, totals: dict[str, float]) -> tuple[Any, ...]:
    values = rows.select(column.name).collect(engine="streaming").to_series().drop_nulls()
    count = len(values)
    if not count:
        return column.name, column.unit, 0, *[None] * 6
    places = [-(-percent * count // 100) - 1 for percent in PERCENTS]
    ordered = np.partition(values.to_numpy(), places)
    total = float(values.sum()) if is_of_interval(column) else totals.get(column.name)
    return (column.name, column.unit, count, _number(values.min()), _number(values.mean()),
            *(float(ordered[place]) for place in places), _number(values.max()), total)


def _totals(rows: pl.LazyFrame, columns: list[Column], key: list[str]) -> dict[str, float]:
    """Of the columns that count since the start: the greatest (so the last) value of each component, added up."""
    import polars as pl

    names = [column.name for column in columns if is_since_start(column)]
    if not names:
        return {}
    last = rows.group_by(key).agg(pl.col(names).max()) if key else rows.select(pl.col(names).max())
    return last.select(pl.col(names).sum()).collect(engine="streaming").row(0, named=True)


def _number(value: Any) -> float:
    return float(value)
