"""Simulations as the API sees them: the runs of the catalog, and those that this directory's servers started."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distsim.errors import EXIT_INPUT, InputError
from distsim.records import mark
from distsim.records.files import record_files, run_json_files
from distsim.records.run_json import run_json_path
from distsim.server.errors import ApiError, not_found
from distsim.server.jobs import Job, Jobs
from distsim.server.paths import check_run, is_inside

if TYPE_CHECKING:
    from distsim.results.catalog import Catalog, Entry
    from distsim.results.run import Run

VALIDATING, PROVISIONING, RUNNING, COMPLETED, FAILED, TERMINATED, INVALID = (
    "validating", "provisioning", "running", "completed", "failed", "terminated", "invalid")
STATUSES = (VALIDATING, PROVISIONING, RUNNING, COMPLETED, FAILED, TERMINATED, INVALID)
LIVE = (VALIDATING, PROVISIONING, RUNNING)
_OF_RUN = {"running": RUNNING, "finished": COMPLETED, "unfinished": COMPLETED, "interrupted": TERMINATED,
           "failed": FAILED}
FRESH_S = 0.3  # for which a look at the directory is good


@dataclass(frozen=True)
class Simulation:
    """A run, or one that was started and has no files yet.

    status : as documented (STATUSES). run_status : of the run itself: running, finished, unfinished, interrupted,
    failed; "" before it has files. created, ended : seconds since the epoch, 0: not known, or not yet. reason : why it
    failed or ended early. entry : of the catalog. job : when a server of this directory started it.
    """

    id: str
    name: str
    path: str
    directory: Path
    status: str
    run_status: str = ""
    created: float = 0.0
    ended: float = 0.0
    reason: str = ""
    entry: Entry | None = None
    job: Job | None = None

    @property
    def live(self) -> bool:
        """Whether it is going on."""
        return self.status in LIVE


class Simulations:
    """All simulations of a runs directory. Looks at it at most every FRESH_S."""

    def __init__(self, catalog: Catalog, jobs: Jobs, runs_dir: Path) -> None:
        self._catalog, self._jobs, self._top = catalog, jobs, runs_dir
        self._lock = threading.Lock()
        self._seen: tuple[float, list[Entry]] | None = None

    def all(self) -> list[Simulation]:
        """Every simulation, in no order."""
        entries = {entry.id: entry for entry in self._entries()}
        jobs = {job.id: job for job in self._jobs.all()}
        found = [self._of(entry, jobs.get(entry.id)) for entry in entries.values()]
        return found + [self._without_files(job) for job in jobs.values() if job.id not in entries]

    def get(self, id: str) -> Simulation:
        """One of them; 404 when there is none."""
        found = self._find(id)
        if found.job is not None and found.run_status != (found.entry.status if found.entry is not None else ""):
            self.forget()  # it has come further since the directory was looked at
            found = self._find(id)
        return found

    def run(self, id: str) -> Run:
        """The run of a simulation, for its records. 404 when there is none or it has no files yet, 403 when one of its
        files is a link out of the runs directory."""
        simulation = self.get(id)
        if simulation.entry is None:
            raise ApiError(404, "results are not yet available")
        check_run(simulation.directory, self._top)
        try:
            return simulation.entry.open()
        except InputError as error:
            raise ApiError(404, f"the run cannot be read: {error.message}") from None

    def forget(self) -> None:
        """Looks at the directory again the next time."""
        with self._lock:
            self._seen = None

    def _find(self, id: str) -> Simulation:
        job = self._jobs.get(id)
        for entry in self._entries():
            if entry.id == id:
                return self._of(entry, job)
        if job is None:
            raise not_found("Simulation")
        return self._without_files(job)

    def _entries(self) -> list[Entry]:
        with self._lock:
            if self._seen is None or time.monotonic() - self._seen[0] > FRESH_S:
                found = [entry for entry in self._catalog.runs() if self._is_ours(entry)]
                self._seen = (time.monotonic(), found)
            return self._seen[1]

    def _is_ours(self, entry: Entry) -> bool:
        """Not one whose run.json is a link that leads out of the directory."""
        with contextlib.suppress(OSError):
            return all(is_inside(path, self._top) for path in run_json_files(entry.directory))
        return False

    def _of(self, entry: Entry, job: Job | None) -> Simulation:
        if job is not None:
            return replace(self._without_files(job), entry=entry)
        return Simulation(entry.id, entry.name, entry.path, entry.directory, _OF_RUN.get(entry.status, FAILED),
                          entry.status, entry.started, entry.ended, entry.error, entry)

    def _without_files(self, job: Job) -> Simulation:
        status, run_status, reason = self._of_job(job)
        return Simulation(job.id, job.name, job.path, self._jobs.directory(job), status, run_status, job.created,
                          job.ended, reason, None, job)

    def _of_job(self, job: Job) -> tuple[str, str, str]:
        """Documented status of a started simulation, that of its run, and why, where it did not end well."""
        directory = self._jobs.directory(job)
        there, over = directory.is_dir(), job.over
        said = self._jobs.log(job.id).last_error
        if there and run_json_path(directory, job.name).exists():  # written as the last thing
            run_status = _status_in(run_json_path(directory, job.name))
            status = _OF_RUN.get(run_status, FAILED)
            return status, run_status, said() if status == FAILED else ""
        if not over or (there and mark.is_held(directory)):
            if there and record_files(directory):
                return RUNNING, "running", ""
            # Until it marks its directory it reads its configuration and builds its model, then it compiles.
            return (PROVISIONING if os.path.exists(directory / mark.NAME) else VALIDATING), "", ""
        run_status = "interrupted" if there and record_files(directory) else ""
        if job.terminated:
            return TERMINATED, run_status, ""
        if job.exit_code == EXIT_INPUT or (job.exit_code is None and not there):
            return INVALID, "", said() or "the server ended before it started"
        if run_status:
            return TERMINATED, run_status, "its process was killed; the rows that it wrote are kept"
        return FAILED, "", said() or f"it ended with exit code {job.exit_code}"


def _status_in(path: Path) -> str:
    try:
        return str(json.loads(path.read_text()).get("status"))
    except (OSError, ValueError, AttributeError):
        return ""


def duration_text(seconds: float) -> str:
    """A time with the largest unit that makes it 1 or more: ``3ms``."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if seconds >= scale:
            return f"{seconds / scale:.6g}{unit}"
    return f"{seconds * 1e12:.6g}ps" if seconds else "0s"


def last_time_s(run: Run) -> float | None:
    """The simulation time of the last row of a periodic record, from the end of a file; None when there is none."""
    for record in ("nd-stats", "uet-transport-stats"):
        files = run.files(record)
        if files:
            at = run.schema(record).header.index("sim_time_sec")
            with open(files[0].path, "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
                lines = file.read().split(b"\n")[1:-1]
            with contextlib.suppress(ValueError, IndexError):
                return float(lines[-1].split(b",")[at])
    return None


def parameters_of(simulation: Simulation) -> dict[str, Any]:
    """The configuration of a run with every default, {} when it is not known."""
    return simulation.entry.parameters if simulation.entry is not None else {}
