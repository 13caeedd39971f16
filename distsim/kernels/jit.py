"""How a kernel is compiled: one pair of decorators.

`kernel` compiles a function of a state reference (see `stateref`). `small` is for accessors that are inlined into their
callers; compile time grows with every one. Division follows NumPy (no exception): kernels raise nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import njit

from .mode import BOUNDSCHECK, COMPILED, cache_directory

F = TypeVar("F", bound=Callable[..., Any])
OPTIONS: dict[str, Any] = {"cache": True, "boundscheck": BOUNDSCHECK, "error_model": "numpy"}

if COMPILED:
    numba.config.CACHE_DIR = str(cache_directory())


def kernel(function: F) -> F:
    """Compile a function of the state."""
    return njit(**OPTIONS)(function) if COMPILED else function


def small(function: F) -> F:
    """Compile a small accessor that is inlined wherever it is called."""
    return njit(forceinline=True, **OPTIONS)(function) if COMPILED else function


def once(function: F) -> F:
    """Compile a function as part of its only caller.

    A kernel's library is optimised again, with all that it calls, in every kernel above it; a function that has one
    caller saves its whole subtree once by not being a library of its own.
    """
    return njit(inline="always", **OPTIONS)(function) if COMPILED else function


__all__ = ["BOUNDSCHECK", "COMPILED", "kernel", "once", "small"]
