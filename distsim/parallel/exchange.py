"""Once a window: what leaves this rank goes out, what comes in joins its links, and the next event is agreed."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from ..kernels.handle import Holder
from ..kernels.native import Kernels
from ..state import tables as t
from ..state.allocate import cell, to_array, to_rows
from ..state.network import Placement
from .comm import Communicator

# What a rank tells the others each window.
RECORDS, SENDS, NEXT_PS, STATUS = range(4)
RUNNING, INTERRUPTED, FAULTY = 0, 1, 2


class Exchange:
    """The packets of one rank that cross to others."""

    def __init__(self, comm: Communicator, here: Placement, holder: Holder, kernels: Kernels) -> None:
        self.comm = comm
        self.here = here
        self.holder = holder
        self.kernels = kernels
        self.seconds = 0.0
        self.windows = 0
        self.idle_windows = 0       # in which this rank sent nothing
        self.packets_sent = 0
        self.packets_received = 0
        self._compiled = isinstance(holder.state.clock, np.ndarray)

    def swap(self, end_ps: int, status: int) -> tuple[int, int]:
        """Exchange after the window that ended at `end_ps`. Returns (earliest event anywhere, worst status)."""
        ref = self.holder.ref
        if self.comm.size == 1:
            return self.kernels.next_event_ps(ref), status
        begin = time.perf_counter()
        nearest = self.kernels.next_event_ps(ref)
        send, counts = self.departures()
        heads, received = self.comm.exchange(np.array([0, len(send), nearest, status], "i8"), send, counts)
        self.accept(received, end_ps)
        self.seconds += time.perf_counter() - begin
        self.windows += 1
        self.idle_windows += len(send) == 0
        self.packets_sent += len(send)
        self.packets_received += len(received)
        return int(heads[:, NEXT_PS].min()), int(heads[:, STATUS].max())

    def departures(self) -> tuple[np.ndarray, list[int]]:
        """Take what leaves: PACKET rows by destination rank, and how many there are for each."""
        self.holder.ensure_rows("outbox", cell(self.holder.state.pools, t.P_PACKET, "used"))
        ends = [0]
        for rank, (first, count) in enumerate(self.here.departures):
            at = ends[-1]
            ends.append(at if rank == self.here.rank else self.kernels.pack(self.holder.ref, first, count, at))
        counts = [end - begin for begin, end in pairwise(ends)]
        return to_array(self.holder.state.outbox[:ends[-1]], t.PACKET), counts

    def accept(self, received: np.ndarray, end_ps: int) -> None:
        """Append what came in to its links; nothing of it may arrive before `end_ps`."""
        count = len(received)
        if count:
            self.holder.ensure_room(t.P_PACKET, cell(self.holder.state.pools, t.P_PACKET, "used") + count)
            self.holder.ensure_rows("inbox", count)
            if self._compiled:       # as bytes: NumPy copies structured rows field by field
                self.holder.state.inbox[:count].view("u1")[:] = received.view("u1")
            else:
                self.holder.state.inbox[:count] = to_rows(received)
            self.kernels.accept(self.holder.ref, count, end_ps)
