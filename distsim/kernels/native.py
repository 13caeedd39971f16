"""The kernels as a simulation calls them: from object code kept on disk, through numba, or as plain Python.

A warm start loads the machine code of one C function with llvmlite and never imports numba: importing it and setting up
its registries costs more than a small run. Where that is not possible (bounds checks on, no cache yet, another
version), numba compiles, and its object code is kept for the next time.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .mode import BOUNDSCHECK, COMPILED, cache_directory

FILE = "kernels.o"
SYMBOL_FILE = "kernels.json"
RUN_WINDOW, NEXT_EVENT, PACK, ACCEPT, SETTLE, CUT = range(6)      # as in `entry`
# What numba's error paths call. Kernels raise nothing, so these are never reached; they end the process if they are.
NEVER_CALLED = ("NRT_Free", "numba_do_raise", "numba_gil_ensure", "numba_gil_release",
                "numba_runtime_build_excinfo_struct", "numba_unpickle")

Call = Callable[[Any, int, int, int, int], int]


class Kernels:
    """Entry points of the kernels. `ref` is `Holder.ref`; times ps; rows of the state's tables."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def run_window(self, ref: Any, end_ps: int, budget: int) -> int:
        """`drive.run_window`."""
        return self._call(ref, RUN_WINDOW, end_ps, budget, 0)

    def next_event_ps(self, ref: Any) -> int:
        """`drive.next_event_ps`."""
        return self._call(ref, NEXT_EVENT, 0, 0, 0)

    def pack(self, ref: Any, first: int, count: int, at: int) -> int:
        """`exchange.pack`."""
        return self._call(ref, PACK, first, count, at)

    def accept(self, ref: Any, count: int, end_ps: int) -> int:
        """`exchange.accept`."""
        return self._call(ref, ACCEPT, count, end_ps, 0)

    def settle_nics(self, ref: Any, end_ps: int, budget: int) -> int:
        """`drive.settle_nics`."""
        return self._call(ref, SETTLE, end_ps, budget, 0)

    def cut_link(self, ref: Any, in_row: int, loss_row: int) -> None:
        """`links.cut_link`."""
        self._call(ref, CUT, in_row, loss_row, 0)


def load_kernels(on_compile: Callable[[], None] = lambda: None) -> Kernels:
    """The kernels for this process; compiles them when nobody has yet, after calling `on_compile`."""
    if not COMPILED or BOUNDSCHECK:
        from . import entry

        return Kernels(entry.call)
    found = _load(cache_directory())
    if found is None:
        on_compile()
        from .entry import compile_native

        code, symbol = compile_native()
        _keep(cache_directory(), code, symbol)
        found = _bind(code, symbol)
    return Kernels(found)


def _keep(folder: Path, code: bytes, symbol: str) -> None:
    """Write the cache files; a folder that cannot be written only costs the next start its time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in ((FILE, code), (SYMBOL_FILE, json.dumps(symbol).encode())):
            temporary = folder / f"{name}.{os.getpid()}"
            temporary.write_bytes(data)
            os.replace(temporary, folder / name)
    except OSError:
        return


def _load(folder: Path) -> Call | None:
    try:
        symbol = json.loads((folder / SYMBOL_FILE).read_bytes())
        return _bind((folder / FILE).read_bytes(), symbol)
    except (OSError, ValueError, RuntimeError):
        return None


_engines: list[Any] = []          # an engine's code lives as long as the engine


def _bind(code: bytes, symbol: str) -> Call:
    """Link object code into this process."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    abort = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
    for name in NEVER_CALLED:
        if not llvm.address_of_symbol(name):
            llvm.add_symbol(name, abort)
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(symbol)
    if not address:
        raise RuntimeError("the cached kernels do not hold their entry point")
    _engines.append(engine)
    function = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 6)(address)

    def call(ref: Any, number: int, a: int, b: int, c: int) -> int:
        return function(ref.address, number, a, b, c)

    return call
