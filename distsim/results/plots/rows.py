"""The rows that a plot is made from: of a record that may be missing, of nodes that were chosen."""

from __future__ import annotations

import fnmatch
import os
from typing import TYPE_CHECKING

import polars as pl

from distsim.errors import InputError
from distsim.records.registry import SCHEMAS
from distsim.results.cache import cached
from distsim.results.plots.types import NotInRun

if TYPE_CHECKING:
    from distsim.results.run import Run

NAMED = 6  # names that an error lists


def rows_of(run: Run, record: str, plot: str) -> pl.LazyFrame:
    """A record's rows, shard after shard; of a large one from its Parquet copy, which is made if need be. NotInRun when
    the run has no file of it."""
    if record not in run.records():
        raise not_in(run, plot, f"this run has no record {record}; {switch_of(record)}")
    return cached(run, record)


def not_in(run: Run, plot: str, what: str) -> NotInRun:
    """The error that a run has not what a plot takes."""
    return NotInRun(f"plot {plot}: {what}", file=os.fspath(run.directory))


def switch_of(record: str) -> str:
    """What turns a record on, for an error."""
    schema = SCHEMAS[record]
    if schema.whole_run:
        return "it is written for a workload of ranks"
    if not schema.switch:
        return "it is always written"
    if schema.global_switch:
        return f"SimulationParameters.{schema.switch}: true turns it on"
    return f"{schema.switch}: true, an attribute of the NIC, turns it on"


def chosen(rows: pl.LazyFrame, nodes: tuple[str, ...], name: str, number: str) -> pl.LazyFrame:
    """The rows of some nodes, all when none are named. name, number : columns that hold a node's name and its id.

    InputError for a node that has no row.
    """
    if not nodes:
        return rows
    there = rows.select(name, number).unique().sort(number).collect()
    names: set[str] = set()
    for node in nodes:
        found = [one for one, id_ in there.iter_rows() if node == str(id_) or fnmatch.fnmatchcase(one, node)]
        if not found:
            some = there[name].head(NAMED).to_list()
            more = " ..." if there.height > NAMED else ""
            raise InputError(f"no node {node!r} in this record; there are {', '.join(some)}{more} (names, or node ids)")
        names.update(found)
    return rows.filter(pl.col(name).is_in(sorted(names)))
