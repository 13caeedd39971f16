"""The entry points of the kernels, and all of them as one C function for the native cache (`native`)."""

from __future__ import annotations

from typing import Any

from . import drive, exchange, links
from .jit import COMPILED, kernel

RUN_WINDOW, NEXT_EVENT, PACK, ACCEPT, SETTLE, CUT = range(6)


@kernel
def call(s, code, a, b, c):
    """Entry point number `code` with up to three integers; returns its integer."""
    if code == RUN_WINDOW:
        return drive.run_window(s, a, b)
    if code == NEXT_EVENT:
        return drive.next_event_ps(s)
    if code == PACK:
        return exchange.pack(s, a, b, c)
    if code == ACCEPT:
        return exchange.accept(s, a, b)
    if code == CUT:
        return links.cut_link(s, a, b)
    return drive.settle_nics(s, a, b)


def compile_native() -> tuple[bytes, str]:
    """Object code of a C function int64(int64 handle, int64 code, a, b, c) that does `call`, and its symbol."""
    from numba import cfunc, types

    from .stateref import state_ref

    def entry(address: Any, code: Any, a: Any, b: Any, c: Any) -> Any:
        return call(state_ref(address), code, a, b, c)  # type: ignore[call-arg]

    compiled = cfunc(types.int64(*[types.int64] * 5), error_model="numpy")(entry)
    _, _, (code, _) = compiled._library.serialize_using_object_code()
    return code, compiled.native_name


if COMPILED:
    from . import stateref as _stateref  # numba has to know the type before anything is compiled

    _ = _stateref
