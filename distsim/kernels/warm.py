"""Compile (or load) every kernel of a run without simulating anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..state.tables import PACKET
from . import drive, exchange
from .jit import COMPILED


def warm(s: Any) -> None:
    """Call each entry point so that it does nothing: before all events, with no packets. `s`: see `handle.bind`."""
    drive.run_window(s, -(1 << 61), 0)
    drive.next_event_ps(s)
    exchange.count_departures(s, 0, 0)
    nothing = np.zeros(0, PACKET) if COMPILED else []
    exchange.pack(s, 0, 0, nothing, 0)
    exchange.accept(s, np.zeros(1, "i4") if COMPILED else [], nothing, 0, 0)
