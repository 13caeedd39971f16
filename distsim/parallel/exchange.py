"""Once a window: what leaves this rank goes out, what comes in is appended to its links, and the next event is agreed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..kernels import exchange as kernels
from ..kernels.drive import next_event_ps
from ..kernels.handle import Holder
from ..state import tables as t
from ..state.allocate import cell, row_class, to_rows
from ..state.network import Placement
from .comm import Communicator

# What a rank tells the others each window.
RECORDS, SENDS, NEXT_PS, STATUS = range(4)
RUNNING, INTERRUPTED, FAULTY = 0, 1, 2


class Exchange:
    """The packets of one rank that cross to others."""

    def __init__(self, comm: Communicator, here: Placement, holder: Holder) -> None:
        self.comm = comm
        self.here = here
        self.holder = holder
        self.seconds = 0.0
        self.windows = 0
        self.packets_sent = 0
        self._twin = not isinstance(holder.state.clock, np.ndarray)
        self._in_of = here.in_of.tolist() if self._twin else here.in_of
        self._buffer: Any = np.zeros(0, t.PACKET)

    def swap(self, end_ps: int, status: int) -> tuple[int, int]:
        """Exchange after the window that ended at `end_ps`. Returns (earliest event anywhere, worst status)."""
        ref = self.holder.ref
        if self.comm.size == 1:
            return int(next_event_ps(ref)), status
        begin = time.perf_counter()
        nearest = int(next_event_ps(ref))
        send, counts = self.departures()
        heads, received = self.comm.exchange(np.array([0, len(send), nearest, status], "i8"), send, counts)
        self.accept(received, end_ps)
        self.seconds += time.perf_counter() - begin
        self.windows += 1
        self.packets_sent += len(send)
        return int(heads[:, NEXT_PS].min()), int(heads[:, STATUS].max())

    def departures(self) -> tuple[np.ndarray, list[int]]:
        """Take what leaves: PACKET rows by destination rank, and how many there are for each."""
        ref = self.holder.ref
        counts = [0 if rank == self.here.rank else int(kernels.count_departures(ref, first, count))
                  for rank, (first, count) in enumerate(self.here.departures)]
        rows = self._rows(sum(counts))
        at = 0
        for rank, (first, count) in enumerate(self.here.departures):
            if rank != self.here.rank:
                at = kernels.pack(ref, first, count, rows, at)
        return self._array(rows, at), counts

    def accept(self, received: np.ndarray, end_ps: int) -> None:
        """Append what came in to its links; nothing of it may arrive before `end_ps`."""
        if len(received):
            self.holder.ensure_room(t.P_PACKET, cell(self.holder.state.pools, t.P_PACKET, "used") + len(received))
            rows = to_rows(received) if self._twin else received
            kernels.accept(self.holder.ref, self._in_of, rows, len(received), end_ps)

    def _rows(self, total: int) -> Any:
        if self._twin:
            cls = row_class(t.PACKET)
            return [cls() for _ in range(total)]
        if len(self._buffer) < total:
            self._buffer = np.zeros(2 * total, t.PACKET)
        return self._buffer

    def _array(self, rows: Any, total: int) -> np.ndarray:
        if not self._twin:
            return rows[:total]
        names = t.PACKET.names or ()
        return np.array([tuple(getattr(row, name) for name in names) for row in rows], dtype=t.PACKET)
