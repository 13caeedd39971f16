"""Checks a run's files against run.json and each other: nothing is missing, cut off, changed or miscounted."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.records.registry import SCHEMAS
from distsim.results.scan import CHUNK_BYTES, ends_whole, header_of

if TYPE_CHECKING:
    from distsim.results.run import Run

RUN_JSON = "run.json"


@dataclass(frozen=True)
class Check:
    """One check: of what (a file, a record or run.json), what was checked, whether it holds, and what was found."""

    of: str
    what: str
    holds: bool
    detail: str = ""


def verify(run: Run) -> list[Check]:
    """Every check that applies to the run, those that fail among them.

    Of every file that run.json lists: it is there, has as many bytes and rows and the SHA-256 that were noted while it
    was written. Of every record file: its header, whole rows. Of every record: all shards are there, rows in order of
    time, cumulative columns are the sums of their intervals. Of a run that has ended: the sums of
    distsim/results/identities.py. A run without run.json (in progress, or killed) is checked for what its files say
    alone. Nothing is changed; memory is that of a column or two.
    """
    from distsim.results.identities import identities

    checks = [*_listed_files(run), *_record_files(run), *_shards(run)]
    # What rows say is not looked at where rows are known to be damaged.
    damaged = {check.of for check in checks if not check.holds}
    records = [record for record in run.records()
               if not any(os.path.basename(file.path) in damaged for file in run.files(record))]
    return [*checks, *identities(run, records)]


def _listed_files(run: Run) -> Iterator[Check]:
    """The files of run.json, byte by byte."""
    for said in run.info.get("files") or ():
        name = str(said.get("file"))
        path = run.directory / name
        if not _inside(path, run.directory):
            yield Check(RUN_JSON, "files are below the run's directory", False, name)
        elif not path.is_file():
            yield Check(name, "is there", False, "the file is missing")
        else:
            yield from _same_file(name, path, said)


def _same_file(name: str, path: Path, said: Mapping[str, Any]) -> Iterator[Check]:
    size, lines, digest = _read(path)
    yield Check(name, "bytes", size == said.get("bytes"), f"{size:,} of {_number(said.get('bytes'))}")
    if said.get("record") in SCHEMAS:
        rows = lines - 1
        yield Check(name, "rows", rows == said.get("rows"), f"{rows:,} of {_number(said.get('rows'))}")
    if said.get("sha256"):
        alike = digest == said["sha256"]
        yield Check(name, "sha256", alike, digest if alike else f"{digest}, and was {said['sha256']}")


def _record_files(run: Run) -> Iterator[Check]:
    """Header and last row of every record file; that run.json knows it."""
    listed = {said.get("file") for said in run.info.get("files") or ()}
    for file in run.files():
        name = os.path.basename(file.path)
        if run.info and name not in listed:
            yield Check(name, "is in run.json", False, "run.json does not know it")
        header, wanted = header_of(file.path), SCHEMAS[file.record].header
        # chakra-mapping has its last columns only where there are scale-up groups
        alike = header == wanted or (file.record == "chakra-mapping" and header == wanted[:len(header)])
        yield Check(name, "header", alike, "" if alike else f"{','.join(header)[:80]}")
        whole = ends_whole(file.path)
        # A row that is being written now is no fault.
        yield Check(name, "whole rows", whole or run.status == "running", "" if whole else "the last row is cut off")


def _shards(run: Run) -> Iterator[Check]:
    """Each record has a shard of every rank, or shard 0 alone when rank 0 writes it for the whole run."""
    ranks = int(run.info.get("ranks") or 0)
    for record in run.records():
        found = sorted(file.shard for file in run.files(record))
        wanted = [0] if SCHEMAS[record].whole_run else list(range(ranks or max(found) + 1))
        missing = [shard for shard in wanted if shard not in found]
        yield Check(record, "shards", found == wanted,
                    f"{len(found)} of {len(wanted)}" + (f", missing {', '.join(map(str, missing))}" if missing else ""))


def _read(path: Path) -> tuple[int, int, str]:
    """Bytes, newlines and SHA-256 of a file."""
    size = lines = 0
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(CHUNK_BYTES):
            size += len(chunk)
            lines += chunk.count(b"\n")
            digest.update(chunk)
    return size, lines, digest.hexdigest()


def _inside(path: Path, directory: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(directory))


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
