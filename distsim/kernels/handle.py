"""A state by address, and a state whose tables can grow. Plain Python; `stateref` tells numba what a handle is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..state.allocate import ensure_room, grown
from ..state.view import DTYPES, State
from .mode import COMPILED


class Handle:
    """A state's tables as a list of (address, rows) pairs. Keeps them alive; made anew when a table grows."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._slots = np.zeros((len(state), 2), np.int64)
        for k, table in enumerate(state):
            if table.dtype != DTYPES[State._fields[k]] or not table.flags.c_contiguous:
                raise TypeError(f"table {State._fields[k]} is not a contiguous array of its dtype")
            self._slots[k] = table.ctypes.data, len(table)
        self.address = self._slots.ctypes.data


def bind(state: State) -> Any:
    """What kernels take: a handle when they are compiled, the state itself otherwise."""
    return Handle(state) if COMPILED else state


class Holder:
    """A state whose tables may grow, with the reference that kernels take: `state` and `ref`."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.ref = bind(state)

    def ensure_room(self, pool: int, rows: int) -> None:
        """Let the pool's table have at least `rows` rows."""
        state = ensure_room(self.state, pool, rows)
        if state is not self.state:
            self.replace(state)

    def ensure_rows(self, name: str, rows: int) -> None:
        """Let a table without a pool have at least `rows` rows."""
        table = getattr(self.state, name)
        if len(table) < rows:
            self.replace(self.state._replace(**{name: grown(table, DTYPES[name], 2 * rows)}))

    def replace(self, state: State) -> None:
        """Go on with other tables."""
        self.state = state
        self.ref = bind(state)
