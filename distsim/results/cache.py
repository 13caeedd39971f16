"""A copy of a large record as Parquet beside its shards, `.cache/<record>-<hash>.parquet`, made when it is first used.

Parquet is read column by column, so a figure of one column costs that column, not the whole text. The hash is of the
schema's columns and of every shard's name, size and time of change: a record that was written anew is another file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from distsim.records.files import CACHE, RecordFile, is_cached

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.run import Run

LARGE_BYTES = 64 << 20  # text of fewer bytes is read as fast as it is
ROW_GROUP = 1 << 18
_VERSION = "1"


def is_large(run: Run, record: str) -> bool:
    """Whether a record is worth a copy: of LARGE_BYTES or more, of a run that has ended."""
    return bool(run.info) and sum(os.path.getsize(file.path) for file in run.files(record)) >= LARGE_BYTES


def cached(run: Run, record: str) -> pl.LazyFrame:
    """`run.scan(record)`, through its copy when the record is large; the copy is made now if need be and possible."""
    if is_large(run, record) and ready(run, record) is None:
        build(run, record)
    return run.scan(record)


def ready(run: Run, record: str) -> Path | None:
    """The copy of a record, None when there is none that belongs to the shards as they are."""
    if not run.info or not (run.directory / CACHE).is_dir():
        return None
    path = path_of(run, record)
    return path if path.is_file() else None


def path_of(run: Run, record: str) -> Path:
    """Where the copy of a record as it is now belongs."""
    said = [_VERSION, record, *run.schema(record).header, *(_identity(file) for file in run.files(record))]
    digest = hashlib.sha256("\n".join(said).encode()).hexdigest()
    return run.directory / CACHE / f"{record}-{digest[:16]}.parquet"


def build(run: Run, record: str) -> Path | None:
    """Makes the copy, in constant memory, and removes older ones of the record; None where nothing can be written."""
    path = path_of(run, record)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    rows = run.scan_text(record)
    try:
        path.parent.mkdir(exist_ok=True)
        rows.sink_parquet(temporary, compression="zstd", compression_level=1, row_group_size=ROW_GROUP,
                          maintain_order=True)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return None
    for name in os.listdir(path.parent):
        if name != path.name and is_cached(name, record):
            with contextlib.suppress(OSError):
                (path.parent / name).unlink()
    return path


def _identity(file: RecordFile) -> str:
    status = os.stat(file.path)
    return f"{os.path.basename(file.path)} {status.st_size} {status.st_mtime_ns}"
