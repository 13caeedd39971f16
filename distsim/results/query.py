"""SQL over the records of a run (polars' dialect): a table a record, its name with - as _. Nothing is ever written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from distsim.errors import InputError
from distsim.results.cache import cached

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

ALLOWED = ("SELECT", "WITH", "FROM", "VALUES", "EXPLAIN", "SHOW")
_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_FIRST_WORD = re.compile(r"[\s(]*(\w+)")
# polars' SQL has functions that read files: read_csv('/etc/passwd'). A run's query has no business with others' files.
_READER = re.compile(r"\b(?:read|scan)_\w+", re.IGNORECASE)
_ESCAPE = re.compile(r"\bU&", re.IGNORECASE)


def table_name(record: str) -> str:
    """What a record is called in SQL: ``nd_stats`` for nd-stats."""
    return record.replace("-", "_")


def query(run: Run, statement: str) -> pl.DataFrame:
    """The rows that one SELECT over the run's records gives, e.g. ``select tier, max(tx_rate_Gbps) from nd_stats
    group by tier``.

    Rows of a table come in no particular order unless the statement orders them. Raises InputError for a statement
    that is none, that is not a query, that names a function which reads files, or that polars refuses.
    """
    import polars as pl

    records = {table_name(record): record for record in run.records()}
    check(statement, (name for record in records.values() for name in run.schema(record).header))
    tables = {table: cached(run, record) if table in statement else run.scan(record)
              for table, record in records.items()}
    with pl.SQLContext(tables) as context:
        try:
            return context.execute(statement, eager=False).collect(engine="streaming")
        except pl.exceptions.PolarsError as error:
            said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise InputError(f"{said}; tables: {', '.join(tables) or 'none'}", where="sql") from error


def check(statement: str, columns: Iterable[str]) -> None:
    """InputError for a statement that is no query or that might read files. columns : names that the records have,
    of which one may look like such a function (read_requests)."""
    first = _FIRST_WORD.match(_COMMENT.sub(" ", statement))
    if first is None or first[1].upper() not in ALLOWED:
        raise InputError(f"only queries are possible: a statement begins with {', '.join(ALLOWED)}", where="sql")
    known = set(columns)
    wrong = [word for word in _READER.findall(statement) if word not in known]
    if wrong or _ESCAPE.search(statement):
        raise InputError(f"{wrong[0] if wrong else 'U&'} is not possible here: a query reads the records of the run "
                         "alone", where="sql")
