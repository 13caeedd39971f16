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
from .fault_steps import FaultSteps
from .kernels import status
from .kernels.handle import Holder
from .kernels.native import Kernels
from .parallel.comm import Communicator
from .parallel.exchange import FAULTY, INTERRUPTED, RUNNING, Exchange
from .state import tables as t
from .state.allocate import POOL_TABLE, cell, set_cell, to_array
from .state.build import reset_after
from .state.network import Placement
from .state.view import DTYPES, State
from .watching import Watching

EVENTS_A_CALL = 200_000       # a kernel returns at least every 50 ms
SLOW_EVENTS_A_CALL = 5_000    # of the uncompiled twin
# Rows are handed to their record when so many wait.
ROWS_KEPT = {"perf": 50_000, "events": 50_000, "monitor": 20_000, "oplog": 50_000}
LOGGED_WINDOW_PS = 20_000_000  # longest window while packets or events are logged, so that few rows wait for its end
ROW_POOLS = {"perf": t.P_PERF, "events": t.P_EVENT, "monitor": t.P_MONITOR, "oplog": t.P_OPLOG}
ROW_ORDER = {"perf": ["op", "node", "time_ps"], "events": ["node", "time_ps"], "monitor": ["node", "time_ps"],
             "oplog": ["what", "op", "time_ps"]}       # the last is the first key
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

    clocks : interval of each kind of periodic instant, ps; the first comes one interval after the workload's start.
    on_tick : called at every such instant with its name and time; everything that happened before it has been done.
    on_rows : called with drained rows, "perf" (PERF in order of (time, node, op)), "events" (EVENT), "monitor"
    (MONITOR in order of (time, node), a node's as they happened) or "oplog" (OPLOG in order of (time, op)).
    on_idle : called on every rank once nothing is left to do; loads what comes next into the state and returns True, or
    False when that was all.
    faults : what fails in the fabric, made by the caller from `holder`; None: nothing.
    watching : connections that uet-monitor chooses; made by the caller from `holder`, None: nothing is chosen.
    on_progress : called after every kernel call. stopping : returns True once the user has asked to end.
    after_window : called with the state after every window (tests check its invariants).
    """

    comm: Communicator
    here: Placement
    initial: State
    kernels: Kernels
    workload_start_ps: int
    stop_ps: int
    clocks: dict[str, int]
    on_tick: Callable[[str, int], None]
    on_rows: Callable[[str, np.ndarray], None]
    on_progress: Callable[[State, int], None] = lambda state, now_ps: None
    on_idle: Callable[[], bool] = lambda: False
    stopping: Callable[[], bool] = lambda: False
    after_window: Callable[[State], None] | None = None
    events_a_call: int = 0
    timing: Timing = field(default_factory=Timing)
    now_ps: int = 0
    interrupted: bool = False
    stopped: bool = False      # the time was up before everything was done
    error: DistsimError | None = None      # of this rank's records; tells the others at the next exchange

    def __post_init__(self) -> None:
        self.holder = Holder(self.initial)
        compiled = isinstance(self.state.clock, np.ndarray)
        self.events_a_call = self.events_a_call or (EVENTS_A_CALL if compiled else SLOW_EVENTS_A_CALL)
        self.exchange = Exchange(self.comm, self.here, self.holder, self.kernels)
        self.watching: Watching | None = None
        self.faults: FaultSteps | None = None
        self.due_ps = {name: self.workload_start_ps + interval for name, interval in self.clocks.items()}

    @property
    def state(self) -> State:
        """The tables as they are now."""
        return self.holder.state

    def run(self) -> None:
        """Run to the end: nothing left and the next periodic tick written, or the stop time, or an interruption."""
        nearest, _ = self.exchange.swap(0, RUNNING)
        while True:
            nearest = self._run_until_idle(nearest)
            if self.interrupted or nearest < NEVER_PS:
                break
            self._drain({})
            if not self.on_idle():
                break
            nearest, _ = self.exchange.swap(self.now_ps, RUNNING)
        self._finish(nearest)

    def _run_until_idle(self, nearest: int) -> int:
        """Run from the earliest event anywhere until there is none or the time is up; returns what is earliest then."""
        while nearest < self.stop_ps and not self.interrupted:
            self._instants_until(nearest)
            end = min(nearest + self._window_ps(), *self.due_ps.values(), self._next_fault_ps(), self.stop_ps)
            outcome = self._window(end)
            self.now_ps = end
            self.on_progress(self.state, end)
            nearest, worst = self.exchange.swap(end, outcome)
            if worst == FAULTY:
                raise self.error or self._fault()
            if self.after_window is not None:
                self.after_window(self.state)
            self.interrupted = worst == INTERRUPTED
            if self.watching is not None:
                self.watching.after_window()
            self._drain(ROWS_KEPT)
        return nearest

    def _next_fault_ps(self) -> int:
        return NEVER_PS if self.faults is None else self.faults.next_ps

    def _instants_until(self, time_ps: int) -> None:
        """Ticks and faults up to `time_ps`, in order of time, ticks first; nothing happens between them."""
        while self.faults is not None and self.faults.next_ps <= time_ps and self.error is None:
            at = self.faults.next_ps
            self._ticks_until(at)
            self._settle(at)
            self.faults.apply()
        self._ticks_until(time_ps)

    def _window_ps(self) -> int:
        """The longest window: what the ranks allow, and what the other ends of chosen connections allow."""
        longest = self.here.window_ps
        if cell(self.state.clock, 0, "logging") & 1:
            longest = min(longest, LOGGED_WINDOW_PS)
        if self.watching is not None and self.watching.active:
            longest = min(longest, self.watching.delay_ps)
        return longest

    def _finish(self, nearest_ps: int) -> None:
        self._drain({})
        self._last_ticks(nearest_ps)
        if self.error is not None:
            raise self.error

    def _last_ticks(self, nearest_ps: int) -> None:
        if self.interrupted:
            return
        if nearest_ps < NEVER_PS:                # the time is up
            self.stopped = True
            self._ticks_until(self.stop_ps)
            self.now_ps = self.stop_ps
            return
        last = max((due for due in self.due_ps.values() if due <= self.stop_ps), default=0)
        if last:                                 # nothing is left: one more full set of periodic rows
            self.now_ps = last
            self._ticks_until(last)

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
        while self.error is None and not self.stopping():
            name, due = min(self.due_ps.items(), key=lambda item: item[1])
            if due > time_ps:
                return
            begin = time.perf_counter()
            self._settle(due)
            self._record(self.on_tick, name, due)
            reset_after(name, self.state)
            self.due_ps[name] += self.clocks[name]
            self.timing.records += time.perf_counter() - begin

    def _settle(self, time_ps: int) -> None:
        """What has happened by itself at the NICs before an instant, so that records see it."""
        code = self.kernels.settle_nics(self.holder.ref, time_ps, 1 << 40)
        while code == status.NEED:
            self._grow()
            code = self.kernels.settle_nics(self.holder.ref, time_ps, 1 << 40)
        if code == status.FAULT:
            self.error = self._fault()

    def _drain(self, keep: dict[str, int]) -> None:
        """Hand over the rows of a table once more than `keep` wait; windows are over, so their order is final."""
        for name, pool in ROW_POOLS.items():
            used = cell(self.state.pools, pool, "used")
            if used <= keep.get(name, 0):
                continue
            begin = time.perf_counter()
            rows = to_array(getattr(self.state, name)[:used], DTYPES[name])
            self._record(self.on_rows, name, rows[np.lexsort([rows[key] for key in ROW_ORDER[name]])])
            set_cell(self.state.pools, pool, "used", 0)
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
