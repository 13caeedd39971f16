"""Simulations that the server started: child processes that outlive it, and what is kept on disk of each.

A job's folder, below the state folder: job.json, configuration.yaml (what it runs), output.log (what it printed),
times.jsonl (when). A server that starts again finds the processes that still live by number and start time.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from distsim.records import mark
from distsim.results.catalog import id_of
from distsim.server import process
from distsim.server.checks import child_environment
from distsim.server.errors import ApiError
from distsim.server.joblog import JobLog
from distsim.server.limits import RETRY
from distsim.server.paths import write_whole
from distsim.server.settings import Settings

JOB, CONFIGURATION = "job.json", "configuration.yaml"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
POLL_S = 0.5
KILL_S = 15.0  # from the second signal of a termination to the end of the whole group
log = logging.getLogger("distsim.server")


@dataclass
class Job:
    """A started simulation. path : of the run's directory, below the runs directory. created, ended : seconds since the
    epoch. process : identity of the process (distsim/server/process.py). exit_code : None while it lives, and when it
    ended while no server watched. terminated : when it was asked to end. signals : sent to it so far."""

    id: str
    path: str
    name: str
    configuration_id: str
    configuration_version: int
    ranks: int
    created: float
    duration: str = ""
    pid: int = 0
    process: str = ""
    ended: float = 0.0
    exit_code: int | None = None
    terminated: float = 0.0
    signals: int = 0
    stamped: int = field(default=0, repr=False)

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return bool(self.ended)


@dataclass(frozen=True)
class Order:
    """What to run. text : the configuration, file names absolute. arguments : more of `distsim run`."""

    name: str
    text: str
    configuration_id: str
    configuration_version: int
    ranks: int = 1
    duration: str = ""
    arguments: tuple[str, ...] = ()


class Jobs:
    """The started simulations; a thread looks after those that live, until `close`."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.RLock()
        self._jobs = {job.id: job for path in sorted(folder.glob(f"sim_*/{JOB}")) if (job := _read(path)) is not None}
        for job in self._jobs.values():
            job.stamped = self.log(job.id).stamped()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="distsim-jobs", daemon=True)
        self._look()
        self._thread.start()

    def close(self) -> None:
        """Stops looking; the simulations go on."""
        self._stop.set()
        self._thread.join()

    def get(self, id: str) -> Job | None:
        """A job, None for a run that this directory's servers did not start."""
        return self._jobs.get(id)

    def all(self) -> list[Job]:
        """All jobs, in no order."""
        with self._lock:
            return list(self._jobs.values())

    def live(self) -> list[Job]:
        """Those that have not ended."""
        return [job for job in self.all() if not job.over]

    def log(self, id: str) -> JobLog:
        """What a job printed."""
        return JobLog(self._folder / id)

    def configuration_text(self, id: str) -> str:
        """The configuration that a job runs."""
        return (self._folder / id / CONFIGURATION).read_text()

    def start(self, order: Order) -> Job:
        """Starts a simulation; 429 when as many as are allowed are going on."""
        with self._lock:
            if len(self.live()) >= self._settings.most_runs:
                raise ApiError(429, f"{self._settings.most_runs} simulations are going on, the most at once; try again "
                                    "when one has ended", RETRY)
            path = self._free_path(order.name)
            job = Job(id_of(path), path, order.name, order.configuration_id, order.configuration_version, order.ranks,
                      time.time(), order.duration)
            folder = self._folder / job.id
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o700)
            write_whole(folder / CONFIGURATION, order.text.encode())
            self._save(job)
            self._jobs[job.id] = job
            self._spawn(job, order.arguments)
        return job

    def terminate(self, id: str) -> Job:
        """Asks a job to end with what it has; 409 when it has ended."""
        with self._lock:
            job = self._jobs[id]
            self._attend(job)
            if job.over:
                raise ApiError(409, "the simulation is not running")
            if not job.terminated:
                job.terminated = time.time()
                self._signal(job)
                self._save(job)
        return job

    def forget(self, id: str) -> None:
        """Removes what is kept of a job that has ended."""
        with self._lock:
            self._jobs.pop(id, None)
            shutil.rmtree(self._folder / id, ignore_errors=True)

    def directory(self, job: Job) -> Path:
        """The run's directory."""
        return self._settings.runs_dir / job.path

    def _free_path(self, name: str) -> str:
        """A directory that no run ever had, so that its id is new too."""
        while True:
            path = f"{name}-{os.urandom(4).hex()}"
            if not (self._settings.runs_dir / path).exists() and id_of(path) not in self._jobs:
                return path

    def _spawn(self, job: Job, arguments: tuple[str, ...]) -> None:
        folder = self._folder / job.id
        command = [sys.executable, "-m", "distsim", "run", "-o", os.fspath(self.directory(job)), *arguments]
        command += ["--ranks", str(job.ranks)] if job.ranks > 1 else []
        with open(self.log(job.id).output, "ab") as output:
            child = subprocess.Popen([*command, "--", os.fspath(folder / CONFIGURATION)], stdin=subprocess.DEVNULL,
                                     stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                                     cwd=self._settings.runs_dir, env=child_environment())
        self._children[job.id] = child
        job.pid, job.process = child.pid, process.identity(child.pid)
        self._save(job)
        log.info("simulation %s (%s) started: process %d", job.id, job.path, job.pid)

    def _watch(self) -> None:
        while not self._stop.wait(POLL_S):
            try:
                self._look()
            except Exception:
                log.exception("looking after the simulations failed; trying again")

    def _look(self) -> None:
        with self._lock:
            for job in self.live():
                job.stamped = self.log(job.id).stamp(job.stamped)
                self._attend(job)

    def _attend(self, job: Job) -> None:
        """Notes the end of a job that has ended; goes on with the termination of one that was asked to end."""
        if job.over:
            return
        child = self._children.get(job.id)
        code = child.poll() if child is not None else None
        if code is not None or (child is None and not self._lives(job)):
            self._children.pop(job.id, None)
            job.exit_code, job.ended = code, time.time() if child is not None else self._last_change(job)
            self._save(job)
            log.info("simulation %s (%s) ended with code %s", job.id, job.path, code)
        elif job.terminated and time.time() >= self._due(job):
            self._signal(job)
            self._save(job)

    def _lives(self, job: Job) -> bool:
        """Of a job that an earlier server started: by its process, or by its mark when the server was killed before it
        noted the process."""
        return process.lives(job.pid, job.process) if job.pid else mark.is_held(self.directory(job))

    def _last_change(self, job: Job) -> float:
        """When a job that nobody watched ended, as its files tell."""
        times = [job.created]
        for folder in (self.directory(job), self._folder / job.id):
            with contextlib.suppress(OSError):
                times += [entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(folder)]
        return max(times)

    def _due(self, job: Job) -> float:
        """When the next signal of a termination is sent, seconds since the epoch."""
        return job.terminated + (0.0, self._settings.grace_s, self._settings.grace_s + KILL_S)[min(job.signals, 2)]

    def _signal(self, job: Job) -> None:
        """SIGTERM, which ends a run with complete rows and run.json as Ctrl-C does (that one polars takes for itself
        while it writes rows); Ctrl-C, which ends it at once; the end of the whole group."""
        if not job.pid:
            return
        if job.signals < len(SIGNALS):
            process.send(job.pid, job.process, SIGNALS[job.signals])
        else:
            process.kill_group(job.pid, job.process)
        job.signals += 1

    def _save(self, job: Job) -> None:
        said = asdict(job)
        del said["stamped"]
        write_whole(self._folder / job.id / JOB, json.dumps(said).encode())


def _read(path: Path) -> Job | None:
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        return Job(**{one.name: said[one.name] for one in fields(Job) if one.name in said})
    except (OSError, ValueError, TypeError):
        log.warning("%s cannot be read; the simulation is known by its files alone", path)
        return None
