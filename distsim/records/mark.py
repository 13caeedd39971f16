"""The mark of a directory that a run is writing into: `.distsim-running`, locked as long as its process lives.

run.json comes when a run ends, so without one this tells a run in progress from one that was killed: the operating
system drops the lock (flock) with the process, however it ended.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from distsim.errors import InputError

NAME = ".distsim-running"
PATIENCE_S = 1.0  # a reader that looks at the lock holds it for an instant
_held: dict[str, int] = {}  # real path of a directory -> file descriptor of its mark, of this process


def hold(directory: str | os.PathLike[str], facts: Mapping[str, Any] | None = None) -> None:
    """Marks a directory as being written into by this process, until `release`; may be called again.

    facts : what the mark says besides pid, host and since: simulation, configuration, ... as run.json will say them.
    Raises InputError when another process is writing there, OSError when the mark cannot be made.
    """
    key = os.path.realpath(directory)
    if key in _held:
        return
    fd = os.open(os.path.join(key, NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not _lock(fd, fcntl.LOCK_EX, PATIENCE_S):
            raise InputError(f"another run is writing into it ({holder(directory)})", file=os.fspath(directory))
        os.ftruncate(fd, 0)
        said = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), **(facts or {})}
        os.pwrite(fd, json.dumps(said).encode(), 0)
    except BaseException:
        os.close(fd)
        raise
    _held[key] = fd


def release(directory: str | os.PathLike[str]) -> None:
    """Takes the mark of this process away, if there is one."""
    key = os.path.realpath(directory)
    fd = _held.pop(key, -1)
    if fd >= 0:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(key, NAME))
        os.close(fd)


def is_held(directory: str | os.PathLike[str]) -> bool:
    """Whether a process is writing into a directory. Where the file system has no locks, whether the process that the
    mark names is alive; of another machine's process, whether there is a mark."""
    try:
        fd = os.open(os.path.join(directory, NAME), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _lock(fd, fcntl.LOCK_SH)
    except OSError:
        return _alive(read(directory))
    finally:
        os.close(fd)


def read(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """What the mark says: pid, host, since (seconds since the epoch), and the facts. Empty when there is none."""
    try:
        with open(os.path.join(directory, NAME)) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def holder(directory: str | os.PathLike[str]) -> str:
    """Who the mark says is writing, in words: ``process 71 on node3``."""
    said = read(directory)
    return f"process {said.get('pid', '?')} on {said.get('host', '?')}"


def _lock(fd: int, kind: int, patience_s: float = 0.0) -> bool:
    """Takes a lock, False when another has it. A file system without locks: OSError for a reader, nothing for a
    writer."""
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        except OSError as error:
            if kind == fcntl.LOCK_EX and error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                return True
            raise


def _alive(said: dict[str, Any]) -> bool:
    if said.get("host") != socket.gethostname() or not isinstance(said.get("pid"), int):
        return bool(said)
    try:
        os.kill(said["pid"], 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
