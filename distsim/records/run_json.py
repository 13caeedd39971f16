"""`{simulation}-run.json`: what was run and what came of it; and the right to write into a directory."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from distsim.errors import InputError, RunError
from distsim.records.files import record_files, run_json_files, side_files
from distsim.records.mark import holder, is_held

FINISHED, UNFINISHED, INTERRUPTED, FAILED = "finished", "unfinished", "interrupted", "failed"
STATUSES = (FINISHED, UNFINISHED, INTERRUPTED, FAILED)


def run_json_path(directory: str | os.PathLike[str], simulation: str) -> Path:
    """Where a simulation's run.json stands."""
    return Path(directory) / f"{simulation}-run.json"


def claim_directory(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Makes the output directory ready for a run; called once, by rank 0, before any rank opens a record.

    It is created if need be. One that holds another run (a run.json or a record file) is refused unless `overwrite`,
    which removes those files and what a workload of ranks leaves besides, nothing else. Raises InputError naming the
    path, also when it cannot be written, or another run is writing into it now (`mark`).
    """
    directory = Path(path)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if is_held(directory):
            raise InputError(f"another run is writing into it ({holder(directory)})", file=os.fspath(directory))
        old = [*run_json_files(directory), *(file.path for file in record_files(directory))]
        if old and not overwrite:
            raise InputError(f"holds another run ({os.path.basename(old[0])}); give --overwrite to replace it, "
                             "or another directory", file=os.fspath(directory))
        for name in [*old, *(side_files(directory) if old else [])]:
            os.unlink(name)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise InputError(f"cannot write into the output directory: {error.strerror}",
                         file=os.fspath(directory)) from error
    return directory


def write_run_json(directory: str | os.PathLike[str], simulation: str, info: Mapping[str, Any]) -> Path:
    """Writes run.json in one step, so that a reader sees the old file or the whole new one.

    info : what the engine gathered on rank 0; `status` is one of STATUSES; NumPy scalars and arrays are allowed.
    Raises ValueError for another status, RunError when the file cannot be written.
    """
    if info.get("status") not in STATUSES:
        raise ValueError(f"run.json: status {info.get('status')!r} is not one of {', '.join(STATUSES)}")
    text = json.dumps(info, indent=2, default=_plain) + "\n"
    path = run_json_path(directory, simulation)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.write_text(text)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise RunError(f"{path}: cannot write: {error.strerror}") from error
    return path


def read_run_json(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """The run.json of a directory that holds one run; InputError when there is none, or more than one."""
    try:
        files = run_json_files(directory)
    except OSError as error:
        raise InputError(f"cannot read the directory: {error.strerror}", file=os.fspath(directory)) from error
    if len(files) != 1:
        raise InputError(f"holds {len(files) or 'no'} run.json files, not one", file=os.fspath(directory))
    try:
        info = json.loads(Path(files[0]).read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"is not a run.json: {error}", file=files[0]) from error
    if not isinstance(info, dict):
        raise InputError("is not a run.json: no object", file=files[0])
    return info


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"run.json cannot hold a {type(value).__name__}")
