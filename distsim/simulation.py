"""The loop of one rank: windows, exchanges, periodic instants, until nothing is left or the time is up.

Every rank runs the same loop and agrees once a window on the earliest event anywhere, so ticks, the end and an
interruption fall on the same simulated instant everywhere. Results do not depend on how often a kernel returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import DistsimError
from .kernels import status
from .kernels.handle import Holder
from .kernels.native import Kernels
from .parallel.comm import Communicator
from .parallel.exchange import FAULTY, INTERRUPTED, RUNNING, Exchange
from .state import tables as t
from .state.allocate import POOL_TABLE, cell, set_cell, to_array
from .state.build import reset_extremes
from .state.network import Placement
from .state.view import State

EVENTS_A_CALL = 200_000       # a kernel returns at least every 50 ms
SLOW_EVENTS_A_CALL = 5_000    # of the uncompiled twin
PERF_ROWS_KEPT = 50_000       # completed messages are handed to the record when so many wait
NEVER_PS = t.INF_PS


class StoppedElsewhere(DistsimError):
    """Another rank has failed; its error says why."""


class SimulationFault(DistsimError):
    """A broken rule of the engine: a bug. Its message says which and where."""


@dataclass
class Timing:
    """Wall time by what it went into, seconds."""

    kernels: float = 0.0
    records: float = 0.0
    calls: int = 0


@dataclass
class Simulation:
    """One rank of a run.

    on_tick : called at every periodic instant with (time_ps, counters COUNTERS[nics], ports PORT[..], ins IN[..]).
    on_perf : called with PERF rows in order of (time, node, op). on_progress : called after every kernel call.
    stopping : returns True once the user has asked to end.
    after_window : called with the state after every window (tests check its invariants).
    """

    comm: Communicator
    here: Placement
    initial: State
    kernels: Kernels
    workload_start_ps: int
    stop_ps: int
    interval_ps: int
    on_tick: Callable[[int, np.ndarray, np.ndarray, np.ndarray], None]
    on_perf: Callable[[np.ndarray], None]
    on_progress: Callable[[State, int], None] = lambda state, now_ps: None
    stopping: Callable[[], bool] = lambda: False
    after_window: Callable[[State], None] | None = None
    events_a_call: int = 0
    timing: Timing = field(default_factory=Timing)
    now_ps: int = 0
    interrupted: bool = False
    error: DistsimError | None = None      # of this rank's records; tells the others at the next exchange

    def __post_init__(self) -> None:
        self.holder = Holder(self.initial)
        compiled = isinstance(self.state.clock, np.ndarray)
        self.events_a_call = self.events_a_call or (EVENTS_A_CALL if compiled else SLOW_EVENTS_A_CALL)
        self.exchange = Exchange(self.comm, self.here, self.holder, self.kernels)
        self.next_tick_ps = self.workload_start_ps + self.interval_ps

    @property
    def state(self) -> State:
        """The tables as they are now."""
        return self.holder.state

    def run(self) -> None:
        """Run to the end: nothing left and the next periodic tick written, or the stop time, or an interruption."""
        nearest, _ = self.exchange.swap(0, RUNNING)
        while nearest < self.stop_ps and not self.interrupted:
            self._ticks_until(nearest)
            end = min(nearest + self.here.window_ps, self.next_tick_ps, self.stop_ps)
            outcome = self._window(end)
            self.now_ps = end
            self.on_progress(self.state, end)
            nearest, worst = self.exchange.swap(end, outcome)
            if worst == FAULTY:
                raise self.error or self._fault()
            if self.after_window is not None:
                self.after_window(self.state)
            self.interrupted = worst == INTERRUPTED
            self._drain_perf(PERF_ROWS_KEPT)
        self._finish(nearest)

    def _finish(self, nearest_ps: int) -> None:
        self._drain_perf(0)
        self._last_ticks(nearest_ps)
        if self.error is not None:
            raise self.error

    def _last_ticks(self, nearest_ps: int) -> None:
        if self.interrupted:
            return
        if nearest_ps < NEVER_PS:                # the time is up
            self._ticks_until(self.stop_ps)
            self.now_ps = self.stop_ps
        elif self.next_tick_ps <= self.stop_ps:  # nothing is left: one more full set of periodic rows
            self.now_ps = self.next_tick_ps
            self._ticks_until(self.next_tick_ps)

    def _window(self, end_ps: int) -> int:
        """Run this rank to `end_ps`."""
        while self.error is None:
            begin = time.perf_counter()
            code = self.kernels.run_window(self.holder.ref, end_ps, self.events_a_call)
            self.timing.kernels += time.perf_counter() - begin
            self.timing.calls += 1
            if code == status.FAULT:
                return FAULTY
            if code == status.NEED:
                self._grow()
            stopping = self.stopping()
            if code == status.OK or stopping:
                return INTERRUPTED if stopping else RUNNING
            self.on_progress(self.state, self.kernels.next_event_ps(self.holder.ref))
        return FAULTY

    def _grow(self) -> None:
        pool = cell(self.state.clock, 0, "need")
        rows = 2 * len(getattr(self.state, POOL_TABLE[pool])) + cell(self.state.pools, pool, "margin") + 8
        self.holder.ensure_room(pool, rows)

    def _ticks_until(self, time_ps: int) -> None:
        """Write the periodic rows of every instant up to `time_ps`; nothing happens between them."""
        while self.next_tick_ps <= time_ps and self.error is None and not self.stopping():
            begin = time.perf_counter()
            state = self.state
            counters = to_array(state.counters, t.COUNTERS)
            self._record(self.on_tick, self.next_tick_ps, counters, to_array(state.ports, t.PORT),
                         to_array(state.ins, t.IN))
            self._reset_extremes(counters)
            self.next_tick_ps += self.interval_ps
            self.timing.records += time.perf_counter() - begin

    def _reset_extremes(self, counters: np.ndarray) -> None:
        if isinstance(self.state.counters, np.ndarray):
            reset_extremes(self.state.counters)
            return
        reset_extremes(counters)
        for row, fresh in zip(self.state.counters, counters, strict=True):
            for name in t.COUNTERS.names or ():
                if name.startswith("ivl_"):
                    setattr(row, name, fresh[name].item())

    def _drain_perf(self, keep: int) -> None:
        """Hand over the completed messages once more than `keep` wait; windows are over, so their order is final."""
        used = cell(self.state.pools, t.P_PERF, "used")
        if used <= keep:
            return
        begin = time.perf_counter()
        rows = to_array(self.state.perf[:used], t.PERF)
        self._record(self.on_perf, rows[np.lexsort([rows["op"], rows["node"], rows["time_ps"]])])
        set_cell(self.state.pools, t.P_PERF, "used", 0)
        self.timing.records += time.perf_counter() - begin

    def _record(self, write: Callable[..., None], *figures: Any) -> None:
        """Write rows; an error is this rank's alone, so it is kept until the ranks next meet."""
        if self.error is None:
            try:
                write(*figures)
            except DistsimError as error:
                self.error = error

    def _fault(self) -> DistsimError:
        fault = cell(self.state.clock, 0, "fault")
        if not fault:
            return StoppedElsewhere("another rank has failed")
        return SimulationFault(f"internal error on rank {self.comm.rank}: {status.FAULT_TEXT.get(fault, fault)} "
                               f"(node row {cell(self.state.clock, 0, 'fault_node')}, "
                               f"{cell(self.state.clock, 0, 'fault_at')} ps)")
