"""What a server is started with, and the folders it keeps inside the runs directory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from distsim.errors import InputError

STATE = ".distsim-server"  # hidden, so that no catalog takes it for runs
INPUTS = "inputs"  # files that configurations sent to the API may name
LINK_LIFETIME_S = 900.0  # scala-computing/docs, api-changelog: download links last 15 minutes


def most_ranks() -> int:
    """Ranks that a simulation may ask for unless another number is set: the machine's cores, at least 4."""
    return max(4, os.cpu_count() or 1)


@dataclass(frozen=True)
class Settings:
    """How a server behaves.

    runs_dir : the directory of runs, real path. token : what requests must carry, "" for none. host : the name it
    listens on, taken as its own besides the loopback names. folders : shipped configurations (`GET /templates`).
    most_runs : simulations at once. most_ranks : of one simulation. most_body : bytes of a request.
    most_requests : answered at once. most_computing : figures computed at once, most_checking : configurations checked.
    patience_s : how long a request waits for its turn to compute. grace_s : from the first signal of a termination to
    the second. check_s, check_bytes : time and memory that the check of a configuration may take.
    plugins : whether configurations may name plug-in files, which run as code, in the inputs folder.
    """

    runs_dir: Path
    token: str = field(default="", repr=False)
    host: str = "127.0.0.1"
    folders: tuple[Path, ...] = ()
    most_runs: int = 4
    most_ranks: int = field(default_factory=most_ranks)
    most_body: int = 1 << 20
    most_requests: int = 64
    most_computing: int = 2
    most_checking: int = 2
    patience_s: float = 60.0
    grace_s: float = 60.0
    check_s: float = 60.0
    check_bytes: int = 8 << 30
    link_lifetime_s: float = LINK_LIFETIME_S
    plugins: bool = False

    @property
    def state(self) -> Path:
        """Where the server keeps what must outlive it: the key of its links, configurations, started simulations."""
        return self.runs_dir / STATE

    @property
    def inputs(self) -> Path:
        """Where files that configurations name are put by whoever runs the server."""
        return self.runs_dir / INPUTS


def runs_directory(path: str | os.PathLike[str]) -> Path:
    """The real path of a directory of runs; InputError when there is none."""
    directory = Path(path)
    if directory.is_dir():
        return directory.resolve()
    if directory.exists():
        raise InputError("is not a directory; give the directory that holds runs", file=os.fspath(path))
    raise InputError(f"there is no such directory of runs; make it with: mkdir -p {os.fspath(path)}",
                     file=os.fspath(path))
