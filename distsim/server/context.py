"""What the routes work with: one object for each server, reached through the request."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from distsim.errors import InputError
from distsim.results.catalog import Catalog
from distsim.results.index import NAME as INDEX
from distsim.server.checks import Checks
from distsim.server.computed import Computed
from distsim.server.ids import iso
from distsim.server.jobs import Jobs
from distsim.server.links import Links, kept_key
from distsim.server.paths import SIMULATION_ID, check_state, checked_id
from distsim.server.settings import Settings
from distsim.server.simulations import Simulations
from distsim.server.store import Configurations
from distsim.server.templates import Templates

if TYPE_CHECKING:
    from distsim.results.run import Run

LOCK, KEY = "lock", "key"
CONFIGURATIONS, JOBS, COMPUTED = "configurations", "simulations", "results"


class Context:
    """The parts of a server. Takes the runs directory for itself until `close`.

    Raises InputError when another server has the directory, or when it cannot be written.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings, self.started = settings, time.time()
        self._lock = _claim(settings)
        state = settings.state
        self.links = Links(kept_key(state / KEY), settings.link_lifetime_s)
        self.checks = Checks(settings)
        self.templates = Templates(settings.folders)
        self.configurations = Configurations(state / CONFIGURATIONS)
        self.computed = Computed(settings, state / COMPUTED)
        self.catalog = Catalog(settings.runs_dir)
        self.catalog.rebuild()
        self.jobs = Jobs(settings, state / JOBS)
        self.simulations = Simulations(self.catalog, self.jobs, settings.runs_dir)

    def close(self) -> None:
        """Leaves the directory; simulations go on. May be called again."""
        self.jobs.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def run(self, simulation: str) -> Run:
        """The run of a simulation by its id, as it came in a request: 400, 403 or 404 when there is none to be read."""
        return self.simulations.run(checked_id(simulation, SIMULATION_ID, "simulation"))

    def link(self, base: str, kind: str, simulation: str, name: str) -> tuple[str, str]:
        """A download link, absolute, and when it expires (ISO 8601). base : scheme and host of the request."""
        path, expires = self.links.make(kind, simulation, name)
        return base.rstrip("/") + path, iso(expires)


def context_of(request: Request) -> Context:
    """The server's parts, as a dependency of routes."""
    found: Context = request.app.state.context
    return found


Here = Annotated[Context, Depends(context_of)]


def _claim(settings: Settings) -> int:
    """Makes the folders of the state and takes the lock; the descriptor that holds it."""
    state = settings.state
    try:
        for path in (state, settings.runs_dir / INDEX):
            check_state(path, settings.runs_dir)
        state.mkdir(mode=0o700, exist_ok=True)
        for name in (CONFIGURATIONS, JOBS, COMPUTED):
            check_state(state / name, settings.runs_dir)
            (state / name).mkdir(mode=0o700, exist_ok=True)
        return _locked(state / LOCK, settings.runs_dir)
    except OSError as error:
        raise InputError(f"the server keeps its state in {state.name}/ there, which cannot be written: "
                         f"{error.strerror}", file=os.fspath(settings.runs_dir)) from None


def _locked(path: Path, runs_dir: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise InputError(f"another server has this directory (process {holder or '?'})",
                         file=os.fspath(runs_dir)) from None
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
    return fd
