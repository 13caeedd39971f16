"""How a kernel is compiled: one pair of decorators, and a cache that cannot go stale.

`kernel` compiles a function of a state handle (see `handle`). `small` is for accessors that are inlined into their
callers; compile time grows with every one.

numba's own cache notices neither a changed callee nor a changed option, so the cache directory is named by a digest of
every kernel and state source, the versions of numba and NumPy, and the options.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = not numba.config.DISABLE_JIT
BOUNDSCHECK = bool(os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0"))


def source_digest() -> str:
    """Digest of all that decides what the compiled kernels do."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for folder in ("kernels", "state"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.name.encode() + path.read_bytes())
    digest.update(f"{numba.__version__} {np.__version__} bounds={BOUNDSCHECK}".encode())
    return digest.hexdigest()[:20]


def cache_directory() -> Path:
    """Where compiled kernels are kept: `DISTSIM_CACHE_DIR`, else the user's cache directory."""
    root = os.environ.get("DISTSIM_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "distsim")
    return Path(root) / source_digest()


def _options(**more: Any) -> dict[str, Any]:
    return {"cache": True, "boundscheck": BOUNDSCHECK, **more}


if COMPILED:
    numba.config.CACHE_DIR = str(cache_directory())


def kernel(function: F) -> F:
    """Compile a function of the state tuple."""
    return njit(**_options())(function) if COMPILED else function


def small(function: F) -> F:
    """Compile a small accessor that is inlined wherever it is called."""
    return njit(**_options(forceinline=True))(function) if COMPILED else function
