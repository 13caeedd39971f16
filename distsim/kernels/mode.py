"""How kernels run in this process, and where compiled ones are kept. Plain Python: it decides whether numba is needed.

The cache directory is named by a digest of every kernel and state source, the versions of numba and NumPy, the options
and the processor, because numba's own cache notices neither a changed callee nor a changed option.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from functools import cache
from importlib import metadata
from pathlib import Path


def _on(name: str) -> bool:
    return os.environ.get(name, "0") not in ("", "0")


COMPILED = not _on("NUMBA_DISABLE_JIT")          # else the plain-Python twin
BOUNDSCHECK = _on("NUMBA_BOUNDSCHECK")           # out-of-range rows raise; kernels are called through numba


PLUGIN_VARIABLE = "DISTSIM_PLUGIN"


@cache
def plugin_file() -> str:
    """Path of the user's plug-in of this process, "": none. Fixed once the kernels have been asked for."""
    return os.environ.get(PLUGIN_VARIABLE, "")


@cache
def source_digest() -> str:
    """Digest of all that decides what the compiled kernels do."""
    import llvmlite.binding as llvm

    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for folder in ("kernels", "state"):
        for path in sorted(path for path in (package / folder).rglob("*.py") if not path.name.startswith("verify")):
            digest.update(path.name.encode() + path.read_bytes())
    if plugin_file():
        digest.update(Path(plugin_file()).read_bytes())
    versions = [metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    processor = llvm.get_host_cpu_name(), sorted(llvm.get_host_cpu_features().items())
    digest.update(f"{versions} bounds={BOUNDSCHECK} {processor}".encode())
    return digest.hexdigest()[:20]


@cache
def cache_directory() -> Path:
    """Where compiled kernels are kept: `DISTSIM_CACHE_DIR`, else the user's cache directory.

    Where that cannot be written, a temporary directory: every process then compiles for itself.
    """
    root = os.environ.get("DISTSIM_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "distsim")
    folder = Path(root) / source_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="distsim-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
