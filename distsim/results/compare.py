"""What differs between two runs, figure by figure with its unit, beyond a relative tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.records.schema import TEXT, WALL_CLOCK, Column, RecordSchema
from distsim.results.columns import TIMES

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

EXIT_DIFFERENT = 5  # of `distsim results compare` and `verify`: the runs differ, the files are not what they should be
TOLERANCE = 0.01
RUN_JSON = "run.json"
# Of run.json, what does not depend on the machine or the ranks (outcome.run_info), with units; single ones by name.
_FIGURES = {"counts": "packets", "flows": "flows", "fct_us": "us"}
_UNITS = {"hops": "packet-hops", "ties": "events", "waits_for_pdc_id": "messages"}
_NTH, _LEFT, _RIGHT = "nth", "in_left", "in_right"


@dataclass(frozen=True)
class Difference:
    """A figure that differs. record : its record, or run.json. rows : how many of `compared` rows differ.
    at : where the difference is greatest, as text. left, right : the values there, None for a row or value that is not
    there. relative : |left - right| / max(|left|, |right|), None when one is no number."""

    record: str
    column: str
    unit: str
    rows: int
    compared: int
    at: str
    left: Any
    right: Any
    relative: float | None


@dataclass
class Comparison:
    """Two runs side by side. notes : what explains differences (another configuration) and what was left out."""

    left: str
    right: str
    tolerance: float
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)


def compare(left: Run, right: Run, tolerance: float = TOLERANCE, records: Sequence[str] | None = None) -> Comparison:
    """Compares the results of two runs: counts, flows and completion times of run.json, and every row of every record.

    tolerance : numbers a and b are alike when |a - b| <= tolerance * max(|a|, |b|); texts must be equal. records :
    only these, and not run.json. Left out: `time_utc`, columns that name the simulator's processes (`Core`), and
    records of the machine (schema.wall_clock). Rows are matched by the record's order; in a record of events, whose
    times may differ, by the rest of it (sender, receiver, id) and by turn.

    Raises InputError for a record that neither run has, and a tolerance below 0.
    """
    if not tolerance >= 0:
        raise InputError(f"tolerance {tolerance} is below 0", where="--tolerance")
    found = Comparison(str(left.directory), str(right.directory), tolerance)
    mine, others = left.records(), right.records()
    unknown = [name for name in records or () if name not in mine and name not in others]
    if unknown:
        raise InputError(f"no record {unknown[0]!r} in either run; there are {', '.join(sorted({*mine, *others}))}")
    _compare_info(left, right, found, figures=records is None)
    for name in sorted({*mine, *others} if records is None else set(records)):
        schema = (left if name in mine else right).schema(name)
        if schema.wall_clock:
            found.notes.append(f"{name} is of the machine and not compared")
        elif name not in mine or name not in others:
            there = name in mine
            found.differences.append(Difference(name, "", "", 0, 0, "the whole record", "there" if there else None,
                                                None if there else "there", None))
        else:
            found.records.append(name)
            found.differences += _compare_record(left, right, schema, tolerance)
    return found


def match_key(schema: RecordSchema) -> list[str]:
    """The columns by which rows of two runs belong together; rows alike in them are told apart by their turn."""
    untimed = [name for name in schema.order if name not in (*TIMES, "start_time_sec")]
    return untimed if untimed and not schema.clock else list(schema.order)


def _compare_info(left: Run, right: Run, found: Comparison, figures: bool) -> None:
    for name in ("configuration_sha256", "seed"):
        if left.info.get(name) != right.info.get(name):
            found.notes.append(f"{name} differs: {left.info.get(name)} and {right.info.get(name)}")
    if not figures:
        return
    pairs = [("status", "", left.status, right.status),
             ("simulated_s", "s", left.info.get("simulated_s"), right.info.get("simulated_s"))]
    for section, unit in _FIGURES.items():
        mine, others = left.info.get(section) or {}, right.info.get(section) or {}
        pairs += [(f"{section}.{name}", _UNITS.get(name, unit), mine.get(name), others.get(name))
                  for name in {**mine, **others}]
    found.differences += [Difference(RUN_JSON, name, unit, 1, 1, "", one, other, _relative(one, other))
                          for name, unit, one, other in pairs if not _alike(one, other, found.tolerance)]


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    relative = _relative(one, other)
    return bool(one == other) if relative is None else relative <= tolerance


def _relative(one: Any, other: Any) -> float | None:
    if not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return None
    greatest = max(abs(one), abs(other))
    return abs(one - other) / greatest if greatest else 0.0


def _compare_record(left: Run, right: Run, schema: RecordSchema, tolerance: float) -> list[Difference]:
    import polars as pl

    key = match_key(schema)
    ignored = [*schema.by_process, WALL_CLOCK]
    one, other = (_numbered(run.frame(schema.name).drop(ignored, strict=False), key) for run in (left, right))
    mine, others = one.collect_schema().names(), other.collect_schema().names()
    on = [*key, _NTH]
    both = one.with_columns(pl.lit(True).alias(_LEFT)).join(
        other.with_columns(pl.lit(True).alias(_RIGHT)), on=on, how="full", suffix=".right", coalesce=True,
        nulls_equal=True).collect(engine="streaming")
    found = _rows_of_one(both, schema, key)
    both = both.filter(pl.col(_LEFT) & pl.col(_RIGHT)).sort(on)
    for column in schema.columns:
        if column.name in mine and column.name in others and column.name not in key:
            found += _compare_column(both, schema.name, column, key, tolerance)
    return found


def _numbered(rows: pl.LazyFrame, key: list[str]) -> pl.LazyFrame:
    """With the turn of each row among those of the same key."""
    import polars as pl

    return rows.with_columns(pl.int_range(pl.len()).over(key).alias(_NTH))


def _rows_of_one(both: pl.DataFrame, schema: RecordSchema, key: list[str]) -> list[Difference]:
    """Rows that only one of the runs has."""
    import polars as pl

    found = []
    for here, there in ((_LEFT, _RIGHT), (_RIGHT, _LEFT)):
        alone = both.filter(pl.col(here) & pl.col(there).is_null())
        if len(alone):
            found.append(Difference(schema.name, "", "", len(alone), len(both), _place(alone.sort(key), 0, key),
                                    "a row" if here == _LEFT else None, "a row" if here == _RIGHT else None, None))
    return found


def _compare_column(both: pl.DataFrame, record: str, column: Column, key: list[str],
                    tolerance: float) -> list[Difference]:
    """The rows in which one column differs, summed up in the greatest difference."""
    import polars as pl

    one, other = both[column.name], both[f"{column.name}.right"]
    unlike = one.ne_missing(other)
    relative: pl.Series | None = None
    if column.dtype != TEXT:
        greatest = pl.select(pl.max_horizontal(one.abs(), other.abs())).to_series().cast(pl.Float64)
        relative = ((one - other).abs() / greatest).fill_nan(0.0)
        unlike = unlike & ~(relative <= tolerance).fill_null(False)
    count = int(unlike.sum())
    if not count:
        return []
    at = int((relative.fill_null(2.0).zip_with(unlike, pl.repeat(-1.0, len(both), eager=True)).arg_max() or 0)
             if relative is not None else unlike.arg_max() or 0)
    return [Difference(record, column.name, column.unit, count, len(both), _place(both, at, key), one[at], other[at],
                       None if relative is None else relative[at])]


def _place(rows: pl.DataFrame, at: int, key: list[str]) -> str:
    turn = int(rows[_NTH][at])
    return ", ".join([*(f"{name} {rows[name][at]}" for name in key), *([f"the {turn + 1}. of it"] if turn else [])])
