"""How a kernel is compiled: one pair of decorators, and a cache that cannot go stale.

`kernel` compiles without numba's reference counting (`_nrt=False`): counting the arrays of the state tuple cost
ten times the work itself (measured, README). The option is not documented, so numba's minor version is pinned, and
where it is refused the kernels are compiled the ordinary way with a warning. `small` is for accessors that are
inlined into their callers; compile time grows with every one.

numba's own cache notices neither a changed callee nor a changed option, so the cache directory is named by a digest of
every kernel and state source, the versions of numba and NumPy, and the options.
"""

from __future__ import annotations

import hashlib
import os
import warnings
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
    digest.update(f"{numba.__version__} {np.__version__} bounds={BOUNDSCHECK} nrt={_nrt_option()}".encode())
    return digest.hexdigest()[:20]


def cache_directory() -> Path:
    """Where compiled kernels are kept: `DISTSIM_CACHE_DIR`, else the user's cache directory."""
    root = os.environ.get("DISTSIM_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "distsim")
    return Path(root) / source_digest()


def _nrt_option() -> bool:
    """True where numba takes `_nrt=False`; otherwise kernels run, slower, with reference counting."""
    return numba.__version__.startswith("0.68.")


def _options(**more: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"cache": True, "boundscheck": BOUNDSCHECK, **more}
    if _nrt_option():
        options["_nrt"] = False
    else:
        warnings.warn(f"numba {numba.__version__} is not 0.68: kernels run with reference counting, slower", stacklevel=2)
    return options


if COMPILED:
    numba.config.CACHE_DIR = str(cache_directory())


def kernel(function: F) -> F:
    """Compile a function of the state tuple."""
    return njit(**_options())(function) if COMPILED else function


def small(function: F) -> F:
    """Compile a small accessor that is inlined wherever it is called."""
    return njit(**_options(forceinline=True))(function) if COMPILED else function
