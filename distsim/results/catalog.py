"""The runs of a directory. The files are the store; one SQLite file beside them is an index that may go at any time."""

from __future__ import annotations

import base64
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distsim.errors import InputError
from distsim.records import mark
from distsim.records.files import run_json_files
from distsim.results.index import Index
from distsim.results.run import RUNNING, Run, directories_of_runs, open_run

PREFIX = "sim_"
SHORTEST = 3  # letters of an id that may stand for all of it, the prefix not counted
LISTED = 8
_NAMESPACE = uuid.UUID("5b2f0f6e-8f0e-5d55-9d0c-6f6d3a0c1f51")


@dataclass(frozen=True)
class Entry:
    """A run in the catalog.

    id : ``sim_`` and 26 letters and digits, made from `path` alone, so that it stays what it is as long as the run
    stays where it is. path : of the run's directory, below the catalog's. name : of the simulation. status : running,
    finished, unfinished, interrupted or failed. parameters : the configuration with every default, {} when it is not
    known. started, ended : seconds since the epoch, 0: not known, or not yet. error : why run.json cannot be read, or
    why the run failed.
    """

    id: str
    path: str
    directory: Path
    name: str
    status: str
    parameters: dict[str, Any] = field(default_factory=dict)
    configuration_sha256: str = ""
    seed: int | None = None
    ranks: int | None = None
    started: float = 0.0
    ended: float = 0.0
    simulated_s: float | None = None
    flows: dict[str, int] = field(default_factory=dict)
    error: str = ""

    def open(self) -> Run:
        """The run itself; InputError when it cannot be read any more."""
        return open_run(self.directory)


def id_of(path: str) -> str:
    """The id of the run at a path below the catalog's directory, written with /."""
    return PREFIX + base64.b32encode(uuid.uuid5(_NAMESPACE, path).bytes).decode().rstrip("=").lower()


class Catalog:
    """The runs below a directory, however deep: those of ``distsim run``, of ``workloadrun`` (records/wave-1) and of
    ``schedule run`` (records/<simulation>). Hidden folders and links to folders are not entered.

    The index is ``.distsim-index.sqlite`` in the directory, in memory where that cannot be written. It holds what was
    read of every run.json, and is checked against the files (size, time of change) at every call.
    """

    def __init__(self, runs_dir: str | os.PathLike[str]) -> None:
        self.directory = Path(runs_dir)
        if not self.directory.is_dir():
            raise InputError("is no directory of runs", file=os.fspath(runs_dir))
        self._index = Index(self.directory)

    def runs(self) -> list[Entry]:
        """Every run, the newest first (by start), then by path. Reads what has changed since the last call."""
        known = self._index.load()
        fresh: dict[str, tuple[str, dict[str, Any]]] = {}
        found = []
        for directory in directories_of_runs(self.directory):
            path = directory.relative_to(self.directory).as_posix()
            if not _is_inside(directory, self.directory):
                continue
            stamp = _stamp(directory)
            if stamp and path in known and known[path][0] == stamp:
                facts = known[path][1]
            else:
                facts = _facts(directory)
                if stamp:
                    fresh[path] = (stamp, facts)
            found.append(Entry(id=id_of(path), path=path, directory=directory, **facts))
        self._index.store(fresh, gone=set(known) - {entry.path for entry in found})
        return sorted(found, key=lambda entry: (-entry.started, entry.path))

    def get(self, id_or_name: str) -> Entry:
        """The run with this id (or the beginning of one), path below the directory (or the end of one), or name.
        InputError when there is none, or several."""
        runs = self.runs()
        matches = [entry for entry in runs if id_or_name in (entry.id, entry.path)] \
            or [entry for entry in runs if entry.name == id_or_name] \
            or [entry for entry in runs if entry.path.endswith(f"/{id_or_name}")] \
            or [entry for entry in runs if len(id_or_name) >= len(PREFIX) + SHORTEST and
                entry.id.startswith(id_or_name)]
        if len(matches) == 1:
            return matches[0]
        if not matches:
            names = [entry.path for entry in runs]
            raise InputError(f"no run {id_or_name!r}; there are {_some(names) or 'none'}",
                             file=os.fspath(self.directory))
        raise InputError(f"{len(matches)} runs are called {id_or_name!r}; give one's path or id: "
                         + _some([f"{entry.path} ({entry.id})" for entry in matches]), file=os.fspath(self.directory))

    def rebuild(self) -> list[Entry]:
        """Forgets the index and makes it anew from the files."""
        self._index.clear()
        return self.runs()


def _is_inside(directory: Path, top: Path) -> bool:
    """Whether what a directory's run.json is, links followed, is below `top`."""
    return all(Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top)) for path in run_json_files(directory))


def _stamp(directory: Path) -> str:
    """What tells a run.json from a later one; "" while there is none."""
    jsons = run_json_files(directory)
    if len(jsons) != 1:
        return ""
    status = os.stat(jsons[0])
    return f"{os.path.basename(jsons[0])} {status.st_size} {status.st_mtime_ns}"


def _facts(directory: Path) -> dict[str, Any]:
    """What an Entry says of a run beyond its path."""
    try:
        run = open_run(directory)
    except InputError as error:
        return {"name": directory.name, "status": "failed", "error": error.message}
    said = run.info or mark.read(directory)
    began, ended = _times(run, said)
    return {"name": run.name, "status": run.status, "parameters": said.get("configuration") or {},
            "configuration_sha256": str(said.get("configuration_sha256") or ""), "seed": said.get("seed"),
            "ranks": said.get("ranks"), "started": began, "ended": ended, "simulated_s": said.get("simulated_s"),
            "flows": said.get("flows") or {}, "error": str(said.get("error") or "")}


def _times(run: Run, said: dict[str, Any]) -> tuple[float, float]:
    """When a run began and ended, as far as its files tell. run.json is written at the end, and says how long it
    took."""
    jsons = run_json_files(run.directory)
    if jsons:
        ended = os.stat(jsons[0]).st_mtime
        return ended - float((said.get("wall") or {}).get("total_s", 0.0)), ended
    times = [os.stat(file.path).st_mtime for file in run.files()]
    began = float(said.get("since") or min(times, default=0.0))
    return began, 0.0 if run.status == RUNNING else max(times, default=began)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more
