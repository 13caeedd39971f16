"""A record as one file to download: the shards merged, kept beside the figures that the server computed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import InputError
from distsim.server.links import COMPUTED

if TYPE_CHECKING:
    from distsim.results.run import Run
    from distsim.server.context import Context

FORMS = ("parquet", "csv", "json")


def export_of(here: Context, simulation: str, run: Run, record: str, form: str, base: str) -> dict[str, Any]:
    """Makes the file if it is not there, or not of the record as it is now; fileName, sizeBytes, downloadUrl,
    expiresAt. InputError for a record or format that there is not."""
    if form not in FORMS:
        raise InputError(f"no format {form!r}; there are {', '.join(FORMS)}", where="format")
    folder = here.computed.folder(simulation)
    path = folder / f"{run.name}-{record}-{_stamp(run, record)}.{form}"
    if not path.exists():
        _make(run, record, form, path)
        _forget_old(folder, f"{run.name}-{record}-*.{form}", path, here.links.lifetime_s)
    url, expires = here.link(base, COMPUTED, simulation, path.name)
    return {"fileName": path.name, "sizeBytes": os.stat(path).st_size, "downloadUrl": url, "expiresAt": expires}


def _make(run: Run, record: str, form: str, path: Path) -> None:
    from distsim.results.export import export

    run.schema(record)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    export(run, form, path, [record], overwrite=True)


def _forget_old(folder: Path, pattern: str, kept: Path, lifetime_s: float) -> None:
    """Removes earlier files of the record that no link leads to any more."""
    for old in folder.glob(pattern):
        with contextlib.suppress(OSError):
            if old != kept and os.stat(old).st_mtime < time.time() - lifetime_s - 60:
                old.unlink()


def _stamp(run: Run, record: str) -> str:
    """Tells the record as it is now from an earlier or later one."""
    said = [run.schema(record).name]
    for file in run.files(record):
        status = os.stat(file.path)
        said.append(f"{os.path.basename(file.path)} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:12]
