"""Ending all ranks together when one of them, or all, found an error outside the engine."""

from __future__ import annotations

import time

PATIENCE_S = 5.0


def all_leaving(patience_s: float = PATIENCE_S) -> bool:
    """Whether every rank calls this within `patience_s`: then each may end by itself, none is killed while it prints.

    Raises ImportError without mpi4py.
    """
    from mpi4py import MPI

    request = MPI.COMM_WORLD.Ibarrier()
    end = time.monotonic() + patience_s
    while not request.Test():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def abort(code: int) -> None:
    """End every rank at once with this exit code."""
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(code)
