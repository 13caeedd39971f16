"""A record over time: a row an instant over all nodes, or a row for each chosen node and instant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.records.schema import Column, RecordSchema
from distsim.results.cache import cached
from distsim.results.columns import COMPONENT, chosen, node_column, over_nodes, time_column
from distsim.results.summary import of_tier

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

EVERY = "all"
LISTED = 8


def series(run: Run, metric: str, tier: int | str | None = None, nodes: Sequence[int | str] | str | None = None,
           columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The record `metric` over time, in order of time (then of node).

    nodes : None puts all nodes together, a row an instant; numbers or component names (or "all") give each of them its
    own rows, with its number and name. tier : only rows of that tier. columns : figures by name, all by default.
    The first column is the record's time. Rows that fall together (the ports of a node, all nodes) become one by the
    rule of `rules`: a sum, mean, min or max of the column.

    Raises InputError for a record that the run has not or that has no time, an unknown tier, node or column.
    """
    import polars as pl

    schema = run.schema(metric)
    time = time_column(schema)
    if time is None:
        raise InputError(f"{metric} has no simulation time; {', '.join(_timed(run)) or 'no record of this run'} has",
                         where="metric")
    rows = of_tier(cached(run, metric), schema, tier)
    there = rows.collect_schema().names()
    wanted = [column for column in chosen(schema, columns) if column.name in there]
    key = [time.name]
    if nodes is not None:
        rows = _of_nodes(rows, schema, nodes)
        key += [name for name in (node_column(schema), COMPONENT) if name in there]
    together = [getattr(pl.col(column.name), over_nodes(column))() for column in wanted]
    return rows.group_by(key).agg(together).sort(key).collect(engine="streaming")


def rules(run: Run, metric: str, columns: Sequence[str] | None = None) -> list[dict[str, str]]:
    """What the columns of a series are: column, unit, over_nodes (sum, mean, min or max), meaning."""
    schema = run.schema(metric)
    time = time_column(schema)
    found: list[Column] = [*([time] if time else []), *chosen(schema, columns)]
    return [{"column": column.name, "unit": column.unit, "over_nodes": "" if column is time else over_nodes(column),
             "meaning": column.meaning} for column in found]


def _of_nodes(rows: pl.LazyFrame, schema: RecordSchema, nodes: Sequence[int | str] | str) -> pl.LazyFrame:
    """The rows of nodes by number or name; InputError for one that has none."""
    import polars as pl

    column = node_column(schema)
    if not column:
        raise InputError(f"{schema.name} has no nodes", where="node")
    if nodes == EVERY:
        return rows
    wanted: list[Any] = [nodes] if isinstance(nodes, str) else list(nodes)
    has_names = COMPONENT in schema.header
    known = rows.select(column, *[COMPONENT] * has_names).unique().sort(column).collect(engine="streaming")
    ids = dict(zip(known[COMPONENT], known[column])) if has_names else {}
    ids |= {str(number): number for number in known[column]}
    wrong = [node for node in wanted if str(node) not in ids]
    if wrong:
        some = list(ids)[:LISTED]
        raise InputError(f"no node {wrong[0]!r} in {schema.name}; there are {', '.join(some)}"
                         + (f" and {len(ids) - LISTED} more names" if len(ids) > LISTED else ""), where="node")
    return rows.filter(pl.col(column).is_in([ids[str(node)] for node in wanted]))


def _timed(run: Run) -> list[str]:
    return [name for name in run.records() if time_column(run.schema(name)) is not None]
