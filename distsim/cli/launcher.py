"""Several ranks: are we one of them, and starting them with mpirun."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from distsim.errors import EXIT_INPUT, EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_OK, EXIT_UNFINISHED, InputError, RunError

from .noise import forward

_RANK_NAMES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")
_SIZE_NAMES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_OURS = (EXIT_OK, EXIT_INTERNAL, EXIT_INPUT, EXIT_UNFINISHED, EXIT_INTERRUPTED)
_INSTALL = "pip install 'distsim-uet[mpi]', or mpi4py beside the machine's own MPI"
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class World:
    """rank : of this process; size : number of ranks, None when the launcher does not say."""

    rank: int
    size: int | None


def world(environment: Mapping[str, str] = os.environ) -> World | None:
    """Where this process stands among the ranks that an MPI launcher started; None when none did."""
    rank = next((environment[name] for name in _RANK_NAMES if name in environment), None)
    if rank is None or not rank.isdigit():
        return None
    size = next((environment[name] for name in _SIZE_NAMES if name in environment), None)
    return World(int(rank), int(size) if size is not None and size.isdigit() else None)


def check_world(here: World, ranks: int | None) -> None:
    """InputError when the ranks we were started on are not those asked for, or cannot talk to each other."""
    if ranks is not None and here.size is not None and ranks != here.size:
        raise InputError(f"--ranks {ranks} differs from the {here.size} ranks that mpirun started; leave --ranks out")
    if here.size != 1 and importlib.util.find_spec("mpi4py") is None:
        raise InputError(f"started by mpirun, but mpi4py is not installed: {_INSTALL}")


def start_ranks(ranks: int, arguments: Sequence[str]) -> int:
    """Run ``distsim`` with `arguments` on so many ranks, wait for them, and return their exit code.

    Ctrl-C and SIGTERM reach the ranks as SIGUSR1, which gives them time to end their records: mpirun itself would kill
    them a quarter of a second later. A second one ends them at once. Raises InputError when MPI is not installed,
    RunError when the ranks ended in a way that is not theirs.
    """
    command = [*_mpirun(ranks), sys.executable, "-m", "distsim", *arguments]
    child = subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             start_new_session=True, preexec_fn=_ending_with_parent())
    interrupts = 0

    def interrupt(number: int, frame: Any) -> None:
        nonlocal interrupts
        interrupts += 1
        child.send_signal(signal.SIGUSR1 if interrupts == 1 else signal.SIGTERM)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    assert child.stderr is not None
    try:
        forward(child.stderr, sys.stderr.buffer)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if interrupts and code != EXIT_OK:
        return EXIT_INTERRUPTED
    if code not in _OURS:
        raise RunError(f"a rank was lost, or mpirun could not start them (exit code {code}): {' '.join(command)}")
    return code


def _mpirun(ranks: int) -> list[str]:
    if importlib.util.find_spec("mpi4py") is None:
        raise InputError(f"--ranks {ranks} needs mpi4py, which is not installed: {_INSTALL}")
    beside = Path(sys.executable).parent / "mpirun"
    path = str(beside) if beside.exists() else shutil.which("mpirun")
    if path is None:
        raise InputError(f"--ranks {ranks} needs mpirun, which is not on PATH nor beside {sys.executable}: {_INSTALL}")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, env=_environment()).stdout
    return [path, *(_mapping(ranks) if "Open MPI" in version else []), "-n", str(ranks)]


def _mapping(ranks: int) -> list[str]:
    """Open MPI's options: a core for each rank while there are enough (a rank that moves loses its caches)."""
    if ranks > len(os.sched_getaffinity(0)):
        return ["--oversubscribe"]
    return ["--bind-to", "core"]


def _environment() -> dict[str, str]:
    """Ours, and as root with the consent to it that Open MPI asks for."""
    consent = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return {**os.environ, **consent}


def _ending_with_parent() -> Any:
    """What the child does first: ask Linux for SIGTERM when its parent is gone, so that no ranks are left behind."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return (lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)) if prctl is not None else None
