"""Records as files for other programs: Parquet, CSV or JSON, the shards of each merged into one."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distsim.errors import InputError, RunError
from distsim.records.schema import RecordSchema

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

FORMS = ("parquet", "csv", "json")


def export(run: Run, form: str, output: str | os.PathLike[str], records: Sequence[str] | None = None,
           overwrite: bool = False) -> list[Path]:
    """Writes records as ``<simulation>-<record>.<form>`` into the directory `output`, made if need be; returns paths.

    form : parquet (typed, units and meanings in the file's metadata), csv, or json (one array of objects, a row each).
    records : names, all for None. With one record, `output` may be the file itself, ending with the form. Rows are in
    the order of `Run.frame`. A file appears whole or not at all. Raises InputError for an unknown form or record, and
    for files that exist unless `overwrite`; RunError when a file cannot be written.
    """
    if form not in FORMS:
        raise InputError(f"no format {form!r}; there are {', '.join(FORMS)}", where="format")
    names = run.records() if records is None else list(dict.fromkeys(records))
    schemas = {name: run.schema(name) for name in names}
    where = Path(output)
    if where.suffix == f".{form}" and not where.is_dir():
        if len(names) != 1:
            raise InputError(f"is one file, but there are {len(names)} records; name one record, or a directory",
                             file=os.fspath(output))
        paths = {names[0]: where}
    else:
        paths = {name: where / f"{run.name}-{name}.{form}" for name in names}
    there = [path for path in paths.values() if path.exists()]
    if there and not overwrite:
        raise InputError("exists; give --overwrite to replace it", file=os.fspath(there[0]))
    for name, path in paths.items():
        _write(run.frame(name), schemas[name], form, path)
    return list(paths.values())


def _write(rows: pl.LazyFrame, schema: RecordSchema, form: str, path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "parquet":
            rows.sink_parquet(temporary, compression="zstd", maintain_order=True, metadata=_metadata(schema))
        elif form == "csv":
            rows.sink_csv(temporary, maintain_order=True)
        else:
            _write_json(rows, temporary)
        os.replace(temporary, path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _write_json(rows: pl.LazyFrame, path: Path) -> None:
    """An array with an object a row, one a line, without holding the text in memory."""
    lines = path.with_name(f"{path.name}.lines")
    try:
        rows.sink_ndjson(lines, maintain_order=True)
        with open(lines) as source, open(path, "w") as target:
            target.write("[\n")
            target.writelines(_with_commas(source))
            target.write("]\n")
    finally:
        with contextlib.suppress(OSError):
            lines.unlink()


def _with_commas(lines: Iterable[str]) -> Iterable[str]:
    before = ""
    for line in lines:
        if before:
            yield f"{before},\n"
        before = line.rstrip("\n")
    if before:
        yield f"{before}\n"


def _metadata(schema: RecordSchema) -> dict[str, str]:
    """What the columns are, for readers of the file."""
    columns = {column.name: {"unit": column.unit, "meaning": column.meaning} for column in schema.columns}
    return {"distsim": json.dumps({"record": schema.name, "columns": columns})}
