"""One run that stands on disk, finished or still going on: what it is called, how it stands, and its records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFINISHED, InputError
from distsim.records import mark
from distsim.records.files import RecordFile, record_files, run_json_files
from distsim.records.registry import SCHEMAS
from distsim.records.run_json import FAILED, FINISHED, INTERRUPTED, UNFINISHED
from distsim.records.schema import RecordSchema

if TYPE_CHECKING:
    import polars as pl

    from distsim.results.plots import Plots

RUNNING = "running"
EXIT_CODES = {FINISHED: EXIT_OK, UNFINISHED: EXIT_UNFINISHED, INTERRUPTED: EXIT_INTERRUPTED, FAILED: EXIT_INTERNAL}
_RUN_JSON = "-run.json"
LISTED = 8


class Run:
    """A run's directory. Make one with `open_run`.

    directory : where its files are. name : of the simulation. info : its run.json, {} while there is none.
    status : running, finished, unfinished, interrupted or failed. A run without run.json is running as long as its
    process lives (distsim/records/mark.py), and was interrupted otherwise.
    """

    def __init__(self, directory: Path, name: str, info: dict[str, Any]) -> None:
        self.directory, self.name, self.info = directory, name, info
        self.status: str = str(info.get("status")) if info else _status_without_info(directory)

    @property
    def path(self) -> Path:
        """The directory."""
        return self.directory

    @property
    def exit_code(self) -> int | None:
        """As the command's that made it: 0 finished, 3 unfinished, 130 interrupted, 1 failed; None while it runs."""
        return EXIT_CODES.get(self.status)

    def records(self) -> list[str]:
        """Names of the records that have files, in the order of their names."""
        return list(dict.fromkeys(file.record for file in self.files()))

    def files(self, record: str | None = None) -> list[RecordFile]:
        """Record files in order of (record, shard), of one record or of all."""
        return [file for file in record_files(self.directory)
                if file.simulation == self.name and record in (None, file.record)]

    def schema(self, record: str) -> RecordSchema:
        """What a record's columns are, with units; InputError for a record that this run has not."""
        if record not in SCHEMAS or record not in self.records():
            raise InputError(f"no record {record!r}; this run has {', '.join(self.records()) or 'none'}",
                             file=os.fspath(self.directory))
        return SCHEMAS[record]

    def frame(self, record: str) -> pl.LazyFrame:
        """A record as a lazy frame, its shards merged: rows in the order of the record's schema (time, node id, ...),
        the same for every number of ranks; rows that are alike in these stay as they were written. Columns are typed
        by the schema.

        Of a run in progress, and of a file that was cut off, only complete rows count. Raises InputError for a record
        that this run has not.
        """
        schema = self.schema(record)
        rows = self.scan(record)
        return rows if schema.whole_run else rows.sort(list(schema.order), maintain_order=True)

    def scan(self, record: str) -> pl.LazyFrame:
        """As `frame`, without the sorting: shard after shard. For figures that do not depend on the order of rows.
        Read from the record's copy in Parquet when there is one (distsim/results/cache.py)."""
        import polars as pl

        from distsim.results.cache import ready

        copy = ready(self, record)
        return self.scan_text(record) if copy is None else pl.scan_parquet(copy)

    def scan_text(self, record: str) -> pl.LazyFrame:
        """As `scan`, from the shards themselves."""
        from distsim.results.scan import scan_shards

        return scan_shards(self.schema(record), self.files(record), not self.info)

    def summary(self, record: str | None = None, tier: int | str | None = None) -> Any:
        """Without a record: completion times (us), goodput (Gb/s) and flows of the perf record as a dict (rules:
        FlowStatistics). With one: figures of each of its columns as a polars frame (distsim/results/summary.py)."""
        if record is None:
            from distsim.results.flows import flow_summary

            return flow_summary(self)
        from distsim.results.summary import summary

        return summary(self, record, tier)

    def series(self, record: str, tier: int | str | None = None, nodes: Sequence[int | str] | str | None = None,
               columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A record over time (distsim/results/series.py)."""
        from distsim.results.series import series

        return series(self, record, tier, nodes, columns)

    @property
    def plot(self) -> Plots:
        """Plots of this run: ``run.plot.completion_cdf()`` and others (distsim/results/plots)."""
        from distsim.results.plots import Plots

        return Plots(self)

    def __repr__(self) -> str:
        return (f"Run({os.fspath(self.directory)!r}, {self.name}, {self.status}, "
                f"records: {', '.join(self.records()) or 'none'})")

    def _repr_html_(self) -> str:
        from distsim.results.html import run_html

        return run_html(self)


def open_run(path: str | os.PathLike[str]) -> Run:
    """The run that stands at `path`: its directory, or its run.json.

    A run in progress, which has no run.json yet, can be opened as soon as it has begun. Raises InputError when there is
    no run, more than one, or a run.json that cannot be read.
    """
    at = Path(path)
    if at.name.endswith(_RUN_JSON) and at.is_file():
        at = at.parent
    try:
        jsons = run_json_files(at)
        names = list(dict.fromkeys(file.simulation for file in record_files(at))) or _marked(at)
    except NotADirectoryError:
        raise InputError(f"is no run: give a run's directory or its *{_RUN_JSON}", file=os.fspath(path)) from None
    except OSError as error:
        raise InputError(f"cannot read the run's directory: {error.strerror}", file=os.fspath(path)) from error
    if len(jsons) > 1 or (not jsons and len(names) != 1):
        raise InputError(_not_one(at, jsons, names), file=os.fspath(path))
    if not jsons:
        return Run(at, names[0], {})
    return Run(at, os.path.basename(jsons[0]).removesuffix(_RUN_JSON), _read(jsons[0]))


def directories_of_runs(top: str | os.PathLike[str]) -> Iterator[Path]:
    """Directories that hold a run, `top` among them, in order of path. Hidden folders and links to folders are left
    out, and so are folders inside a run that hold no run."""
    for folder, inside, names in os.walk(top):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        if any(name.endswith((_RUN_JSON, ".csv", mark.NAME)) for name in names) and is_run(folder):
            yield Path(folder)


def is_run(directory: str | os.PathLike[str]) -> bool:
    """Whether a directory holds a run: a run.json, record files, or the mark of one that has begun."""
    return bool(run_json_files(directory) or record_files(directory) or _marked(directory))


def _marked(directory: str | os.PathLike[str]) -> list[str]:
    """The name of the simulation that writes into a directory, as its mark says it."""
    name = mark.read(directory).get("simulation")
    return [name] if isinstance(name, str) else []


def _read(path: str) -> dict[str, Any]:
    try:
        info = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"is not a run.json: {error}", file=path) from error
    if not isinstance(info, dict):
        raise InputError("is not a run.json: no object", file=path)
    return info


def _status_without_info(directory: Path) -> str:
    return RUNNING if mark.is_held(directory) else INTERRUPTED


def _not_one(directory: Path, jsons: list[str], names: list[str]) -> str:
    """Why a directory cannot be opened."""
    if len(jsons) > 1:
        return f"holds {len(jsons)} run.json files, not one: {', '.join(map(os.path.basename, jsons[:LISTED]))}"
    if names:
        return f"holds record files of several simulations and no run.json: {', '.join(names[:LISTED])}"
    below = [os.fspath(found.relative_to(directory)) for found in directories_of_runs(directory)]
    if not below:
        return "holds no run.json and no record files"
    more = f" and {len(below) - LISTED} more" if len(below) > LISTED else ""
    return f"holds no run itself; there are runs in {', '.join(below[:LISTED])}{more}"
