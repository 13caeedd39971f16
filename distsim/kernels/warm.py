"""Compile (or load) every kernel of a run without simulating anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..state.tables import PACKET
from . import drive, exchange


def warm(s: Any) -> None:
    """Call each entry point so that it does nothing: before all events, with no packets."""
    drive.run_window(s, -(1 << 61), 0)
    drive.next_event_ps(s)
    exchange.count_departures(s, 0, 0)
    nothing = np.zeros(0, PACKET) if isinstance(s.clock, np.ndarray) else []
    exchange.pack(s, 0, 0, nothing, 0)
    exchange.accept(s, s.node_of_host, nothing, 0, 0)
