"""Progress of a run on stderr: a status line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

TERMINAL_INTERVAL_S, PLAIN_INTERVAL_S = 0.25, 5.0
FIRST_S = 0.5          # nothing is shown for runs that are over sooner, and rich is not imported
LEAST_FRACTION = 0.01  # no estimate of the time left before this much is done
TIME_UNITS = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"))


class Progress:
    """Shows how a run goes on. `update` may be called as often as one likes: it looks at the clock and returns.

    quiet : show nothing (also for ranks other than 0). stop_ps : when the run stops at the latest; start_ps : when the
    workload starts. expected : events that the whole run is projected to take, for a workload whose flows are not all
    known from the start; 0: not used. stream, clock : for tests; clock in seconds.
    """

    def __init__(self, quiet: bool, stop_ps: int, start_ps: int = 0, *, expected: int = 0, stream: TextIO | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._clock = clock
        self._quiet = quiet
        self._start_ps, self._stop_ps, self._expected = start_ps, stop_ps, expected
        self._terminal = not quiet and self._stream.isatty()
        self._interval_s = TERMINAL_INTERVAL_S if self._terminal else PLAIN_INTERVAL_S
        self._begin_s = self._shown_s = clock()
        self._shown_events = 0
        self._next_s = self._begin_s + (FIRST_S if self._terminal else PLAIN_INTERVAL_S)
        self._live: Any = None

    def update(self, sim_ps: int, events: int, flows_done: int, flows_total: int) -> None:
        """sim_ps : simulation time reached; events : events so far; flows_done of flows_total have finished."""
        if self._quiet:
            return
        now_s = self._clock()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self._interval_s
        self._show(progress_text(sim_ps, now_s - self._begin_s, self._rate(events, now_s),
                                 self._left_s(sim_ps, events, flows_done, flows_total, now_s), flows_done, flows_total))

    def close(self) -> None:
        """Takes the status line off the terminal; may be called again."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _rate(self, events: int, now_s: float) -> float:
        """Events per second since the last line."""
        rate = (events - self._shown_events) / max(now_s - self._shown_s, 1e-9)
        self._shown_events, self._shown_s = events, now_s
        return rate

    def _left_s(self, sim_ps: int, events: int, flows_done: int, flows_total: int, now_s: float) -> float | None:
        """Wall time left at the pace so far, to the nearer end: all flows (expected events) done, or the stop time."""
        fraction = flows_done / flows_total if flows_total else 0.0
        if self._expected:
            fraction = min(events / self._expected, 0.99)
        if self._stop_ps > self._start_ps:
            fraction = max(fraction, (sim_ps - self._start_ps) / (self._stop_ps - self._start_ps))
        if fraction < LEAST_FRACTION:
            return None
        return (now_s - self._begin_s) * (1 - fraction) / fraction if fraction < 1 else 0.0

    def _show(self, text: str) -> None:
        if not self._terminal:
            print(text, file=self._stream, flush=True)
            return
        from rich.console import Console
        from rich.text import Text

        line = Text(text, no_wrap=True, overflow="ellipsis")
        if self._live is None:
            self._live = Console(file=self._stream).status(line, spinner="line")
            self._live.start()
        self._live.update(line)


def progress_text(sim_ps: int, wall_s: float, events_per_s: float, left_s: float | None, flows_done: int,
                  flows_total: int) -> str:
    """One line of progress."""
    left = "" if left_s is None else f", {wall_text(left_s)} left"
    return (f"simulated {time_text(sim_ps)}, wall {wall_text(wall_s)}, {events_per_s / 1e6:.2f} million events/s, "
            f"flows {flows_done:,}/{flows_total:,}{left}")


def time_text(time_ps: int) -> str:
    """Simulation time in its largest unit that gives 1 or more, e.g. ``2.064240 ms``."""
    for scale, unit in TIME_UNITS:
        if time_ps >= scale:
            return f"{time_ps / scale:.6f} {unit}"
    return f"{time_ps} ps"


def wall_text(seconds: float) -> str:
    """Wall time: ``12.3 s``, ``4 min 05 s`` or ``2 h 03 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
